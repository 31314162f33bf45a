#!/usr/bin/env bash
# Fuzz targets of everything that parses: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

targets=(records plans flags contract kernels)

usage() {
    cat <<HELP
Search for an input that makes a parser panic, take much memory or lose what it printed

Runs the targets of the folder fuzz one after the other under libFuzzer. The first inputs are the
repository's own records, plans and fixtures; what is found on the way stays in fuzz/corpus.

Usage: $me [OPTIONS] [TARGET...]

Arguments:
  TARGET         ${targets[*]} [default: all]

Options:
  --seconds N    Time for each target [default: 120]
  -h, --help     Print help

It needs a C++ compiler and cargo-fuzz (cargo install cargo-fuzz); a stable toolchain does.

Exit status: 0 nothing was found, 1 an input was, in fuzz/artifacts, or it cannot run, 2 for bad usage
HELP
}

main() {
    local seconds=120 wanted=() target
    while (($#)); do
        case $1 in
        --seconds)
            [[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] || usage_error "--seconds takes a number from 1 to 999999"
            seconds=$2
            shift
            ;;
        -h | --help)
            usage
            exit 0
            ;;
        *)
            [[ " ${targets[*]} " == *" $1 "* ]] || usage_error "no target '$1': name ${targets[*]}"
            wanted+=("$1")
            ;;
        esac
        shift
    done
    ((${#wanted[@]})) || wanted=("${targets[@]}")
    cargo fuzz --version >/dev/null 2>&1 || fail "cargo-fuzz is not installed: cargo install cargo-fuzz"
    cd -- "$root"
    for target in "${wanted[@]}"; do
        seed "$target" "fuzz/corpus/$target"
        cargo fuzz run --sanitizer none --debug-assertions "$target" -- \
            -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1 ||
            fail "$target: the input is in fuzz/artifacts/$target"
    done
}

# seed TARGET FOLDER: the first inputs.
seed() {
    local file fixtures=switchcost/tests/fixtures number=0 line
    mkdir -p -- "$2"
    case $1 in
    records)
        for file in "$fixtures"/plan.jsonl results/*/*.jsonl; do
            ((number += 1))
            head -n 3 -- "$file" >"$2/seed-$number"
        done
        ;;
    plans) cp -- switchcost/plans/*.toml docs/findings/*.toml "$2" ;;
    kernels) cp -- "$fixtures"/{kernels,systems}/*.txt "$2" ;;
    *)
        # The words and lines of the tests.
        while read -r line; do
            ((number += 1))
            printf '%s' "$line" >"$2/seed-$number"
        done < <(grep -oE '"[^" ]+( [^"]*)?"|\{"at".*\}' switchcost/tests/properties/mod.rs | sed 's/^"\(.*\)"$/\1/')
        ;;
    esac
}

main "$@"
