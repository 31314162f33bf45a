#!/usr/bin/env bash
# The original programs (github.com/jimblandy/context-switch), at their own lock file, in turns with ours.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'TEXT'
Usage: scripts/original.sh [PAIRS]

Builds the original programs in target/original, runs each PAIRS times (7 unless given) in turns
with ours, and prints the median time of a hop or a creation, and the median ratio of the pairs.
Links are socket pairs, as in the original. It needs git, a network, cargo and taskset.
TEXT
}

case ${1:-7} in
-h | --help) usage && exit 0 ;;
*[!0-9]* | 0 | '') usage >&2 && exit 2 ;;
*) pairs=${1:-7} ;;
esac

theirs=target/original
[ -d "$theirs" ] || git clone -q https://github.com/jimblandy/context-switch "$theirs"
(cd "$theirs" && git checkout -q 692fcf0 && cargo build -q --release --locked)
cargo build -q --release --locked

# Nanoseconds of what a program prints in brackets, each task and iteration.
nanoseconds() {
    sed -nE 's/.*\(([0-9.]+)(ns|µs|ms) per task.*/\1 \2/p' |
        awk '{ print $1 * ($2 == "ms" ? 1e6 : $2 == "µs" ? 1e3 : 1) }' | head -n 1
}

# case NAME THEIRS... -- OURS...
case_of() {
    local name=$1 their=() our=() k figures=() a b
    shift
    while [ "$1" != -- ]; do their+=("$1") && shift; done
    shift
    our=("$@")
    for pin in '' 'taskset -c 0'; do
        figures=()
        for ((k = 0; k < pairs; k++)); do
            # Who begins changes from pair to pair.
            # shellcheck disable=SC2086 # $pin is words
            if ((k % 2)); then
                b=$($pin "$theirs/target/release/${their[0]}" "${their[@]:1}" 2>&1 | nanoseconds)
                a=$($pin "target/release/${our[0]}" "${our[@]:1}" 2>&1 | nanoseconds)
            else
                a=$($pin "target/release/${our[0]}" "${our[@]:1}" 2>&1 | nanoseconds)
                b=$($pin "$theirs/target/release/${their[0]}" "${their[@]:1}" 2>&1 | nanoseconds)
            fi
            figures+=("{\"ours\":$a,\"theirs\":$b}")
        done
        printf '%s\n' "${figures[@]}" | jq -rs --arg name "$name" --arg pin "${pin:-unpinned}" '
            def median: sort | .[(length - 1) / 2 | floor];
            map(.ours / .theirs) as $ratios | def two: . * 100 | round / 100;
            "| \($name) | \(if $pin == "unpinned" then $pin else "one CPU" end) | \(map(.theirs) | median | round) ns | \(map(.ours) | median | round) ns | \($ratios | median | two) (\($ratios | min | two) to \($ratios | max | two)) |"'
    done
}

printf '| program | | original | here | here / original (range of %s pairs) |\n| --- | --- | ---: | ---: | --- |\n' "$pairs"
links=(--transport socketpair)
case_of thread-brigade thread-brigade --iters 300 --warmups 30 -- thread-brigade "${links[@]}" --iters 300 --warmup 30
case_of async-brigade async-brigade --iters 1000 --warmups 100 -- async-brigade "${links[@]}" --iters 1000 --warmup 100
case_of one-thread-brigade one-thread-brigade -- one-thread-brigade "${links[@]}" --iters 10000 --warmup 5
case_of async-mem-brigade async-mem-brigade -- async-mem-brigade --iters 10000 --warmup 5
case_of thread-creation thread-creation --iters 20 --warmups 3 -- thread-creation --iters 20 --warmup 3
case_of async-creation async-creation -- async-creation --iters 100 --warmup 10
