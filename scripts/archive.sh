#!/usr/bin/env bash
# All programs in one archive for a machine that has no Rust: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

usage() {
    cat <<HELP
Pack all programs for a machine that has neither Rust nor these sources

Builds them with everything linked in, the C library too, and writes
switchcost-VERSION-ARCH.tar.gz, and its checksum: copy it, unpack it, run ./switchcost in it. It
needs a Linux kernel of its architecture and nothing else. Its README.md says what is in it.

Usage: $me [OPTIONS]

Options:
  --out DIR   The folder for the archive [default: dist in the project's folder]
  --check     Then unpack it into an empty root and run every program there, a plan among them;
              needs root, or user namespaces
  -h, --help  Print help

The programs measure what the ordinary build measures: the same allocator with its arenas, the
same threads, the clock without a system call. What a static glibc cannot do, such as looking up
users and hosts, they do not use. It needs libc.a: libc6-dev on Debian, glibc-static on Fedora.
glibc is under the LGPL, which asks something of those who pass such a program on.

Exit status: 0 when the archive is made (and checked), 1 when it is not, 2 for bad usage
HELP
}

main() {
    read_arguments "$@"
    command -v cargo >/dev/null || fail "cargo is not installed: get Rust from https://rustup.rs"
    find_target
    trap '[[ -z ${work:-} ]] || rm -rf -- "$work"' EXIT
    work=$(mktemp -d)
    build
    pack
    if [[ -n $check ]]; then
        check_archive
    fi
    printf '%s\n' "$archive"
}

read_arguments() {
    out=$root/dist check=''
    while (($#)); do
        case $1 in
        --out)
            [[ -n ${2:-} ]] || usage_error "--out takes a folder"
            out=$2
            shift
            ;;
        --check) check=yes ;;
        -h | --help) usage && exit ;;
        *) usage_error "unknown argument '$1'" ;;
        esac
        shift
    done
}

# The target is named, so that what runs while cargo builds stays dynamic: a procedural macro is a
# library that the compiler loads.
find_target() {
    target=$(rustc -vV | sed -n 's/^host: //p')
    [[ $target == *-linux-* ]] || fail "this is no Linux: rustc builds for '$target'"
    version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
    [[ -n $version ]] || fail "no version is in $root/Cargo.toml"
    name=switchcost-$version-${target%%-*}
}

