//! What a hand-over costs on a machine, by who hands over and by what: time, and CPU time apart from it.

use clap::ValueEnum;
use contract::message::Runtime;
use facts::{Link, Metric, Record};
use serde::Serialize;
use stats::Estimate;

use crate::figures::grade::Grade;
use crate::figures::{CONFIDENCE, Figure, Figures};

/// A range: the least and the greatest.
pub(crate) type Range = [f64; 2];

/// Scheduler of tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scheduler {
    /// one thread
    CurrentThread,
    /// a worker for each CPU
    Multi,
}

impl Scheduler {
    /// That of a runtime.
    pub(crate) fn of(runtime: &Runtime) -> Self {
        match runtime.flavor.as_str() {
            "current-thread" => Scheduler::CurrentThread,
            _ => Scheduler::Multi,
        }
    }
}

/// A hand-over of one kind at one placement.
#[derive(Clone, Debug)]
pub(crate) struct HandOver {
    link: Link,
    /// `None` of threads.
    scheduler: Option<Scheduler>,
    cost: Cost,
}

/// Costs of one kind of hand-over, from the least of any placement to the greatest, intervals included.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    /// Time, in ns.
    pub(crate) time: Range,
    /// CPU time, user and system, in ns.
    pub(crate) cpu: Range,
    /// Worth of the worst of its figures.
    pub(crate) grade: Grade,
}

/// The hand-overs that records measure, as their programs make them by default.
fn all(records: &[Record]) -> Vec<HandOver> {
    let figures = Figures::of(records);
    figures.iter().filter(|figure| *figure.metric() == Metric::Hop).filter_map(hand_over).collect()
}

/// Costs between threads, and between tasks, over these links; `None` if records lack one of them.
pub(crate) fn costs(records: &[Record], links: &[Link], scheduler: Scheduler) -> Option<[Cost; 2]> {
    let all = all(records);
    let threads: Option<Vec<Cost>> = links.iter().map(|link| cost(&all, *link, None)).collect();
    // Of several links tasks need one: the usual plan has each scheduler over one of them.
    let tasks = links.iter().filter_map(|link| cost(&all, *link, Some(scheduler)));
    Some([threads?.into_iter().reduce(Cost::joined)?, tasks.reduce(Cost::joined)?])
}

fn cost(all: &[HandOver], link: Link, scheduler: Option<Scheduler>) -> Option<Cost> {
    let wanted = all.iter().filter(|one| one.scheduler == scheduler && one.link == link);
    wanted.map(|one| one.cost).reduce(Cost::joined)
}

impl Cost {
    fn joined(self, other: Cost) -> Cost {
        Cost {
            time: joined(self.time, other.time),
            cpu: joined(self.cpu, other.cpu),
            grade: self.grade.max(other.grade),
        }
    }
}

/// Range that holds both.
pub(crate) fn joined(a: Range, b: Range) -> Range {
    [a[0].min(b[0]), a[1].max(b[1])]
}

fn hand_over(figure: &Figure<'_>) -> Option<HandOver> {
    let first = figure.runs.whole.first()?;
    // Its row in the plan declares it.
    let link = first.place()?.case.link?;
    let is_plain = first.policy.is_none() && first.setting.is_none() && first.tokens == 1;
    let is_free = first.cpus.is_none() || first.cpu_count() == Some(1);
    if !is_plain || !is_free || figure.key.x.is_some() {
        return None;
    }
    let scheduler = first.runtime.as_ref().map(Scheduler::of);
    let each = figure.runs.whole.iter().map(|record| {
        let usage = record.usage?;
        Some((usage.user_ns + usage.system_ns) as f64 / record.timed()?.0 as f64)
    });
    let cpu = Estimate::geometric_mean(&each.collect::<Option<Vec<_>>>()?, CONFIDENCE)?;
    let time = figure.reading()?.mean;
    let cost = Cost { time: range(&time), cpu: range(&cpu), grade: figure.grade };
    Some(HandOver { link, scheduler, cost })
}

fn range(estimate: &Estimate) -> Range {
    estimate.interval.map_or([estimate.value; 2], |interval| [interval.low, interval.high])
}

#[cfg(test)]
mod tests {
    use contract::message::Usage;
    use facts::{Case, Process, Samples};

    use super::*;
    use crate::testing;

    /// A record of a row with this link.
    fn record(link: Option<Link>, flavor: Option<&str>) -> Record {
        let runtime = flavor
            .map(|flavor| Runtime { flavor: flavor.to_owned(), ..Runtime::one_thread("x", None) });
        let process = Process {
            hops: Some(1),
            samples: Samples::of(&[100; 9]),
            usage: Some(Usage { user_ns: 900, ..Usage::default() }),
            runtime,
            ..Process::of("mine", Vec::new())
        };
        testing::in_case(Metric::Hop, Case { link, ..Case::default() }, process)
    }

    #[test]
    fn a_row_declares_its_link_and_a_runtime_makes_it_one_of_tasks() {
        for (link, flavor, expected) in [
            (Some(Link::Memory), None, Some((Link::Memory, None))),
            (None, None, None),
            (Some(Link::Tcp), Some("multi-thread"), Some((Link::Tcp, Some(Scheduler::Multi)))),
            (
                Some(Link::Pipe),
                Some("current-thread"),
                Some((Link::Pipe, Some(Scheduler::CurrentThread))),
            ),
        ] {
            let found = all(&[record(link, flavor)]);
            let found = found.first().map(|found| (found.link, found.scheduler));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn threads_and_tasks_are_needed() {
        let one = record(Some(Link::Pipe), None);
        assert!(costs(&[one], &[Link::Pipe], Scheduler::Multi).is_none());
    }
}
