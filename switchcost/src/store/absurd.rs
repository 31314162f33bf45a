//! Lines that parse and cannot be true. What no clock and no counter can have shown would otherwise
//! become a figure, or spoil an interval.

use contract::message::Distribution;
use record::machine::CpuQuota;
use record::{Machine, MemoryChange, Metric, Process, Run};

/// No run lasts a year, in ns.
const LONGEST: u64 = 365 * 24 * 3600 * 1_000_000_000;

/// No process and no machine has more memory: the widest address space has 57 bits.
const LARGEST: u64 = 1 << 57;

/// Difference allowed between two ways to compute the same mean, as a share of it.
const ROUNDING: f64 = 1e-6;

/// Nobody has the time for more rounds. A resumed run takes its number of rounds from the file.
const MOST_ROUNDS: u32 = 1_000_000;

/// Checks a process.
///
/// # Errors
/// The first thing found, with its values.
pub(super) fn process(process: &Process) -> Result<(), String> {
    if let Some(samples) = &process.samples {
        summary("samples", samples)?;
        counts(process, samples.count)?;
    }
    for (name, distribution) in &process.extra {
        let metric = format!("extra.{name}.max").parse::<Metric>();
        ensure(metric.is_ok(), || format!("extra.{name}: no name"))?;
        summary(&format!("extra.{name}"), distribution)?;
    }
    times(process)?;
    let round = process.round;
    ensure(round < MOST_ROUNDS, || format!("round: {round}"))?;
    process.memory.as_ref().map_or(Ok(()), sizes)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(otherwise()),
    }
}

/// Rules of any distribution.
fn summary(name: &str, s: &Distribution) -> Result<(), String> {
    ensure(s.count > 0, || format!("{name}: a summary of no samples"))?;
    let ordered = [("min", s.min), ("p50", s.p50), ("p90", s.p90), ("p99", s.p99), ("max", s.max)];
    for pair in ordered.windows(2) {
        let ((low, less), (high, more)) = (pair[0], pair[1]);
        ensure(less <= more, || format!("{name}: {low} {less} is more than {high} {more}"))?;
    }
    ensure(s.max < LARGEST, || format!("{name}: max {} is too large", s.max))?;
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

/// Divisors of times.
fn counts(process: &Process, samples: u64) -> Result<(), String> {
    for (name, count) in
        [("hops", process.hops), ("tasks", process.tasks), ("tokens", Some(process.tokens))]
    {
        ensure(count != Some(0), || format!("{name}: none"))?;
    }
    let hops = process.hops.unwrap_or(1);
    ensure(hops.checked_mul(samples).is_some(), || {
        format!("hops: {hops} in each of {samples} iterations are more than 2^64")
    })
}

fn times(process: &Process) -> Result<(), String> {
    let usage = process.usage.unwrap_or_default();
    let interference = process.interference.unwrap_or_default();
    let counters = process.counters.as_ref();
    for (name, time) in [
        ("samples.max", process.samples.as_ref().map(|s| s.max)),
        ("setup_ns", process.setup_ns),
        ("first_ns", process.first_ns),
        ("teardown_ns", process.teardown_ns),
        ("usage.user_ns", Some(usage.user_ns)),
        ("usage.system_ns", Some(usage.system_ns)),
        ("interference.steal", interference.steal),
        ("interference.idle", interference.idle),
        ("interference.throttled", interference.throttled),
        ("counters.time", counters.map(|c| c.time)),
    ] {
        // A hundred CPUs together reach a year in days; nothing reaches a century.
        let time = time.unwrap_or(0);
        ensure(time < 100 * LONGEST, || format!("{name}: {time} ns are more than a century"))?;
    }
    let line = process.cache_line.iter();
    for time in line.flat_map(|line| [line.before, line.after]).flatten() {
        ensure(time > 0.0 && time < 1e9, || format!("cache_line: a round trip of {time:?} ns"))?;
    }
    Ok(())
}

fn sizes(change: &MemoryChange) -> Result<(), String> {
    for (when, m) in [("before", Some(change.before)), ("held", change.held)] {
        let m = m.unwrap_or_default();
        for (name, size) in [
            ("resident", m.resident),
            ("pss", m.pss),
            ("anonymous", m.anonymous),
            ("huge", m.huge),
            ("page_tables", m.page_tables),
            ("pipe_pages", m.pipe_pages),
            ("peak_resident", m.peak_resident),
            ("system_kernel_stacks", m.system_kernel_stacks),
            ("system_page_tables", m.system_page_tables),
            ("system_slab", m.system_slab),
        ] {
            let size = size.unwrap_or(0);
            ensure(size < LARGEST, || {
                format!("memory.{when}.{name}: {size} bytes are more than any address space")
            })?;
        }
    }
    Ok(())
}

/// Checks a header.
///
/// # Errors
/// As [`process`].
pub(super) fn run(run: &Run) -> Result<(), String> {
    for (index, case) in (0..).zip(&run.plan.cases) {
        ensure(run.plan.get(index).is_some(), || {
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
    for load in machine.load_average.unwrap_or_default() {
        ensure(load >= 0.0, || format!("machine.load_average: {load}"))?;
    }
    let read = machine.clock_read_ns.unwrap_or(0.0);
    ensure(read >= 0.0, || format!("machine.clock_read_ns: {read}"))?;
    let has_period = !matches!(machine.cpu_quota, Some(CpuQuota::Limited { period_us: 0, .. }));
    ensure(has_period, || "machine.cpu_quota: a period of 0 µs".to_owned())
}
