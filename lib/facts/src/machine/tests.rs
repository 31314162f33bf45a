//! Machines made of files.

use super::*;
use crate::fixtures::Root;

/// Two CPUs of a rented server.
const X86_VM: &str = "\
/proc/sys/kernel/osrelease: 6.18.44
/proc/sys/kernel/version: #1 SMP PREEMPT_DYNAMIC @0
/proc/cmdline: quiet preempt=none preempt=full panic=1
/proc/cpuinfo: processor	: 0
/proc/cpuinfo: model name	: AMD EPYC 9R45
/proc/cpuinfo: flags		: fpu vme tsc ht constant_tsc hypervisor lahf_lm
/proc/meminfo: MemTotal:       24684096 kB
/proc/loadavg: 0.14 0.11 1.07 2/83 5640
/proc/pressure/io: some avg10=0.94 avg60=0.24 avg300=0.10 total=2
/proc/pressure/io: full avg10=9.00
/proc/self/status: Cpus_allowed_list:	0-1
/proc/self/status: Seccomp:	0
/proc/self/timerslack_ns: 50000
/etc/os-release: PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"
/sys/kernel/debug/sched/preempt: none voluntary full (lazy)
/sys/kernel/mm/transparent_hugepage/enabled: always [madvise] never
/sys/kernel/mm/transparent_hugepage/defrag: always defer [defer+madvise] never
/sys/devices/system/clocksource/clocksource0/current_clocksource: tsc
/sys/devices/system/clocksource/clocksource0/available_clocksource: tsc kvm-clock
/sys/devices/system/cpu/online: 0-1
/sys/devices/system/cpu/vulnerabilities/meltdown: Not affected
/sys/devices/system/cpu/cpu0/topology/physical_package_id: 0
/sys/devices/system/cpu/cpu1/topology/physical_package_id: 0
/sys/devices/system/cpu/cpu0/topology/thread_siblings_list: 0
/sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1
/sys/devices/system/cpu/cpu0/cache/index0/level: 1
/sys/devices/system/cpu/cpu0/cache/index0/size: 48K
/sys/devices/system/cpu/cpu0/cache/index1/level: 3
/sys/devices/system/cpu/cpu0/cache/index1/size: 32MB";

fn read(lines: &str) -> Machine {
    read_under(Root::new(lines).path())
}

fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("unknown")
}

#[test]
fn a_virtual_machine() {
    let machine = read(X86_VM);
    for (fact, expected) in [
        (&machine.kernel_release, "6.18.44"),
        (&machine.preemption, "PREEMPT_DYNAMIC"),
        (&machine.preemption_mode, "lazy"),
        (&machine.preemption_boot, "full"),
        (&machine.distribution, "Debian GNU/Linux 12 (bookworm)"),
        (&machine.cpu_model, "AMD EPYC 9R45"),
        (&machine.virtualisation, "KVM"),
        (&machine.affinity, "0-1"),
        (&machine.clock_source, "tsc"),
        (&machine.thp_enabled, "madvise"),
        (&machine.thp_defrag, "defer+madvise"),
        (&machine.governor, "unknown"),
    ] {
        assert_eq!(text(fact), expected);
    }
    let topology = Topology { sockets: Some(1), cores: Some(2), threads_per_core: Some(1) };
    assert_eq!(machine.topology, topology);
    assert_eq!(machine.seccomp, Some(false));
    let sizes: Vec<_> = machine.caches.iter().map(|cache| cache.size_bytes).collect();
    assert_eq!(sizes, [Some(48 << 10), None], "MB is no unit of sysfs");
    assert_eq!(machine.mitigations["meltdown"], "Not affected");
    assert_eq!(machine.timer_slack_ns, Some(50_000));
    assert_eq!(machine.load_average, Some([0.14, 0.11, 1.07]));
    assert_eq!(machine.pressure.io, Some(0.94));
    assert_eq!(machine.pressure.memory, None);
}

const AARCH64: &str = "\
/proc/cpuinfo: processor	: 0
/proc/cpuinfo: CPU implementer	: 0x41
/proc/cpuinfo: CPU part	: 0xd0c
/proc/cpuinfo: CPU implementer	: 0x61
/proc/cpuinfo: CPU part	: 0x022
/proc/sys/kernel/version: #1 SMP Thu Jan 1 00:00:00 UTC 2026
/sys/devices/system/cpu/online: 0-1
/sys/devices/system/cpu/cpu1/topology/physical_package_id: 0
/sys/devices/system/cpu/cpufreq/policy0/scaling_governor: performance
/sys/devices/system/cpu/cpufreq/policy3/scaling_governor: schedutil
/sys/devices/system/cpu/intel_pstate/no_turbo: 1";

#[test]
fn a_server_of_another_architecture() {
    let machine = |vendor, product, package| {
        let (dmi, cpu) = ("/sys/class/dmi/id", "/sys/devices/system/cpu/cpu0");
        read(&format!(
            "{AARCH64}\n{dmi}/sys_vendor: {vendor}\n{dmi}/product_name: {product}\n\
             {cpu}/topology/physical_package_id: {package}"
        ))
    };
    let metal = machine("Amazon EC2", "m6g.metal", 36);
    let cores = "Arm Neoverse-N1 (0x41/0xd0c) + implementer 0x61 part 0x022";
    assert_eq!(text(&metal.cpu_model), cores);
    assert_eq!(text(&metal.preemption), "none or voluntary");
    assert_eq!(text(&metal.virtualisation), "none");
    assert_eq!(text(&metal.hardware), "Amazon EC2 m6g.metal");
    assert_eq!(text(&metal.governor), "performance,schedutil");
    assert_eq!(metal.boost, Some(false));
    assert_eq!(metal.topology.sockets, Some(2));

    let virtual_one = machine("Amazon EC2", "m6g.large", 36);
    assert_eq!(text(&virtual_one.virtualisation), "Amazon EC2");
    // Neither a flag nor a known name proves anything.
    let unknown = machine("Ampere", "m6g.large", -1);
    assert_eq!((unknown.virtualisation, unknown.topology.sockets), (None, None));
}

