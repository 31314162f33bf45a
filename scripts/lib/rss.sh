# shellcheck shell=bash
#
# The sweep that both rss scripts are: a program at growing numbers of tasks, read by pmap.
# shellcheck source-path=SCRIPTDIR source=common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/common.sh"

# What a script sets before it calls `sweep`.
task=''               # thread or task
programs=()           # names that --program takes, the default first
from='' to='' step='' # the default range

sweep() {
    local count
    program=${programs[0]} iters=10 flags=()
    arguments "$@"
    command -v pmap >/dev/null || fail "pmap is not installed: it is in the package procps" \
        "(Debian, Ubuntu, Alpine) or procps-ng (Fedora, Arch)"
    run=(cargo run --release --quiet --locked --manifest-path "$root/Cargo.toml" -p "$program" --)
    [[ -z ${SWITCHCOST_BIN_DIR:-} ]] || run=("$SWITCHCOST_BIN_DIR/$program")
    [[ " $* " == *' --to '* ]] || shorten
    child='' pages=$(mktemp)
    trap 'rm -f -- "$pages"' EXIT
    trap 'interrupted 129' HUP
    trap 'interrupted 130' INT
    trap 'interrupted 143' TERM
    printf '#count\tvm_KiB\trss_KiB\n'
    table=''
    for ((count = from; count <= to; count += step)); do
        measure "$count"
    done
    print_fit
}

usage() {
    cat <<HELP
How much memory a $task takes

Runs a program at growing numbers of ${task}s, each with 'pmap -x' while all ${task}s are alive, and
fits a straight line: its slope is what one more $task adds to the resident memory of the process.
Memory of the kernel (its stacks, descriptors, buffers and page tables) is not in it:
'switchcost run --plan memory' has that too.

Prints tab-separated values: number of ${task}s, virtual KiB, resident KiB. Other lines begin with #.

Usage: $me [OPTIONS] [-- FLAGS]

Arguments:
  FLAGS           Passed on to the program

Options:
  --from N        Smallest number of ${task}s [default: $from]
  --to N          Largest number [default: $to, or as many as this system can hold]
  --step N        From one number to the next [default: $step]
  --iters N       Iterations before the memory is read [default: $iters]
  --program NAME  One of ${programs[*]} [default: ${programs[0]}]
  -h, --help      Print help

Environment:
  SWITCHCOST_BIN_DIR  Use the program in this folder instead of building it
HELP
}

arguments() {
    local flag
    while (($#)); do
        flag=$1
        case $flag in
        --)
            flags=("${@:2}")
            break
            ;;
        -h | --help) usage && exit ;;
        --from | --to | --step | --iters | --program) ;;
        *) usage_error "unknown argument '$flag': flags for the program come after --" ;;
        esac
        # Nine digits are far from overflow; a leading zero would make it octal.
        [[ $flag == --program || ${2:-} =~ ^[1-9][0-9]{0,8}$ ]] ||
            usage_error "$flag takes a whole number from 1 to 999999999, not '${2:-}'"
        # --from names the variable `from`, and so on.
        printf -v "${flag#--}" '%s' "${2:-}"
        shift 2 || break
    done
    [[ " ${programs[*]} " == *" $program "* ]] ||
        usage_error "--program takes one of: ${programs[*]}; not '$program'"
    (((to - from) / step >= 2)) ||
        usage_error "--from $from --to $to --step $step: a line needs at least 3 numbers"
}

# shorten: a default range ends at the last number that this system can hold.
shorten() {
    local words most
    words=$("${run[@]}" --tasks "$to" --iters 1 --warmup 0 --quiet "${flags[@]}" 2>&1) && return
    most=$(sed -n 's/.*at most \([0-9]*\) tasks fit.*/\1/p' <<<"$words")
    # Else the first row fails for the same reason.
    ((${most:-0} >= 3)) || return 0
    ((most >= from + 2 * step)) || from=$(((most + 9) / 10)) step=$from
    to=$most
    say "from $from to $to ${task}s alone: $words"
}

# measure NUMBER: one run, one row.
measure() {
    local status=0 field headed='' virtual='' resident=''
    progress "$program: $1 of $to ${task}s ..."
    # In the background: bash runs a trap at once only while it waits. pmap's headings are translated,
    # hence LC_ALL; it takes the place of its shell, so that what stops the one stops the other.
    LC_ALL=C "${run[@]}" --tasks "$1" --iters "$iters" --warmup 0 --quiet \
        --command 'exec pmap -x {pid}' "${flags[@]}" >"$pages" &
    child=$!
    # Its standard error: bash would report a run that was killed, with its whole command line.
    wait "$child" 2>/dev/null || status=$?
    child=
    progress
    ((status == 0)) || fail "$program --tasks $1 ended with status $status"
    while read -r -a field; do
        case "${field[*]}" in
        'Address Kbytes RSS '*) headed=yes ;;
        'total kB '*) virtual=${field[2]} resident=${field[3]} ;;
        esac
    done <"$pages"
    # Other versions of pmap have other columns there: BusyBox's shares pages out (PSS).
    [[ -n $headed && -n $resident ]] ||
        fail "$(type -P pmap) -x printed no columns 'Kbytes' and 'RSS' with their total: the pmap of procps is needed"
    printf '%s\t%s\t%s\n' "$1" "$virtual" "$resident"
    table+="$1 $resident"$'\n'
}

# Least squares about the means, which keeps the sums small.
print_fit() {
    printf '%s' "$table" | LC_ALL=C awk -v task="$task" '
        { x[NR] = $1; y[NR] = $2; mx += $1; my += $2 }
        END {
            mx /= NR; my /= NR
            for (i = 1; i <= NR; i++) {
                dx = x[i] - mx; dy = y[i] - my
                xx += dx * dx; xy += dx * dy; yy += dy * dy
            }
            slope = xy / xx
            printf "# bytes per %s: %.1f\n", task, slope * 1024
            printf "# intercept: %.1f KiB\n", my - slope * mx
            if (yy > 0) printf "# R2: %.6f\n", xy * xy / (xx * yy)
            else print "# R2: unknown, all rows are alike"
        }'
}

# interrupted STATUS: the rows so far are printed already.
interrupted() {
    # A second signal ends the script at once.
    trap - HUP INT TERM
    progress
    if [[ -n $child ]]; then
        # From a terminal it has had SIGINT already; two signals at once count as one.
        kill -TERM "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    printf '# interrupted: the numbers up to %s are not complete\n' "$to"
    exit "$1"
}
