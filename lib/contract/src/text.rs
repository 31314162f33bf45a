//! A run as text for people.

use std::fmt::Write;

use crate::message::{Description, Distribution};
use crate::run::Pass;
use crate::samples::Samples;
use crate::units::Nanos;

/// The original experiment's two lines, then what explains them.
pub(crate) fn of(description: &Description, pass: &Pass) -> Option<String> {
    let Samples::Summed(recorder) = &pass.samples else {
        return None;
    };
    let samples = recorder.distribution()?;
    let (tasks, tokens) = (description.tasks as f64, description.tokens as f64);
    let mut text = format!(
        "{} tasks, {} iterations:\nmean {:.3} per iteration, stddev {:.3} ({:.3} per task per iter)\n",
        description.tasks,
        samples.count,
        Nanos(samples.mean),
        Nanos(samples.stddev),
        Nanos(samples.mean / (tasks * tokens)),
    );
    let mut row = |name: &str, value: String| {
        // Writing into memory does not fail.
        let _ = writeln!(text, "{name:<11} {value}");
    };
    if let Some(hops) = description.hops {
        let hop = Nanos(samples.mean / hops as f64);
        row("per hop", format!("{hop} ({hops} hops an iteration)"));
    }
    row("iteration", percentiles(&samples));
    if let Some(usage) = pass.usage {
        let of = |ns: u64| Nanos(ns as f64 / samples.count as f64);
        let (user, system) = (of(usage.user_ns), of(usage.system_ns));
        row("cpu time", format!("user {user}, system {system} an iteration"));
        let (repeats, what) = match description.hops {
            Some(hops) => (hops, "hop"),
            None => (description.tasks, "task"),
        };
        let all = repeats as f64 * samples.count as f64;
        row(
            "switches",
            format!(
                "{:.3} voluntary, {:.3} involuntary a {what}",
                usage.voluntary_switches as f64 / all,
                usage.involuntary_switches as f64 / all
            ),
        );
    }
    for (name, extra) in &pass.extra {
        row(name, extra_text(name, extra));
    }
    Some(text)
}

fn percentiles(d: &Distribution) -> String {
    let [min, p50, p90, p99, max] = [d.min, d.p50, d.p90, d.p99, d.max].map(|ns| Nanos(ns as f64));
    format!("min {min}, p50 {p50}, p90 {p90}, p99 {p99}, max {max}")
}

/// The unit of an extra distribution is in its name, or it is ns.
fn extra_text(name: &str, d: &Distribution) -> String {
    let Distribution { mean, min, p50, p99, max, .. } = d;
    match ["_bytes", "_tasks", "_count"].iter().any(|unit| name.ends_with(unit)) {
        true => format!("mean {mean:.4}, min {min}, p50 {p50}, p99 {p99}, max {max}"),
        false => format!("mean {}, {}", Nanos(*mean), percentiles(d)),
    }
}
