//! Machines made of files.

use super::*;
use host::fixtures::Root;

/// Two CPUs of a rented server.
const X86_VM: &str = "\
/proc/sys/kernel/osrelease: 6.18.44
/proc/sys/kernel/version: #1 SMP PREEMPT_DYNAMIC @0
/proc/cmdline: quiet preempt=none preempt=full panic=1
/proc/cpuinfo: model name	: AMD EPYC 9R45
/proc/cpuinfo: flags		: fpu vme tsc ht constant_tsc hypervisor lahf_lm
/proc/meminfo: MemTotal:       24684096 kB
/proc/loadavg: 0.14 0.11 1.07 2/83 5640
/proc/pressure/cpu: some avg10=0.94 avg60=0.24 avg300=0.10 total=2
/proc/pressure/cpu: full avg10=9.00
/proc/self/mountinfo: 31 23 0:28 / /g rw - cgroup2 cgroup2 rw
/proc/self/cgroup: 0::/a/b
/g/a/cpu.max: 150000 100000
/g/a/b/cpu.max: max 100000
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
/sys/devices/system/cpu/cpu1/topology/thread_siblings_list: 1";

fn read(lines: &str) -> Machine {
    read_under(Root::new(lines).path())
}

fn text<'a>(machine: &'a Machine, name: &str) -> &'a str {
    machine.text(name).unwrap_or("unknown")
}

#[test]
fn a_virtual_machine() {
    let machine = read(X86_VM);
    assert_eq!(machine.summary(), "AMD EPYC 9R45, 2 CPUs under KVM, quota 1.5 CPUs, Linux 6.18.44");
    let pinned = read(&X86_VM.replace("list:\t0-1", "list:\t1")).summary();
    assert!(pinned.contains("1 of 2 CPUs (all on CPU 1, unpinned or not) under KVM"), "{pinned}");
    for (fact, expected) in [
        ("preemption_boot", "full"),
        ("distribution", "Debian GNU/Linux 12 (bookworm)"),
        ("affinity", "0-1"),
        ("clock_source", "tsc"),
        ("thp_defrag", "defer+madvise"),
        ("governor", "unknown"),
    ] {
        assert_eq!(text(&machine, fact), expected);
    }
    for (fact, expected) in [
        ("topology", json!({"sockets": 1, "cores": 2, "threads_per_core": 1})),
        ("seccomp", json!(false)),
        ("timer_slack_ns", json!(50_000)),
        ("load_average", json!([0.14, 0.11, 1.07])),
        ("pressure/cpu", json!(0.94)),
    ] {
        assert_eq!(machine.get(fact), Some(&expected), "{fact}");
    }

    // What one side does not know, and what belongs to a run, is not compared.
    let without = X86_VM.replace("/proc/cmdline: quiet preempt=none preempt=full panic=1\n", "");
    let mut other = read(&without);
    other.set("load_average", json!([9.0, 9.0, 9.0]));
    other.set("governor", "powersave");
    assert!(machine.same_machine(&other).is_empty());
    other.set("thp_enabled", "always");
    other.set("mitigations", json!({"meltdown": "Vulnerable"}));
    assert_eq!(machine.same_machine(&other), ["mitigations", "thp_enabled"]);
}

const AARCH64: &str = "\
/proc/cpuinfo: CPU implementer	: 0x41
/proc/cpuinfo: CPU part	: 0xd0c
/proc/cpuinfo: CPU implementer	: 0x61
/proc/cpuinfo: CPU part	: 0x022
/proc/sys/kernel/version: #1 SMP Thu Jan 1 00:00:00 UTC 2026
/sys/class/dmi/id/sys_vendor: Amazon EC2
/sys/devices/system/cpu/cpufreq/policy0/scaling_governor: performance
/sys/devices/system/cpu/cpufreq/policy3/scaling_governor: schedutil
/sys/devices/system/cpu/intel_pstate/no_turbo: 1";

#[test]
fn a_server_of_another_architecture() {
    let metal = read(&format!("{AARCH64}\n/sys/class/dmi/id/product_name: m6g.metal"));
    let cores = "Arm Neoverse-N1 (0x41/0xd0c) + implementer 0x61 part 0x022";
    assert_eq!(text(&metal, "cpu_model"), cores);
    assert_eq!(text(&metal, "preemption"), "none or voluntary");
    assert_eq!(text(&metal, "virtualisation"), "none");
    assert_eq!(text(&metal, "governor"), "performance,schedutil");
    assert_eq!(metal.get("boost"), Some(&json!(false)));
}

#[test]
fn a_hypervisor_shows_in_several_places() {
    for (file, name) in [
        ("/proc/cpuinfo: flags	: fpu vme", "none"),
        ("/proc/cpuinfo: flags	: fpu hypervisor", "unnamed"),
        ("/sys/hypervisor/type: xen", "Xen"),
        ("/sys/class/dmi/id/sys_vendor: Ampere", "unknown"),
    ] {
        assert_eq!(text(&read(file), "virtualisation"), name);
    }
}

#[test]
fn the_tightest_group_decides() {
    let version_1 = "\
/proc/self/cgroup: 1:cpu,cpuacct:/b
/proc/self/mountinfo: 32 31 0:29 / /g rw - cgroup cgroup rw,cpu,cpuacct
/g/b/cpu.cfs_quota_us: -1
/g/b/cpu.cfs_period_us: 100000
/g/cpu.cfs_quota_us: 50000
/g/cpu.cfs_period_us: 100000";
    let quota = json!({"quota_us": 50_000, "period_us": 100_000});
    assert_eq!(read(version_1).get("cpu_quota"), Some(&quota));
    assert_eq!(read(version_1).quota(), Some(0.5));
    let odd = X86_VM.replace("max 100000", "lots 100000");
    assert_eq!(read(&odd).get("cpu_quota"), None);
}

#[test]
fn a_memory_limit_is_a_number_or_a_word() {
    let version_1 = "\
/proc/self/cgroup: 4:memory:/a
/proc/self/mountinfo: 31 23 0:28 / /g rw - cgroup cgroup rw,memory
/g/memory.limit_in_bytes: 9223372036854771712
/g/a/memory.limit_in_bytes: ";
    let version_2 = "\
/proc/self/cgroup: 0::/a/b
/proc/self/mountinfo: 31 23 0:28 / /g rw - cgroup2 cgroup2 rw
/g/a/b/memory.max: max
/g/a/memory.max: ";
    for (group, limit) in [
        (format!("{version_2}4096"), json!(4096)),
        (format!("{version_2}max"), json!("unlimited")),
        (format!("{version_1}4096"), json!(4096)),
        (format!("{version_1}9223372036854771712"), json!("unlimited")),
    ] {
        assert_eq!(read(&group).get("memory_limit"), Some(&limit));
    }
}

#[test]
fn missing_files_and_infinite_numbers_are_unknown() {
    let infinite = "/proc/loadavg: NaN inf NaN\n/proc/pressure/cpu: some avg10=inf avg60=0";
    assert_eq!(read(infinite), Machine::default());
    assert_eq!(Machine::default().summary(), "unknown CPU, Linux of unknown release");
}
