#!/bin/busybox sh
# shellcheck shell=dash
#
# The init of the machines that scripts/kernels.sh boots. It prepares the machine as the words of
# /variation say, runs the steps there, and switches the machine off. Each step stands between two lines:
#
#   @begin STEP USER
#   @end STEP USER STATUS SECONDS
#
# A step that timeout(1) had to end has status 124, 137 or 143. @skipped WORD: this kernel has no such thing.

# Variations.

without_sys() { umount /sys; }
without_uring() {
    [ -e /proc/sys/kernel/io_uring_disabled ] || return 77
    echo 2 >/proc/sys/kernel/io_uring_disabled
}
without_perf() { echo 3 >/proc/sys/kernel/perf_event_paranoid; }
with_hidepid() { mount -o remount,hidepid=2 /proc; }
with_cpu_offline() { echo 0 >"/sys/devices/system/cpu/cpu$1/online"; }

with_cgroup_1() {
    local controller
    mount -t tmpfs cgroup /sys/fs/cgroup
    for controller in cpu,cpuacct memory pids; do
        mkdir "/sys/fs/cgroup/$controller"
        mount -t cgroup -o "$controller" cgroup "/sys/fs/cgroup/$controller" || continue
        mkdir "/sys/fs/cgroup/$controller/box"
        echo $$ >"/sys/fs/cgroup/$controller/box/cgroup.procs"
    done
    echo 50000 >/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us
    echo $((64 << 20)) >/sys/fs/cgroup/memory/box/memory.limit_in_bytes
    echo 64 >/sys/fs/cgroup/pids/box/pids.max
}

with_cgroup_2() {
    mount -t cgroup2 cgroup /sys/fs/cgroup
    echo '+cpu +memory +pids' >/sys/fs/cgroup/cgroup.subtree_control
    mkdir /sys/fs/cgroup/box
    echo '50000 100000' >/sys/fs/cgroup/box/cpu.max
    echo $((64 << 20)) >/sys/fs/cgroup/box/memory.max
    echo 64 >/sys/fs/cgroup/box/pids.max
    echo $$ >/sys/fs/cgroup/box/cgroup.procs
}

# Steps. What they print is judged by scripts/kernels.sh.

answer() {
    switchcost --quick --budget 5s --out answer.jsonl >answer.txt
    grep -oE '"(error|not_run)":"[^"]*"' answer.jsonl | sort | uniq -c
    switchcost report answer.jsonl --format json
}
placement() {
    switchcost run --plan placement --filter 'thread over' --quick --rounds 1 --out placement.jsonl >placement.txt &&
        switchcost report placement.jsonl --format json && cat placement.jsonl
}
stat() { switchcost stat --counters thread-brigade --tasks 20 --iters 20; }
limits() { switchcost limits; }
scale() { switchcost scale --to 5000 --budget 20s --timeout 60s --out scale.jsonl; }
machine() { switchcost machine --format json; }
uring() { uring-brigade --tasks 3 --iters 5; }
rss() {
    rss-per-thread.sh --from 20 --to 60 --step 20 && rss-per-task.sh --from 100 --to 300 --step 100
}

# step STEP USER: runs it in a folder of its own.
step() {
    local begun status=0 folder=/tmp/$2-$1 up
    echo "@begin $1 $2"
    mkdir -p "$folder"
    chown "$2" "$folder"
    read -r begun up </proc/uptime
    # -l: a login would change the folder.
    # shellcheck disable=SC2016 # that shell expands it
    timeout -k 10 "$limit" su -s /bin/sh "$2" -c 'cd "$0" && exec /init "$1"' "$folder" "$1" </dev/null >/tmp/printed 2>&1 || status=$?
    cat /tmp/printed
    read -r up _ </proc/uptime
    echo "@end $1 $2 $status $((${up%.*} - ${begun%.*}))"
}

case $1 in
'' | [!a-z]*) ;;
*)
    "$1"
    exit
    ;;
esac

export PATH=/opt:/bin
export SWITCHCOST_BIN_DIR=/opt
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mode=1777 tmp /tmp
# Messages of the kernel would stand amid those of the steps.
echo 1 >/proc/sys/kernel/printk
limit=600
read -r prepare </variation
echo "@kernel $(uname -r)"
for word in $prepare; do
    "${word%%=*}" "${word#*=}"
    case $? in
    0) ;;
    77) echo "@skipped $word" && : >/steps ;;
    *) echo "@failed $word" ;;
    esac
done
while read -r name users; do
    for user in $users; do
        step "$name" "$user"
    done
done </steps
echo '@done'
poweroff -f
