//! Machines made of files.

use record::machine::Topology;

use super::*;
use crate::source::fixtures::{GARBAGE, Root};

const CPUS: &str = "/sys/devices/system/cpu";

fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("unknown")
}

#[test]
fn x86_virtual_machine() {
    let machine = read_under(x86_vm().path());
    assert_eq!(text(&machine.kernel_release), "6.18.44");
    assert_eq!(text(&machine.preemption), "PREEMPT_DYNAMIC");
    assert_eq!(text(&machine.preemption_mode), "lazy");
    assert_eq!(
        text(&machine.preemption_boot),
        "full",
        "the last one counts"
    );
    assert_eq!(text(&machine.architecture), "x86_64");
    assert_eq!(
        text(&machine.distribution),
        "Debian GNU/Linux 12 (bookworm)"
    );
    assert_eq!(text(&machine.virtualisation), "KVM");
    assert_eq!(text(&machine.affinity), "0-1");
    assert_eq!(machine.seccomp, Some(false));
    assert_eq!(text(&machine.clock_source), "tsc");
    assert_eq!(text(&machine.thp_enabled), "madvise");
    assert_eq!(text(&machine.thp_defrag), "defer+madvise");
    let topology = Topology {
        sockets: Some(1),
        cores: Some(2),
        threads_per_core: Some(1),
    };
    assert_eq!(machine.topology, topology);
    assert_eq!(machine.smt_active, Some(false));
    assert_eq!(machine.numa_nodes, Some(1));
    assert_eq!(machine.caches.len(), 2);
    assert_eq!(machine.caches[0].size_bytes, Some(48 << 10));
    assert_eq!(machine.caches[1].shared_cpu_list, None);
    assert_eq!(machine.mitigations["meltdown"], "Not affected");
    assert_eq!(machine.sched_autogroup, Some(true));
    assert_eq!(machine.perf_event_paranoid, Some(-1));
    assert_eq!(machine.io_uring_disabled, Some(0));
    assert_eq!(machine.timer_slack_ns, Some(50_000));
    assert_eq!(machine.load_average, Some([0.14, 0.11, 1.07]));
    assert_eq!(machine.pressure.cpu, Some(0.14));
    assert_eq!(machine.pressure.io, Some(0.94));
    assert_eq!(machine.pressure.memory, None);
    assert_eq!(machine.swap_total_bytes, Some(0));
    assert_eq!(machine.governor, None);
    let stack = machine.rlimits.stack.unwrap();
    assert_eq!(
        (stack.soft, stack.hard),
        (Bound::At(8 << 20), Bound::Unlimited)
    );
    assert_eq!(machine.rlimits.nofile.unwrap().hard, Bound::At(524_288));
    assert_eq!(
        machine.summary(),
        "AMD EPYC 9R45, 2 CPUs (1 thread per core), virtual (KVM), \
         Linux 6.18.44 PREEMPT_DYNAMIC (lazy), 23.5 GiB"
    );
}

