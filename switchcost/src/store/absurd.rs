//! Records that parse and cannot be true. What no clock and no counter can have shown would
//! otherwise become a figure, or spoil an interval, without a word.

use harness::machine::{CpuQuota, Machine};
use harness::record::{MemoryChange, Record};
use harness::recorder::Summary;
use harness::usage::Memory;

/// No run lasts a year, in ns.
const LONGEST: u64 = 365 * 24 * 3600 * 1_000_000_000;

/// No process and no machine has more: the widest address space has 57 bits.
const LARGEST: u64 = 1 << 57;

/// How far two ways to compute the same mean may differ, as a share of it.
const ROUNDING: f64 = 1e-6;

/// Nobody has the time for more rounds. What is resumed takes its number of rounds from the file.
const MOST_ROUNDS: u32 = 1_000_000;

/// Says of a record what cannot be true of it, if anything.
///
/// # Errors
/// The first thing found, with its values.
pub(super) fn check(record: &Record) -> Result<(), String> {
    if let Some(samples) = &record.samples {
        summary("samples", samples)?;
        counts(record, samples)?;
        derived(record, samples)?;
    }
    for (name, distribution) in &record.distributions {
        summary(name, distribution)?;
    }
    times(record)?;
    if let Some(round) = record.plan.as_ref().map(|position| position.round) {
        ensure(round < MOST_ROUNDS, || format!("plan.round: {round}"))?;
    }
    if let Some(memory) = &record.memory {
        sizes(memory)?;
    }
    machine(&record.machine)
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(otherwise()),
    }
}

/// What holds of any distribution that a recorder has summed up.
fn summary(name: &str, s: &Summary) -> Result<(), String> {
    ensure(s.count > 0, || {
        format!("{name}: a summary of no samples at all")
    })?;
    let ordered = [
        ("min", s.min),
        ("p50", s.p50),
        ("p90", s.p90),
        ("p99", s.p99),
        ("p999", s.p999),
        ("max", s.max),
    ];
    for pair in ordered.windows(2) {
        let ((low, less), (high, more)) = (pair[0], pair[1]);
        ensure(less <= more, || {
            format!("{name}: {low} {less} is more than {high} {more}")
        })?;
    }
    ensure(s.max < LONGEST, || {
        format!("{name}: max {} ns is more than a year", s.max)
    })?;
    let (min, max) = (s.min as f64, s.max as f64);
    let slack = max * ROUNDING;
    let within = s.mean.is_finite() && min - slack <= s.mean && s.mean <= max + slack;
    ensure(within, || {
        format!(
            "{name}: mean {:?} is not between min {} and max {}",
            s.mean, s.min, s.max
        )
    })?;
    // Nothing between two bounds deviates from its mean by more than half their distance.
    let most = (max - min) / 2.0 + slack;
    ensure(s.stddev >= 0.0 && s.stddev <= most, || {
        format!(
            "{name}: stddev {:?} is impossible between min {} and max {}",
            s.stddev, s.min, s.max
        )
    })?;
    let batch = s.series.batch;
    ensure(batch > 0, || format!("{name}: a series in batches of none"))?;
    let elements = s.series.sums.len() as u64;
    ensure(elements == s.count.div_ceil(batch), || {
        format!(
            "{name}: {} samples in batches of {batch} do not make a series of {elements}",
            s.count
        )
    })
}

/// How many there are of what a time is divided by.
fn counts(record: &Record, samples: &Summary) -> Result<(), String> {
    if let Some(asked) = record.param("iters") {
        ensure(samples.count <= asked, || {
            format!("{} samples of {asked} iterations", samples.count)
        })?;
    }
    for (name, count) in [
        ("hops", record.hops),
        ("tasks", record.tasks()),
        ("tokens", record.param("tokens")),
    ] {
        ensure(count != Some(0), || format!("{name}: none"))?;
    }
    let passed = record.hops.unwrap_or(1).checked_mul(samples.count);
    ensure(passed.is_some(), || {
        format!(
            "hops: {} in each of {} iterations are more than 2^64",
            record.hops.unwrap_or(1),
            samples.count
        )
    })
}

/// Figures that are said twice: in the record, and by its samples and counts.
fn derived(record: &Record, samples: &Summary) -> Result<(), String> {
    let per_task = record
        .tasks()
        .map(|tasks| tasks as f64 * record.param("tokens").unwrap_or(1) as f64);
    for (name, figure, parts) in [
        ("per_hop", record.per_hop, record.hops.map(|n| n as f64)),
        ("per_task", record.per_task, per_task),
    ] {
        let (Some(figure), Some(parts)) = (figure, parts) else {
            continue;
        };
        let agrees = (figure * parts - samples.mean).abs() <= samples.mean * ROUNDING;
        ensure(agrees, || {
            format!(
                "{name}: {figure:?} is not the mean, {:?}, divided by {parts}",
                samples.mean
            )
        })?;
    }
    Ok(())
}

fn times(record: &Record) -> Result<(), String> {
    let usage = record.usage.unwrap_or_default();
    let interference = record.interference.unwrap_or_default();
    let counters = record.counters.as_ref();
    for (name, time) in [
        ("setup", record.setup),
        ("teardown", record.teardown),
        ("usage.user", Some(usage.user)),
        ("usage.system", Some(usage.system)),
        ("interference.steal", interference.steal),
        ("interference.throttled", interference.throttled),
        ("counters.time", counters.map(|c| c.time)),
        ("counters.idle", counters.and_then(|c| c.idle)),
        ("counters.steal", counters.and_then(|c| c.steal)),
    ] {
        // A hundred CPUs together reach a year in days; nothing reaches a century.
        let time = time.unwrap_or(0);
        ensure(time < 100 * LONGEST, || {
            format!("{name}: {time} ns are more than a century")
        })?;
    }
    let line = record.cache_line.iter();
    for time in line.flat_map(|line| [line.before, line.after]).flatten() {
        // The measurement ends after some ms.
        ensure(time > 0.0 && time < 1e9, || {
            format!("cache_line: a round trip of {time:?} ns")
        })?;
    }
    Ok(())
}

fn sizes(change: &MemoryChange) -> Result<(), String> {
    let of = |when: &str, m: &Memory| {
        let sizes = [
            ("resident", m.resident),
            ("proportional", m.proportional),
            ("anonymous", m.anonymous),
            ("huge", m.huge),
            ("virtual_size", m.virtual_size),
            ("page_tables", m.page_tables),
            ("system_kernel_stacks", m.system_kernel_stacks),
            ("system_page_tables", m.system_page_tables),
            ("system_slab", m.system_slab),
        ];
        sizes.into_iter().try_for_each(|(name, size)| {
            let size = size.unwrap_or(0);
            ensure(size < LARGEST, || {
                format!("memory.{when}.{name}: {size} bytes are more than any address space")
            })
        })
    };
    of("before", &change.before)?;
    change.at_rest.as_ref().map_or(Ok(()), |m| of("at_rest", m))
}

fn machine(machine: &Machine) -> Result<(), String> {
    let pressure = &machine.pressure;
    for (name, share) in [
        ("cpu", pressure.cpu),
        ("memory", pressure.memory),
        ("io", pressure.io),
    ] {
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
    let quota = machine.cpu_quota;
    let has_period = !matches!(quota, Some(CpuQuota::Limited { period_us: 0, .. }));
    ensure(has_period, || {
        "machine.cpu_quota: a period of 0 µs".to_owned()
    })
}
