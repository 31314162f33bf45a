#!/usr/bin/env bash
# Fills the figures of documents from the records in results/: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
. "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

answer=results/xeon6-2vcpu-6.18/answer.jsonl
others=results/xeon6b-2vcpu-6.18

usage() {
    cat <<EOF
Usage: scripts/figures.sh [--check] [DOCUMENT...]

Puts figures into documents (default: README.md, docs/*.md and docs/findings/*.md). What stands between
    <!--= EXPRESSION -->  and  <!--/-->
is replaced by what the expression says of the records in results/: a jq expression with the functions of
scripts/lib/documents.jq, verdicts.jq, claims.jq and futex.jq. One that ends with a line break fills lines, any other a part of
its line. A verdict or a figure of a claim that is a text, and not computed from a record by a rule, is an error.

The answer and its picture in README.md are those of $answer. docs/machines.html,
the page of all answers in results/, is made with the documents by default.

    --check    change nothing; exit status 1 if a document differs
EOF
}

check=
documents=()
for argument in "$@"; do
    case $argument in
    -h | --help) usage && exit ;;
    --check) check=1 ;;
    -*) usage_error "there is no option $argument" ;;
    *) documents+=("$(realpath -- "$argument")") ;;
    esac
done
command -v jq >/dev/null || fail "there is no jq: install it"
cd "$root"
pages=
[ ${#documents[@]} -gt 0 ] || { documents=(README.md docs/*.md docs/findings/*.md) pages=1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cargo build --release --quiet --package switchcost

# The export of each file of records, by MACHINE/FILE; one of duels as JSON is taken as it is.
for file in results/*/*.jsonl; do
    name=${file#results/}
    if head -n 1 "$file" | jq -e .schema >/dev/null; then
        target/release/switchcost report "$file" --format json
    else
        jq -s . "$file"
    fi | jq --arg name "${name%.jsonl}" '{($name): .}'
done | jq -s add >"$scratch/records.json"

stale=()

# keep NEW OLD: puts a file in the place of another that differs; with --check, says so.
keep() {
    cmp -s "$1" "$2" && return
    stale+=("$2")
    if [ "$check" ]; then
        diff -u "$2" "$1" >&2 || true
    else
        cp "$1" "$2"
    fi
}

# plot PAGE NAME: the plot of a page, one of its file's.
plot() {
    target/release/switchcost report "$others/$1.jsonl" --svg "$scratch/$1" >/dev/null
    keep "$scratch/$1/$2.svg" "docs/findings/$1.svg"
}
plot cores hand-overs-per-second-and-cpu-by-pipes
plot waiting timers-of-a-runtime-set-and-cancelled-time-each
jq -L scripts/lib -r 'include "futex"; plot' "$scratch/records.json" >"$scratch/futex.svg"
keep "$scratch/futex.svg" docs/findings/futex.svg

marker='(<!--= *(?<expression>[^\0]*?)-->)(?<text>[^\0]*?)(?=<!--/-->)'
for document in "${documents[@]}"; do
    jq -Rrs --arg marker "$marker" --arg name "$document" '
        "include \"documents\"; include \"verdicts\"; include \"claims\"; import \"futex\" as futex; . as $all | [" +
        ([match($marker; "gs").captures[1].string
          | "($all | try (\(.)) catch error(\($name + ": " + . | tojson) + \": \" + (. | tostring)))"]
         | join(",\n")) + "]" ' "$document" >"$scratch/program.jq"
    jq -L scripts/lib --from-file "$scratch/program.jq" "$scratch/records.json" >"$scratch/values.json"
    jq -Rjs --arg marker "$marker" --slurpfile values "$scratch/values.json" '
        . as $text | [match($marker; "gs")] as $matches
        | reduce range(0; $matches | length) as $i ({at: 0, out: ""};
            $matches[$i] as $match
            | ($match.captures[0].string | endswith("\n-->")) as $lines
            | .out += $text[.at:$match.offset] + $match.captures[0].string
                + (if $lines then "\n" + $values[0][$i] + "\n" else $values[0][$i] end)
            | .at = $match.offset + $match.length)
        | .out + $text[.at:]' "$document" >"$scratch/filled"
    if [ "$(realpath -- "$document")" = "$root/README.md" ]; then
        mkdir -p "$scratch/docs"
        cp "$scratch/filled" "$scratch/README.md"
        target/release/switchcost report "$answer" --splice "$scratch/README.md"
        mv "$scratch/README.md" "$scratch/filled"
        keep "$scratch/docs/answer.svg" docs/answer.svg
    fi
    keep "$scratch/filled" "$document"
done
if [ "$pages" ]; then
    target/release/switchcost report results/*/answer.jsonl --html "$scratch/machines.html"
    keep "$scratch/machines.html" docs/machines.html
fi
if [ "$check" ] && [ ${#stale[@]} -gt 0 ]; then
    fail "figures differ from their records in ${stale[*]}: run scripts/figures.sh"
fi
