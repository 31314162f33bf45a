use std::fs;

use contract::message::{Need, Needs, Usage};
use facts::service::ThreadGroup;
use facts::{Case, Process, Samples};

use super::*;
use crate::testing;

const LOAD: Load = Load {
    switches: Some(1000.0),
    tasks: Some(1000),
    are_connections: false,
    link: Some(Link::Pipe),
    cpus: 2.0,
    measured_cpus: 2.0,
};

/// Advice on a service whose one group of threads switched so often in a second.
fn advice(voluntary: u64, [seen, all]: [u64; 2], cpus: f64) -> Advice {
    let service = Service {
        elapsed_ns: 1_000_000_000,
        groups: vec![ThreadGroup { voluntary, cpu_ns: seen, ..ThreadGroup::default() }],
        cpu_ns: all,
        cpus,
        ..Service::default()
    };
    Advice::of_service(LOAD, ([[8e3, 1e4], [1e3, 1e3]], Grade::Sure), service)
}

#[test]
fn a_row_declares_its_link_and_a_runtime_makes_it_one_of_tasks() {
    let record = |link, flavor: Option<&str>| {
        let runtime = flavor
            .map(|flavor| Runtime { flavor: flavor.to_owned(), ..Runtime::one_thread("x", None) });
        let process = Process {
            hops: Some(1),
            samples: Samples::of(&[100; 9]),
            usage: Some(Usage { user_ns: 900, ..Usage::default() }),
            runtime,
            ..Process::of("mine", Vec::new())
        };
        let row = flavor.unwrap_or("thread").to_owned();
        testing::in_case(Metric::Hop, Case { link, row, ..Case::default() }, process)
    };
    let multi = record(Some(Link::Pipe), Some("multi-thread"));
    let found = |records: &[Record]| costs(records, &[Link::Pipe]).is_some();
    // Threads and tasks are needed, over this link.
    assert!(!found(std::slice::from_ref(&multi)));
    for (link, flavor, expected) in [
        (Some(Link::Pipe), None, true),
        (Some(Link::Memory), None, false),
        (None, None, false),
        (Some(Link::Pipe), Some("current-thread"), false),
    ] {
        let both = [multi.clone(), record(link, flavor)];
        assert_eq!(found(&both), expected, "{link:?} {flavor:?}");
    }
}

#[test]
fn a_share_of_the_cpus_decides() {
    for (rate, cpus, measured_cpus, verdict) in [
        (9_000.0, 2.0, 2.0, Verdict::Little),
        (30_000.0, 2.0, 2.0, Verdict::Unclear),
        (200_000.0, 2.0, 2.0, Verdict::Much),
        (5_000_000.0, 2.0, 2.0, Verdict::TooMuch),
        // One runtime has no more CPUs than were measured.
        (5_000_000.0, 64.0, 2.0, Verdict::TooMuch),
        (5_000_000.0, 64.0, 64.0, Verdict::Unclear),
    ] {
        let load = Load { switches: Some(rate), cpus, measured_cpus, ..LOAD };
        let each = ([[5e3, 1e4], [500.0, 1e3]], Grade::Sure);
        let switching = Advice::of_load(load, Some(each), None).switching.unwrap();
        assert_eq!(switching.verdict, verdict, "{rate} {cpus}");
        assert_eq!(switching.turns.map(f64::round), [5e3 * cpus, 1e5 * cpus]);
    }
}

#[test]
fn no_load_is_advised_that_a_limit_refuses() {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/sys/vm/max_map_count", "65530\n"),
        ("proc/self/maps", ""),
        (
            "proc/self/limits",
            "Max open files            1024                 20000                files\n",
        ),
    ] {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let limits = Limits::read_under(root.path());
    let needs =
        |maps| Needs { maps: Need::new(0, maps), descriptors: Need::new(0, 1), ..Needs::default() };
    let asked = [("threads".to_owned(), Ok(needs(4))), ("tasks".to_owned(), Ok(needs(0)))];
    let held = |tasks| {
        let load = Load { tasks: Some(tasks), ..LOAD };
        load.holding(([[1e4; 2], [1e3; 2]], Grade::Sure), asked.clone(), &limits, Some(1 << 40))
    };
    for (tasks, verdict) in
        [(9_000, Verdict::Little), (17_000, Verdict::Much), (30_000, Verdict::TooMuch)]
    {
        let held = held(tasks).unwrap();
        assert_eq!((held.verdict, held.up_to), (verdict, Some(16_382)), "{tasks}");
        let (limit, most) = held.first_limit(0).unwrap();
        assert_eq!((limit.name.as_str(), most), ("vm.max_map_count", 16_382));
        assert_eq!(held.first_limit(1).unwrap().1, 19_997);
        assert_eq!(held.is_refused(), tasks > 16_382);
        assert_eq!(held.limits.raises.is_empty(), tasks < 16_382);
    }
}

#[test]
fn a_service_is_judged_by_the_cpus_that_it_could_use() {
    const SECOND: u64 = 1_000_000_000;
    for (switches, cpu_ns, cpus, verdict) in [
        // It does nothing but switch, on one CPU of many.
        (100_000, [SECOND; 2], 1.0, Verdict::Much),
        (100_000, [SECOND; 2], 4.0, Verdict::Unclear),
        // It sleeps, or computes.
        (0, [0; 2], 1.0, Verdict::Little),
        (100, [500_000; 2], 1.0, Verdict::Little),
        (5_000, [SECOND; 2], 1.0, Verdict::Little),
        (20_000, [SECOND; 2], 1.0, Verdict::Unclear),
        // Too little of it was seen.
        (30, [25, SECOND], 1.0, Verdict::Unclear),
    ] {
        let advice = advice(switches, cpu_ns, cpus);
        let (switching, watched) = (advice.switching.unwrap(), advice.watched.unwrap());
        assert_eq!(switching.verdict, verdict, "{switches} {cpus}");
        // No more than was used.
        assert!(switching.cpus[0][1] <= watched.used && watched.of_its_time[1] <= 1.0);
    }
    // What came and went counts by its CPU time. The clocks of a process and of its threads are read one after the
    // other: 24.
    for (all, rate) in [(100, 120.0), (25, 30.0), (24, 30.0)] {
        assert_eq!(advice(30, [25, all], 1.0).load.switches, Some(rate));
    }
}
