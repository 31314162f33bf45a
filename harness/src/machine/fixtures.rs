//! Machines made of text, for tests.

use std::fs;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Machine;

pub(super) const CPUS: &str = "sys/devices/system/cpu";

/// A root directory made of the given files, removed when dropped.
pub(super) struct Root(pub(super) PathBuf);

impl Root {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("harness-machine-{}-{number}", process::id());
        let root = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&root.0).unwrap();
        for (path, text) in files {
            root.write(path, text.as_bytes());
        }
        root
    }

    pub(super) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    pub(super) fn read(&self) -> Machine {
        Machine::read_under(&self.0)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const X86_CPUINFO: &str = "\
processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC 9R45
flags\t\t: fpu vme tsc ht constant_tsc hypervisor lahf_lm

processor\t: 1
model name\t: AMD EPYC 9R45
";

const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max processes             96365                96365                processes
Max open files            1024                 524288               files
Max address space         unlimited            unlimited            bytes
";

/// Two CPUs of a rented server.
pub(super) fn x86_vm() -> Root {
    let root = Root::new(&[
        ("proc/sys/kernel/osrelease", "6.18.44\n"),
        ("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC @0\n"),
        ("proc/sys/kernel/arch", "x86_64\n"),
        ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
        ("proc/sys/kernel/perf_event_paranoid", "-1\n"),
        ("proc/sys/kernel/io_uring_disabled", "0\n"),
        ("proc/cmdline", "quiet preempt=none preempt=full panic=1\n"),
        ("proc/cpuinfo", X86_CPUINFO),
        (
            "proc/meminfo",
            "MemTotal:       24684096 kB\nSwapTotal:             0 kB\n",
        ),
        ("proc/loadavg", "0.14 0.11 1.07 2/83 5640\n"),
        (
            "proc/pressure/cpu",
            "some avg10=0.14 avg60=0.11 avg300=0.07 total=3230228\n",
        ),
        (
            "proc/pressure/io",
            "some avg10=0.94 avg60=0.24 avg300=0.10 total=2\nfull avg10=9.00\n",
        ),
        (
            "proc/self/status",
            "Name:\tcat\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\nSeccomp:\t0\n",
        ),
        ("proc/self/limits", LIMITS),
        ("proc/self/timerslack_ns", "50000\n"),
        (
            "etc/os-release",
            "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
        ),
        (
            "sys/kernel/debug/sched/preempt",
            "none voluntary full (lazy)\n",
        ),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        ),
        (
            "sys/kernel/mm/transparent_hugepage/defrag",
            "always defer [defer+madvise] never\n",
        ),
        ("sys/devices/system/node/online", "0\n"),
    ]);
    for (path, text) in [
        ("online", "0-1\n"),
        ("smt/active", "0\n"),
        ("cpuidle/current_driver", "none\n"),
        ("vulnerabilities/meltdown", "Not affected\n"),
        ("vulnerabilities/spectre_v2", "Mitigation: Enhanced IBRS\n"),
        ("cpu0/topology/physical_package_id", "0\n"),
        ("cpu0/topology/core_siblings_list", "0-1\n"),
        ("cpu0/topology/thread_siblings_list", "0\n"),
        ("cpu1/topology/thread_siblings_list", "1\n"),
        ("cpu0/cache/index0/level", "1\n"),
        ("cpu0/cache/index0/type", "Data\n"),
        ("cpu0/cache/index0/size", "48K\n"),
        ("cpu0/cache/index0/shared_cpu_list", "0\n"),
        ("cpu0/cache/index1/level", "3\n"),
        ("cpu0/cache/index1/type", "Unified\n"),
        ("cpu0/cache/index1/size", "32M\n"),
        ("cpu0/cache/uevent", ""),
    ] {
        root.write(&format!("{CPUS}/{path}"), text.as_bytes());
    }
    let clock = "sys/devices/system/clocksource/clocksource0";
    root.write(&format!("{clock}/current_clocksource"), b"tsc\n");
    root.write(
        &format!("{clock}/available_clocksource"),
        b"tsc kvm-clock \n",
    );
    root
}
