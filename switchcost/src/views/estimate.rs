//! What so many switches and so many tasks would cost here, as threads and as async tasks, and from which load on
//! it decides.

use facts::Link;
use serde::Serialize;

use super::answer::Answer;
use super::hand_over::{self, Cost, HandOver, Range, Scheduler};

/// Share of the CPUs, or of the memory, up to which threads will do.
pub(crate) const LITTLE: f64 = 0.05;

/// Share from which they will not.
pub(crate) const MUCH: f64 = 0.5;

/// A load, and where it runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Load {
    /// Switches a second.
    pub(crate) switches: Option<f64>,
    /// Tasks, or connections, that are there at once.
    pub(crate) tasks: Option<u64>,
    pub(crate) link: Link,
    pub(crate) scheduler: Scheduler,
    pub(crate) cpus: u32,
    /// Memory of the machine, in bytes.
    pub(crate) memory: Option<u64>,
}

/// The advice.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Advice {
    pub(crate) load: Load,
    pub(crate) switching: Option<Switching>,
    pub(crate) holding: Option<Holding>,
}

/// What switches cost, as threads and as tasks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Switching {
    /// A hand-over between threads and between tasks.
    pub(crate) each: [Cost; 2],
    /// CPUs that all of them take.
    pub(crate) cpus: [Range; 2],
    pub(crate) turn: Turn,
}

/// What waiting tasks hold, as threads and as tasks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Holding {
    /// Bytes.
    pub(crate) bytes: [Range; 2],
    /// `None` if the machine's memory is unknown.
    pub(crate) turn: Option<Turn>,
}

/// Whether the load decides, and the loads at which that would change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Turn {
    pub(crate) verdict: Verdict,
    /// Load up to which threads take a little in any case.
    pub(crate) little: f64,
    /// Load from which threads take more than there is, at best.
    pub(crate) all: f64,
    /// The same of tasks.
    pub(crate) all_of_tasks: f64,
}

/// What to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Threads will do.
    Either,
    /// Measure the program itself.
    Measure,
    /// Tasks.
    Tasks,
}

impl Turn {
    /// By the cost of one as a thread and as a task, and what there is of it.
    fn of(load: f64, [threads, tasks]: [Range; 2], there_is: f64) -> Self {
        let share = threads.map(|each| load * each / there_is);
        let verdict = if share[1] < LITTLE {
            Verdict::Either
        } else if share[0] >= MUCH {
            Verdict::Tasks
        } else {
            Verdict::Measure
        };
        Turn {
            verdict,
            little: LITTLE * there_is / threads[1],
            all: there_is / threads[0],
            all_of_tasks: there_is / tasks[0],
        }
    }
}

impl Advice {
    /// Advice by an answer and by hand-overs; `None` if they lack what the load asks for.
    pub(crate) fn of(load: Load, answer: &Answer, hand_overs: &[HandOver]) -> Option<Self> {
        let switching = match load.switches {
            Some(rate) => Some(switching(&load, rate, hand_overs)?),
            None => None,
        };
        let holding = match load.tasks {
            Some(tasks) => Some(holding(&load, tasks as f64, answer)?),
            None => None,
        };
        Some(Advice { load, switching, holding })
    }
}

/// True if hand-overs have what a load asks for.
pub(crate) fn suffices(load: &Load, hand_overs: &[HandOver]) -> bool {
    load.switches.is_none_or(|rate| switching(load, rate, hand_overs).is_some())
}

fn switching(load: &Load, rate: f64, hand_overs: &[HandOver]) -> Option<Switching> {
    let of = |scheduler| hand_over::cost(hand_overs, Some(load.link), scheduler);
    let each = [of(None)?, of(Some(load.scheduler))?];
    // Per second, in CPUs.
    let costs = each.map(|cost| cost.cpu.map(|ns| ns / 1e9));
    // One thread runs on one CPU.
    let turn = Turn::of(rate, costs, f64::from(load.cpus));
    let all_of_tasks = match load.scheduler {
        Scheduler::CurrentThread => turn.all_of_tasks / f64::from(load.cpus),
        Scheduler::Multi => turn.all_of_tasks,
    };
    let cpus = costs.map(|range| range.map(|each| each * rate));
    Some(Switching { each, cpus, turn: Turn { all_of_tasks, ..turn } })
}

fn holding(load: &Load, tasks: f64, answer: &Answer) -> Option<Holding> {
    let each = answer.sizes()?;
    let bytes = each.map(|range| range.map(|each| each * tasks));
    let turn = load.memory.map(|memory| Turn::of(tasks, each, memory as f64));
    Some(Holding { bytes, turn })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_decides_and_the_loads_at_which_it_turns_are_told() {
        for (load, verdict) in
            [(900.0, Verdict::Either), (3000.0, Verdict::Measure), (1e6, Verdict::Tasks)]
        {
            let turn = Turn::of(load, [[5e-6, 1e-4], [1e-6, 1e-6]], 2.0);
            assert_eq!(turn.verdict, verdict, "{load}");
            let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
            assert!(near(turn.little, 1000.0) && near(turn.all, 4e5), "{turn:?}");
            assert!(near(turn.all_of_tasks, 2e6), "{turn:?}");
        }
    }
}
