//! A record as text for people or as one line of JSON, into any writer.

use std::io::{self, Write};

use crate::args::Format;
use crate::counters;
use crate::rate;
use crate::record::Record;
use crate::recorder::Summary;
use crate::units::{Bytes, Nanos};

mod sleepers;

/// Writes a record in the form asked for.
///
/// # Errors
/// What the writer reports.
pub fn write(record: &Record, format: Format, out: &mut impl Write) -> io::Result<()> {
    match format {
        Format::Json => {
            serde_json::to_writer(&mut *out, record)?;
            writeln!(out)
        }
        Format::Text => write_text(record, out),
    }
}

/// The original experiment's two lines first, then what explains them.
fn write_text(record: &Record, out: &mut impl Write) -> io::Result<()> {
    let (Some(samples), Some(tasks)) = (&record.samples, record.tasks()) else {
        return Ok(());
    };
    let asked = record.param("iters").unwrap_or(samples.count);
    if record.partial {
        writeln!(out, "partial: {} of {asked} iterations", samples.count)?;
    }
    writeln!(out, "{tasks} tasks, {} iterations:", samples.count)?;
    writeln!(
        out,
        "mean {:.3} per iteration, stddev {:.3} ({:.3} per task per iter)",
        Nanos(samples.mean),
        Nanos(samples.stddev),
        Nanos(record.per_task.unwrap_or(samples.mean / tasks as f64)),
    )?;
    if let (Some(per_hop), Some(hops)) = (record.per_hop, record.hops) {
        row(
            out,
            "per hop",
            &format!("{} ({hops} hops per iteration)", Nanos(per_hop)),
        )?;
    }
    rate::write(record, samples, out)?;
    row(out, "iteration", &percentiles(samples))?;
    for (name, summary) in &record.distributions {
        row(
            out,
            name,
            &format!("mean {}, {}", Nanos(summary.mean), percentiles(summary)),
        )?;
    }
    write_file_system(record, out)?;
    write_usage(record, samples, out)?;
    sleepers::write(record, samples, out)?;
    write_waits(record, samples, out)?;
    write_workers(record, samples, out)?;
    counters::write(record, out)?;
    write_cache_line(record, out)?;
    if let Some(threads) = record.peak_threads {
        row(out, "threads", &format!("{threads} besides the main one"))?;
    }
    let at_rest = record.memory.and_then(|m| m.at_rest?.resident);
    if let Some((resident, gain)) = at_rest.zip(record.resident_gain()) {
        row(
            out,
            "memory",
            &format!(
                "resident {} at rest, {} of it since the start",
                Bytes(resident),
                Bytes(gain)
            ),
        )?;
    }
    for note in &record.notes {
        row(out, "note", &note.to_string())?;
    }
    Ok(())
}

fn write_file_system(record: &Record, out: &mut impl Write) -> io::Result<()> {
    let Some(files) = &record.file_system else {
        return Ok(());
    };
    let kind = files.kind.as_deref().unwrap_or("an unknown file system");
    let huge = files.huge.as_deref().filter(|&huge| huge != "never");
    let huge = huge.map_or(String::new(), |huge| format!(", huge={huge}"));
    row(
        out,
        "files",
        &format!("in {} on {kind}{huge}", files.folder),
    )
}

fn write_usage(record: &Record, samples: &Summary, out: &mut impl Write) -> io::Result<()> {
    let Some(usage) = record.usage else {
        return Ok(());
    };
    row(
        out,
        "cpu time",
        &format!(
            "user {}, system {}",
            Nanos(usage.user as f64),
            Nanos(usage.system as f64)
        ),
    )?;
    let (repeats, what) = record.repeats().unwrap_or((1, "iteration"));
    let all = (repeats * samples.count) as f64;
    row(
        out,
        "switches",
        &format!(
            "{:.3} voluntary, {:.3} involuntary per {what}",
            usage.voluntary_switches as f64 / all,
            usage.involuntary_switches as f64 / all
        ),
    )?;
    match record.wakeup_interrupts() {
        Some(each) if each >= SOME_INTERRUPTS => row(
            out,
            "interrupts",
            &format!("{each:.3} between CPUs per {what}, of the whole system"),
        ),
        _ => Ok(()),
    }
}

/// Fewer for each hop are those of others.
const SOME_INTERRUPTS: f64 = 0.01;

fn write_cache_line(record: &Record, out: &mut impl Write) -> io::Result<()> {
    let Some(line) = record.cache_line else {
        return Ok(());
    };
    let time = |time: Option<f64>| time.map_or("unknown".to_owned(), |ns| Nanos(ns).to_string());
    let [a, b] = line.cpus;
    row(
        out,
        "cache line",
        &format!(
            "from CPU {a} to CPU {b} and back in {} before, {} after",
            time(line.before),
            time(line.after)
        ),
    )
}

fn write_waits(record: &Record, samples: &Summary, out: &mut impl Write) -> io::Result<()> {
    let (Some(waits), Some((repeats, what))) = (record.waits, record.repeats()) else {
        return Ok(());
    };
    let calls = waits.enters as f64 / (repeats * samples.count) as f64;
    let each = match waits.enters {
        // A thread of the kernel takes the submissions, and completions were there already.
        0 => "none".to_owned(),
        enters => format!("{:.3}", waits.completions as f64 / enters as f64),
    };
    let text = format!("{calls:.3} io_uring_enter per {what}, {each} completions each");
    row(out, "waits", &text)
}

fn write_workers(record: &Record, samples: &Summary, out: &mut impl Write) -> io::Result<()> {
    let (Some(workers), Some((repeats, what))) = (&record.workers, record.repeats()) else {
        return Ok(());
    };
    let parks = workers.parks() as f64 / (repeats * samples.count) as f64;
    let text = format!(
        "{}: {} busy, {parks:.3} parks per {what}",
        workers.each.len(),
        busy(workers.shares().collect()),
    );
    row(out, "workers", &text)
}

/// So many workers are named each by itself.
const FEW_WORKERS: usize = 4;

/// How busy each of the workers was, or the busiest and the idlest of many.
fn busy(mut shares: Vec<f64>) -> String {
    let percent = |share: &f64| format!("{:.0} %", share * 100.0);
    if shares.len() > FEW_WORKERS {
        shares.sort_by(f64::total_cmp);
        let (least, most) = (&shares[0], &shares[shares.len() - 1]);
        return format!("from {} to {}", percent(least), percent(most));
    }
    let shares: Vec<String> = shares.iter().map(percent).collect();
    match shares.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => shares.concat(),
    }
}

fn percentiles(s: &Summary) -> String {
    let [min, p50, p90, p99, max] = [s.min, s.p50, s.p90, s.p99, s.max].map(|ns| Nanos(ns as f64));
    format!("min {min}, p50 {p50}, p90 {p90}, p99 {p99}, max {max}")
}

pub(crate) fn row(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    writeln!(out, "  {:<16}{text}", name.replace('_', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_workers_are_named_each_and_many_by_their_range() {
        assert_eq!(busy(vec![0.5]), "50 %");
        assert_eq!(busy(vec![0.614, 0.12]), "61 % and 12 %");
        assert_eq!(busy(vec![0.3, 0.2, 0.1]), "30 %, 20 % and 10 %");
        assert_eq!(busy(vec![0.3, 0.2, 0.9, 0.01, 0.5]), "from 1 % to 90 %");
    }
}
