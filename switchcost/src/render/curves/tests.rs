use super::*;
use crate::cases::Reading;
use crate::{bend, working_set};
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
        bend: None,
        marks: Vec::new(),
    };
    series.bend = bend::bend(&series.measured());
    series
}

fn curve() -> Curve {
    let mut short = series("short", &[100.0, 150.0]);
    let reason = format!("{NOT_RUN}this system allows at most 99 tasks\nand more");
    for x in [200, 2000] {
        short.points.push((x, Cell::Failed(reason.clone())));
    }
    let caches = [("L1d", 32 << 10), ("L2", 1 << 20)];
    let caches =
        caches.map(|(name, bytes)| working_set::CacheSize { name: name.to_owned(), bytes });
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
        held: vec![Held {
            name: "rising".to_owned(),
            per_task: interval(1024.0),
            caches: caches.to_vec(),
        }],
    }
}

#[test]
fn a_curve_reads_as_a_table_and_sentences() {
    let mut text = Vec::new();
    write_text(&curve(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    for expected in [
        "rising   ▃▃▄█  100.5ns up to 20 tasks, rises from 200: 2.99 times as much at 2000",
        "falling  █▅▄▂  100.0ns up to 2 tasks, falls from 20: 0.25 times as much at 2000",
        "level    ████  flat over the whole range: 100.0ns",
        "short    ▆█    too few points to tell",
        "Not run at --tasks 200, 2000: short: this system allows at most 99 tasks\n",
        "rising: 32 KiB L1d is full at about 32 tasks, 1 MiB L2 is full at about 1024 tasks",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    let rows = |x: &str| text.lines().filter(|l| l.split(' ').nth(1) == Some(x)).count();
    assert_eq!(rows("2000"), 2, "{text}");
}

#[test]
fn a_rise_within_the_noise_is_not_called_flat() {
    let curve = curve();
    let mut noisy = series("noisy", &[100.0, 101.0, 100.0, 160.0]);
    if let Some(bend) = &mut noisy.bend {
        bend.shape = Shape::Flat;
    }
    let sentence = sentence(&curve, &noisy);
    let expected = "no bend that the intervals bear out: 1.60 times as much at 2000";
    assert!(sentence.contains(expected), "{sentence}");
}

#[test]
fn markdown_has_one_table_and_a_list() {
    let mut text = Vec::new();
    write_markdown(&curve(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("| 2000 | 300.0ns [297.0, 303.0] | 25.00ns"), "{text}");
    assert!(text.contains("- level: flat over the whole range"), "{text}");
}

#[test]
fn flags_that_count_nothing_are_written_as_flags() {
    let mut curve = curve();
    curve.over = "stack_size".to_owned();
    let sentence = sentence(&curve, &curve.series[0]);
    assert!(sentence.contains("up to --stack-size 20, rises"), "{sentence}");
}