#[test]
fn a_hypervisor_shows_in_several_places() {
    for (file, name) in [
        ("/proc/cpuinfo: flags	: fpu vme", "none"),
        ("/proc/cpuinfo: flags	: fpu hypervisor", "unnamed"),
        ("/sys/hypervisor/type: xen", "Xen"),
    ] {
        assert_eq!(text(&read(file).virtualisation), name);
    }
}

#[test]
fn the_tightest_group_decides() {
    let version_2 = "\
/proc/self/mountinfo: 31 23 0:28 / /g rw - cgroup2 cgroup2 rw
/g/a/cpu.max: 200000 400000
/g/a/b/cpu.max: max 100000
/g/a/b/c/cpu.max: 90000 100000
/g/odd/cpu.max: lots 100000";
    let limited = |quota_us, period_us| Some(CpuQuota::Limited { quota_us, period_us });
    for (path, quota) in [
        ("/a/b/c", limited(200_000, 400_000)),
        ("/", Some(CpuQuota::Unlimited)),
        ("/odd", None),
        ("/gone", None),
    ] {
        let machine = read(&format!("{version_2}\n/proc/self/cgroup: 0::{path}"));
        assert_eq!(machine.cpu_quota, quota);
    }
    let version_1 = "\
/proc/self/cgroup: 1:cpu,cpuacct:/b
/proc/self/mountinfo: 32 31 0:29 / /g rw - cgroup cgroup rw,cpu,cpuacct
/g/b/cpu.cfs_quota_us: -1
/g/b/cpu.cfs_period_us: 100000
/g/cpu.cfs_quota_us: 50000
/g/cpu.cfs_period_us: 100000";
    assert_eq!(read(version_1).cpu_quota, limited(50_000, 100_000));
}

#[test]
fn missing_files_and_infinite_numbers_are_unknown() {
    assert_eq!(read(""), Machine::default());
    let infinite = "/proc/loadavg: NaN inf NaN\n/proc/pressure/cpu: some avg10=inf avg60=0";
    assert_eq!(read(infinite), Machine::default());
}

/// The facts that a summary and a comparison regard.
fn known() -> Machine {
    Machine {
        kernel_release: Some("6.18.44".to_owned()),
        preemption: Some("PREEMPT_DYNAMIC".to_owned()),
        preemption_mode: Some("lazy".to_owned()),
        preemption_boot: Some("full".to_owned()),
        cpu_model: Some("AMD EPYC 9R45".to_owned()),
        cpus_online: Some("0-1".to_owned()),
        virtualisation: Some("KVM".to_owned()),
        mitigations: [("meltdown".to_owned(), "Not affected".to_owned())].into(),
        topology: Topology { threads_per_core: Some(1), ..Topology::default() },
        cpu_quota: Some(CpuQuota::Limited { quota_us: 150_000, period_us: 100_000 }),
        memory_total_bytes: Some(25_276_514_304),
        thp_enabled: Some("madvise".to_owned()),
        ..Machine::default()
    }
}

#[test]
fn the_summary_leaves_out_what_is_unknown() {
    assert_eq!(
        known().summary(),
        "AMD EPYC 9R45, 2 CPUs (1 thread per core), cgroup limit 1.50 CPUs, virtual (KVM), \
         Linux 6.18.44 PREEMPT_DYNAMIC (lazy), 23.5 GiB"
    );
    assert_eq!(Machine::default().summary(), "unknown CPU");
}

#[test]
fn only_what_voids_a_comparison_differs() {
    let machine = known();
    // What one side does not know, and what belongs to a run, is not compared.
    let mut other = Machine {
        load_average: Some([9.0; 3]),
        governor: Some("powersave".to_owned()),
        preemption_boot: None,
        ..machine.clone()
    };
    assert!(machine.same_machine(&other).is_empty());
    other.thp_enabled = Some("always".to_owned());
    other.mitigations = [("meltdown".to_owned(), "Vulnerable".to_owned())].into();
    assert_eq!(machine.same_machine(&other), ["thp_enabled", "mitigations"]);
    assert_eq!(other.same_machine(&machine), ["thp_enabled", "mitigations"]);
}

#[test]
fn a_quota_is_numbers_or_a_word_and_lines_of_other_versions_parse() {
    let mut machine = known();
    for quota in [r#"{"quota_us":150000,"period_us":100000}"#, r#""unlimited""#] {
        let line = serde_json::to_string(&machine).unwrap();
        assert!(line.contains(&format!(r#""cpu_quota":{quota}"#)), "{line}");
        assert_eq!(serde_json::from_str::<Machine>(&line).unwrap(), machine);
        machine.cpu_quota = Some(CpuQuota::Unlimited);
    }
    let other = r#"{"cpu_model":"X","topology":{"cores":2},"unknown_field":1}"#;
    let other: Machine = serde_json::from_str(other).unwrap();
    assert_eq!(other.topology.cores, Some(2));
}
