//! Every limit of this system against what programs need.

use std::collections::BTreeMap;

use contract::message::Needs;
use facts::limits::{LimitState, LimitStatus, Limits, Rights, Shortage};
use serde::Serialize;

/// Limits, programs and remedies.
#[derive(Clone, Debug, Serialize)]
pub struct LimitsReport {
    /// Number of tasks that was asked about.
    pub tasks: Option<u64>,
    /// What this process may raise.
    pub rights: Rights,
    /// Every limit, those that bound a program first.
    pub limits: Vec<LimitRow>,
    /// Every program.
    pub programs: Vec<ProgramRow>,
    /// Remedies in the order in which they must be applied: for the number of tasks that was asked
    /// about, or for twice as many as each program may have now.
    pub raises: Vec<Raise>,
}

/// One limit.
#[derive(Clone, Debug, Serialize)]
pub struct LimitRow {
    /// The limit.
    #[serde(flatten)]
    pub status: LimitStatus,
    /// Most tasks that it allows by itself, for each program that it bounds.
    pub most: BTreeMap<String, u64>,
}

/// One program.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramRow {
    /// Its name.
    pub program: String,
    /// Its needs; absent if it could not be asked.
    pub needs: Option<Needs>,
    /// Most tasks that all limits together allow; absent if no known limit bounds them.
    pub most: Option<u64>,
    /// Name of the limit that binds first.
    pub binding: Option<String>,
    /// The number of tasks that was asked about fits.
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
pub fn check(limits: &Limits, asked: &[Asked], tasks: Option<u64>) -> LimitsReport {
    let programs: Vec<ProgramRow> =
        asked.iter().map(|one| program_row(limits, one, tasks)).collect();
    let statuses = limits.statuses().iter().cloned();
    let mut rows: Vec<LimitRow> = statuses
        .map(|status| {
            let most = programs.iter().filter_map(|row| {
                let most = status.most_tasks(&row.needs?)?;
                Some((row.program.clone(), most))
            });
            LimitRow { most: most.collect(), status }
        })
        .collect();
    rows.sort_by_key(|row| (row.most.is_empty(), row.status.state != LimitState::Binds));
    let raises = raises(limits, &programs, tasks);
    LimitsReport { tasks, rights: *limits.rights(), limits: rows, programs, raises }
}

fn program_row(limits: &Limits, (program, needs): &Asked, tasks: Option<u64>) -> ProgramRow {
    let known = needs.as_ref().ok();
    let tightest = known.and_then(|needs| limits.tightest(needs));
    ProgramRow {
        program: program.clone(),
        needs: known.copied(),
        most: tightest.map(|(_, most)| most),
        binding: tightest.map(|(limit, _)| limit.name.clone()),
        fits: known.zip(tasks).map(|(needs, tasks)| limits.report(needs, tasks).is_enough()),
        error: needs.as_ref().err().cloned(),
    }
}

/// The largest shortage of each limit, in the order of the limits.
fn raises(limits: &Limits, programs: &[ProgramRow], tasks: Option<u64>) -> Vec<Raise> {
    let mut short: Vec<(&ProgramRow, Shortage)> = Vec::new();
    for row in programs {
        let twice = row.most.map(|most| most.saturating_mul(2).max(1));
        if let Some((needs, tasks)) = row.needs.zip(tasks.or(twice)) {
            let shortages = limits.report(&needs, tasks).shortages.into_iter();
            short.extend(shortages.map(|shortage| (row, shortage)));
        }
    }
    limits.statuses().iter().filter_map(|status| raise(status, &short)).collect()
}

/// The largest shortage of one limit. Several limits may have one file.
fn raise(status: &LimitStatus, short: &[(&ProgramRow, Shortage)]) -> Option<Raise> {
    let (source, name) = (&status.source, &status.name);
    let of_this = short
        .iter()
        .filter(|(_, Shortage { limit, .. })| (&limit.source, &limit.name) == (source, name));
    let (_, largest) = of_this.clone().max_by_key(|(_, shortage)| shortage.needed)?;
    let programs = of_this.map(|(row, _)| row.program.clone()).collect();
    Some(Raise { shortage: largest.clone(), programs })
}
