#!/usr/bin/env bash
# A checkout against another revision, for continuous integration: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

usage() {
    cat <<HELP
Measure this checkout against another revision, as a step of a workflow

Usage: $me BASE [FLAGS...]

BASE is a revision of this repository; FLAGS are those of 'switchcost duel'.

The verdicts go to standard output, and to the file that GITHUB_STEP_SUMMARY names. The file that GITHUB_OUTPUT
names gets 'verdict' (pass, regression or inconclusive) and 'records', a file.

Exit status: 0 for pass and inconclusive, 1 for a regression or a failure, 2 for bad usage
HELP
}

case ${1:-} in
-h | --help) usage && exit ;;
'' | -*) usage_error "name the revision to measure against" ;;
esac
base=$1
shift
cd "$root"

cargo build --release --locked --quiet --package switchcost
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
records=duel-$(date -u +%Y-%m-%dT%H-%M-%SZ).jsonl
status=0
target/release/switchcost duel "git:$base" . --out "$records" "$@" >"$scratch/verdicts" || status=$?
cat "$scratch/verdicts"
case $status in
0) verdict=pass ;;
1) verdict=regression ;;
# Nothing could be said. That is no fault of the change's.
3) verdict=inconclusive status=0 && echo '::warning::the duel was inconclusive' ;;
*) exit "$status" ;;
esac
[[ -z ${GITHUB_STEP_SUMMARY:-} ]] ||
    { echo '```' && cat "$scratch/verdicts" && echo '```'; } >>"$GITHUB_STEP_SUMMARY"
[[ -z ${GITHUB_OUTPUT:-} ]] ||
    printf '%s\n' "verdict=$verdict" "records=$root/$records" >>"$GITHUB_OUTPUT"
exit "$status"
