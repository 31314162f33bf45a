use std::sync::Arc;

use contract::message::Description;
use serde_json::json;

use super::*;
use crate::{Machine, Record, Row, Run, Trial};

/// A trial of a program that says this of its command line.
fn of(said: Option<Description>, trial: Trial) -> Record {
    let machine = Machine::from_iter([("cpus_online", json!("0-3"))]);
    let run = Run { machine, rows: vec![Row::default()], ..Run::default() };
    Record::new(Arc::new(run), said.map(Arc::new), None, trial)
}

fn said(record: &mut Record) -> &mut Description {
    Arc::make_mut(record.said.as_mut().unwrap())
}

/// A process with a different value in every field, so that no figure is right by chance.
fn record(tasks: u64, tokens: u64) -> Record {
    let memory = |resident: u64, kernel: u64| {
        json!({
            "resident": resident, "system_kernel_stacks": kernel, "system_page_tables": 2 * kernel,
            "system_slab": 3 * kernel, "peak_resident": 9_000_000, "peak_virtual": 40_000_000,
        })
    };
    let trial = json!({
        "kind": "trial", "run": 1, "row": 0, "round": 0, "started": 0,
        "samples": {
            "count": 40, "mean": 12_000.0, "stddev": 10.0, "min": 11_000, "p50": 11_900,
            "p90": 12_100, "p99": 12_500, "max": 13_000,
        },
        "thirds": {"first": 13_000.0, "last": 10_000.0},
        "usage": {
            "user_ns": 80_000, "system_ns": 640_000, "voluntary_switches": 900,
            "involuntary_switches": 60, "minor_faults": 200, "major_faults": 10,
        },
        "memory": {"before": memory(3_000_000, 50_000), "held": memory(7_000_000, 150_000)},
        "counters": {"iterations": 10, "events": {
            "system_calls": 300, "threads_woken": 150, "epoll_waits": 25,
        }},
        "interrupts": 200, "setup_ns": 4_000, "first_ns": 24_000, "teardown_ns": 8_000,
        "extra": {
            "echo": {"count": 7, "mean": 99.5, "stddev": 1.0, "min": 90, "p50": 100, "p90": 101,
                "p99": 102, "max": 104},
        },
    });
    let said = json!({
        "contract": 1, "program": "p", "version": "1", "tasks": tasks, "tokens": tokens,
        "hops": (tasks + 1) * tokens, "bytes": 3 << 20, "claim": "no-switch", "passes": [],
    });
    of(Some(serde_json::from_value(said).unwrap()), serde_json::from_value(trial).unwrap())
}

/// The figure of a process that took no turns.
fn figure(metric: &Metric, record: &Record) -> Option<f64> {
    metric.figure(record, record.samples.as_ref().map(|samples| samples.mean))
}

/// Every metric with its figure of four tasks and two tokens, worked out by hand.
const FIGURES: [(&str, Option<f64>); 31] = [
    ("hop", Some(1_200.0)),
    ("task", Some(1_500.0)),
    ("memory", None),
    ("set-up", Some(1_000.0)),
    ("first-iteration", Some(2_400.0)),
    ("teardown", Some(2_000.0)),
    ("iteration", Some(12_000.0)),
    ("opening", Some(1.3)),
    // Of one task and one token alone: see below.
    ("round-trip", None),
    ("message", Some(6_000.0)),
    ("rate", Some(1e9 * 2.0 / 12_000.0)),
    // Ten hops in 12 µs; one chain keeps one of the CPUs busy.
    ("hop-rate", Some(10.0 / 12e-6)),
    ("hop-rate-per-cpu", Some(10.0 / 12e-6)),
    // 3 MiB in 12 µs.
    ("throughput", Some(3_145_728.0 / 12e-6)),
    ("user", Some(2_000.0)),
    ("system", Some(16_000.0)),
    // 720 µs in 40 iterations of ten hops.
    ("cpu", Some(1_800.0)),
    // 720 µs in 40 iterations of 12 µs.
    ("cpu-share", Some(1.5)),
    // 960 in 40 iterations of ten hops.
    ("switches", Some(2.4)),
    // 300 in 10 iterations of ten hops.
    ("system-calls", Some(3.0)),
    ("woken", Some(1.5)),
    ("per-wait", Some(4.0)),
    // 60, and 200, in 40 iterations of ten hops.
    ("preemptions", Some(0.15)),
    ("interrupts", Some(0.5)),
    ("kernel-share", Some(640.0 / 720.0)),
    ("faults", Some(5.25)),
    ("peak", Some(9e6)),
    ("peak-per-task", Some(2.25e6)),
    ("virtual-per-task", Some(10e6)),
    // 7,000,000 of its own and 6 x 100,000 of the kernel's.
    ("system-per-task", Some(1.9e6)),
    ("extra.echo.mean", Some(99.5)),
];

