# shellcheck shell=bash
#
# What the scripts share: finding the programs, and the sweep that both rss scripts are.
# Each script sources this file after `set -euo pipefail`.

me=${0##*/}
root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../.." && pwd -P)

# ---- errors and numbers

say() {
    printf '%s: %s\n' "$me" "$*" >&2
}

fail() {
    say "$@"
    exit 1
}

usage_error() {
    say "$@"
    printf "For more information, try '--help'.\n" >&2
    exit 2
}

# whole_number NAME TEXT: nine digits at most, which keeps shell arithmetic far from overflow. A
# leading zero would make it octal there.
whole_number() {
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] ||
        usage_error "$1 takes a whole number from 1 to 999999999, not '$2'"
}

# ---- programs

# find_programs NAME...: brings the programs up to date and sets `bin`, the folder they are in.
find_programs() {
    local name built arguments=()
    if [[ -n ${SWITCHCOST_BIN_DIR:-} ]]; then
        bin=$SWITCHCOST_BIN_DIR
    else
        command -v cargo >/dev/null ||
            fail "cargo is not installed: get Rust from https://rustup.rs, or name a folder of built programs in SWITCHCOST_BIN_DIR"
        for name; do
            arguments+=(-p "$name")
        done
        progress "building $* ..."
        # Cargo itself names each executable: CARGO_TARGET_DIR, a config file or a build target
        # may have moved it.
        built=$(cargo build --release --quiet --locked --manifest-path "$root/Cargo.toml" \
            --message-format json-render-diagnostics "${arguments[@]}" |
            sed -n 's/.*"executable":"\([^"]*\)".*/\1/p') || exit
        progress
        built=${built%%$'\n'*}
        bin=${built%/*}
    fi
    for name; do
        [[ -x $bin/$name ]] || fail "there is no program '$name' in '$bin'"
    done
}

programs_help() {
    cat <<'HELP'
Environment:
  SWITCHCOST_BIN_DIR  Use the programs in this folder instead of building them
HELP
}

# ---- the sweep

# progress [TEXT]: replaces the line that tells what is going on, or clears it.
progress() {
    if [[ -t 2 ]]; then
        printf '\r\033[K%s' "$*" >&2
    fi
}

# What an rss script sets before it calls `sweep`.
summary=''            # what the script tells, for --help
task=''               # thread or task
programs=()           # the names that --program takes, the default first
alternative=''        # one of them that needs no descriptors
from='' to='' step='' # the default range
brigade_iters=''      # the default of --iters for a brigade

# An iteration of a creation program creates every task anew: few are enough.
creation_iters=10

# sweep ARGUMENTS...: the whole of an rss script.
sweep() {
    local count
    sweep_arguments "$@"
    require_pmap
    child='' pages=$(mktemp)
    trap 'rm -f -- "$pages"' EXIT
    trap 'interrupted HUP 129' HUP
    trap 'interrupted INT 130' INT
    trap 'interrupted TERM 143' TERM

    find_programs "$program" switchcost
    fit_range
    # Short enough to stand above their columns where a tab is eight wide.
    table=$'#count\tvm_KiB\trss_KiB'
    printf '%s\n' "$table"
    for ((count = from; count <= to; count += step)); do
        measure "$count"
    done
    progress
    print_fit
}

sweep_help() {
    local names
    names=$(printf ', %s' "${programs[@]}")
    cat <<HELP
$summary

Runs a program at growing counts, each with 'pmap -x' while every $task is alive, and fits a
straight line: its slope is what one more $task adds to the resident memory of the process.
Memory of the kernel (its stacks, descriptors, buffers and page tables) is not in it.

Prints tab-separated values: count, virtual KiB, resident KiB. Every other line begins with #.

Usage: $me [OPTIONS] [-- FLAGS]

Arguments:
  FLAGS             Passed on to the program

Options:
  --from N          The smallest count [default: $from]
  --to N            The largest count [default: $to, or as far as the limits of this system allow]
  --step N          From one count to the next [default: $step]
  --iters N         Iterations before the memory is read
                    [default: $brigade_iters; for a creation program $creation_iters]
  --program NAME    One of ${names:2}
                    [default: ${programs[0]}]
  -h, --help        Print help

HELP
    programs_help
}

sweep_arguments() {
    local flag value default_to=$to
    program=${programs[0]} iters='' flags=() to=''
    while (($#)); do
        flag=$1
        case $flag in
        --)
            flags=("${@:2}")
            # It would send the output of pmap elsewhere.
            [[ " ${flags[*]}" != *' --format'* ]] ||
                usage_error "--format has no place after --: the program prints no result here"
            break
            ;;
        -h | --help)
            to=$default_to
            sweep_help
            exit 0
            ;;
        --from=* | --to=* | --step=* | --iters=* | --program=*)
            set -- "${flag%%=*}" "${flag#*=}" "${@:2}"
            continue
            ;;
        --from | --to | --step | --iters | --program)
            (($# > 1)) || usage_error "$flag takes a value"
            value=$2
            shift 2
            ;;
        *)
            usage_error "unknown argument '$flag' (flags for the program come after --)"
            ;;
        esac
        [[ $flag == --program ]] || whole_number "$flag" "$value"
        # --from names the variable `from`, and so on.
        printf -v "${flag#--}" '%s' "$value"
    done

    [[ " ${programs[*]} " == *" $program "* ]] ||
        usage_error "--program takes one of: ${programs[*]}; not '$program'"
    if [[ -z $iters ]]; then
        iters=$brigade_iters
        [[ $program == *-brigade ]] || iters=$creation_iters
    fi
    # Only a range that nobody asked for may be shortened.
    to_is_default=
    if [[ -z $to ]]; then
        to=$default_to
        to_is_default=yes
    fi
    ((from <= to)) ||
        usage_error "--from $from is more than --to $to${to_is_default:+ (its default: name an end)}"
    (((to - from) / step >= 2)) ||
        usage_error "--from $from --to $to --step $step: a line needs at least 3 counts, these are $(((to - from) / step + 1))"
    # On the grid, so that the limits are checked for what is really run.
    ((to -= (to - from) % step, 1))
}

require_pmap() {
    command -v pmap >/dev/null && return
    say "pmap is not installed; it comes with procps:"
    printf '  %-15s %s\n' >&2 \
        'Debian, Ubuntu' 'apt install procps' \
        'Fedora' 'dnf install procps-ng' \
        'Arch' 'pacman -S procps-ng' \
        'Alpine' 'apk add procps'
    exit 1
}

# Checks the largest count before the first, for a limit would else be met after minutes.
fit_range() {
    local verdict status=0 most wanted=$to reason hint
    verdict=$(check_limits "$to") || status=$?
    ((status)) || return 0

    most=$(sed -n 's/.*at most \([0-9][0-9]*\).*/\1/p;q' <<<"$verdict")
    if [[ -n $to_is_default && $status == 1 && -n $most ]] && ((most >= from + 2 * step)); then
        ((to = from + (most - from) / step * step))
        if check_limits "$to" >/dev/null; then
            reason=$(sed -n '/needs .*allows/{s/^# //;s| (/[^ ]*)$||;p;q;}' <<<"$verdict")
            hint="for the full range see: $root/scripts/raise-limits.sh $wanted $program"
            if [[ $program != "$alternative" && $reason == *files* ]]; then
                hint+=", or use --program $alternative, which needs no descriptors"
            fi
            say "stopping at $to ${task}s instead of $wanted: $reason; $hint"
            return
        fi
    fi
    [[ -z $verdict ]] || printf '%s\n' "$verdict" >&2
    exit "$status"
}

check_limits() {
    "$bin/$program" --tasks "$1" --iters "$iters" "${flags[@]}" --check-limits
}

# measure COUNT: one run, one row.
measure() {
    local count=$1 status=0 field headed='' virtual='' resident=''
    progress "$program: $(((count - from) / step + 1)) of $(((to - from) / step + 1)): $count ${task}s ..."
    # In the background, for bash runs a trap at once only while it waits; a signal to this script
    # alone would else have to wait for the run's end. pmap's headings are translated, hence LC_ALL;
    # it takes the place of its shell, so that what stops the one stops the other.
    LC_ALL=C "$bin/$program" --tasks "$count" --iters "$iters" --quiet \
        --command 'exec pmap -x {pid}' "${flags[@]}" >"$pages" &
    child=$!
    # Its standard error: bash would report a run that was killed, with its whole command line.
    wait "$child" 2>/dev/null || status=$?
    child=
    if ((status)); then
        progress
        say "$program --tasks $count ended with status $status"
        exit "$status"
    fi
    while read -r -a field; do
        case "${field[*]}" in
        'Address Kbytes RSS '*) headed=yes ;;
        'total kB '*) virtual=${field[2]} resident=${field[3]} ;;
        esac
    done <"$pages"
    progress
    # Other makes of pmap put other columns there: that of BusyBox shares pages out (PSS).
    [[ -n $headed && -n $resident ]] ||
        fail "$(type -P pmap) -x printed no columns 'Kbytes' and 'RSS' with their total: that of procps is needed"
    printf '%s\t%s\t%s\n' "$count" "$virtual" "$resident"
    table+=$'\n'"$count"$'\t'"$virtual"$'\t'"$resident"
}

print_fit() {
    local fitted name value rest
    fitted=$("$bin/switchcost" fit --y 3 --kib <<<"$table") || exit
    printf '# %s --iters %s%s: resident memory over %ss, a straight line\n' \
        "$program" "$iters" "${flags[*]:+ ${flags[*]}}" "$task"
    while IFS=$'\t' read -r name value rest; do
        [[ $name != 'slope, bytes' ]] || name="bytes per $task"
        printf '# %-16s  %s%s\n' "$name" "$value" "${rest:+  $rest}"
    done <<<"$fitted"
}

# interrupted NAME STATUS: the rows so far are printed already.
interrupted() {
    # A second signal ends the script at once.
    trap - HUP INT TERM
    progress
    if [[ -n $child ]]; then
        # A program takes its first SIGTERM as a wish to end, and passes it on to pmap. From a
        # terminal it has had SIGINT already, and a second one would kill it.
        kill -TERM "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    printf '# interrupted by SIG%s: the counts up to %s are not complete\n' "$1" "$to"
    exit "$2"
}
