#!/usr/bin/env bash
# A checkout against another revision, for continuous integration: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

usage() {
    cat <<HELP
Measure a checkout against another revision, as a step of a workflow

Usage: $me [--crate NAME=FOLDER] BASE [FLAGS...]

BASE is a revision of this repository; FLAGS are those of 'switchcost duel'. With --crate, what changed is a
dependency of these programs, such as tokio: FOLDER has its sources, and BASE is a revision of their repository.

The verdicts go to standard output, and to the file that GITHUB_STEP_SUMMARY names; so does what failed. The file
that GITHUB_OUTPUT names gets 'verdict' and 'records', a file in the repository's folder, if there is one. The verdict
is pass, regression, inconclusive, or error if nothing could be measured; ungated in the place of pass if the flags
have no --fail-above.

Exit status: 0 for pass, ungated and inconclusive, 1 for a regression, 2 for bad usage, any other for an error
HELP
}

crate=''
if [[ ${1:-} == --crate ]]; then
    [[ ${2:-} == ?*=?* ]] || usage_error "--crate takes NAME=FOLDER"
    crate=${2%%=*} folder=${2#*=}
    shift 2
fi
case ${1:-} in
-h | --help) usage && exit ;;
'' | -*) usage_error "name the revision to measure against" ;;
esac
base=$1
shift

# Builds and measures, and keeps the duel's status: no other status says anything about the change.
measure() (
    repository=$root
    [[ -z $crate ]] || repository=$(git -C "$folder" rev-parse --show-toplevel) ||
        fail "'$folder' is in no git repository"
    commit=$(git -C "$repository" rev-parse --verify --quiet --end-of-options "$base^{commit}") ||
        fail "$repository has no revision '$base': check it out with fetch-depth: 0, or name the crate of another repository"
    sides=("git:$base" .)
    if [[ $crate ]]; then
        folder=$(cd -- "$folder" && pwd -P)
        # At the same path each time: what is built of it is kept under its path.
        old=$(git -C "$repository" rev-parse --absolute-git-dir)/switchcost-base
        git -C "$repository" worktree remove --force "$old" 2>/dev/null || true
        git -C "$repository" worktree add --quiet --force --force --detach "$old" "$commit"
        trap 'git -C "$repository" worktree remove --force "$old"' EXIT
        sides=("$crate@path:$old${folder#"$repository"}" "$crate@path:$folder")
    fi
    (cd "$root" && cargo build --release --locked --quiet --package switchcost)
    cd "$repository"
    records=$repository/duel-$(date -u +%Y-%m-%dT%H-%M-%SZ).jsonl
    printf '%s\n' "$records" >"$scratch/records"
    status=0
    "$root/target/release/switchcost" duel "${sides[@]}" --out "$records" "$@" || status=$?
    printf '%s\n' "$status" >"$scratch/status"
)

scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
# No part of a condition: it ends at the first failure.
set +e
(set -e && measure "$@") 2>&1 >"$scratch/verdicts" | tee "$scratch/errors" >&2
set -e
cat "$scratch/verdicts"
status=125
[[ ! -f $scratch/status ]] || read -r status <"$scratch/status"
case $status in
0) verdict=pass ;;
1) verdict=regression ;;
# Nothing could be said. That is no fault of the change's.
3) verdict=inconclusive status=0 && echo '::warning::the duel was inconclusive' ;;
*) verdict=error ;;
esac
[[ $verdict != pass || " $*" == *' --fail-above'* ]] || verdict=ungated
shown=("$scratch/verdicts")
[[ $verdict != error ]] || shown+=("$scratch/errors")
[[ -z ${GITHUB_STEP_SUMMARY:-} ]] ||
    { printf '%s\n' "$verdict" '' '```' && tail -qn 200 "${shown[@]}" && echo '```'; } >>"$GITHUB_STEP_SUMMARY"
if [[ ${GITHUB_OUTPUT:-} ]]; then
    echo "verdict=$verdict" >>"$GITHUB_OUTPUT"
    [[ ! -f $scratch/records ]] || read -r records <"$scratch/records"
    [[ ! -f ${records:-} ]] || echo "records=$records" >>"$GITHUB_OUTPUT"
fi
exit "$status"
