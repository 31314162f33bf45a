//! A run as text for people.

use std::fmt::Write;

use crate::message::{Description, Distribution};
use crate::pass::Pass;
use crate::run::Run;
use host::units::{Quantity, Span};

/// The second line of the original experiment, then one line for each part of the result.
pub(crate) fn render(run: &Run, pass: &Pass) -> Option<String> {
    let samples = pass.recorder.as_ref()?.distribution()?;
    let Distribution { count, mean, .. } = samples;
    let description = &run.description;
    let Description { tasks, tokens, chains, trips, .. } = *description;
    let (per, each) = match description.arrivals {
        Some(requests) => ("request", format!("{requests} requests per iteration")),
        None => {
            let visits = [tasks, tokens, chains, trips].map(|n| n as f64).iter().product::<f64>();
            ("iteration", format!("{} per task per iter", time(mean / visits)))
        }
    };
    let mut text = format!(
        "mean {} per {per}{} ({each})\n",
        time(mean),
        samples.spread().map_or(String::new(), |spread| format!(", stddev {}", time(spread))),
    );
    if let Some(hops) = description.hops {
        let hop = time(mean / hops as f64);
        add_line(&mut text, "per hop", &format!("{hop} ({hops} hops per iteration)"));
    }
    if count > 1 {
        add_line(&mut text, per, &percentiles(&samples));
    }
    if let Some(usage) = pass.usage {
        add_line(&mut text, "cpu time", &format!("{} per iteration", usage.cpu_time_per(count)));
        let unit = if description.hops.is_some() { "hop" } else { "task" };
        let steps = description.hops.unwrap_or(tasks) as f64 * count as f64;
        let voluntary = usage.voluntary_switches as f64 / steps;
        let involuntary = usage.involuntary_switches as f64 / steps;
        let switches = format!("{voluntary:.3} voluntary, {involuntary:.3} involuntary per {unit}");
        add_line(&mut text, "switches", &switches);
    }
    for (name, samples) in pass.extra.iter().chain(&run.extra) {
        let Distribution { mean, min, p50, p99, max, .. } = *samples;
        // The unit of a distribution is in its name, or it is ns.
        let is_count =
            ["_bytes", "_tasks", "_count", "_percent"].iter().any(|unit| name.ends_with(unit));
        let value = match samples.spread() {
            None if is_count => max.to_string(),
            None => time(mean),
            Some(_) if is_count => {
                format!("mean {mean:.4}, min {min}, p50 {p50}, p99 {p99}, max {max}")
            }
            Some(spread) => {
                format!("mean {}, stddev {}, {}", time(mean), time(spread), percentiles(samples))
            }
        };
        add_line(&mut text, &name.replace('_', " "), &value);
    }
    let early = (count < run.flags.iters).then(|| interrupted(run));
    for note in description.notes.iter().chain(&early) {
        add_line(&mut text, "note", note);
    }
    Some(text)
}

fn time(ns: f64) -> String {
    Quantity::Time.show(ns)
}

/// How much of a run that was interrupted there is.
pub(crate) fn interrupted(run: &Run) -> String {
    let recorder = run.result.as_ref().and_then(|pass| pass.recorder.as_ref());
    let iterations = recorder.map_or(0, |recorder| recorder.count());
    format!("interrupted after {iterations} of {} iterations", run.flags.iters)
}

fn add_line(text: &mut String, name: &str, value: &str) {
    // Writing into memory does not fail.
    let _ = writeln!(text, "{name:<11} {value}");
}

fn percentiles(d: &Distribution) -> String {
    let [min, p50, p90, p99, max] = [d.min, d.p50, d.p90, d.p99, d.max].map(Span);
    format!("min {min}, p50 {p50}, p90 {p90}, p99 {p99}, max {max}")
}
