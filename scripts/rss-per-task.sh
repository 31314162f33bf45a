#!/usr/bin/env bash
# What one Tokio task adds to the resident memory of a process: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

# shellcheck disable=SC2034 # `sweep` reads them
{
    summary='How much memory a Tokio task takes'
    task=task
    programs=(async-brigade async-mem-brigade async-creation)
    alternative=async-mem-brigade
    from=1000 to=10000 step=500
    brigade_iters=10
}

sweep "$@"
