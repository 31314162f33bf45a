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
    let link = link(first)?;
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

/// Link of a plain hand-over, which its row in the plan declares.
fn link(record: &Record) -> Option<Link> {
    let plan = &record.header.plan;
    if plan.cases.iter().any(|case| case.link.is_some()) {
        return record.place()?.case.link;
    }
    link_by_flags(record)
}

/// Link of a brigade with no other flags than those of its link and its scheduler: for plans that declare none, as
/// those of old files.
fn link_by_flags(record: &Record) -> Option<Link> {
    let mut transport = None;
    let mut words = record.args.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "--transport" => transport = Some(words.next()?),
            "--flavor" | "--warmup" => drop(words.next()),
            _ => return None,
        }
    }
    match (record.program.as_str(), transport) {
        ("thread-brigade" | "async-brigade", None | Some("pipe")) => Some(Link::Pipe),
        ("thread-brigade" | "async-brigade", Some("tcp")) => Some(Link::Tcp),
        ("thread-mem-brigade" | "async-mem-brigade", None) => Some(Link::Memory),
        _ => None,
    }
}

fn range(estimate: &Estimate) -> Range {
    estimate.interval.map_or([estimate.value; 2], |interval| [interval.low, interval.high])
}

#[cfg(test)]
mod tests {
    use contract::message::Usage;
    use facts::{Case, Process, Samples};

    use super::*;
    use crate::plan::Plan;
    use crate::testing;

    /// A record of a row with this link, in a plan in which another row declares one if `is_declared`.
    fn record(program: &str, flags: &str, link: Option<Link>, is_declared: bool) -> Record {
        let process = Process {
            hops: Some(1),
            samples: Samples::of(&[100; 9]),
            usage: Some(Usage { user_ns: 900, ..Usage::default() }),
            ..Process::of(program, flags.split_whitespace().map(str::to_owned).collect())
        };
        let mut record = testing::in_case(Metric::Hop, Case { link, ..Case::default() }, process);
        let other = Case { link: is_declared.then_some(Link::Tcp), ..Case::default() };
        std::sync::Arc::make_mut(&mut record.header).plan.cases.push(other);
        record
    }

    #[test]
    fn a_row_declares_its_link_and_old_records_show_it_by_their_flags() {
        use Link::{Memory, Pipe, Tcp};
        for (program, flags, declared, is_new, expected) in [
            ("mine", "--any 1", Some(Memory), true, Some(Memory)),
            ("thread-brigade", "", None, true, None),
            ("thread-brigade", "--warmup 5", None, false, Some(Pipe)),
            ("async-brigade", "--transport tcp --flavor current-thread", None, false, Some(Tcp)),
            ("thread-mem-brigade", "", None, false, Some(Memory)),
            ("thread-brigade", "--tokens 5", None, false, None),
            ("mine", "", None, false, None),
        ] {
            let found = all(&[record(program, flags, declared, is_new)]);
            let links: Vec<Link> = found.iter().map(|found| found.link).collect();
            assert_eq!(links, Vec::from_iter(expected), "{program} {flags}");
        }
    }

    #[test]
    fn a_runtime_makes_a_hand_over_one_of_tasks() {
        let mut record = record("mine", "", Some(Link::Pipe), true);
        assert_eq!(all(&[record.clone()])[0].scheduler, None);
        for (flavor, scheduler) in
            [("current-thread", Scheduler::CurrentThread), ("multi-thread", Scheduler::Multi)]
        {
            record.runtime =
                Some(Runtime { flavor: flavor.to_owned(), ..Runtime::one_thread("mine", None) });
            assert_eq!(all(&[record.clone()])[0].scheduler, Some(scheduler));
        }
    }

    #[test]
    fn the_built_in_plans_have_every_hand_over_that_can_be_asked_for() {
        let plans = [Plan::built_in().unwrap(), Plan::links().unwrap()];
        let rows = plans.iter().flat_map(|plan| &plan.sections).flat_map(|section| &section.rows);
        let kind = |program: &str, flags: &[String]| match flags.last() {
            Some(flavor) if flags.contains(&"--flavor".to_owned()) => flavor.clone(),
            _ if program == "async-mem-brigade" => "current-thread".to_owned(),
            _ if program.starts_with("async") => "multi-thread".to_owned(),
            _ => "threads".to_owned(),
        };
        let declared = rows.filter_map(|row| Some((row.link?, kind(&row.program, &row.flags))));
        let declared: Vec<(Link, String)> = declared.collect();
        for link in [Link::Pipe, Link::Tcp, Link::Memory] {
            for kind in ["threads", "current-thread", "multi-thread"] {
                assert!(declared.contains(&(link, kind.to_owned())), "{link:?}, {kind}");
            }
        }
    }
}
