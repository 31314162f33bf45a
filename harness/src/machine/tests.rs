//! What is read of a machine, and what is not guessed.

use std::fs;

use super::fixtures::{CPUS, Root, x86_vm};
use super::*;

fn text(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("unknown")
}

#[test]
fn x86_virtual_machine() {
    let machine = x86_vm().read();
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
        ("proc/cpuinfo", block.repeat(160).as_str()),
        (
            "proc/sys/kernel/version",
            "#1 SMP Thu Jan 1 00:00:00 UTC 2026\n",
        ),
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "m6g.metal\n"),
        ("sys/devices/system/node/online", "0-1\n"),
    ]);
    root.write(&format!("{CPUS}/online"), b"0-3\n");
    for (cpu, package, threads) in [
        (0, "0-1", "0"),
        (1, "0-1", "1"),
        (2, "2-3", "2"),
        (3, "2-3", "3"),
    ] {
        let topology = format!("{CPUS}/cpu{cpu}/topology");
        root.write(&format!("{topology}/physical_package_id"), b"36\n");
        root.write(
            &format!("{topology}/core_siblings_list"),
            package.as_bytes(),
        );
        root.write(
            &format!("{topology}/thread_siblings_list"),
            threads.as_bytes(),
        );
        let policy = format!("{CPUS}/cpufreq/policy{cpu}/scaling_governor");
        let governor = if cpu == 3 {
            "schedutil\n"
        } else {
            "performance\n"
        };
        root.write(&policy, governor.as_bytes());
    }
    let cpufreq = format!("{CPUS}/cpu0/cpufreq");
    root.write(&format!("{cpufreq}/cpuinfo_max_freq"), b"2500000\n");
    root.write(&format!("{CPUS}/intel_pstate/no_turbo"), b"1\n");

    let machine = root.read();
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

    root.write("sys/class/dmi/id/product_name", b"m6g.large\n");
    assert_eq!(text(&root.read().virtualisation), "Amazon EC2");
    root.write("sys/class/dmi/id/sys_vendor", b"Ampere\n");
    assert_eq!(
        root.read().virtualisation,
        None,
        "no flag and no name prove nothing"
    );
    for cpu in 0..4 {
        let package = format!("{CPUS}/cpu{cpu}/topology/physical_package_id");
        root.write(&package, b"-1\n");
    }
    assert_eq!(root.read().topology.sockets, None);
}

#[test]
fn unknown_arm_core_shows_its_numbers() {
    let root = Root::new(&[(
        "proc/cpuinfo",
        "CPU implementer\t: 0x61\nCPU part\t: 0x022\n",
    )]);
    assert_eq!(text(&root.read().cpu_model), "implementer 0x61 part 0x022");
}

#[test]
fn x86_without_the_flag_is_not_virtual_and_xen_says_so_elsewhere() {
    let root = Root::new(&[("proc/cpuinfo", "flags\t: fpu vme\n")]);
    assert_eq!(text(&root.read().virtualisation), "none");
    root.write("sys/hypervisor/type", b"xen\n");
    assert_eq!(text(&root.read().virtualisation), "Xen");
    let root = Root::new(&[("proc/cpuinfo", "flags\t: fpu hypervisor\n")]);
    assert_eq!(text(&root.read().virtualisation), "unnamed");
}

