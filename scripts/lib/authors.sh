# shellcheck shell=bash
#
# Parts of beside.sh: programs of four authors in turns with ours. Each run of a program is a JSON line, with the number
# of the run. Three of the authors show their programs on a page only; a checksum tells whether it is still the same.
# shellcheck source-path=SCRIPTDIR source=common.sh

pairs=${PAIRS:-9}

# code PAGE URL FIRST BLOCKS CHECKSUM: a program that stands on a page, from the line that begins with FIRST to the end
# of so many blocks of it: these end with a brace at the start of a line. A page in target/pages is not fetched.
code() {
    local page=target/pages/$1 text sum
    mkdir -p target/pages
    [ -s "$page" ] || curl --silent --show-error --fail --location --output "$page" "$2" || fail "cannot fetch $2"
    text=$(
        if head -c 512 "$page" | grep -qi '<html\|<!doctype'; then
            sed -E "s/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&quot;/\"/g; s/&#(39|039|x27);/'/g; s/&amp;/\&/g" "$page"
        else
            cat "$page"
        fi | awk -v first="$3" -v blocks="$4" '
            index($0, first) == 1 { is_code = 1 }
            is_code { print }
            is_code && /^}/ && --blocks == 0 { exit }'
    )
    sum=$(tr -d '[:space:]' <<<"$text" | sha256sum | cut -c 1-16)
    [ "$sum" = "$5" ] || fail "$2 has no such program any more: its checksum is $sum instead of $5"
    printf '%s\n' "$text"
}

# rust NAME EDITION DEPENDENCY...: builds the program on standard input in target/authors/NAME.
rust() {
    local folder=target/authors/$1
    mkdir -p "$folder/src"
    cat >"$folder/src/main.rs"
    {
        printf '[package]\nname = "%s"\nedition = "%s"\n[workspace]\n[dependencies]\n' "$1" "$2"
        printf '%s\n' "${@:3}"
    } >"$folder/Cargo.toml"
    cargo build --quiet --release --manifest-path "$folder/Cargo.toml" --target-dir target/authors/build 2>/dev/null ||
        fail "cannot build $folder"
}

# go_program NAME: the same in Go.
go_program() {
    mkdir -p "target/authors/$1"
    cat >"target/authors/$1/main.go"
    go build -o "target/authors/build/release/$1" "target/authors/$1/main.go" || fail "cannot build target/authors/$1"
}

