//! Files of the kernel, as a strange kernel, a container runtime or a prankster could fill them.

use std::fs;
use std::path::Path;

use contract::message::{Need, Needs};
use facts::Machine;
use facts::limits::Limits;
use facts::machine;
use proptest::prelude::*;
use proptest::sample::Index;

use super::{inputs, number};

/// Every file that is read below a root, with a text that makes sense.
const FILES: [(&str, &str); 43] = [
    (
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: A\nflags\t\t: fpu hypervisor\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
    ),
    ("proc/cmdline", "ro preempt=full quiet\n"),
    ("proc/loadavg", "0.52 0.58 0.59 3/602 29684\n"),
    (
        "proc/meminfo",
        "MemTotal:       24560000 kB\nMemAvailable:   20000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nCommitLimit: 5 kB\nCommitted_AS: 7 kB\nKernelStack: 9 kB\n",
    ),
    ("proc/pressure/cpu", "some avg10=1.50 avg60=0.00 avg300=0.00 total=1\n"),
    ("proc/self/cgroup", "4:memory:/m\n2:pids:/p/q\n1:cpu,cpuacct:/c\n0::/a/b\n"),
    (
        "proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units\nMax stack size            8388608              unlimited            bytes\nMax processes             96365                96365                processes\nMax open files            1024                 524288               files\nMax address space         unlimited            unlimited            bytes\n",
    ),
    (
        "proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n32 31 0:29 /c /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n33 31 0:30 / /sys/fs/cgroup/pids\\040x rw - cgroup cgroup rw,pids\n34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
    ),
    ("proc/self/maps", "00400000-00401000 r--p 00000000 00:00 0\n"),
    (
        "proc/self/status",
        "Threads:\t1\nVmSize:\t 5 kB\nUid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\nCpus_allowed_list:\t0-3\nSeccomp:\t0\n",
    ),
    ("proc/self/timerslack_ns", "50000\n"),
    ("proc/self/uid_map", "0 0 4294967295\n"),
    ("proc/sys/fs/file-max", "9223372036854775807\n"),
    ("proc/sys/fs/file-nr", "1000 0 9223372036854775807\n"),
    ("proc/sys/fs/nr_open", "1048576\n"),
    ("proc/sys/kernel/io_uring_disabled", "0\n"),
    ("proc/sys/kernel/osrelease", "6.18.44\n"),
    ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
    ("proc/sys/kernel/pid_max", "4194304\n"),
    ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
    ("proc/sys/kernel/threads-max", "192729\n"),
    ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n"),
    ("proc/sys/vm/max_map_count", "65530\n"),
    ("proc/sys/vm/overcommit_memory", "2\n"),
    ("proc/sys/vm/overcommit_ratio", "50\n"),
    ("etc/os-release", "PRETTY_NAME=\"Debian\"\n"),
    ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
    ("sys/class/dmi/id/product_name", "Standard PC\n"),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/smt/active", "1\n"),
    ("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0-1\n"),
    ("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2-3\n"),
    ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
    ("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n"),
    ("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n"),
    ("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3600000\n"),
    ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
    ("sys/devices/system/node/online", "0\n"),
    ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
    ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
    ("sys/fs/cgroup/pids x/p/q/pids.max", "500\n"),
    ("sys/fs/cgroup/pids x/p/q/pids.current", "7\n"),
];

/// What becomes of one file.
#[derive(Clone, Debug)]
enum Change {
    /// It is not there.
    Missing,
    /// Nothing but noise.
    Noise(Vec<u8>),
    /// Each number of it becomes this one.
    Numbers(String),
    /// These bytes stand at some place of it.
    Spliced(Index, Vec<u8>),
    /// It is repeated until it is large.
    Long(usize),
}

fn change() -> impl Strategy<Value = Change> {
    let word = prop_oneof![
        number().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        any::<f64>().prop_map(|n| n.to_string()),
        Just("max".to_owned()),
        Just("unlimited".to_owned()),
        Just("1e999".to_owned()),
        Just(String::new()),
        "\\PC{0,8}",
    ];
    prop_oneof![
        Just(Change::Missing),
        prop::collection::vec(any::<u8>(), 0..80).prop_map(Change::Noise),
        word.prop_map(Change::Numbers),
        (any::<Index>(), prop::collection::vec(any::<u8>(), 1..8))
            .prop_map(|(at, bytes)| Change::Spliced(at, bytes)),
        (1..3_000_usize).prop_map(Change::Long),
    ]
}

impl Change {
    fn apply(&self, text: &str) -> Option<Vec<u8>> {
        let mut bytes = text.as_bytes().to_vec();
        match self {
            Change::Missing => return None,
            Change::Noise(noise) => bytes.clone_from(noise),
            Change::Numbers(number) => {
                let mut changed = String::new();
                for (i, part) in text.split(|c: char| c.is_ascii_digit()).enumerate() {
                    if i > 0 && !changed.ends_with(number.as_str()) {
                        changed.push_str(number);
                    }
                    changed.push_str(part);
                }
                bytes = changed.into_bytes();
            }
            Change::Spliced(at, splice) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, splice.iter().copied());
            }
            Change::Long(times) => bytes = bytes.repeat(*times),
        }
        Some(bytes)
    }
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// Reads all there is below a root, and says all there is to be said of it.
fn look_at(root: &Path) {
    let machine = machine::read_under(root);
    let line = serde_json::to_string(&machine).unwrap();
    let again: Machine = serde_json::from_str(&line).unwrap();
    assert_eq!(again, machine, "{line}");
    assert!(!machine.summary().is_empty());

    let limits = Limits::read_under(root);
    let needs = Needs {
        descriptors: Need::new(20, 2),
        threads: Need::new(0, 1),
        maps: Need::new(128, 4),
        bytes: Need::new(1 << 20, 50_000),
        ..Needs::default()
    };
    for tasks in [1, 2, u64::from(u32::MAX), u64::MAX] {
        let report = limits.report(&needs, tasks);
        let most = limits.tightest(&needs).map_or(u64::MAX, |(_, most)| most);
        assert_eq!(report.is_enough(), tasks <= most, "{tasks} of {most}");
    }
}

#[test]
fn the_files_as_they_are_tell_something() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        write(root.path(), path, text.as_bytes());
    }
    look_at(root.path());
    let machine = machine::read_under(root.path());
    assert_eq!(machine.cpu_quota.and_then(|quota| quota.cpus()), Some(0.5));
    let limits = Limits::read_under(root.path());
    let names: Vec<&str> = limits.statuses().iter().map(|limit| limit.name.as_str()).collect();
    assert!(names.iter().any(|name| name.contains("pids.max")), "{names:?}");
}

proptest! {
    #![proptest_config(inputs(96))]

    #[test]
    fn whatever_the_files_hold_nothing_panics(
        changes in prop::collection::vec((any::<Index>(), change()), 1..12),
    ) {
        let root = tempfile::tempdir().unwrap();
        let mut texts: Vec<Option<Vec<u8>>> = FILES
            .iter()
            .map(|(_, text)| Some(text.as_bytes().to_vec()))
            .collect();
        for (index, change) in &changes {
            let at = index.index(FILES.len());
            texts[at] = change.apply(FILES[at].1);
        }
        for ((path, _), text) in FILES.iter().zip(&texts) {
            if let Some(text) = text {
                write(root.path(), path, text);
            }
        }
        look_at(root.path());
    }
}
