//! One process with everything that was observed.

use std::slice;

use figures::{Figures, provenance};
use host::units::{Bytes, Span, counted};
use record::{Metric, Quantity, Record, Stat};

use super::document::{Document, Section, sentences};
use super::figures::FiguresReport;
use super::grid::Grid;
use super::report::{Report, Spreadsheet};
use crate::system::console::{shell_line, shortened};
use crate::views::process::Observed;

impl Report for Observed {
    fn documents(&self) -> Vec<Document> {
        vec![document(self)]
    }

    /// The figures of its row, as a results file has them.
    fn spreadsheet(&self) -> Spreadsheet {
        let figures = Figures::of(slice::from_ref(&self.record));
        let report = FiguresReport { figures: &figures, answer: None, full: true, more: None };
        report.spreadsheet()
    }
}

/// What is known; unknown figures are left out.
fn document(process: &Observed) -> Document {
    let record = &process.record;
    let known = [
        ("time", time(record)),
        ("percentiles", percentiles(record)),
        ("CPU time", cpu(record)),
        ("switches", switches(record)),
        ("faults", faults(record)),
        ("life", life(record)),
        ("memory", memory(record)),
        ("memory per task", per_task(record)),
        ("the system", waits(record)),
        ("events", events(record)),
    ];
    let known = known.into_iter().filter_map(|(name, line)| Some((name.to_owned(), line?)));
    let extra = record.extra.iter().map(|(name, values)| {
        let quantity = Metric::Extra { name: name.clone(), stat: Stat::P50 }.quantity();
        let [p50, p99, max] =
            [values.p50, values.p99, values.max].map(|value| quantity.show(value as f64));
        let line = match values.count {
            1 => max,
            count => format!("p50 {p50}, p99 {p99}, max {max} (of {count})"),
        };
        (shortened(name), line)
    });
    let absent = record.counters.iter().flat_map(|counters| &counters.absent);
    let absent = absent.map(|absent| ("not counted".to_owned(), absent.to_string()));
    let by_program = record.said.iter().flat_map(|said| &said.notes);
    let by_program = by_program.map(|note| shortened(note));
    let notes = by_program.chain(process.notes.iter().map(ToString::to_string));
    let notes = notes.map(|note| ("note".to_owned(), note));
    let evidence = process.verdict.map(|verdict| ("evidence".to_owned(), verdict.to_string()));
    let lines = known.chain(extra).chain(absent).chain(notes).chain(evidence);
    let lines = lines.map(|(name, line)| format!("{name}: {line}"));
    let title = shortened(&title(record));
    Document {
        title: title.clone(),
        head: sentences([format!("{}.", provenance::machine(slice::from_ref(record)))]),
        sections: vec![Section::new(&title, Grid::default(), lines)],
        ..Document::default()
    }
}

fn title(record: &Record) -> String {
    let command = &record.row().command;
    let (mut title, unit) = if record.is_of_runs() {
        (record.row().place.row.clone(), "run")
    } else {
        (shell_line([&command.program].into_iter().chain(&record.row().args())), "iteration")
    };
    if let Some(samples) = &record.samples {
        title += &format!(": {}", counted(samples.count, unit));
    }
    if let Some(cpus) = &command.setting.cpus {
        title += &format!(", CPUs {cpus}");
    }
    if let Some(policy) = &command.setting.policy {
        title += &format!(", policy {policy}");
    }
    if let Some(runtime) = record.said.as_ref().and_then(|said| said.runtime.as_ref()) {
        title += &format!(", {} of {}", counted(runtime.workers, "worker"), runtime.name);
    }
    title
}

fn time(record: &Record) -> Option<String> {
    let samples = record.samples.as_ref()?;
    let mut line = format!("{} per iteration", Quantity::Time.show(samples.mean));
    if let Some(spread) = samples.spread() {
        line += &format!(", stddev {}", Quantity::Time.show(spread));
    }
    if let Some((repeats, unit)) = record.repeats() {
        line += &format!("; {} per {unit}", Quantity::Time.show(samples.mean / repeats as f64));
    }
    Some(line)
}

fn percentiles(record: &Record) -> Option<String> {
    let s = record.samples.as_ref().filter(|samples| samples.count > 1)?;
    let [min, p50, p90, p99, max] = [s.min, s.p50, s.p90, s.p99, s.max].map(Span);
    let p999 = s.p999.map_or(String::new(), |ns| format!("p99.9 {}, ", Span(ns)));
    Some(format!("per iteration: min {min}, p50 {p50}, p90 {p90}, p99 {p99}, {p999}max {max}"))
}

