#!/usr/bin/env bash
# The commands that let this system hold N tasks: see --help.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/lib/common.sh"

usage() {
    cat <<HELP
Print the commands that let this system hold N tasks

A limit of the process, such as that of open files, is raised for the shell that runs the command,
so paste the commands, or run: eval "\$($me N)"

Usage: $me [OPTIONS] N [PROGRAM]

Arguments:
  N           How many tasks
  PROGRAM     The program that is to hold them [default: thread-brigade and async-brigade]

Options:
  --apply     Run the commands too, each shown before it runs, with the shell that called this
              script in the place of \$\$; stop at the first that fails
  -h, --help  Print help

HELP
    programs_help
    cat <<'HELP'

Exit status: 0 when N tasks are allowed, 1 when they are not, 2 for bad usage
HELP
}

main() {
    local program status verdict denied=()
    read_arguments "$@"
    find_programs "${programs[@]}"
    caller=$(calling_shell)

    for program in "${programs[@]}"; do
        status=0
        verdict=$(check "$program") || status=$?
        case $status in
        0) printf '%s\n' "$verdict" ;;
        1)
            denied+=("$program")
            each_command "$program" <<<"$verdict"
            ;;
        *) exit "$status" ;;
        esac
    done
    conclude "${denied[@]}"
}

read_arguments() {
    local words=()
    apply=
    while (($#)); do
        case $1 in
        --apply) apply=yes ;;
        -h | --help)
            usage
            exit 0
            ;;
        -*) usage_error "unknown option '$1'" ;;
        *) words+=("$1") ;;
        esac
        shift
    done
    ((${#words[@]})) || usage_error "N is missing: how many tasks?"
    ((${#words[@]} < 3)) || usage_error "unexpected argument '${words[2]}'"
    tasks=${words[0]}
    whole_number N "$tasks"
    named=${words[1]:-}
    programs=(thread-brigade async-brigade)
    if [[ -n $named ]]; then
        programs=("$named")
        # The runner holds no tasks itself.
        [[ $named =~ ^[a-z-]+$ && $named != switchcost && -f $root/$named/src/main.rs ]] ||
            usage_error "PROGRAM is the name of a benchmark, such as async-mem-brigade, not '$named'"
    fi
}

check() {
    "$bin/$1" --tasks "$tasks" --check-limits
}

# The process whose limits the user means: the parent, or where sudo stands between, whoever called
# that.
calling_shell() {
    local process=$PPID name
    while read -r name 2>/dev/null <"/proc/$process/comm" && [[ $name == sudo || $name == doas ]]; do
        process=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$process/status")
    done
    printf '%s\n' "$process"
}

# The commands that were printed or run already.
declare -A seen=()

# each_command PROGRAM: prints the text of --check-limits on standard input; with --apply, runs
# what is a command in it.
each_command() {
    local line remark='' first=yes
    while IFS= read -r line; do
        if [[ $line == '#'* ]]; then
            # The first line is the verdict. The others give the reason for the command below
            # them, and go where an earlier program has asked for that command already.
            remark+=$line$'\n'
            if [[ -n $first ]]; then
                printf '%s' "$remark"
                remark='' first=''
            fi
        elif [[ -n ${seen[$line]:-} ]]; then
            remark=
        elif [[ -n $line ]]; then
            seen[$line]=yes
            printf '%s' "$remark"
            remark=
            if [[ -n $apply ]]; then
                run "$1" "$line"
            else
                printf '%s\n' "$line"
            fi
        fi
    done
    printf '%s' "$remark"
}

# run PROGRAM COMMAND: shows one command and runs it.
run() {
    local command status=0
    command=$(for_process "$caller" "$2")
    printf '%s\n' "$command"
    sh -c "$command" </dev/null || status=$?
    ((status == 0)) ||
        fail "stopped: this command failed with status $status, so $1 cannot hold $tasks tasks yet"
    # This script has its limits from before, and the check that follows would inherit them.
    if [[ $command != "$2" ]]; then
        sh -c "$(for_process "$$" "$2")" </dev/null
    fi
}

# for_process PID COMMAND: the command that does the same to another process's limits.
for_process() {
    local pid=$1 command=$2 option value
    if [[ $command =~ ^ulimit\ -S\ -([nuvd])\ ([0-9]+)$ ]]; then
        value=${BASH_REMATCH[2]}
        case ${BASH_REMATCH[1]} in
        n) option=nofile ;;
        u) option=nproc ;;
        # ulimit counts memory in KiB, prlimit in bytes.
        v) option=as value=$((value * 1024)) ;;
        d) option=data value=$((value * 1024)) ;;
        esac
        command="prlimit --pid \$\$ --$option=$value:"
    fi
    # The name of a file may hold $$, too.
    printf '%s\n' "${command/'prlimit --pid $$ '/"prlimit --pid $pid "}"
}

# conclude DENIED...: the last line, and the exit status.
conclude() {
    local program
    if ((! $#)); then
        printf '# nothing to raise: %s tasks are allowed\n' "$tasks"
    elif [[ -n $apply ]]; then
        for program; do
            check "$program" || fail "$program still cannot hold $tasks tasks"
        done
        printf '# %s tasks are allowed now\n' "$tasks"
    else
        printf '# paste these into your shell, or: %q --apply %s%s\n' \
            "$0" "$tasks" "${named:+ $named}"
        exit 1
    fi
}

main "$@"
