#!/usr/bin/env bash
# All programs in one archive for a machine that has no Rust: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

usage() {
    cat <<HELP
Pack all programs for a machine that has neither Rust nor these sources

Links everything statically, the C library too, and writes switchcost-VERSION-ARCH.tar.gz and its
checksum. Copy it, unpack it, and run ./switchcost in it: it needs only a Linux kernel of the same
architecture. Its README.md says what is in it.

Usage: $me [OPTIONS]

Options:
  --out DIR   The folder for the archive [default: dist in the project's folder]
  --check     Then unpack it into an empty root, and run every program and a plan there; needs root,
              or user namespaces
  -h, --help  Print help

The programs measure what the ordinary build measures. Linking needs libc.a: libc6-dev on Debian,
glibc-static on Fedora. glibc is under the LGPL, which asks something of those who pass it on.

Exit status: 0 when the archive is made (and checked), 1 when it is not, 2 for bad usage
HELP
}

out=$root/dist check=''
while (($#)); do
    case $1 in
    --out)
        out=${2:-}
        [[ -n $out ]] || usage_error "--out takes a folder"
        shift
        ;;
    --check) check=yes ;;
    -h | --help) usage && exit ;;
    *) usage_error "unknown argument '$1'" ;;
    esac
    shift
done
command -v cargo >/dev/null || fail "cargo is not installed: get Rust from https://rustup.rs"

# The target is named, so that what runs while cargo builds stays dynamic: a procedural macro is a library that the
# compiler loads.
target=$(rustc -vV | sed -n 's/^host: //p')
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
name=switchcost-$version-${target%%-*}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
folder=$work/$name
mkdir -- "$folder"

progress "building for $target ..."
RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static -C strip=debuginfo" \
    cargo build --release --quiet --locked --workspace --exclude xtask --bins --target "$target" \
    --manifest-path "$root/Cargo.toml" --message-format json-render-diagnostics >"$work/messages" ||
    fail "cargo could not build the programs; where it could not link them, libc.a is missing (see --help)"
sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$work/messages" | xargs -d '\n' cp -t "$folder" --
progress
# The programs in Go are static as they are. Where nothing can build them, the archive is without.
if go=$(command -v "${GO:-go}" || command -v /usr/local/go/bin/go); then
    CGO_ENABLED=0 GOTOOLCHAIN=local "$go" build -C "$root/peers/go" -trimpath -ldflags='-s -w' -o "$folder/" ./... ||
        fail "go could not build its programs"
else
    say "no Go toolchain: the archive is without the programs in Go"
fi
programs=("$folder"/*)
cp -- "$root/LICENSE" "$folder"
cp -- "$root/scripts/lib/archive-readme.md" "$folder/README.md"
cargo tree --manifest-path "$root/Cargo.toml" --workspace --exclude xtask --locked --edges normal --target "$target" \
    --prefix none --format '{p}: {l}' | sed 's/ (\*)$//' | grep -v -e '(/' -e '^$' | sort -u >"$folder/LICENSES.txt" ||
    fail "cargo cannot list the licences of the crates linked in"
# The texts: of all crates, of Rust's library and of the C libraries.
cargo metadata --manifest-path "$root/Cargo.toml" --locked --format-version 1 --filter-platform "$target" |
    grep -o '"manifest_path":"[^"]*/registry/[^"]*"' | cut -d '"' -f 4 | while read -r manifest; do
    texts=$folder/licenses/$(basename -- "${manifest%/*}")
    mkdir -p -- "$texts"
    find "${manifest%/*}" -maxdepth 1 -iregex '.*/\(licen[cs]e\|copying\|notice\|copyright\).*' -type f -exec cp -t "$texts" -- {} +
done || fail "cargo cannot tell where the crates are"
mkdir -p -- "$folder"/licenses/{rust,glibc,libgcc,go}
[[ -z $go ]] || cp -- "$("$go" env GOROOT)"/{LICENSE,PATENTS} "$folder/licenses/go" 2>/dev/null || true
cp -- "$(rustc --print sysroot)"/share/doc/rust/{COPYRIGHT*,licenses/*} "$folder/licenses/rust" 2>/dev/null || true
cp -- /usr/share/{doc/libc6-dev/copyright,common-licenses/LGPL-2.1,licenses/glibc/*} "$folder/licenses/glibc" 2>/dev/null || true
cp -- /usr/share/{doc/libgcc-*-dev/copyright,licenses/libgcc/*} "$folder/licenses/libgcc" 2>/dev/null || true

# The same sources make the same archive, but for the paths that the compiler writes down.
date=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
mkdir -p -- "$out" || fail "cannot make the folder '$out'"
archive=$(cd -- "$out" && pwd -P)/$name.tar.gz
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$date" -cf - "$name" | gzip -n >"$archive.new" ||
    fail "cannot write '$archive'"
mv -- "$archive.new" "$archive"
(cd -- "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")

if [[ -n $check ]]; then
    empty=$work/empty into=(chroot)
    if [[ $(id -u) != 0 ]]; then
        unshare --user --map-root-user true 2>/dev/null ||
            fail "--check: only root, or a user who may make user namespaces, can enter an empty root; $archive is made and not checked"
        into=(unshare --user --map-root-user chroot)
    fi
    mkdir -- "$empty"
    tar -C "$empty" -xzf "$archive"
    for program in "${programs[@]##*/}"; do
        # The runner comes below. arrivals starts the other.
        [[ $program != switchcost && $program != goroutine-server ]] || continue
        progress "checking $program ..."
        flags=()
        [[ $program != command ]] || flags=(--run "/$name/floors --describe" --input "/$name/README.md")
        # It builds its tasks, warms up, and finds that there is no request.
        "${into[@]}" "$empty" "/$name/$program" "${flags[@]}" --tasks 3 --controlled </dev/null >/dev/null ||
            fail "--check: $program does not run in an empty root"
    done
    progress "checking the runner ..."
    # What a task holds in memory, only /proc tells.
    "${into[@]}" "$empty" "/$name/switchcost" --quick --rounds 1 --full --filter 'time per' --out /records.jsonl \
        </dev/null >"$work/tables" || fail "--check: the runner does not run in an empty root"
    ! grep 'failed' "$work/tables" >&2 || fail "--check: a case of its plan fails in an empty root"
    progress
    say "every program runs in an empty root"
fi
printf '%s\n' "$archive"
