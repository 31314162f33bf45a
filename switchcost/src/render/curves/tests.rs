use super::*;
use crate::figures::cases::Reading;
use crate::figures::change_point::{Course, FullCache, Overtaking};
use record::Metric;
use stats::{Estimate, Interval};

fn interval(value: f64) -> Interval {
    Interval { estimate: value, low: value * 0.99, high: value * 1.01, n: 5, confidence: 0.95 }
}

fn cell(value: f64) -> Cell {
    let mean = Estimate { value, n: 5, interval: Some(interval(value)) };
    Cell::Reading(Box::new(Reading {
        metric: Metric::Hop,
        mean,
        means: vec![value; 5],
        median: value,
        iterations: None,
        modes: None,
        outliers: 0,
        failed: 0,
        net: None,
        ratio: None,
        net_ratio: None,
        no_net_left: false,
        noise: None,
        evidence: None,
    }))
}

fn series(name: &str, values: &[f64]) -> Series {
    let points = [2, 20, 200, 2000].into_iter();
    let mut series = Series {
        name: name.to_owned(),
        points: points.zip(values.iter().map(|&v| cell(v))).collect(),
        course: None,
    };
    series.course = Course::of(&series.measured());
    series
}

fn curve() -> Curve {
    let mut short = series("short", &[100.0, 150.0]);
    let reason = format!("{NOT_RUN}this system allows at most 99 tasks\nand more");
    for x in [200, 2000] {
        short.points.push((x, Cell::Failed(reason.clone())));
    }
    let full = [("L1d", 32 << 10, 32.0), ("L2", 1 << 20, 1024.0)];
    let full =
        full.map(|(cache, bytes, tasks)| FullCache { cache: cache.to_owned(), bytes, tasks });
    Curve {
        title: "Time per hop over --tasks".to_owned(),
        metric: Metric::Hop,
        over: "tasks".to_owned(),
        series: vec![
            series("rising", &[100.0, 101.0, 150.0, 300.0]),
            series("falling", &[100.0, 60.0, 50.0, 25.0]),
            series("level", &[100.0, 99.0, 101.0, 100.0]),
            short,
        ],
        held: vec![Held { name: "rising".to_owned(), per_task: 1024.0, full: full.to_vec() }],
        overtakings: vec![Overtaking {
            names: ["falling", "rising"].map(str::to_owned),
            from: 200,
            end: Estimate { value: 0.5, n: 5, interval: None },
        }],
    }
}

#[test]
fn a_curve_reads_as_a_table_and_sentences() {
    let section = section(&curve());
    assert_eq!(
        section.lines,
        [
            "rising: ▃▃▄█ 100.0ns up to 20 tasks, rises from 200: 3.00 times as much at 2000",
            "falling: █▅▄▂ 100.0ns up to 2 tasks, falls from 20: 0.25 times as much at 2000",
            "level: ████ flat over the whole range: 100.0ns",
            "short: ▆█   too few points to tell",
            "From 200 tasks on falling takes less time than rising: 0.50 times at the end",
            "Not run at --tasks 200, 2000: short: this system allows at most 99 tasks",
            "rising: 1.000 KiB of user memory for each task, L1d (32 KiB) is full at about 32 \
             tasks, L2 (1.0 MiB) is full at about 1024 tasks",
        ]
    );
    assert_eq!(section.grid.body[3][..2], ["2000", "300.0ns [297.0, 303.0]"]);
}

#[test]
fn a_rise_within_the_noise_is_not_called_flat() {
    let curve = curve();
    let mut noisy = series("noisy", &[100.0, 101.0, 100.0, 160.0]);
    noisy.course = noisy.course.map(|course| Course { change: None, ..course });
    let sentence = sentence(&curve, &noisy);
    let expected = "no change that the intervals bear out: 1.60 times as much at 2000";
    assert!(sentence.contains(expected), "{sentence}");
}

#[test]
fn flags_that_count_nothing_are_written_as_flags() {
    let mut curve = curve();
    curve.over = "stack_size".to_owned();
    let sentence = sentence(&curve, &curve.series[0]);
    assert!(sentence.contains("up to --stack-size 20, rises"), "{sentence}");
}
