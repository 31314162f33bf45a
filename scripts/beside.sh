#!/usr/bin/env bash
# Programs of others beside ours, as JSON lines: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/authors.sh
. "$root/scripts/lib/authors.sh"

usage() {
    cat <<'TEXT'
Usage: scripts/beside.sh [PART...]

Prints a JSON line for the run, and one for each thing that it compares. Parts (all of them by default):
    alone      what README's commands print
    original   the programs of github.com/jimblandy/context-switch, at their own lock file, in turns with ours
    zderadicka, kellum, manforowicz, hansen
               the programs of the other authors of docs/CLAIMS.md, in turns with ours
    tools      perf bench sched pipe, will-it-scale's context_switch1 and stress-ng's --switch, in turns with ours
    calls      system calls of our chains, and of theirs over channels with Tokio 0.2.19
    memory     resident sets of their async-brigade with versions of Tokio, at nine counts of tasks
    futex      benches/futex-table.c, and the probe for a lost waiter
    labs       cyclictest, perf bench futex wake and benches/labs.c, in turns with the programs that ask the same
    runner     our programs by themselves, in turns with the same programs under the runner

It needs git, curl, a network, cargo and taskset; perf, stress-ng, make and libhwloc-dev for the tools; strace for
the calls; cc for futex; cc, perf and rt-tests for labs; Go for zderadicka and hansen; GNU time for these and manforowicz; for hansen, a
vm.max_map_count of 4000000. Their sources go to target/. PAIRS=N sets the number of runs of each (default: 9; at most
5 of a million threads).
TEXT
}

parts=()
for argument in "$@"; do
    case $argument in
    -h | --help) usage && exit ;;
    alone | original | zderadicka | kellum | manforowicz | hansen | tools | calls | memory | futex | labs | runner) parts+=("$argument") ;;
    *) usage_error "there is no part $argument" ;;
    esac
