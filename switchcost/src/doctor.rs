//! What the limits of this system mean for each benchmark: how many tasks each limit allows,
//! which one binds first, and what raises it.

use std::collections::BTreeMap;

use harness::limits::{Demand, Finding, Limit, Limits, Rights, Shortage, Standing};
use serde::Serialize;

/// The whole answer.
#[derive(Clone, Debug, Serialize)]
pub struct Checkup {
    /// The number of tasks that was asked about, if one was.
    pub tasks: Option<u64>,
    /// What this process may raise.
    pub rights: Rights,
    /// Every limit, with what does not bind and what cannot be read.
    pub limits: Vec<Line>,
    /// Every benchmark.
    pub programs: Vec<Verdict>,
    /// What makes room, in the order in which it must be done: for the number of tasks that was
    /// asked about, or for twice as many as each benchmark may have now.
    pub raises: Vec<Raise>,
}

/// One limit.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// What was found.
    #[serde(flatten)]
    pub finding: Finding,
    /// How many tasks it allows by itself, for each benchmark that it bounds.
    pub largest: BTreeMap<String, u64>,
    /// The benchmarks that meet this limit before any other.
    pub binds_first: Vec<String>,
}

/// One benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Its name.
    pub program: String,
    /// What it needs; null where it could not be asked.
    pub demand: Option<Demand>,
    /// How many tasks all limits together allow; null where nothing that is known bounds them.
    pub largest: Option<u64>,
    /// The limit that binds first.
    pub binding: Option<Binding>,
    /// Whether the number of tasks that was asked about fits.
    pub fits: Option<bool>,
    /// Why it could not be asked.
    pub error: Option<String>,
}

/// Which limit binds a benchmark first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Binding {
    /// The limit's name.
    pub name: String,
    /// The file that it was read from.
    pub source: String,
}

/// A limit that is too low, and what raises it.
#[derive(Clone, Debug, Serialize)]
pub struct Raise {
    /// By how much it is too low, the command, and how long that lasts.
    #[serde(flatten)]
    pub shortage: Shortage,
    /// The benchmarks that need it.
    pub programs: Vec<String>,
}

/// What a program says it needs, or why it could not be asked.
pub type Asked = (String, Result<Demand, String>);

/// Puts together what the limits are and what the programs need.
pub fn check(limits: &Limits, asked: &[Asked], tasks: Option<u64>) -> Checkup {
    let programs: Vec<Verdict> = asked
        .iter()
        .map(|(program, demand)| verdict(limits, program, demand, tasks))
        .collect();
    let lines = limits.findings().iter();
    Checkup {
        tasks,
        rights: *limits.rights(),
        limits: lines.map(|finding| line(finding, &programs)).collect(),
        raises: raises(limits, &programs, tasks),
        programs,
    }
}

fn verdict(
    limits: &Limits,
    program: &str,
    demand: &Result<Demand, String>,
    tasks: Option<u64>,
) -> Verdict {
    let empty = Verdict {
        program: program.to_owned(),
        demand: None,
        largest: None,
        binding: None,
        fits: None,
        error: None,
    };
    let demand = match demand {
        Ok(demand) => demand,
        Err(why) => {
            return Verdict {
                error: Some(why.clone()),
                ..empty
            };
        }
    };
    let first = limits.iter().min_by_key(|limit| limit.largest(demand));
    let first = first.filter(|limit| limit.largest(demand) < u64::MAX);
    Verdict {
        demand: Some(demand.clone()),
        largest: first.map(|limit| limit.largest(demand)),
        binding: first.map(Binding::of),
        fits: tasks.map(|tasks| limits.check(demand, tasks).is_ok()),
        ..empty
    }
}

impl Binding {
    fn of(limit: &Limit) -> Self {
        Binding {
            name: limit.name.clone(),
            source: limit.source.clone(),
        }
    }
}

fn line(finding: &Finding, programs: &[Verdict]) -> Line {
    let mut largest = BTreeMap::new();
    let mut binds_first = Vec::new();
    if let Some(limit) = finding.limit() {
        for verdict in programs {
            let demand = verdict.demand.as_ref();
            let most = demand.map_or(u64::MAX, |demand| limit.largest(demand));
            if most < u64::MAX {
                largest.insert(verdict.program.clone(), most);
            }
            let is_first = verdict.binding == Some(Binding::of(limit));
            if is_first && finding.standing == Standing::Binds {
                binds_first.push(verdict.program.clone());
            }
        }
    }
    Line {
        finding: finding.clone(),
        largest,
        binds_first,
    }
}

/// What must be raised for so many tasks of every benchmark, or for twice as many as it may have.
fn raises(limits: &Limits, programs: &[Verdict], tasks: Option<u64>) -> Vec<Raise> {
    let wanted = |verdict: &Verdict| match (tasks, verdict.largest) {
        (Some(tasks), _) => Some(tasks),
        (None, largest) => largest.map(|largest| largest.saturating_mul(2).max(1)),
    };
    let mut raises = Vec::new();
    for limit in limits.findings().iter().filter_map(Finding::limit) {
        let mut most: Option<Shortage> = None;
        let mut named = Vec::new();
        for verdict in programs {
            let Some((demand, tasks)) = verdict.demand.as_ref().zip(wanted(verdict)) else {
                continue;
            };
            let Some(short) = limit.shortage(demand.of(tasks).of(limit.resource)) else {
                continue;
            };
            named.push(verdict.program.clone());
            if most.as_ref().is_none_or(|most| most.needed < short.needed) {
                most = Some(short);
            }
        }
        raises.extend(most.map(|shortage| Raise {
            shortage,
            programs: named,
        }));
    }
    raises
}

impl Checkup {
    /// The benchmarks that could not be asked what they need.
    pub fn not_asked(&self) -> impl Iterator<Item = &str> {
        let silent = self.programs.iter().filter(|v| v.error.is_some());
        silent.map(|verdict| verdict.program.as_str())
    }

    /// The benchmarks that cannot hold the number of tasks that was asked about.
    pub fn too_many_for(&self) -> impl Iterator<Item = &str> {
        let failed = self.programs.iter().filter(|v| v.fits == Some(false));
        failed.map(|verdict| verdict.program.as_str())
    }
}