#[test]
fn container_with_half_of_sys_missing() {
    let root = Root::new(&[
        ("proc/self/status", "Seccomp:\t2\n"),
        ("proc/sys/kernel/osrelease", "5.15.0-91-generic\n"),
        ("proc/cpuinfo", "model name : Some CPU\n"),
        ("proc/self/cgroup", "0::/\n"),
        (
            "proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
        ),
        ("sys/fs/cgroup/cpu.max", "150000 100000\n"),
    ]);
    let machine = root.read();
    let expected = Machine {
        kernel_release: Some("5.15.0-91-generic".to_owned()),
        cpu_model: Some("Some CPU".to_owned()),
        seccomp: Some(true),
        cpu_quota: Some(CpuQuota::Limited {
            quota_us: 150_000,
            period_us: 100_000,
        }),
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
    let machine = Root::new(&[]).read();
    assert_eq!(machine, Machine::default());
    assert_eq!(machine.summary(), "unknown CPU");
}

#[test]
fn garbage_is_unknown_and_never_a_panic() {
    let whole = x86_vm();
    let mut files = Vec::new();
    let mut directories = vec![whole.0.clone()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => files.push(path),
            }
        }
    }
    let garbage: [&[u8]; 8] = [
        b"\xff\xfe\x00\x01",
        b"0-4294967295",
        b"-:,[(=\n:\n\n,,--",
        b"some avg10=\nMemTotal: 99999999999999999999 kB\nflags:\nCpus_allowed_list:",
        "Max open files \u{1F980} \nCPU part: \u{E9}\nPRETTY_NAME=\"\n".as_bytes(),
        b"99999999999999999999999999K",
        b"NaN inf NaN\nsome avg10=inf",
        &[b'x'; 20_000],
    ];
    for bytes in garbage {
        for file in &files {
            fs::write(file, bytes).unwrap();
        }
        let machine = whole.read();
        assert_eq!(machine.memory_total_bytes, None);
        assert_eq!(machine.load_average, None);
        assert_eq!(machine.pressure, StartPressure::default());
        assert_eq!(machine.topology, Topology::default());
        assert_eq!(machine.rlimits, Rlimits::default());
        assert!(!machine.summary().is_empty());
    }
}

#[test]
fn json_keeps_every_fact_and_old_lines_parse() {
    let mut machine = x86_vm().read();
    machine.clock_read_ns = Some(23.45);
    machine.cpu_quota = Some(CpuQuota::Limited {
        quota_us: 50_000,
        period_us: 100_000,
    });
    let line = serde_json::to_string(&machine).unwrap();
    assert_eq!(serde_json::from_str::<Machine>(&line).unwrap(), machine);
    assert!(line.contains(r#""stack":{"soft":8388608,"hard":"unlimited"}"#));
    assert!(line.contains(r#""cpu_quota":{"quota_us":50000,"period_us":100000}"#));

    machine.cpu_quota = Some(CpuQuota::Unlimited);
    let line = serde_json::to_string(&machine).unwrap();
    assert!(line.contains(r#""cpu_quota":"unlimited""#));
    assert_eq!(serde_json::from_str::<Machine>(&line).unwrap(), machine);

    let old = r#"{"cpu_model":"X","topology":{"cores":2},"since_dropped":1}"#;
    let old: Machine = serde_json::from_str(old).unwrap();
    assert_eq!(old.topology.cores, Some(2));
    assert_eq!(old.load_average, None);
}

#[test]
fn only_what_voids_a_comparison_differs() {
    let machine = x86_vm().read();
    let mut other = machine.clone();
    other.load_average = Some([9.0; 3]);
    other.affinity = Some("0".to_owned());
    other.governor = Some("powersave".to_owned());
    assert!(
        machine.same_machine(&other).is_empty(),
        "unknown is no difference"
    );

    other.preemption_boot = Some("none".to_owned());
    assert!(
        machine.same_machine(&other).is_empty(),
        "the mode in force is known"
    );
    other.preemption_mode = None;
    assert_eq!(machine.same_machine(&other), ["preemption_boot"]);
    other.preemption_boot = None;

    other.kernel_release = Some("6.1.0".to_owned());
    other.thp_enabled = Some("always".to_owned());
    let state = "Vulnerable".to_owned();
    other.mitigations.insert("meltdown".to_owned(), state);
    let names = ["kernel_release", "thp_enabled", "mitigations"];
    assert_eq!(machine.same_machine(&other), names);
    assert_eq!(other.same_machine(&machine), names);
}

#[test]
fn this_machine_can_be_read() {
    let machine = Machine::read();
    assert!(machine.kernel_release.is_some());
    assert!(machine.architecture.is_some());
    assert!(machine.cpus_online.is_some());
    assert!(machine.memory_total_bytes.is_some_and(|bytes| bytes > 0));
    assert!(machine.clock_step_ns.is_some());
    assert!(machine.same_machine(&machine).is_empty());
}

#[test]
fn the_build_knows_its_compiler() {
    let build = Build::current();
    assert!(text(&build.rustc).starts_with("rustc "));
    assert!(build.target.is_some());
    assert!(build.opt_level.is_some());
    let mut other = build.clone();
    other.tokio = Some("0.0.0".to_owned());
    other.dirty = Some(false);
    let differences = Build {
        dirty: Some(false),
        tokio: Some("1.54.1".to_owned()),
        ..build
    }
    .same_build(&other);
    assert_eq!(differences, ["tokio"]);
}
