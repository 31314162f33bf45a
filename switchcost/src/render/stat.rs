//! One process with all that was observed of it, in about twenty lines.

use std::io::{self, Write};

use contract::units::{Bytes, Nanos, bytes};
use facts::{Memory, Record};

use super::layout::named;
use super::plainly;
use crate::figures::doubt;
use crate::figures::evidence::Verdict;
use crate::system::console::shell_line;

/// Width of the names before the lines.
const INDENT: usize = 13;

/// Writes it; a figure that is unknown has no place.
pub fn text(record: &Record, verdict: Option<Verdict>, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| {
        writeln!(out, "{}", title(record))?;
        let lines = [
            ("time", time(record)),
            ("percentiles", percentiles(record)),
            ("CPU time", cpu(record)),
            ("switches", switches(record)),
            ("faults", faults(record)),
            ("life", life(record)),
            ("memory", memory(record)),
            ("per task", per_task(record)),
            ("cache line", cache_line(record)),
            ("the system", interference(record)),
            ("events", events(record)),
        ];
        for (name, line) in lines {
            if let Some(line) = line {
                told(name, &line, out)?;
            }
        }
        extra(record, out)?;
        absent(record, out)?;
        for doubt in doubt::of_process(record) {
            told("note", &doubt.to_string(), out)?;
        }
        match verdict {
            Some(verdict) => told("evidence", &verdict.to_string(), out),
            None => Ok(()),
        }
    })
}

/// A line under its name, wrapped.
fn told(name: &str, line: &str, out: &mut impl Write) -> io::Result<()> {
    named(name, line, (INDENT, super::layout::width()), out)
}

fn title(record: &Record) -> String {
    let mut title = shell_line([&record.program].into_iter().chain(&record.args));
    if let Some(samples) = &record.samples {
        title += &format!(": {} iterations", samples.count);
    }
    if let Some(cpus) = &record.cpus {
        title += &format!(", CPUs {cpus}");
    }
    if let Some(policy) = &record.policy {
        title += &format!(", policy {policy}");
    }
    if let Some(runtime) = &record.runtime {
        let s = if runtime.workers == 1 { "" } else { "s" };
        title += &format!(", {} worker{s} of {}", runtime.workers, runtime.name);
    }
    title
}

fn time(record: &Record) -> Option<String> {
    let samples = record.samples.as_ref()?;
    let mut line =
        format!("{} per iteration, stddev {}", Nanos(samples.mean), Nanos(samples.stddev));
    if let Some((repeats, unit)) = record.repeats() {
        line += &format!("; {} per {unit}", Nanos(samples.mean / repeats as f64));
    }
    Some(line)
}

fn percentiles(record: &Record) -> Option<String> {
    let s = record.samples.as_ref()?;
    let [min, p50, p90, p99, max] = [s.min, s.p50, s.p90, s.p99, s.max].map(|ns| Nanos(ns as f64));
    Some(format!("of the iteration: min {min}, p50 {p50}, p90 {p90}, p99 {p99}, max {max}"))
}

fn cpu(record: &Record) -> Option<String> {
    let (usage, (all, unit)) = (record.usage?, record.timed()?);
    let samples = record.samples.as_ref()?;
    let each = |ns: u64| Nanos(ns as f64 / all as f64);
    let busy = (usage.user_ns + usage.system_ns) as f64 / (samples.mean * samples.count as f64);
    Some(format!(
        "per {unit}: {} user, {} kernel; {busy:.2} CPUs busy",
        each(usage.user_ns),
        each(usage.system_ns)
    ))
}

fn switches(record: &Record) -> Option<String> {
    let (usage, (all, unit)) = (record.usage?, record.timed()?);
    let each = |count: u64| count as f64 / all as f64;
    let mut line = format!(
        "per {unit}: {:.2} voluntary, {:.2} involuntary (preempted)",
        each(usage.voluntary_switches),
        each(usage.involuntary_switches)
    );
    if let Some(interrupts) = record.wakeup_interrupts() {
        line += &format!("; {interrupts:.2} interrupts between CPUs");
    }
    if let Some(moves) = record.migrations {
        line += &format!("; {:.2} migrations", each(moves));
    }
    Some(line)
}

fn faults(record: &Record) -> Option<String> {
    let usage = record.usage?;
    let any = usage.minor_faults + usage.major_faults > 0;
    any.then(|| format!("{} minor, {} major", usage.minor_faults, usage.major_faults))
}

