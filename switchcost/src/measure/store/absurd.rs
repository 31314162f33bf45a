//! Lines that parse and cannot be true. What no clock and no counter can have shown would otherwise
//! become a figure, or spoil an interval.

use std::collections::HashSet;

use contract::message::Distribution;
use facts::machine::CpuQuota;
use facts::{Machine, Metric, Process, Run};
use serde_json::{Value, json};

/// No time in ns, no size in bytes and no count is larger: 2^57 ns are four years, and the widest
/// address space has 57 bits.
const LARGEST: u64 = 1 << 57;

/// Difference allowed between two ways to compute the same mean, as a share of it.
const ROUNDING: f64 = 1e-6;

/// Nobody has the time for more rounds. A resumed run takes its number of rounds from the file.
const MOST_ROUNDS: u32 = 1_000_000;

/// No machine has more hops in a nanosecond.
const FASTEST: f64 = 1000.0;

/// No name is longer, in bytes.
const LONGEST_NAME: usize = 1000;

/// No program has more distributions besides its samples.
const MOST_EXTRAS: usize = 1000;

/// Checks a process.
///
/// # Errors
/// The first thing found, with its values.
pub(crate) fn process(process: &Process) -> Result<(), String> {
    if let Some(samples) = &process.samples {
        summary("samples", samples)?;
        let p999 = samples.p999.unwrap_or(samples.max);
        ensure((samples.p99..=samples.max).contains(&p999), || format!("samples: p999 {p999}"))?;
        let (hops, mean) = (process.hops.unwrap_or(1), samples.mean);
        ensure(hops as f64 <= mean.max(1.0) * FASTEST, || {
            format!("hops: {hops} in an iteration of {mean:.0} ns")
        })?;
        let samples = samples.count;
        ensure(hops.checked_mul(samples).is_some(), || {
            format!("hops: {hops} in each of {samples} iterations are more than 2^64")
        })?;
    }
    for (name, count) in [
        ("hops", process.hops),
        ("tasks", process.tasks),
        ("tokens", Some(process.tokens)),
        ("arrivals", process.arrivals),
        ("chains", Some(process.chains)),
        ("trips", Some(process.trips)),
    ] {
        ensure(count != Some(0), || format!("{name}: none"))?;
    }
    let versions = [process.version.as_ref(), process.runtime.as_ref().map(|it| &it.name)];
    let length = versions.into_iter().flatten().map(String::len).max().unwrap_or(0);
    ensure(length <= LONGEST_NAME, || format!("version, runtime: a text of {length} bytes"))?;
    let count = process.extra.len();
    ensure(count <= MOST_EXTRAS, || format!("extra: {count} distributions"))?;
    for (name, distribution) in &process.extra {
        let length = name.len();
        ensure(length <= LONGEST_NAME, || format!("extra: a name of {length} bytes"))?;
        let metric = format!("extra.{name}.max").parse::<Metric>();
        ensure(metric.is_ok(), || format!("extra.{name}: no name"))?;
        summary(&format!("extra.{name}"), distribution)?;
    }
    let is_empty = process.slices.iter().any(|slice| slice.iterations == 0 || slice.window == 0);
    ensure(!is_empty, || "slices: one of no iterations or no time".to_owned())?;
    let round = process.round;
    ensure(round < MOST_ROUNDS, || format!("round: {round}"))?;
    numbers("process", &json!(process))
}

/// Sums of numbers in bounds do not overflow, and none of them is negative.
fn numbers(name: &str, value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) => {
            let fits = number.as_f64().is_some_and(|n| (0.0..LARGEST as f64).contains(&n));
            ensure(fits, || format!("{name}: {number}"))
        }
        Value::Array(values) => values.iter().try_for_each(|value| numbers(name, value)),
        Value::Object(fields) => {
            fields.iter().try_for_each(|(field, value)| numbers(&format!("{name}.{field}"), value))
        }
        _ => Ok(()),
    }
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Rules of any distribution.
fn summary(name: &str, s: &Distribution) -> Result<(), String> {
    ensure(s.count > 0, || format!("{name}: a summary of no samples"))?;
    let ordered = [("min", s.min), ("p50", s.p50), ("p90", s.p90), ("p99", s.p99), ("max", s.max)];
    for pair in ordered.windows(2) {
        let ((low, less), (high, more)) = (pair[0], pair[1]);
        ensure(less <= more, || format!("{name}: {low} {less} is more than {high} {more}"))?;
    }
    let (min, max) = (s.min as f64, s.max as f64);
    let slack = max * ROUNDING;
    let within = s.mean.is_finite() && min - slack <= s.mean && s.mean <= max + slack;
    ensure(within, || {
        format!("{name}: mean {:?} is not between min {} and max {}", s.mean, s.min, s.max)
    })?;
    // Nothing between two bounds deviates from its mean by more than half their distance.
    let most = (max - min) / 2.0 + slack;
    ensure(s.stddev >= 0.0 && s.stddev <= most, || {
        format!(
            "{name}: stddev {:?} is impossible between min {} and max {}",
            s.stddev, s.min, s.max
        )
    })
}

/// Checks a header.
///
/// # Errors
/// As [`process`].
pub(super) fn run(run: &Run) -> Result<(), String> {
    let titles: HashSet<&str> = run.plan.sections.iter().map(|s| &*s.title).collect();
    for case in &run.plan.cases {
        ensure(titles.contains(&*case.section), || {
            format!("plan: case '{}' is in no section", case.name())
        })?;
    }
    machine(&run.machine)
}

fn machine(machine: &Machine) -> Result<(), String> {
    let pressure = &machine.pressure;
    for (name, share) in [("cpu", pressure.cpu), ("memory", pressure.memory), ("io", pressure.io)] {
        let share = share.unwrap_or(0.0);
        ensure((0.0..=100.0).contains(&share), || {
            format!("machine.pressure.{name}: {share} % of the time")
        })?;
    }
    numbers("machine.load_average", &json!(machine.load_average))?;
    numbers("machine.clock_read_ns", &json!(machine.clock_read_ns))?;
    let has_period = !matches!(machine.cpu_quota, Some(CpuQuota::Limited { period_us: 0, .. }));
    ensure(has_period, || "machine.cpu_quota: a period of 0 µs".to_owned())
}