fn cpu(record: &Record) -> Option<String> {
    let (usage, (all, unit)) = (record.usage?, record.timed()?);
    let mut line = format!("per {unit}: {}", usage.cpu_time_per(all));
    if let Some(busy) = Metric::CpuShare.figure(record, None) {
        line += &format!("; {busy:.2} CPUs busy");
    }
    Some(line)
}

fn switches(record: &Record) -> Option<String> {
    let (usage, (all, unit)) = (record.usage?, record.timed()?);
    let [voluntary, involuntary] =
        [usage.voluntary_switches, usage.involuntary_switches].map(|n| n as f64 / all as f64);
    let mut line =
        format!("per {unit}: {voluntary:.2} voluntary, {involuntary:.2} involuntary (preempted)");
    if let Some(interrupts) = record.wakeup_interrupts() {
        line += &format!("; {interrupts:.2} interrupts between CPUs");
    }
    if let Some(moves) = record.migrations {
        line += &format!("; {:.2} migrations", moves as f64 / all as f64);
    }
    Some(line)
}

fn faults(record: &Record) -> Option<String> {
    let usage = record.usage?;
    let any = usage.minor_faults + usage.major_faults > 0;
    any.then(|| format!("{} minor, {} major", usage.minor_faults, usage.major_faults))
}

fn life(record: &Record) -> Option<String> {
    times(&[
        ("set-up", record.setup_ns),
        ("first iteration", record.first_ns),
        ("teardown", record.teardown_ns),
    ])
}

fn memory(record: &Record) -> Option<String> {
    if let Some(peak) = record.usage.and_then(|usage| usage.peak_bytes) {
        let bound =
            if record.peak_is_bound { ", as its starter: it has at most as much" } else { "" };
        return Some(format!("peak memory {}{bound}", Bytes(peak)));
    }
    let held = record.memory?.held?;
    let sizes = [
        ("resident", held.resident),
        ("anonymous", held.anonymous),
        ("pages of pipes", held.pipe_pages),
        ("peak", held.peak_resident.filter(|&peak| Some(peak) > held.resident)),
    ];
    joined(sizes.into_iter().filter_map(|(name, size)| Some(format!("{name} {}", Bytes(size?)))))
}

fn per_task(record: &Record) -> Option<String> {
    // Where tasks are operations, one after the other, none holds memory.
    let needs = record.said.as_ref()?.needs;
    if needs.threads.each == 0 && needs.bytes.each == 0 {
        return None;
    }
    let tasks = record.tasks()? as f64;
    let user = record.resident()? as f64;
    let mut line = format!("{} in the process", Quantity::Bytes.show(user / tasks));
    // It is negative if other programs freed more.
    if let Some(kernel) = record.kernel_gain().filter(|&gain| gain >= 0.0) {
        line += &format!(
            ", {} in the kernel; {} in all, including the program's own share",
            Quantity::Bytes.show(kernel / tasks),
            Quantity::Bytes.show((user + kernel) / tasks)
        );
    }
    Some(line)
}

fn waits(record: &Record) -> Option<String> {
    let waits = record.group.as_ref()?.waits;
    let stolen: Option<u64> = record.slices.iter().map(|slice| slice.stolen).sum();
    times(&[
        ("steal", stolen.map(|us| us * 1000)),
        ("throttled", waits.throttled),
        ("waiting for CPU", waits.cpu_pressure),
        ("for memory", waits.memory_pressure),
        ("for disks", waits.io_pressure),
    ])
}

fn events(record: &Record) -> Option<String> {
    let counters = record.counters.as_ref()?;
    let (all, unit) = record.counted()?;
    let calls = [("reads", counters.reads), ("writes", counters.writes)];
    let calls = calls.into_iter().filter_map(|(name, count)| Some((name, count?)));
    let events = counters.events.iter().map(|(name, &count)| (name.as_str(), count));
    let each = events.chain(calls).map(|(name, count)| {
        format!("{} {:.2}", name.replace('_', " "), count as f64 / all as f64)
    });
    Some(format!("per {unit}: {}", joined(each)?))
}

/// Times with their names, those that are known and not zero.
fn times(times: &[(&str, Option<u64>)]) -> Option<String> {
    let known = times.iter().filter_map(|(name, ns)| Some((name, ns.filter(|&ns| ns > 0)?)));
    joined(known.map(|(name, ns)| format!("{name} {}", Span(ns))))
}

fn joined(parts: impl Iterator<Item = String>) -> Option<String> {
    let parts = parts.collect::<Vec<_>>().join(", ");
    (!parts.is_empty()).then_some(parts)
}
