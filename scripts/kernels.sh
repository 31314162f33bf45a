#!/usr/bin/env bash
# The archive on other kernels and other machines, emulated: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

# Kernels, and the suites of Debian that have them.
declare -A suites=([5.10]=bullseye [6.1]=bookworm [6.12]=trixie [backports]=trixie-backports)
kernels=(5.10 6.1 6.12 backports)

two='-smp 2 -m 1G'
eight='-smp 8,sockets=2,cores=2,threads=2 -m 1G -object memory-backend-ram,id=a,size=512M -object memory-backend-ram,id=b,size=512M -numa node,cpus=0-3,memdev=a -numa node,cpus=4-7,memdev=b'
four='-smp 4,sockets=1,cores=2,threads=2 -m 1G'

# NAME | machine | functions of lib/guest.sh that prepare it | CPUs sockets cores nodes ("-": unknown) | steps,
# each with the users that it runs as and, behind "=", the words that it must print (of placement the CPUs of its rows)
table=$(
    cat <<TABLE
eight      | $eight            |                      | 0-7 2 4 2   | machine:root placement:user="0-1"&"0,2"&"0,4" stat:user limits:user
one        | -smp 1 -m 1G      |                      | 0 1 1 1     | machine:root answer:user placement:user stat:root,user limits:user
two        | $two              |                      | 0-1 1 2 1   | machine:root answer:root,user stat:root limits:root scale:root,user rss:user uring:root
offline    | $four             | with_cpu_offline=1   | 0,2-3 1 2 1 | machine:root placement:user="2-3"&"0,2" stat:user
small      | -smp 2 -m 256M    |                      | 0-1 1 2 1   | machine:root stat:user limits:user scale:user
cgroup-1   | $two              | with_cgroup_1        | 0-1 1 2 1   | machine:root stat:root=stopped limits:root=pids.max scale:root
cgroup-2   | $two              | with_cgroup_2        | 0-1 1 2 1   | machine:root stat:root=stopped limits:root=pids.max scale:root
no-sys     | $two              | without_sys          | - - - -     | machine:user placement:user stat:user limits:user
hidepid    | $two              | with_hidepid         | 0-1 1 2 1   | machine:user stat:user limits:user
no-perf    | $two              | without_perf         | 0-1 1 2 1   | stat:user=perf_event_paranoid
no-uring   | $two              | without_uring        | 0-1 1 2 1   | uring:user=io_uring
TABLE
)

usage() {
    cat <<HELP
Run the programs on kernels of Debian's and on machines that this one is not

Boots each kernel under qemu-system-x86_64, without KVM, with the programs of the archive: see the
table in this script for the machines. It judges function and no figure: each step ends in time and
with status 0, each row has a figure or a reason, and the CPUs are those that qemu was told of.
One line for each step; the whole output is in the folder of --out.

Usage: $me [OPTIONS] [KERNEL...]

Arguments:
  KERNEL          ${kernels[*]}, or the path of a vmlinuz [default: all four; 6.1 with --quick]

Options:
  --archive FILE  What scripts/archive.sh made [default: it is made]
  --only NAMES    These machines alone, by their names in the table, with commas
  --out DIR       The folder for the output [default: a new one below /tmp]
  --quick         One machine alone, in some two minutes
  -h, --help      Print help

Environment:
  KERNELS_CACHE   Where kernels are kept [default: ${XDG_CACHE_HOME:-~/.cache}/switchcost-kernels]

It needs qemu-system-x86_64, busybox-static, cpio, jq, pmap and zstd, and apt-get for what is not in
the cache. A kernel takes a quarter of an hour on two idle CPUs.

Exit status: 0 nothing is wrong, 1 something is, 2 for bad usage, 3 if a tool or a kernel is missing
HELP
}

cannot() {
    say "$@"
    exit 3
}

main() {
    arguments "$@"
    local tool kernel name machine prepare expected steps
    for tool in busybox cpio jq pmap qemu-system-x86_64 zstd; do
        command -v "$tool" >/dev/null || cannot "$tool is not installed (Debian: qemu-system-x86 busybox-static cpio jq procps zstd)"
    done
    qemu=''
    trap 'interrupted' EXIT
    work=$(mktemp -d)
    out=${out:-$(mktemp -d -t kernels.XXXXXX)}
    mkdir -p -- "$out" || fail "cannot make the folder '$out'"
    make_root
    wrong=0
    for kernel in "${wanted[@]}"; do
        find_kernel "$kernel"
        while IFS='|' read -r name machine prepare expected steps; do
            read -r name <<<"$name"
            [[ -z $only || ,$only, == *",$name,"* ]] || continue
            boot "$kernel" "$name" "$machine" "$prepare" "$steps"
            # An emulated kernel panics now and then before it has started anything.
            grep -q '^@kernel' "$log" || boot "$kernel" "$name" "$machine" "$prepare" "$steps"
            judge "$kernel" "$name" "$expected" "$steps"
        done <<<"$table"
    done
    say "$wrong steps wrong; all that they printed is in $out"
    ((wrong == 0))
}