done
[[ $pairs =~ ^[1-9][0-9]*$ ]] || usage_error "PAIRS=$pairs: a number from 1"
[ ${#parts[@]} -gt 0 ] || parts=(alone original zderadicka kellum manforowicz hansen tools calls memory futex labs runner)
cd "$root"
cargo build --quiet --release --locked

theirs=target/original

# checkout URL FOLDER REVISION
checkout() {
    [ -d "$2" ] || git clone --quiet "$1" "$2"
    git -C "$2" checkout --quiet --force "$3"
}

# their_programs REVISION: builds them at their lock file.
their_programs() {
    checkout https://github.com/jimblandy/context-switch "$theirs" "$1"
    (cd "$theirs" && cargo build --quiet --release --locked 2>/dev/null) || fail "cannot build $theirs at $1"
}

# What a brigade prints of a task and iteration, in ns.
per_task() {
    "$@" 2>&1 | sed -nE 's/.*\(([0-9.]+)(ns|µs|ms) per task.*/\1 \2/p' | head -n 1 | to_ns
}

# to_ns: lines of a number and its unit, in ns.
to_ns() { awk '{ print $1 * ($2 == "s" ? 1e9 : $2 == "ms" ? 1e6 : $2 == "µs" ? 1e3 : 1) }'; }

# What the tools print of a round trip, in ns; of stress-ng, of a write.
perf_pipe() { taskset -c 0 perf bench sched pipe -l 200000 2>&1 | awk '/usecs\/op/ { print $1 * 1000 }'; }
will_it_scale() {
    # It counts a write and a read; the processes of a pair are one task.
    taskset -c 0 target/will-it-scale/context_switch1_processes -n -t 1 -s 2 2>/dev/null |
        sed -n 's/^average://p' | awk '{ print 2e9 / $1 }'
}
stress_ng() {
    taskset -c 0 stress-ng --switch 1 --switch-method pipe --timeout 2 --metrics 2>&1 |
        awk '/nanosecs per context switch/ { for (k = 1; k < NF; k++) if ($(k + 1) == "nanosecs") print $k }'
}
round_trip() { per_task taskset -c 0 target/release/process-brigade --tasks 1 --iters 200000; }

# list WORD...: with commas between.
list() {
    local IFS=,
    printf '%s' "$*"
}

# pairs_of NAME PLACEMENT THEIRS OURS: two commands that print a time, each in one word, in turns.
pairs_of() {
    local theirs_ns=() ours_ns=() k a b
    for ((k = 0; k < pairs; k++)); do
        progress "$1, $2: $((k + 1)) of $pairs"
        # Who begins changes from pair to pair.
        if ((k % 2)); then
            b=$($3)
            a=$($4)
        else
            a=$($4)
            b=$($3)
        fi
        if [ -z "$a" ] || [ -z "$b" ]; then fail "$1, $2: no time in what was printed"; fi
        theirs_ns+=("$b")
        ours_ns+=("$a")
    done
    progress
    printf '{"name":"%s","placement":"%s","theirs_ns":[%s],"ours_ns":[%s]}\n' "$1" "$2" "$(list "${theirs_ns[@]}")" "$(list "${ours_ns[@]}")"
}

# beside_original PROGRAM THEIR-FLAGS OUR-FLAGS
beside_original() {
    local pin
    for pin in '' 'taskset -c 0'; do
        pairs_of "$1" "${pin:+one CPU}" \
            "per_task $pin $theirs/target/release/$1 $2" "per_task $pin target/release/$1 $3"
    done
}

# printed NAME LINES: those of standard input, as one string.
printed() { printf '{"name":"%s","output":"%s"}\n' "$1" "$(sed -n "$2" | sed -z 's/\n$//; s/\n/\\n/g')"; }

alone() {
    target/release/thread-brigade | printed thread-brigade 1,2p
    scripts/rss-per-thread.sh | printed rss-per-thread.sh '/bytes per/p'
    scripts/rss-per-task.sh | printed rss-per-task.sh '/bytes per/p'
}

original() {
    their_programs 692fcf0
    local link='--transport socketpair'
    beside_original thread-brigade '--iters 300 --warmups 30' "$link --iters 300 --warmup 30"
    beside_original async-brigade '--iters 1000 --warmups 100' "$link --iters 1000 --warmup 100"
    beside_original one-thread-brigade '' "$link --iters 10000 --warmup 5"
    beside_original async-mem-brigade '' '--iters 10000 --warmup 5'
    beside_original thread-creation '--iters 20 --warmups 3' '--iters 20 --warmup 3'
    beside_original async-creation '' '--iters 100 --warmup 10'
}

tools() {
    cargo build --quiet --release --locked --package process-brigade
    checkout https://github.com/antonblanchard/will-it-scale target/will-it-scale 75f66e4
    make --silent -C target/will-it-scale context_switch1_processes >/dev/null
    pairs_of 'perf bench sched pipe' 'one CPU' perf_pipe round_trip
    pairs_of 'will-it-scale context_switch1' 'one CPU' will_it_scale round_trip
    pairs_of 'stress-ng --switch' 'one CPU' stress_ng round_trip
}

# calls_of NAME HOPS COMMAND...: system calls of a run, by strace.
calls_of() {
    strace -f -c -e trace=read,write,recvfrom,sendto,epoll_wait,futex "${@:3}" 2>&1 >/dev/null |
        awk -v name="$1" -v hops="$2" '
            $1 ~ /^[0-9.]+$/ && $NF != "total" { calls = calls (calls == "" ? "" : ",") "\"" $NF "\":" $4 }
            END {
                if (calls == "") { print "strace counted nothing" >"/dev/stderr"; exit 1 }
                printf "{\"name\":\"%s\",\"hops\":%d,\"calls\":{%s}}\n", name, hops, calls
            }'
}

calls() {
    local few='--tasks 50 --iters 100 --warmup 0' chain=(target/release/async-mem-brigade --tasks 500 --iters 1000 --warmup 0)
    # shellcheck disable=SC2086 # $few is words
    calls_of 'thread over pipes' 5100 target/release/thread-brigade $few
    # shellcheck disable=SC2086
    calls_of 'task over pipes' 5100 target/release/async-brigade $few
    calls_of 'task over channels, one thread' 501000 "${chain[@]}"
    calls_of 'task over channels, several threads' 501000 "${chain[@]}" --flavor multi-thread
    their_programs 4a1046c
    calls_of 'original, Tokio 0.2.19, one thread' 5012505 "$theirs/target/release/async-mem-brigade"
}

memory() {
    local version n rss resident
    checkout https://github.com/jimblandy/context-switch "$theirs" 692fcf0
    for version in 1.19.2 1.28.2 1.29.1 1.31.0 1.32.1 1.38.2 1.54.1; do
        (cd "$theirs" && cargo update --quiet -p tokio --precise "$version" && cargo build --quiet --release -p async-brigade 2>/dev/null) ||
            fail "cannot build the original with Tokio $version"
        resident=()
        for n in 1000 2000 3000 4000 5000 6000 7000 8000 9000; do
            progress "Tokio $version: $n tasks"
            # shellcheck disable=SC2016 # the program replaces {pid}
            rss=$("$theirs/target/release/async-brigade" --quiet --iters 10 --threads "$n" \
                --command 'grep ^Rss /proc/{pid}/smaps_rollup' | tr -dc 0-9)
            resident+=("[$n,$((rss * 1024))]")
        done
        progress
        printf '{"tokio":"%s","resident_bytes":[%s]}\n' "$version" "$(list "${resident[@]}")"
    done
}

# Columns are counts of sleepers, lines are tables: a JSON line for each cell, with its time in each run.
futex() {
    local k
    cc -O2 -pthread -o target/futex-table benches/futex-table.c -lm
    for ((k = 0; k < pairs; k++)); do
        progress "futex-table.c: $((k + 1)) of $pairs"
        target/futex-table
    done | awk '/^ns to wake/ { kind = $4 == "nobody" ? "nobody" : "thread" } /^ *slots/ { split($0, sleepers) }
        /^ *[0-9]+\*? +[0-9]+ +[0-9]+ / {
            for (k = 2; k <= NF; k++) {
                cell = "\"kind\":\"" kind "\",\"table\":\"" $1 "\",\"sleepers\":" sleepers[k]
                if (cell in ns) ns[cell] = ns[cell] "," $k
                else ns[cell] = $k
            }
        }
        END { for (cell in ns) printf "{\"name\":\"futex-table.c\",%s,\"ns\":[%s]}\n", cell, ns[cell] }' | sort
    progress
    { cargo run --quiet --release --locked -p futex-table --example lost-waiter || true; } |
        sed 's/["\\]/\\&/g; s/.*/{"name":"lost-waiter","output":"&"}/'
}

# A time or a size that a program prints in a line, in ns or bytes: said NAME WORD PROGRAM...
said() {
    "${@:3}" | sed -nE "s/^$1 .*$2 +([0-9.]+)(ns|µs|ms)?.*/\1 \2/p" | to_ns
}
in_c() { target/beside-labs "${@:2}" | sed -nE "s/.*\"$1\":([0-9]+).*/\1/p"; }
cyclic() { cyclictest -q --policy other -i 1000 -l 500 | sed -nE 's/.*Avg: *([0-9]+).*/\1 µs/p' | to_ns; }
perf_wake() { perf bench futex wake -t 1000 -w 1000 2>/dev/null | sed -nE 's/^Wokeup .* in ([0-9.]+) ms.*/\1 ms/p' | to_ns; }

labs() {
    local slept
    cargo build --quiet --release --locked --package timer-lateness --package fan-out --package wake-latency --package burst
    cc -O2 -pthread -o target/beside-labs benches/labs.c
    pairs_of 'cyclictest' 'one timer of 1 ms' cyclic \
        'said late mean target/release/timer-lateness --on sleep-slack-1ns --sleep 1ms --iters 500'
    pairs_of 'perf bench futex wake' '1,000 threads' perf_wake \
        'said sender mean target/release/fan-out --on futex --tasks 1000 --iters 10'
    for slept in 10 1000 10000; do
        pairs_of 'labs.c wake' "$slept µs" "in_c wake_ns wake $slept" \
            "said iteration p50 target/release/wake-latency --slept ${slept}us --iters 301"
    done
    pairs_of 'labs.c burst' 'held' 'in_c held_bytes burst 100000' \
        'said first bytes target/release/burst --tasks 100000 --workers 1 --iters 1'
}

# Programs and flags, untimed iterations, and timed ones by themselves: about half a second, and under the runner a
# quarter of that.
steady='thread-brigade,5,120
async-brigade,10,400
one-thread-brigade,30,2500
async-mem-brigade,400,6000
thread-mem-brigade,5,120
thread-creation,1,12
async-creation,50,1500
arrivals --on thread --rate 1000,3,20
arrivals --on thread --rate 5000,3,20
arrivals --on thread --rate 20000,3,20
arrivals --on tokio --rate 1000,3,20
arrivals --on tokio --rate 5000,3,20
arrivals --on tokio --rate 20000,3,20'

# steady_row NAME PROGRAM WARMUP ITERS KEYS: a section of a plan with one row, which may have further keys.
steady_row() {
    local metric=iteration
    case $2 in arrivals*) metric=request ;; esac
    printf '[[section]]\ntitle = "%s"\nmetric = "%s"\nprogram = "%s"\nwarmup = %d\niters = %d\n' "$1" "$metric" \
        "${2%% *}" "$3" "$4"
    printf 'row = [{ name = "p", flags = [%s]%s }]\n' "$(sed -E 's/^[^ ]+ ?//; s/[^ ]+/"&"/g; s/ /, /g' <<<"$2")" "$5"
}

# The median iteration of a program in ns: under the runner, where it takes turns with a walk through 4 MiB, and alone.
under_runner() {
    local folder=target/beside-runner
    rm -rf "$folder"
    mkdir "$folder"
    {
        echo 'rounds = 1'
        steady_row timed "$program" "$warmup" $((iters / 4)) "${pin:+, pin = true}"
        steady_row other 'everyday-work --work walk --tasks 65536' 5 100 ''
    } >"$folder/plan.toml"
    # Its progress would hide ours.
    target/release/switchcost run --plan "$folder/plan.toml" --out "$folder/records" >/dev/null 2>"$folder/errors" ||
        fail "the runner has measured nothing: $(cat "$folder/errors")"
    sed -nE 's/^\{"kind":"trial",.*"row":0,.*"samples":\{[^}]*"p50":([0-9]+).*/\1/p' "$folder/records"
}
by_itself() {
    # shellcheck disable=SC2086 # $pin and $program are words
    $pin target/release/$program --warmup "$warmup" --iters "$iters" |
        sed -nE 's/^(iteration|request) .*p50 ([0-9.]+)(ns|µs|ms|s),.*/\2 \3/p' | to_ns
}

runner() {
    local program warmup iters pin
    # Alternating within seconds: on a busy host, everything is slower for some of them.
    while IFS=, read -r program warmup iters; do
        for pin in '' 'taskset -c 0'; do
            pairs_of "runner: $program" "${pin:+one CPU}" by_itself under_runner </dev/null
        done
    done <<<"$steady"
}

printf '{"kind":"run","cpu":"%s","kernel":"%s","revision":"%s","started":"%s"}\n' \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(uname -r)" "$(git rev-parse HEAD)" "$(date -u +%FT%TZ)"
for part in "${parts[@]}"; do
    "$part"
done