# Sets `built`, the executables.
build() {
    local messages=$work/messages
    progress "building for $target ..."
    RUSTFLAGS="${RUSTFLAGS:-} -C target-feature=+crt-static -C strip=debuginfo" \
        cargo build --release --quiet --locked --workspace --exclude xtask --bins --target "$target" \
        --manifest-path "$root/Cargo.toml" \
        --message-format json-render-diagnostics >"$messages" ||
        fail "cargo could not build the programs; where it could not link them, libc.a is missing (see --help)"
    progress
    mapfile -t built < <(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$messages")
    ((${#built[@]})) || fail "cargo built no program"
    build_go
    # ldd would run the loader of this system; readelf is not everywhere either.
    local program
    for program in "${built[@]}"; do
        # A program that asks for a loader names its path.
        ! LC_ALL=C grep -qE '^/lib(64)?/ld-(linux|musl)' <(head -c 4096 "$program" | tr '\0' '\n') ||
            fail "$program is not static: it asks for a loader"
    done
}

# The programs in Go are static as they are. Where nothing can build them, the archive is without.
build_go() {
    go=$(command -v "${GO:-go}" || command -v /usr/local/go/bin/go) || {
        say "no Go toolchain: the archive is without the programs in Go"
        return
    }
    progress "building the programs in Go ..."
    CGO_ENABLED=0 GOTOOLCHAIN=local "$go" build -C "$root/peers/go" -trimpath -ldflags='-s -w' \
        -o "$work/go/" ./... || fail "go could not build its programs"
    built+=("$work"/go/*)
    progress
}

pack() {
    local folder=$work/$name date
    mkdir -- "$folder"
    cp -- "${built[@]}" "$root/LICENSE" "$folder"
    cp -- "$root/scripts/lib/archive-readme.md" "$folder/README.md"
    add_licences "$folder"
    # The same sources make the same archive, but for the paths that the compiler writes down.
    date=$(git -C "$root" log -1 --format=%ct 2>/dev/null) || date=$(date +%s)
    mkdir -p -- "$out" || fail "cannot make the folder '$out'"
    archive=$(cd -- "$out" && pwd -P)/$name.tar.gz
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime="@${SOURCE_DATE_EPOCH:-$date}" -cf - "$name" | gzip -n >"$archive.new" ||
        fail "cannot write '$archive'"
    mv -- "$archive.new" "$archive"
    (cd -- "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
}

# add_licences FOLDER: what is linked in, on which terms, and the texts. A crate without a text has one of those that
# its line names; the toolchain has them.
add_licences() {
    local texts=$1/licenses manifests=$work/metadata crate release source
    cargo tree --manifest-path "$root/Cargo.toml" --workspace --exclude xtask --locked --edges normal --target "$target" \
        --prefix none --format '{p}: {l}' | sed 's/ (\*)$//' | grep -v -e '(/' -e '^$' | sort -u >"$1/LICENSES.txt" ||
        fail "cargo does not tell the licences of what is linked in"
    cargo metadata --manifest-path "$root/Cargo.toml" --locked --format-version 1 --filter-platform "$target" |
        grep -o '"manifest_path":"[^"]*"' | cut -d '"' -f 4 >"$manifests"
    while IFS=' :' read -r crate release _; do
        source=$(grep -F "/$crate-${release#v}/Cargo.toml" "$manifests") || fail "cargo does not tell where $crate $release is"
        copy_texts "$texts/$crate-${release#v}" "${source%/*}"/{LICEN[CS]E,COPYING,NOTICE,COPYRIGHT,license}*
    done <"$1/LICENSES.txt"
    source=$(rustc --print sysroot)/share/doc/rust
    copy_texts "$texts/rust" "$source"/{COPYRIGHT-library.html,licenses/*}
    copy_texts "$texts/glibc" /usr/share/doc/libc6-dev/copyright /usr/share/common-licenses/LGPL-2.1 \
        /usr/share/licenses/glibc/*
    # The unwinder.
    copy_texts "$texts/libgcc" /usr/share/doc/libgcc-*-dev/copyright /usr/share/licenses/libgcc/*
    [[ ! -d $work/go ]] || copy_texts "$texts/go" "$("$go" env GOROOT)"/{LICENSE,PATENTS}
}

# copy_texts FOLDER FILE...: those that exist.
copy_texts() {
    local file
    for file in "${@:2}"; do
        [[ ! -f $file ]] || { mkdir -p -- "$1" && cp -- "$file" "$1"; }
    done
}

# check_archive: what was packed works where nothing else is.
check_archive() {
    local program base empty=$work/empty into=(chroot)
    if [[ $(id -u) != 0 ]]; then
        unshare --user --map-root-user true 2>/dev/null ||
            fail "--check: only root, or a user who may make user namespaces, can enter an empty root; $archive is made and not checked"
        into=(unshare --user --map-root-user chroot)
    fi
    mkdir -- "$empty"
    tar -C "$empty" -xzf "$archive"
    for program in "${built[@]}"; do
        base=${program##*/}
        # The runner comes below. arrivals starts the other.
        [[ $base != switchcost && $base != goroutine-server ]] || continue
        progress "checking $base ..."
        # It builds its tasks, warms up, and finds that there is no request.
        "${into[@]}" "$empty" "/$name/$base" --tasks 3 --controlled </dev/null >/dev/null ||
            fail "--check: $base does not run in an empty root"
    done
    progress "checking the runner ..."
    # What a task holds in memory, only /proc tells.
    "${into[@]}" "$empty" "/$name/switchcost" --quick --rounds 1 --full --filter 'time per' \
        --out /records.jsonl </dev/null >"$work/tables" 2>"$work/errors" ||
        fail "--check: the runner does not run in an empty root: $(<"$work/errors")"
    ! grep 'failed' "$work/tables" >&2 || fail "--check: a case of its plan fails in an empty root"
    progress
    say "every program runs in an empty root"
}

main "$@"