fn life(record: &Record) -> Option<String> {
    let phases = [
        ("set-up", record.setup_ns),
        ("first iteration", record.first_ns),
        ("teardown", record.teardown_ns),
    ];
    let known = |(name, time): (&str, Option<u64>)| Some(format!("{name} {}", Nanos(time? as f64)));
    joined(phases.into_iter().filter_map(known))
}

/// Growth of a figure of the kernel since before the program.
fn growth(record: &Record, of: fn(&Memory) -> Option<u64>) -> Option<f64> {
    let memory = record.memory?;
    Some(of(&memory.held?)? as f64 - of(&memory.before)? as f64)
}

fn memory(record: &Record) -> Option<String> {
    let held = record.memory?.held?;
    let own = [
        ("resident", held.resident),
        ("anonymous", held.anonymous),
        ("pages of pipes", held.pipe_pages),
        ("peak", held.peak_resident.filter(|&peak| Some(peak) > held.resident)),
    ];
    let own = own.into_iter().filter_map(|(name, size)| Some(format!("{name} {}", Bytes(size?))));
    let kernel = [
        ("kernel stacks", growth(record, |m| m.system_kernel_stacks)),
        ("page tables", growth(record, |m| m.system_page_tables)),
        ("slab", growth(record, |m| m.system_slab)),
    ];
    let kernel = kernel
        .into_iter()
        .filter_map(|(name, size)| Some(format!("{name} {:+.0} KiB", size? / 1024.0)));
    let mut line = joined(own)?;
    if let Some(kernel) = joined(kernel) {
        line += &format!("; the system's {kernel}");
    }
    Some(line)
}

fn per_task(record: &Record) -> Option<String> {
    let tasks = record.tasks? as f64;
    let user = record.resident_gain()? as f64;
    let mut line = format!("{} of the process", bytes(user / tasks));
    if let Some(kernel) = record.kernel_gain() {
        line += &format!(
            ", {} of the kernel; {} in all, the program's own share included",
            bytes(kernel / tasks),
            bytes((user + kernel) / tasks)
        );
    }
    Some(line)
}

fn cache_line(record: &Record) -> Option<String> {
    let line = record.cache_line?;
    let (before, after) = line.before.zip(line.after)?;
    let [one, other] = line.cpus;
    Some(format!(
        "{} between CPUs {one} and {other} and back before, {} after",
        Nanos(before),
        Nanos(after)
    ))
}

fn interference(record: &Record) -> Option<String> {
    let i = record.interference?;
    let times = [
        ("idle", i.idle),
        ("steal", i.steal),
        ("throttled", i.throttled),
        ("waiting for CPU", i.cpu_pressure),
        ("for memory", i.memory_pressure),
        ("for disks", i.io_pressure),
    ];
    let known = |(name, time): (&str, Option<u64>)| {
        let time = time.filter(|&ns| ns > 0)?;
        Some(format!("{name} {}", Nanos(time as f64)))
    };
    joined(times.into_iter().filter_map(known))
}

fn events(record: &Record) -> Option<String> {
    let counters = record.counters.as_ref()?;
    let (all, unit) = record.counted()?;
    let calls = [("reads", counters.reads), ("writes", counters.writes)];
    let calls = calls.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?)));
    let events = counters.events.iter().map(|(name, &n)| (name.clone(), n));
    let each = |(name, count): (String, u64)| {
        format!("{} {:.2}", name.replace('_', " "), count as f64 / all as f64)
    };
    let line = joined(events.chain(calls).map(each))?;
    Some(format!("per {unit}: {line}"))
}

fn extra(record: &Record, out: &mut impl Write) -> io::Result<()> {
    for (name, d) in &record.extra {
        let metric = facts::Metric::Extra { name: name.clone(), stat: facts::Stat::P50 };
        let show = |figure: u64| metric.quantity().show(figure as f64);
        let [p50, p99, max] = [d.p50, d.p99, d.max].map(show);
        let line = format!("p50 {p50}, p99 {p99}, max {max} (of {})", d.count);
        told(name, &line, out)?;
    }
    Ok(())
}

fn absent(record: &Record, out: &mut impl Write) -> io::Result<()> {
    for absent in record.counters.iter().flat_map(|c| &c.absent) {
        told("not counted", &absent.to_string(), out)?;
    }
    Ok(())
}

fn joined(parts: impl Iterator<Item = String>) -> Option<String> {
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