arguments() {
    archive='' only='' out='' quick='' wanted=()
    while (($#)); do
        case $1 in
        --archive | --only | --out)
            [[ -n ${2:-} ]] || usage_error "$1 takes a value"
            printf -v "${1#--}" '%s' "$2"
            shift
            ;;
        --quick) quick=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        -*) usage_error "unknown argument '$1'" ;;
        *)
            [[ -n ${suites[$1]:-} || -f $1 ]] || usage_error "no kernel '$1': name ${kernels[*]}, or the path of a vmlinuz"
            wanted+=("$1")
            ;;
        esac
        shift
    done
    if [[ -n $quick ]]; then
        only=${only:-eight}
        kernels=(6.1)
    fi
    ((${#wanted[@]})) || wanted=("${kernels[@]}")
    local name
    for name in ${only//,/ }; do
        grep -q "^$name " <<<"$table" || usage_error "--only: no machine '$name' in the table"
    done
    [[ -z $archive || -f $archive ]] || usage_error "--archive: there is no '$archive'"
}

interrupted() {
    [[ -z $qemu ]] || kill "$qemu" 2>/dev/null || true
    rm -rf -- "$work"
}

# Sets `vmlinuz`, from the cache or by apt-get, which checks signatures. Its lists are apart from the system's.
find_kernel() {
    vmlinuz=$1
    [[ -n ${suites[$1]:-} ]] || return 0
    local suite=${suites[$1]} cache=${KERNELS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/switchcost-kernels} package file
    vmlinuz=$cache/vmlinuz-$1
    [[ ! -f $vmlinuz ]] || return 0
    command -v apt-get >/dev/null || cannot "apt-get is not here to fetch Linux $1: put it into $vmlinuz"
    say "fetching Linux $1 from Debian's $suite ..."
    local apt=$work/apt-$suite
    mkdir -p -- "$cache" "$apt"/{lists,cache/archives,debs}
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main" >"$apt/sources"
    local options=(-q -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o "Dir::Etc::SourceList=$apt/sources"
        -o Dir::Etc::SourceParts=- -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
        -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update >"$out/apt.log" 2>&1 || cannot "apt-get could not read $suite: see $out/apt.log"
    package=$(apt-cache "${options[@]}" -t "$suite" depends linux-image-cloud-amd64 |
        sed -n 's/^ *Depends: linux-image-//p')
    # From 6.17 on the image is in a package of its own.
    for file in "linux-binary-$package" "linux-image-$package"; do
        (cd -- "$apt/debs" && apt-get "${options[@]}" download "$file") >>"$out/apt.log" 2>&1 && break
    done
    file=$(find "$apt/debs" -name '*.deb')
    [[ -n $file ]] || cannot "apt-get could not fetch the kernel of $suite: see $out/apt.log"
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$apt" --wildcards '*vmlinuz*' --transform 's,.*/,,' --show-transformed-names
    mv -- "$apt"/vmlinuz* "$vmlinuz"
}

# Makes $work/root.zst: the programs, BusyBox, bash and pmap, and an init.
make_root() {
    local root_folder=$work/root tool library
    if [[ -z $archive ]]; then
        archive=$("$root/scripts/archive.sh" --out "$work")
    fi
    mkdir -p -- "$root_folder"/{bin,dev,etc,opt/lib,proc,sys,tmp,usr/bin}
    tar -C "$root_folder/opt" --strip-components=1 --exclude='*.md' --exclude='*/docs' --exclude='*/goroutine-*' -xzf "$archive"
    strip -s "$root_folder"/opt/* 2>/dev/null || true
    cp -- "$root"/scripts/rss-*.sh "$root_folder/opt"
    cp -- "$root"/scripts/lib/{common,rss}.sh "$root_folder/opt/lib"
    install -m 755 -- "$root/scripts/lib/guest.sh" "$root_folder/init"
    for tool in busybox bash pmap; do
        cp -L -- "$(command -v "$tool")" "$root_folder/bin/$tool"
        { ldd "$(command -v "$tool")" 2>/dev/null || true; } | { grep -o '/[^ ]*' || true; } | while read -r library; do
            install -D -- "$library" "$root_folder$library"
        done
    done
    ln -s busybox "$root_folder/bin/sh"
    ln -s /bin/busybox "$root_folder/usr/bin/env"
    printf '%s\n' 'root:x:0:0::/:/bin/sh' 'user:x:1000:1000::/tmp:/bin/sh' >"$root_folder/etc/passwd"
    printf '%s\n' 'root:x:0:' 'user:x:1000:' >"$root_folder/etc/group"
    (cd -- "$root_folder" && find . | cpio --quiet -o -H newc -R 0:0 | zstd -q -3) >"$work/root.zst"
}

# boot KERNEL NAME MACHINE PREPARE STEPS: leaves what the machine printed in `log`.
boot() {
    local step words=() status=0
    log=$out/${1##*/}-$2.log
    echo "$4" >"$work/variation"
    for step in $5; do
        echo "${step%%[:=]*} $(cut -d: -f2 <<<"${step%%=*}" | tr , ' ')"
    done >"$work/steps"
    # The uncompressed part ends at a multiple of 512 bytes, where the next may begin.
    (cd -- "$work" && printf '%s\n' variation steps | cpio --quiet -o -H newc && cat root.zst) >"$work/initrd"
    read -r -a words <<<"$3"
    timeout -k 10 3600 qemu-system-x86_64 -accel tcg,thread=multi -cpu max,vendor=GenuineIntel "${words[@]}" \
        -kernel "$vmlinuz" -initrd "$work/initrd" -append 'console=ttyS0 quiet panic=-1' \
        -display none -monitor none -nic none -no-reboot -serial "file:$log" </dev/null 2>"$work/qemu" &
    qemu=$!
    wait "$qemu" || status=$?
    qemu=''
    ((status == 0)) || verdict "$1 $2" "qemu ended with status $status: $(tail -n 1 "$work/qemu")"
}

# verdict WHERE WRONG [TIME]: one line of the result.
verdict() {
    if [[ -n ${2:-} ]]; then
        ((wrong += 1))
        printf '%-28s WRONG  %s\n' "$1" "$2"
    else
        printf '%-28s ok     %s\n' "$1" "${3:-}"
    fi
}

# judge KERNEL NAME EXPECTED STEPS
judge() {
    local line step user status seconds told=''
    tr -d '\r' <"$log" >"$work/log"
    while read -r line; do
        verdict "${1##*/} $2" "could not be prepared: $line"
    done < <(sed -n 's/^@failed //p' "$work/log")
    while read -r line; do
        printf '%-28s skipped %s\n' "${1##*/} $2" "$line: this kernel has no such thing"
    done < <(sed -n 's/^@skipped //p' "$work/log")
    grep -qx '@done' "$work/log" || verdict "${1##*/} $2" "it did not get to its end: $(grep -v '^{' "$work/log" | tail -n 1)"
    while read -r _ step user status seconds; do
        sed -n "/^@begin $step $user$/,/^@end $step $user /p" "$work/log" | grep -v '^@' >"$work/step" || true
        told=$(wrongs "$step" "$user" "$status" "$3" "$4")
        verdict "${1##*/} $2 $step $user" "$told" "${seconds}s"
    done < <(grep '^@end ' "$work/log" || true)
}

# wrongs STEP USER STATUS EXPECTED STEPS: what is wrong with the step whose output is $work/step; nothing if nothing is.
wrongs() {
    local entry word words=()
    for entry in $5; do
        [[ ${entry%%:*} != "$1" || $entry != *=* ]] || IFS='&' read -r -a words <<<"${entry#*=}"
    done
    for word in "${words[@]}"; do
        grep -qF -- "$word" "$work/step" || echo "it does not print $word"
    done
    case $3 in
    124 | 137 | 143) echo "it did not end" ;;
    0) ;;
    *) [[ $1 == uring ]] || echo "status $3: $(grep -v '^{' "$work/step" | tail -n 2 | tr '\n' ' ')" ;;
    esac
    grep -m 1 'panicked at' "$work/step" || true
    if [[ $1 == machine ]]; then
        { grep '^{' "$work/step" || true; } | jq -r --arg expected "$4" '
            ([.machine.cpus_online, (.machine.topology | .sockets, .cores),
                (.map.numa_nodes | length | select(. > 0)) // null]
                | map(. // "-" | tostring) | join(" ")) as $told
            | ($expected | gsub("^ +| +$"; "")) as $expected
            | select($told != $expected) | "the machine is \($told), not \($expected)"'
    elif [[ $1 == answer || $1 == placement ]]; then
        { grep '^{"records' "$work/step" || true; } | jq -r '
            .figures[] | select(.outcome | IN("measured", "slope", "absent") | not)
            | select(.outcome == "failed" or .reason == null) | "\(.row), \(.column): \(.outcome) \(.reason)"'
    fi
}

main "$@"
