#!/usr/bin/env bash
# What one Tokio task adds to the resident memory of a process: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/rss.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/rss.sh"

# shellcheck disable=SC2034 # `sweep` reads them
{
    task=task
    programs=(async-brigade async-mem-brigade async-creation)
    from=1000 to=10000 step=1000
}

sweep "$@"