#[test]
fn aarch64_server() {
    let block = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n\
                 CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n\n";
    let root = Root::new(&[
        ("/proc/cpuinfo", block.repeat(160).as_str()),
        (
            "/proc/sys/kernel/version",
            "#1 SMP Thu Jan 1 00:00:00 UTC 2026\n",
        ),
        ("/sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("/sys/class/dmi/id/product_name", "m6g.metal\n"),
        ("/sys/devices/system/node/online", "0-1\n"),
    ]);
    root.write(&format!("{CPUS}/online"), "0-3\n");
    for (cpu, package, threads) in [
        (0, "0-1", "0"),
        (1, "0-1", "1"),
        (2, "2-3", "2"),
        (3, "2-3", "3"),
    ] {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        root.write(&format!("{topology}/physical_package_id"), "36\n");
        root.write(&format!("{topology}/core_siblings_list"), package);
        root.write(&format!("{topology}/thread_siblings_list"), threads);
        let policy = format!("{CPUS}/cpufreq/policy{cpu}/scaling_governor");
        let governor = if cpu == 3 {
            "schedutil\n"
        } else {
            "performance\n"
        };
        root.write(&policy, governor);
    }
    let cpufreq = format!("{CPUS}/cpu0/cpufreq");
    root.write(&format!("{cpufreq}/cpuinfo_max_freq"), "2500000\n");
    root.write(&format!("{CPUS}/intel_pstate/no_turbo"), "1\n");

    let machine = read_under(root.path());
    assert_eq!(text(&machine.cpu_model), "Arm Neoverse-N1 (0x41/0xd0c)");
    assert_eq!(text(&machine.preemption), "none or voluntary");
    assert_eq!(text(&machine.virtualisation), "none");
    assert_eq!(text(&machine.hardware), "Amazon EC2 m6g.metal");
    assert_eq!(text(&machine.governor), "performance,schedutil");
    assert_eq!(machine.max_frequency_khz, Some(2_500_000));
    assert_eq!(machine.base_frequency_khz, None);
    assert_eq!(machine.boost, Some(false));
    assert_eq!(machine.topology.sockets, Some(2));
    assert_eq!(machine.topology.cores, Some(4));
    assert_eq!(machine.numa_nodes, Some(2));

    root.write("/sys/class/dmi/id/product_name", "m6g.large\n");
    assert_eq!(text(&read_under(root.path()).virtualisation), "Amazon EC2");
    root.write("/sys/class/dmi/id/sys_vendor", "Ampere\n");
    assert_eq!(
        read_under(root.path()).virtualisation,
        None,
        "no flag and no name prove nothing"
    );
    for cpu in 0..4 {
        let package = format!("{CPUS}/cpu{cpu}/topology/physical_package_id");
        root.write(&package, "-1\n");
    }
    assert_eq!(read_under(root.path()).topology.sockets, None);
}

#[test]
fn unknown_arm_core_shows_its_numbers() {
    let root = Root::new(&[(
        "/proc/cpuinfo",
        "CPU implementer\t: 0x61\nCPU part\t: 0x022\n",
    )]);
    assert_eq!(
        text(&read_under(root.path()).cpu_model),
        "implementer 0x61 part 0x022"
    );
}

#[test]
fn x86_without_the_flag_is_not_virtual_and_xen_says_so_elsewhere() {
    let root = Root::new(&[("/proc/cpuinfo", "flags\t: fpu vme\n")]);
    assert_eq!(text(&read_under(root.path()).virtualisation), "none");
    root.write("/sys/hypervisor/type", "xen\n");
    assert_eq!(text(&read_under(root.path()).virtualisation), "Xen");
    let root = Root::new(&[("/proc/cpuinfo", "flags\t: fpu hypervisor\n")]);
    assert_eq!(text(&read_under(root.path()).virtualisation), "unnamed");
}

#[test]
fn container_with_half_of_sys_missing() {
    let root = Root::new(&[
        ("/proc/self/status", "Seccomp:\t2\n"),
        ("/proc/sys/kernel/osrelease", "5.15.0-91-generic\n"),
        ("/proc/cpuinfo", "model name : Some CPU\n"),
        ("/proc/self/cgroup", "0::/\n"),
        (
            "/proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
        ),
        ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
    ]);
    let machine = read_under(root.path());
    let expected = Machine {
        kernel_release: Some("5.15.0-91-generic".to_owned()),
        cpu_model: Some("Some CPU".to_owned()),
        seccomp: Some(true),
        cpu_quota: Some(CpuQuota::Limited {
            quota_us: 150_000,
            period_us: 100_000,
        }),
        memory_limit: Some(Bound::Unlimited),
        ..Machine::default()
    };
    assert_eq!(machine, expected);
    assert_eq!(
        machine.summary(),
        "Some CPU, cgroup limit 1.50 CPUs, Linux 5.15.0-91-generic"
    );
}

#[test]
fn nothing_there_is_all_unknown() {
    let machine = read_under(Root::new(&[]).path());
    assert_eq!(machine, Machine::default());
    assert_eq!(machine.summary(), "unknown CPU");
}

#[test]
fn garbage_is_unknown_and_never_a_panic() {
    let root = x86_vm();
    for text in GARBAGE {
        for file in root.files() {
            root.write(&file, text);
        }
        let machine = read_under(root.path());
        assert_eq!(machine.memory_total_bytes, None);
        assert_eq!(machine.load_average, None);
        assert_eq!(machine.pressure, StartPressure::default());
        assert_eq!(machine.topology, Topology::default());
        assert_eq!(machine.rlimits, Rlimits::default());
    }
}

#[test]
fn the_tightest_group_decides() {
    let quota = |cgroup: &str, mountinfo: &str, files: &[(&str, &str)]| {
        let root = Root::new(&[
            ("/proc/self/cgroup", cgroup),
            ("/proc/self/mountinfo", mountinfo),
        ]);
        for (path, text) in files {
            root.write(&format!("/sys/fs/cgroup/{path}"), text);
        }
        let machine = read_under(root.path());
        (machine.cpu_quota, machine.memory_limit)
    };
    let limited = |quota_us, period_us| {
        Some(CpuQuota::Limited {
            quota_us,
            period_us,
        })
    };
    let mount = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    let files = [
        ("a/cpu.max", "200000 400000"),
        ("a/memory.max", "4096\n"),
        ("a/b/cpu.max", "max 100000"),
        ("a/b/memory.max", "max\n"),
        ("a/b/c/cpu.max", "90000 100000"),
    ];
    let inner = quota("0::/a/b/c", mount, &files);
    assert_eq!(inner, (limited(200_000, 400_000), Some(Bound::At(4096))));
    let top = quota("0::/", mount, &files);
    assert_eq!(top, (Some(CpuQuota::Unlimited), Some(Bound::Unlimited)));
    for text in ["lots 100000", "5000 0"] {
        assert_eq!(quota("0::/a", mount, &[("a/cpu.max", text)]).0, None);
    }
    assert_eq!(quota("0::/gone", mount, &files), (None, None));

    let mount = "32 31 0:29 / /sys/fs/cgroup/c rw - cgroup cgroup rw,cpu,cpuacct\n";
    let files = [
        ("c/b/cpu.cfs_quota_us", "-1\n"),
        ("c/b/cpu.cfs_period_us", "100000\n"),
        ("c/cpu.cfs_quota_us", "50000\n"),
        ("c/cpu.cfs_period_us", "100000\n"),
    ];
    let inner = quota("1:cpu,cpuacct:/b\n0::/\n", mount, &files);
    assert_eq!(inner, (limited(50_000, 100_000), None));
}

#[test]
fn numbers_that_json_lacks_are_unknown() {
    let root = Root::new(&[
        ("/proc/loadavg", "NaN inf NaN\n"),
        ("/proc/pressure/cpu", "some avg10=inf avg60=0\n"),
    ]);
    assert_eq!(read_under(root.path()), Machine::default());
}

#[test]
fn this_machine_can_be_read() {
    let machine = read();
    assert!(machine.kernel_release.is_some());
    assert!(machine.architecture.is_some());
    assert!(machine.cpus_online.is_some());
    assert!(machine.memory_total_bytes.is_some_and(|bytes| bytes > 0));
    assert!(machine.clock_step_ns.is_some());
    assert!(machine.same_machine(&machine).is_empty());
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
fn x86_vm() -> Root {
    let root = Root::new(&[
        ("/proc/sys/kernel/osrelease", "6.18.44\n"),
        ("/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC @0\n"),
        ("/proc/sys/kernel/arch", "x86_64\n"),
        ("/proc/sys/kernel/sched_autogroup_enabled", "1\n"),
        ("/proc/sys/kernel/perf_event_paranoid", "-1\n"),
        ("/proc/sys/kernel/io_uring_disabled", "0\n"),
        ("/proc/cmdline", "quiet preempt=none preempt=full panic=1\n"),
        ("/proc/cpuinfo", X86_CPUINFO),
        (
            "/proc/meminfo",
            "MemTotal:       24684096 kB\nSwapTotal:             0 kB\n",
        ),
        ("/proc/loadavg", "0.14 0.11 1.07 2/83 5640\n"),
        (
            "/proc/pressure/cpu",
            "some avg10=0.14 avg60=0.11 avg300=0.07 total=3230228\n",
        ),
        (
            "/proc/pressure/io",
            "some avg10=0.94 avg60=0.24 avg300=0.10 total=2\nfull avg10=9.00\n",
        ),
        (
            "/proc/self/status",
            "Name:\tcat\nCpus_allowed:\t3\nCpus_allowed_list:\t0-1\nSeccomp:\t0\n",
        ),
        ("/proc/self/limits", LIMITS),
        ("/proc/self/timerslack_ns", "50000\n"),
        (
            "/etc/os-release",
            "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
        ),
        (
            "/sys/kernel/debug/sched/preempt",
            "none voluntary full (lazy)\n",
        ),
        (
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        ),
        (
            "/sys/kernel/mm/transparent_hugepage/defrag",
            "always defer [defer+madvise] never\n",
        ),
        ("/sys/devices/system/node/online", "0\n"),
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
        root.write(&format!("{CPUS}/{path}"), text);
    }
    let clock = "/sys/devices/system/clocksource/clocksource0";
    root.write(&format!("{clock}/current_clocksource"), "tsc\n");
    root.write(
        &format!("{clock}/available_clocksource"),
        "tsc kvm-clock \n",
    );
    root
}