#[test]
fn each_metric_has_its_figure() {
    let record = record(4, 2);
    for (name, expected) in FIGURES {
        let metric: Metric = name.parse().unwrap();
        assert_eq!(metric.to_string(), name);
        let figure = figure(&metric, &record);
        match (figure, expected) {
            (Some(figure), Some(expected)) => {
                assert!((figure / expected - 1.0).abs() < 1e-12, "{name}: {figure}");
            }
            _ => assert_eq!(figure, expected, "{name}"),
        }
        // A part of an iteration is a time of the iteration.
        if let (Some(divisor), Some(figure)) = (metric.divisor(&record), figure) {
            assert!((figure * divisor - 12_000.0).abs() < 1e-9, "{name}");
        }
        // What a process does not have is no figure.
        let nothing = of(None, Trial::default());
        assert_eq!(self::figure(&metric, &nothing), None, "{name}");
    }
    for text in ["", "hops", "extra.echo", "extra..p99", "extra.echo.p99.9"] {
        assert!(text.parse::<Metric>().is_err(), "{text}");
    }
}

#[test]
fn chains_and_round_trips_are_counted_with_the_tokens() {
    let mut record = record(4, 2);
    let description = said(&mut record);
    (description.chains, description.trips, description.hops) = (6, 5, Some(300));
    for (metric, expected) in [
        (Metric::Hop, 12_000.0 / 300.0),
        (Metric::Message, 12_000.0 / 60.0),
        (Metric::Task, 12_000.0 / 240.0),
        (Metric::Rate, 60.0 / 12e-6),
        (Metric::HopRate, 300.0 / 12e-6),
        // Six chains on four CPUs.
        (Metric::HopRatePerCpu, 75.0 / 12e-6),
        (Metric::SetUp, 4_000.0 / 24.0),
    ] {
        let figure = figure(&metric, &record).unwrap();
        assert!((figure / expected - 1.0).abs() < 1e-12, "{metric}: {figure}");
    }
    said(&mut record).hops = None;
    // Without hops, of the tasks.
    assert_eq!(figure(&Metric::Switches, &record), Some(960.0 / 160.0));
    let mut one = self::record(1, 1);
    assert_eq!(figure(&Metric::RoundTrip, &one), Some(12_000.0));
    said(&mut one).trips = 20;
    assert_eq!(figure(&Metric::RoundTrip, &one), Some(600.0));
    said(&mut one).chains = 3;
    assert_eq!(figure(&Metric::RoundTrip, &one), None);
}

#[test]
fn iterations_of_no_length_have_no_rate_and_no_share_of_any_cpu() {
    let mut record = record(1, 1);
    record.trial.samples.as_mut().unwrap().distribution.mean = 0.0;
    for metric in [Metric::Rate, Metric::Throughput, Metric::CpuShare] {
        assert_eq!(figure(&metric, &record), None, "{metric}");
    }
    // 720 µs of CPU time, on four CPUs: the samples do not give this CPU time.
    for (mean, busy) in [(9_000.0, Some(2.0)), (4_450.0, Some(4.0)), (4_000.0, None)] {
        record.trial.samples.as_mut().unwrap().distribution.mean = mean;
        assert_eq!(figure(&Metric::CpuShare, &record), busy, "{mean}");
    }
    // Or both are known of one span.
    record.trial.usage.as_mut().unwrap().elapsed_ns = Some(480_000);
    assert_eq!(figure(&Metric::CpuShare, &record), Some(1.5));
}
