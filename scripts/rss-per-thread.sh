#!/usr/bin/env bash
# What one thread adds to the resident memory of a process: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

# shellcheck disable=SC2034 # `sweep` reads them
{
    summary='How much memory a thread takes'
    task=thread
    programs=(thread-brigade thread-mem-brigade thread-creation)
    alternative=thread-mem-brigade
    from=100 to=1000 step=50
    brigade_iters=1000
}

sweep "$@"
