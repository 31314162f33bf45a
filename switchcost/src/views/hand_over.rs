//! What a hand-over costs on a machine, by who hands over and by what: time, and CPU time apart from it.

use clap::ValueEnum;
use facts::{Metric, Record};
use serde::Serialize;
use stats::Estimate;

use crate::figures::{CONFIDENCE, Figure, Figures};

/// A range: the least and the greatest.
pub(crate) type Range = [f64; 2];

/// What tasks wait on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Link {
    /// a pipe
    Pipe,
    /// a TCP connection, here over the loopback
    Tcp,
    /// a channel in memory
    Memory,
}

/// Scheduler of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scheduler {
    /// one thread
    CurrentThread,
    /// a worker for each CPU
    Multi,
}

/// A hand-over of one kind at one placement.
#[derive(Clone, Debug)]
pub(crate) struct HandOver {
    link: Link,
    /// `None` of threads.
    scheduler: Option<Scheduler>,
    /// Time, in ns.
    time: Range,
    /// CPU time, user and system, in ns.
    cpu: Range,
}

/// Costs of one kind of hand-over, from the least of any placement to the greatest, intervals included.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    /// Time, in ns.
    pub(crate) time: Range,
    /// CPU time, in ns.
    pub(crate) cpu: Range,
}

/// The hand-overs that records measure, as their programs make them by default.
pub(crate) fn all(records: &[Record]) -> Vec<HandOver> {
    let figures = Figures::of(records);
    figures.iter().filter(|figure| *figure.metric() == Metric::Hop).filter_map(hand_over).collect()
}

/// Costs between threads (`None`) or tasks, over a link or over all of them; `None` if nobody measured it.
pub(crate) fn cost(
    all: &[HandOver],
    link: Option<Link>,
    scheduler: Option<Scheduler>,
) -> Option<Cost> {
    let wanted = all
        .iter()
        .filter(|one| one.scheduler == scheduler && link.is_none_or(|link| link == one.link));
    let costs = wanted.map(|one| Cost { time: one.time, cpu: one.cpu });
    costs.reduce(|a, b| Cost { time: joined(a.time, b.time), cpu: joined(a.cpu, b.cpu) })
}

/// Range that holds both.
pub(crate) fn joined(a: Range, b: Range) -> Range {
    [a[0].min(b[0]), a[1].max(b[1])]
}

fn hand_over(figure: &Figure<'_>) -> Option<HandOver> {
    let first = figure.runs.whole.first()?;
    let (link, is_thread) = kind(first)?;
    let is_plain = first.policy.is_none() && first.setting.is_none() && first.tokens == 1;
    let is_free = first.cpus.as_ref().is_none_or(|cpus| !cpus.contains([',', '-']));
    if !is_plain || !is_free || figure.key.x.is_some() {
        return None;
    }
    let flavor = first.runtime.as_ref().map(|runtime| runtime.flavor.as_str());
    let scheduler = match flavor {
        _ if is_thread => None,
        Some("current-thread") => Some(Scheduler::CurrentThread),
        _ => Some(Scheduler::Multi),
    };
    let each = figure.runs.whole.iter().map(|record| {
        let usage = record.usage?;
        Some((usage.user_ns + usage.system_ns) as f64 / record.timed()?.0 as f64)
    });
    let cpu = Estimate::geometric_mean(&each.collect::<Option<Vec<_>>>()?, CONFIDENCE)?;
    let time = figure.reading()?.mean;
    Some(HandOver { link, scheduler, time: range(&time), cpu: range(&cpu) })
}

/// Link of a brigade that differs from the default in nothing else, and whether it is of threads.
fn kind(record: &Record) -> Option<(Link, bool)> {
    let mut transport = "pipe";
    let mut words = record.args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--transport" => transport = words.next()?,
            "--flavor" | "--warmup" => drop(words.next()),
            _ => return None,
        }
    }
    match (record.program.as_str(), transport) {
        ("thread-brigade", "pipe") => Some((Link::Pipe, true)),
        ("async-brigade", "pipe") => Some((Link::Pipe, false)),
        ("thread-brigade", "tcp") => Some((Link::Tcp, true)),
        ("async-brigade", "tcp") => Some((Link::Tcp, false)),
        // Their links have other names, of which this is the usual one.
        ("thread-mem-brigade", "pipe") => Some((Link::Memory, true)),
        ("async-mem-brigade", "pipe") => Some((Link::Memory, false)),
        _ => None,
    }
}

fn range(estimate: &Estimate) -> Range {
    estimate.interval.map_or([estimate.value; 2], |interval| [interval.low, interval.high])
}