# turns RUNS CALL...: each call prints its lines once in each of so many runs; who begins changes.
turns() {
    local runs=$1 calls=("${@:2}") run k
    for ((run = 0; run < runs; run++)); do
        for ((k = 0; k < ${#calls[@]}; k++)); do
            progress "run $((run + 1)) of $runs: ${calls[(run + k) % ${#calls[@]}]}"
            eval "${calls[(run + k) % ${#calls[@]}]}"
        done
    done
    progress
}

# A line of a run: NAME, and then pairs of a field and its value.
line() {
    local name=$1 text
    text=$(printf ',"%s":%s' "${@:2}")
    [[ $text =~ :(,|$) ]] && fail "$name has not said its time"
    printf '{"run":%d,"name":"%s"%s}\n' "$run" "$name" "$text"
}

# usage_of NAME COMMAND...: elapsed time, CPU time and peak memory.
usage_of() {
    local words
    words=$(/usr/bin/time -f '%e %U %S %M' "${@:2}" 2>&1 >/dev/null | tail -n 1) || fail "$1 has failed"
    # shellcheck disable=SC2046 # words
    line "$1" $(awk '{ print "ns", $1 * 1e9, "user_ns", $2 * 1e9, "system_ns", $3 * 1e9, "peak_bytes", $4 * 1024 }' <<<"$words")
}

# What a program prints of its 2,000,000 messages, or round trips, and how often its threads waited, for each.
messages() {
    local words
    words=$(/usr/bin/time -f '%w' "${@:2}" 2>&1 | sed -nE 's/^2000000 iterations took ([0-9]+) ns.*/\1/p; /^[0-9]+$/p')
    # shellcheck disable=SC2046 # words
    line "$1" $(awk 'NR == 1 { ns = $1 } END { print "ns", ns / 2e6, "waits", $1 / 2e6 }' <<<"$words")
}

# What ours print of a message, or of a batch.
each() { line "$1" ns "$(per_task "${@:2}")"; }
batch() { line "$1" ns "$("${@:2}" | sed -nE 's/^mean ([0-9.]+)(ns|µs|ms|s) .*/\1 \2/p' | to_ns)"; }

# ran NAME COMMAND...: the mean sample of a program that only follows docs/CONTRACT.md.
ran() {
    line "$1" ns "$(printf 'run 10000\nend\n' | "${@:2}" --controlled | sed -n 's/.*"samples_ns":\[\([^]]*\).*/\1/p' | tr , '\n' |
        awk '{ sum += $1 } END { if (NR) print sum / NR }')"
}

theirs_built=target/authors/build/release

zderadicka() {
    local url=http://zderadicka.eu/lightweight-tasks-switch-in-go-vs-rust/ rust go crates=('tokio = "=0.1.22"' 'futures = "=0.1.31"')
    command -v go >/dev/null || { say 'zderadicka is skipped: there is no go' && return; }
    rust=$(code zderadicka "$url" 'use tokio::prelude' 1 9d66b8cf0932ad05)
    go=$(code zderadicka "$url" 'package main' 2 39848c6717769e69)
    # What he says that he changed.
    local pool='s/current_thread:://' buffer='s/BUF_SIZE: usize = 0/BUF_SIZE: usize = 4096/'
    rust zderadicka-one-0 2018 "${crates[@]}" <<<"$rust"
    sed "$pool" <<<"$rust" | rust zderadicka-pool-0 2018 "${crates[@]}"
    sed "$buffer" <<<"$rust" | rust zderadicka-one-4096 2018 "${crates[@]}"
    sed "$pool; $buffer" <<<"$rust" | rust zderadicka-pool-4096 2018 "${crates[@]}"
    go_program zderadicka-go-0 <<<"$go"
    go_program zderadicka-go-4096 <<<"${go/make(chan string)/make(chan string, 4096)}"
    (cd peers/go && go build -o ../../target/authors/build/release/ ./goroutine-mem-brigade)
    cargo build --quiet --release --locked --package stream
    local calls=() places stream
    for places in 0 4096; do
        calls+=("messages 'Zderadička, Go, $places' $theirs_built/zderadicka-go-$places")
        calls+=("ran 'ours, Go, $places' $theirs_built/goroutine-mem-brigade --tasks 1 --capacity $places")
        calls+=("messages 'Zderadička, Rust, one thread, $places' $theirs_built/zderadicka-one-$places")
        calls+=("messages 'Zderadička, Rust, pool, $places' $theirs_built/zderadicka-pool-$places")
        calls+=("messages 'Zderadička, Rust, pool on one CPU, $places' taskset -c 0 $theirs_built/zderadicka-pool-$places")
        stream="target/release/stream --on tokio --repeater --capacity $((places ? places : 1))"
        calls+=("each 'ours, Rust, one thread, $places' $stream --flavor current-thread")
        calls+=("each 'ours, Rust, pool, $places' $stream --flavor multi-thread")
        calls+=("each 'ours, Rust, pool on one CPU, $places' taskset -c 0 $stream --flavor multi-thread --workers 2")
    done
    turns "$pairs" "${calls[@]}"
}

# benches NAME FOLDER FEATURES [FILTER]: what each benchmark prints, which takes a nightly compiler, or this variable.
benches() {
    local printed name ns
    printed=$(RUSTC_BOOTSTRAP=1 cargo bench --quiet --manifest-path "$2/Cargo.toml" --target-dir "$2/target-$3" \
        --features "$3" --bench dispatch -- "${@:4}" 2>/dev/null |
        sed -nE 's/^test ([a-z_]+) .* bench: *([0-9.,]+) ns.iter .*/\1 \2/p' | tr -d ,) || fail "$2 does not run"
    while read -r name ns; do
        line "$1, $name" ns "$ns"
    done <<<"$printed"
}

kellum() {
    local version checksum folder=target/authors/blocking-permit strategy operation flags calls=()
    mkdir -p target/authors
    while read -r version checksum; do
        [ -d "$folder-$version" ] && continue
        curl --silent --show-error --fail --output "$folder.crate" \
            "https://static.crates.io/crates/blocking-permit/blocking-permit-$version.crate"
        sha256sum --check --quiet <<<"$checksum  $folder.crate"
        tar -xzf "$folder.crate" -C target/authors
        printf '\n[workspace]\n' >>"$folder-$version/Cargo.toml"
        cargo update --quiet --manifest-path "$folder-$version/Cargo.toml" -p tokio --precise 0.2.8
    done <<'CRATES'
1.0.0 55a667644ea87cb5b643ce2776c992be7d770911e6210904b55c4893d49e8795
0.1.0 fa38ef762a8728fc646719bfacd158f9cd2f44a6c8a6f4a0e09a92020195b77b
CRATES
    cargo build --quiet --release --locked --package blocking-strategies
    # The older one has other work in its benchmarks.
    cp "$folder-1.0.0/benches/dispatch.rs" "$folder-0.1.0/benches/"
    calls=(
        "benches Kellum $folder-1.0.0 tokio-omnibus"
        "benches 'Kellum, futures-intrusive' $folder-1.0.0 futures-intrusive,tokio-threaded permit"
        "benches 'Kellum, crossbeam' $folder-0.1.0 tokio-omnibus dispatch_rx"
    )
    for operation in noop expensive sleep; do
        for strategy in direct permit dispatch spawn-blocking; do
            flags="--driver block-on --operation $operation --strategy $strategy"
            case $operation:$strategy in
            sleep:permit) flags+=' --pool 84 --workers 44 --permits 40' ;;
            *:permit) flags+=' --pool 12 --workers 8 --permits 4' ;;
            esac
            [ "$operation" != sleep ] || flags+=' --tasks 200'
            calls+=("batch 'ours, $operation, $strategy' target/release/blocking-strategies $flags")
        done
    done
    turns "$pairs" "${calls[@]}"
}

