//! Every limit of this system against what programs need.

use std::collections::BTreeMap;

use contract::message::Needs;
use facts::limits::{LimitState, LimitStatus, Limits, Rights, Shortage};
use serde::Serialize;

/// Limits, programs and remedies.
#[derive(Clone, Debug, Serialize)]
pub struct Checkup {
    /// Number of tasks that was asked about.
    pub tasks: Option<u64>,
    /// What this process may raise.
    pub rights: Rights,
    /// Every limit, those that bind first.
    pub limits: Vec<Line>,
    /// Every program.
    pub programs: Vec<Verdict>,
    /// Remedies in the order in which they must be applied: for the number of tasks that was asked
    /// about, or for twice as many as each program may have now.
    pub raises: Vec<Raise>,
}

/// One limit.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The limit.
    #[serde(flatten)]
    pub status: LimitStatus,
    /// Most tasks that it allows by itself, for each program that it bounds.
    pub most: BTreeMap<String, u64>,
}

/// One program.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Its name.
    pub program: String,
    /// Its needs; absent where it could not be asked.
    pub needs: Option<Needs>,
    /// Most tasks that all limits together allow; absent where no known limit bounds them.
    pub most: Option<u64>,
    /// Name of the limit that binds first.
    pub binding: Option<String>,
    /// True if the number of tasks that was asked about fits.
    pub fits: Option<bool>,
    /// Why it could not be asked.
    pub error: Option<String>,
}

/// A limit that is too low.
#[derive(Clone, Debug, Serialize)]
pub struct Raise {
    /// By how much it is too low, and what raises it.
    #[serde(flatten)]
    pub shortage: Shortage,
    /// The programs that need it.
    pub programs: Vec<String>,
}

/// A program and what it needs, or why it could not be asked.
pub type Asked = (String, Result<Needs, String>);

/// Checks programs against limits.
pub fn check(limits: &Limits, asked: &[Asked], tasks: Option<u64>) -> Checkup {
    let programs: Vec<Verdict> = asked.iter().map(|one| verdict(limits, one, tasks)).collect();
    let mut lines: Vec<Line> = limits.statuses().iter().map(|s| line(s, &programs)).collect();
    lines.sort_by_key(|line| (line.most.is_empty(), line.status.state != LimitState::Binds));
    Checkup {
        tasks,
        rights: *limits.rights(),
        limits: lines,
        raises: raises(limits, &programs, tasks),
        programs,
    }
}

fn verdict(limits: &Limits, (program, needs): &Asked, tasks: Option<u64>) -> Verdict {
    let known = needs.as_ref().ok();
    let tightest = known.and_then(|needs| limits.tightest(needs));
    let fits = |tasks| known.map(|needs| limits.report(needs, tasks).is_enough());
    Verdict {
        program: program.clone(),
        needs: known.copied(),
        most: tightest.map(|(_, most)| most),
        binding: tightest.map(|(limit, _)| limit.name.clone()),
        fits: tasks.and_then(fits),
        error: needs.as_ref().err().cloned(),
    }
}

fn line(status: &LimitStatus, programs: &[Verdict]) -> Line {
    let most = |verdict: &Verdict| {
        let most = status.most_tasks(&verdict.needs?)?;
        Some((verdict.program.clone(), most))
    };
    Line { status: status.clone(), most: programs.iter().filter_map(most).collect() }
}

fn raises(limits: &Limits, programs: &[Verdict], tasks: Option<u64>) -> Vec<Raise> {
    let mut raises: Vec<Raise> = Vec::new();
    for verdict in programs {
        let twice = verdict.most.map(|most| most.saturating_mul(2).max(1));
        let Some((needs, tasks)) = verdict.needs.zip(tasks.or(twice)) else {
            continue;
        };
        for shortage in limits.report(&needs, tasks).shortages {
            let is_same = |raise: &&mut Raise| raise.shortage.limit.source == shortage.limit.source;
            match raises.iter_mut().find(is_same) {
                Some(raise) => {
                    raise.programs.push(verdict.program.clone());
                    if raise.shortage.needed < shortage.needed {
                        raise.shortage = shortage;
                    }
                }
                None => raises.push(Raise { shortage, programs: vec![verdict.program.clone()] }),
            }
        }
    }
    let place = |raise: &Raise| {
        let source = &raise.shortage.limit.source;
        let mut statuses = limits.statuses().iter();
        statuses.position(|status| status.source == *source)
    };
    raises.sort_by_key(place);
    raises
}

impl Checkup {
    /// Programs that could not be asked.
    pub fn not_asked(&self) -> impl Iterator<Item = &str> {
        let silent = self.programs.iter().filter(|v| v.error.is_some());
        silent.map(|verdict| verdict.program.as_str())
    }

    /// Programs that cannot hold the number of tasks that was asked about.
    pub fn too_many_for(&self) -> impl Iterator<Item = &str> {
        let failed = self.programs.iter().filter(|v| v.fits == Some(false));
        failed.map(|verdict| verdict.program.as_str())
    }
}
