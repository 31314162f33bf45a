# shellcheck shell=bash
#
# What the scripts share. Each sources this file after `set -euo pipefail`.

me=${0##*/}
# shellcheck disable=SC2034 # those that source it read it
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)

say() {
    printf '%s: %s\n' "$me" "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

usage_error() {
    say "$* (see --help)"
    exit 2
}

# progress [TEXT]: replaces the line that tells what is going on, or clears it.
progress() {
    if [[ -t 2 ]]; then
        printf '\r\033[K%s' "$*" >&2
    fi
}
