use serde_json::json;

use super::*;

/// A run whose every field has a value of its own, so that no figure comes out right by chance.
fn record(tasks: u64, tokens: u64) -> Record {
    let summary = |p50: u64| {
        json!({
            "count": 7, "mean": p50, "stddev": 0.0, "min": 1, "p50": p50, "p90": p50 + 1,
            "p99": p50 + 2, "p999": p50 + 3, "max": p50 + 4, "series": {"batch": 7, "sums": [1]},
        })
    };
    let mut record = Record::empty("p", Vec::new());
    record.params.insert("tasks".to_owned(), tasks.into());
    record.params.insert("tokens".to_owned(), tokens.into());
    record.samples = serde_json::from_value(json!({
        "count": 40, "mean": 12_000.0, "stddev": 10.0, "min": 11_000, "p50": 11_900,
        "p90": 12_100, "p99": 12_500, "p999": 12_900, "max": 13_000,
        "series": {"batch": 40, "sums": [480_000]},
    }))
    .unwrap();
    record.hops = Some((tasks + 1) * tokens);
    record.usage = serde_json::from_value(json!({
        "user": 80_000, "system": 640_000, "voluntary_switches": 900,
        "involuntary_switches": 60, "minor_faults": 200, "major_faults": 10,
    }))
    .unwrap();
    record.payload = Some(3 << 20);
    record.peak_alive = Some(5);
    record.peak_resident = Some(9_000_000);
    let memory = |resident: u64, kernel: u64| {
        json!({
            "resident": resident, "system_kernel_stacks": kernel, "system_page_tables": 2 * kernel,
            "system_slab": 3 * kernel,
        })
    };
    record.memory = serde_json::from_value(json!({
        "before": memory(3_000_000, 50_000), "at_rest": memory(7_000_000, 150_000),
    }))
    .unwrap();
    record.setup = Some(4_000);
    record.first_iteration = Some(24_000);
    record.teardown = Some(8_000);
    for (name, p50) in [("late", 100), ("heartbeat", 200), ("echo", 300)] {
        let summary = serde_json::from_value(summary(p50)).unwrap();
        record.distributions.insert(name.to_owned(), summary);
    }
    record
}

/// Every metric with its figure of four tasks and two tokens, worked out by hand from the fields
/// above, and as it is shown.
const FIGURES: [(Metric, Option<f64>, &str); 30] = [
    (Metric::Hop, Some(1_200.0), "1.200µs"),
    (Metric::Task, Some(1_500.0), "1.500µs"),
    (Metric::Memory, None, ""),
    (Metric::SetUp, Some(1_000.0), "1.000µs"),
    (Metric::FirstIteration, Some(2_400.0), "2.400µs"),
    (Metric::Teardown, Some(2_000.0), "2.000µs"),
    (Metric::Scale, None, ""),
    (Metric::Iteration, Some(12_000.0), "12.00µs"),
    // Of one task and one token alone: see below.
    (Metric::RoundTrip, None, ""),
    (Metric::Message, Some(6_000.0), "6.000µs"),
    (Metric::Rate, Some(1e9 * 2.0 / 12_000.0), "166.7 k/s"),
    // 3 MiB in 12 µs.
    (
        Metric::Throughput,
        Some(3_145_728.0 / 12e-6),
        "250000 MiB/s",
    ),
    (Metric::User, Some(2_000.0), "2.000µs"),
    (Metric::System, Some(16_000.0), "16.00µs"),
    // 720 µs in 40 iterations of 12 µs.
    (Metric::CpuShare, Some(1.5), "1.500 CPUs"),
    // 960 in 40 iterations of ten hops.
    (Metric::Switches, Some(2.4), "2.400"),
    (Metric::Faults, Some(5.25), "5.250"),
    (Metric::Peak, Some(9e6), "8.583 MiB"),
    (Metric::PeakPerTask, Some(1.5e6), "1.431 MiB"),
    // 4,000,000 of its own and 6 x 100,000 of the kernel's.
    (Metric::SystemPerTask, Some(1.15e6), "1.097 MiB"),
    (Metric::Alive, Some(5.0), "5"),
    (Metric::LateP50, Some(100.0), "100.0ns"),
    (Metric::LateP99, Some(102.0), "102.0ns"),
    (Metric::LateMax, Some(104.0), "104.0ns"),
    (Metric::HeartbeatP50, Some(200.0), "200.0ns"),
    (Metric::HeartbeatP99, Some(202.0), "202.0ns"),
    (Metric::HeartbeatMax, Some(204.0), "204.0ns"),
    (Metric::EchoP50, Some(300.0), "300.0ns"),
    (Metric::EchoP99, Some(302.0), "302.0ns"),
    (Metric::EchoMax, Some(304.0), "304.0ns"),
];

