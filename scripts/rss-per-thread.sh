#!/usr/bin/env bash
# What one thread adds to the resident memory of a process: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/rss.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/rss.sh"

# shellcheck disable=SC2034 # `sweep` reads them
{
    task=thread
    programs=(thread-brigade thread-mem-brigade thread-creation)
    from=100 to=1000 step=100
}

sweep "$@"