manforowicz() {
    local url=https://manforowicz.github.io/intro_to_rust_async/overhead_experiment threads tasks tokio
    threads=$(code manforowicz "$url" 'const NUM_THREADS' 2 473c7270e6a75a5a)
    tasks=$(code manforowicz "$url" 'const NUM_TASKS' 2 8e7768a9a1ed2559)
    tokio=$(sed -n '/^name = "tokio"$/{n;s/^version = //p}' Cargo.lock)
    cargo build --quiet --release --locked --package sleepers
    rust manforowicz-threads 2021 <<<"$threads"
    rust manforowicz-tasks 2021 "tokio = { version = $tokio, features = [\"full\"] }" <<<"$tasks"
    turns "$pairs" \
        "usage_of 'manforowicz, 10,000 threads' $theirs_built/manforowicz-threads" \
        "usage_of 'ours, 10,000 threads' target/release/sleepers --iters 1 --warmup 0 --stack-size 2MiB" \
        "usage_of 'manforowicz, 10,000 tasks' $theirs_built/manforowicz-tasks" \
        "usage_of 'ours, 10,000 tasks' target/release/sleepers --iters 1 --warmup 0 --on tokio"
}

hansen() {
    local url=https://shane.ai/posts/threads-and-goroutines/ threads goroutines
    [ "$(cat /proc/sys/vm/max_map_count)" -ge 4000000 ] ||
        { say 'hansen is skipped: it takes a vm.max_map_count of 4000000 (sysctl -w)' && return; }
    command -v go >/dev/null || { say 'hansen is skipped: there is no go' && return; }
    threads=$(code hansen "$url" 'use std::thread;' 1 c15cfc2fda702638)
    goroutines=$(code hansen "$url" 'package main' 1 2ea0911f0f2c40a4)
    cargo build --quiet --release --locked --package sleepers
    rust hansen-threads 2021 <<<"$threads"
    go_program hansen-goroutines <<<"$goroutines"
    (cd peers/go && go build -o ../../target/authors/build/release/ ./goroutine-sleepers)
    # Minutes each.
    turns $((pairs < 5 ? pairs : 5)) \
        "usage_of 'Hansen, a million goroutines' $theirs_built/hansen-goroutines" \
        "usage_of 'ours, a million goroutines' sh -c 'echo run 1 | $theirs_built/goroutine-sleepers --controlled --tasks 1000000 --warmup 0'" \
        "usage_of 'Hansen, a million threads' $theirs_built/hansen-threads" \
        "usage_of 'ours, a million threads' target/release/sleepers --tasks 1000000 --iters 1 --warmup 0 --stack-size 2MiB"
}