#[test]
fn each_metric_has_its_figure_and_reads_as_its_quantity() {
    let record = record(4, 2);
    for (metric, expected, text) in FIGURES {
        let figure = metric.figure(&record);
        match (figure, expected) {
            (Some(figure), Some(expected)) => {
                assert!(
                    (figure / expected - 1.0).abs() < 1e-12,
                    "{metric:?}: {figure}"
                );
                assert_eq!(metric.quantity().show(figure), text, "{metric:?}");
            }
            _ => assert_eq!(figure, expected, "{metric:?}"),
        }
        // What is divided by parts is a time of the iteration.
        if let (Some(parts), Some(figure)) = (metric.parts(&record), figure) {
            assert!((figure * parts - 12_000.0).abs() < 1e-9, "{metric:?}");
        }
        let name = serde_json::to_value(metric).unwrap();
        assert_eq!(serde_json::from_value::<Metric>(name).unwrap(), metric);
        assert!(!metric.label().is_empty());
    }
}

#[test]
fn a_round_trip_is_of_one_task_and_one_token() {
    assert_eq!(Metric::RoundTrip.figure(&record(1, 1)), Some(12_000.0));
    assert_eq!(Metric::RoundTrip.figure(&record(1, 2)), None);
    assert_eq!(Metric::RoundTrip.figure(&record(2, 1)), None);
}

#[test]
fn without_hops_switches_are_per_task() {
    let mut record = record(4, 1);
    record.hops = None;
    assert_eq!(Metric::Switches.figure(&record), Some(960.0 / 160.0));
    assert_eq!(Metric::Hop.figure(&record), None);
}

#[test]
fn what_a_record_does_not_tell_is_no_figure() {
    let mut empty = Record::empty("p", Vec::new());
    for (metric, ..) in FIGURES {
        assert_eq!(metric.figure(&empty), None, "{metric:?}");
    }
    // Iterations of no length have no rate, and no share of any CPU.
    empty.samples = record(1, 1).samples.map(|samples| Summary {
        mean: 0.0,
        ..samples
    });
    (empty.payload, empty.usage) = (Some(1), record(1, 1).usage);
    for metric in [Metric::Rate, Metric::Throughput, Metric::CpuShare] {
        assert_eq!(metric.figure(&empty), None, "{metric:?}");
    }
}

#[test]
fn bounds_are_shown_in_the_unit_of_their_estimate() {
    for (quantity, estimate, bound, shown, like) in [
        (Quantity::Time, 1_795.0, 950.0, "1.795µs", "0.950"),
        (Quantity::Bytes, 9_728.0, 512.0, "9.500 KiB", "0.500"),
        (Quantity::Rate, 4.31e6, 999.0, "4.310 M/s", "0.001"),
        (Quantity::Rate, 999.96, 1.0, "1.000 k/s", "0.001"),
        (Quantity::Rate, 12.5, 1e3, "12.50 /s", "1000.00"),
        (Quantity::Rate, 2e9, 1e9, "2.000 G/s", "1.000"),
        (
            Quantity::Throughput,
            1_048_576.0,
            524_288.0,
            "1.000 MiB/s",
            "0.500",
        ),
        (Quantity::Share, 1.84, 1.9, "1.840 CPUs", "1.900"),
        (Quantity::Count, 10_000.0, 9_999.0, "10000", "9999"),
        (Quantity::Count, 0.0, 0.0, "0", "0"),
        (Quantity::Count, 1.0, 0.996, "1", "0.996"),
        (Quantity::Count, 0.004, -0.001, "0.004", "-0.001"),
    ] {
        assert_eq!(quantity.show(estimate), shown);
        assert_eq!(quantity.like(bound, estimate), like);
    }
}
