//! Whole systems, as small trees of the files that they show.

use super::*;
use host::fixtures::Root;

/// An ordinary system without control groups, its user left out.
const PLAIN: &str = "\
/proc/self/maps: 55d0c0000000-55d0c0001000 r-xp 00000000 fe:00 1 /bin/x
/proc/self/maps: 7ffc96ab0000-7ffc96ad1000 rw-p 00000000 00:00 0                          [stack]
/proc/loadavg: 0.10 0.20 0.30 2/700 4711
/proc/meminfo: MemAvailable:    8388608 kB
/proc/meminfo: CommitLimit:     4194304 kB
/proc/meminfo: Committed_AS:    1048576 kB
/proc/sys/fs/nr_open: 1048576
/proc/sys/fs/file-max: 30000
/proc/sys/fs/file-nr: 5000	0	9223372036854775807
/proc/sys/kernel/pid_max: 4194304
/proc/sys/kernel/threads-max: 190000
/proc/sys/vm/max_map_count: 65530";

fn rlimits(space: &str) -> String {
    format!(
        "Limit                     Soft Limit           Hard Limit           Units\n\
         Max processes             90000                96365                processes\n\
         Max open files            1024                 20000                files\n\
         Max address space         {space}            unlimited            bytes\n"
    )
}

/// A process of `uid` with 10 threads and these capabilities.
fn status(uid: u32, effective: u64) -> String {
    format!(
        "Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nThreads:\t10\n\
         CapEff:\t{effective:016x}\nCapBnd:\t000001ffffffffff\n"
    )
}

/// An ordinary user on that system.
fn plain() -> Root {
    let root = Root::new(PLAIN);
    root.write("/proc/self/limits", rlimits("unlimited"));
    root.write("/proc/self/status", status(1000, 0));
    root.write("/proc/7/status", status(1000, 0));
    root.write("/proc/8/status", status(0, 0));
    root
}

fn limits(root: &Root) -> Limits {
    Limits::read_under(root.path())
}

fn threads() -> Needs {
    Needs {
        threads: Need::new(3, 1),
        maps: Need::new(100, 4),
        bytes: Need::new(1 << 20, 40 << 10),
        ..Needs::default()
    }
}

fn remedies(limits: &Limits, needs: &Needs, tasks: u64) -> Vec<String> {
    let short = limits.too_low(needs, tasks).into_iter();
    short.map(|(limit, needed)| limit.remedy(needed, limits.rights.root)).collect()
}

#[test]
fn every_limit_that_is_too_low_has_its_command() {
    let root = plain();
    root.write("/proc/sys/fs/file-max", "9223372036854775807");
    // Programs inherit the first of these.
    root.write("/proc/self/fdinfo/10", "pos:\t0\nflags:\t0100000\n");
    root.write("/proc/self/fdinfo/11", "pos:\t0\nflags:\t02100000\n");
    let limits = limits(&root);
    let most = |needs: &Needs| limits.tightest(needs).map(|(_, most)| most);
    assert_eq!(most(&threads()), Some((65_530 - 2 - 100) / 4));
    assert_eq!(
        remedies(&limits, &threads(), 200_000),
        [
            "sudo prlimit --pid $$ --nproc=212992:212992",
            "sudo sysctl -w kernel.threads-max=212992",
            "sudo sysctl -w vm.max_map_count=851968",
        ]
    );
    // Within the hard limit no root is needed.
    assert_eq!(remedies(&limits, &threads(), 95_000)[0], "ulimit -S -u 96365");
    assert!(limits.are_known() && !self::limits(&Root::new("/x: ")).are_known());
    let pipes = Needs { descriptors: Need::new(2, 2), ..Needs::default() };
    assert_eq!(most(&pipes), Some((20_000 - 4 - 2) / 2));
    assert_eq!(
        remedies(&limits, &pipes, 1_000_000),
        ["sudo sysctl -w fs.nr_open=2097152", "sudo prlimit --pid $$ --nofile=2000006:2000006"]
    );
    let advice = "fs.nr_open cannot be more than 2147483584";
    assert_eq!(remedies(&limits, &pipes, 1 << 31)[0], advice);
}

#[test]
fn root_may_pass_its_processes_and_file_max() {
    let root = plain();
    let passed = || {
        let limits = limits(&root);
        let remarks = limits.statuses.iter().filter_map(|limit| limit.remark.as_ref());
        remarks.filter(|remark| remark.ends_with("may exceed it")).count()
    };
    let first = "         0          0 4294967295\n";
    let rootless = "         0       1000          1\n";
    let all = 0x1ff_ffff_ffff;
    for (uid, capabilities, uid_map, count) in [
        (1000, 0, first, 0),
        (1000, 1 << 23, first, 0),
        (1000, 1 << 24, first, 1),
        (0, 0, first, 1),
        (0, all, first, 2),
        // Root of a user namespace is an ordinary user to the kernel.
        (0, all, rootless, 0),
    ] {
        root.write("/proc/self/status", status(uid, capabilities));
        root.write("/proc/self/uid_map", uid_map);
        assert_eq!(passed(), count, "{uid} {capabilities:x} {uid_map}");
        let command = &remedies(&limits(&root), &threads(), 16_358)[0];
        assert_eq!(command.starts_with("sudo "), uid != 0, "{command}");
    }
}

#[test]
fn address_space_is_bounded_by_ulimit_and_by_commitment() {
    let root = plain();
    root.write("/proc/self/limits", rlimits("1073741824"));
    root.write("/proc/sys/vm/overcommit_memory", "2\n");
    root.write("/proc/sys/vm/user_reserve_kbytes", "131072\n");
    let needs = Needs { bytes: Need::new(0, 2 << 20), ..Needs::default() };
    // 4 GiB of commitment, less 128 MiB for the user and 1 GiB in use.
    let limits = limits(&root);
    let commitment = limits.statuses.iter().find(|limit| limit.name.starts_with("CommitLimit"));
    assert_eq!(commitment.unwrap().room, Some(2944 << 20));
    assert_eq!(
        remedies(&limits, &needs, 2000),
        [
            "ulimit -S -v 4718592",
            "`sysctl -w vm.overcommit_memory=0`, as root, lets programs reserve more memory than there is",
        ]
    );
}

#[test]
fn a_group_is_slowed_down_from_its_high_mark() {
    let root = plain();
    root.add(
        "\
/proc/self/mountinfo: 30 23 0:26 / /g rw,nosuid - cgroup2 cgroup2 rw,nsdelegate
/proc/self/cgroup: 0::/it's.scope
/g/it's.scope/memory.max: max
/g/it's.scope/memory.high: 52428800
/g/it's.scope/memory.current: 20971520
/g/it's.scope/memory.stat: inactive_file 10485760",
    );
    let limits = limits(&root);
    let (limit, most) = limits.tightest(&threads()).unwrap();
    assert_eq!((&*limit.name, limit.in_use), ("memory.high", Some(10 << 20)));
    let command = &remedies(&limits, &threads(), most + 1)[0];
    assert!(command.ends_with(r"| sudo tee '/g/it'\''s.scope/memory.high'"), "{command}");
}
