use record::{Case, Memory, MemoryChange, Process, Record};

use super::*;
use crate::analysis;
use crate::{render, testing};

/// A run with so many tasks: 2 us each to build, 1 us a hop to pass through, 3 us each to take
/// down, 1000 + 4096 bytes each.
fn record(tasks: u64, error: Option<&str>) -> Record {
    let gained = |base: u64, each: u64| base + each * tasks;
    let memory = |before: bool| {
        let grown = |base, each| Some(if before { base } else { gained(base, each) });
        Memory {
            resident: grown(5_000_000, 1000),
            system_kernel_stacks: grown(1, 4096),
            system_page_tables: Some(7),
            system_slab: Some(7),
            ..Memory::default()
        }
    };
    let process = Process {
        tasks: Some(tasks),
        x: Some(tasks),
        hops: Some(tasks),
        setup_ns: Some(tasks * 2000),
        first_ns: Some(tasks * 1000),
        teardown_ns: Some(tasks * 3000),
        memory: Some(MemoryChange { before: memory(true), held: Some(memory(false)) }),
        error: error.map(str::to_owned),
        ..Process::of("thread-creation", Vec::new())
    };
    let case = Case {
        section: "At scale".to_owned(),
        row: "thread-creation".to_owned(),
        over: Some("tasks".to_owned()),
        ..Case::default()
    };
    testing::in_case(Metric::Scale, case, process)
}

#[test]
fn a_program_reaches_its_largest_run() {
    let stop = format!("{NOT_RUN}this system allows at most 5500 tasks (MemAvailable)");
    let records = [
        record(1000, None),
        record(2000, Some("a task died")),
        record(5000, None),
        record(5501, Some(&stop)),
    ];
    let analysis = analysis::analyse(&records);
    let reach = &analysis.reaches[0];
    assert_eq!((reach.tasks, reach.runs), (5000, 1));
    assert_eq!(reach.setup, Some(1e7));
    assert_eq!(reach.first_iteration, Some(5e6));
    assert_eq!(reach.teardown, Some(1.5e7));
    assert_eq!((reach.user, reach.kernel), (Some(1000.0), Some(4096.0)));
    assert_eq!(reach.stopped_by.as_deref(), stop.strip_prefix(NOT_RUN));
}

#[test]
fn an_interrupted_run_is_not_the_end_of_the_range() {
    let mut records: Vec<Record> = [1000, 2000].map(|n| record(n, None)).into();
    records[1].partial = true;
    let analysis = analysis::analyse(&records);
    let reach = &analysis.reaches[0];
    assert_eq!(reach.stopped_by.as_deref(), Some("interrupted"));
}

#[test]
fn each_phase_has_a_curve_of_its_own() {
    let records: Vec<Record> = [1000, 2000, 5000].map(|n| record(n, None)).into();
    let analysis = analysis::analyse(&records);
    assert!(analysis.tables.is_empty());
    let curves: Vec<_> = analysis
        .curves
        .iter()
        .map(|curve| {
            let values: Vec<f64> = curve.series[0].measured().iter().map(|p| p.value).collect();
            (curve.title.as_str(), curve.metric.clone(), values)
        })
        .collect();
    let expected = [
        ("At scale: set-up, per task", Metric::SetUp, 2000.0),
        ("At scale: the very first iteration, per hop", Metric::FirstIteration, 1000.0),
        ("At scale: teardown, per task", Metric::Teardown, 3000.0),
    ];
    let expected = expected.map(|(title, metric, each)| (title, metric, vec![each; 3]));
    assert_eq!(curves, expected);
}

#[test]
fn it_reads_as_a_table_everywhere() {
    let records: Vec<Record> = [1000, 2000, 5000].map(|n| record(n, None)).into();
    let analysis = analysis::analyse(&records);
    let made = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
        let mut text = Vec::new();
        write(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    let text = made(&|out| render::text(&analysis, &records, out));
    let markdown = made(&|out| render::markdown(&analysis, &records, out));
    let page = made(&|out| render::html(&analysis, &records, out));
    for made in [&text, &markdown, &page] {
        for expected in ["1000 B", "4.000 KiB", "10.00ms", "not stopped"] {
            assert!(made.contains(expected), "{expected}\n{made}");
        }
    }
}
