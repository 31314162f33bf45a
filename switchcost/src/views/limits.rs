//! Every limit of this system against what programs need.

use std::collections::BTreeMap;

use contract::message::Needs;
use limits::{LimitStatus, Limits, Rights};
use serde::Serialize;

/// Limits, programs and remedies.
#[derive(Clone, Debug, Serialize)]
pub struct LimitsReport {
    pub(crate) tasks: Option<u64>,
    pub(crate) rights: Rights,
    /// Every limit, those that bound a program first, in the order in which to raise them.
    pub limits: Vec<LimitRow>,
    pub programs: Vec<ProgramRow>,
}

/// One limit.
#[derive(Clone, Debug, Serialize)]
pub struct LimitRow {
    #[serde(flatten)]
    pub status: LimitStatus,
    /// Most tasks that it allows by itself, for each program that it bounds.
    pub most: BTreeMap<String, u64>,
    /// The value that each program needs for the requested number of tasks, or for twice as many as it may have now, what is
    /// in use included; only of the programs to which the limit is too low.
    pub needed: BTreeMap<String, u64>,
    /// What raises it to the largest of these values.
    pub(crate) remedy: Option<String>,
}

/// One program.
#[derive(Clone, Debug, Serialize)]
pub struct ProgramRow {
    pub program: String,
    pub(crate) needs: Option<Needs>,
    /// Most tasks that all limits together allow; absent if no known limit bounds them.
    pub(crate) most: Option<u64>,
    pub(crate) binding: Option<String>,
    /// The number of tasks that was asked about fits.
    pub fits: Option<bool>,
    pub(crate) error: Option<String>,
}

/// Checks programs against limits: each has what it needs, or why it could not be asked.
pub fn check(
    limits: &Limits,
    asked: &[(String, Result<Needs, String>)],
    tasks: Option<u64>,
) -> LimitsReport {
    let programs: Vec<ProgramRow> =
        asked.iter().map(|asked| program_row(limits, asked, tasks)).collect();
    let rows = limits.statuses.iter().map(|status| limit_row(limits, status, &programs, tasks));
    let mut rows: Vec<LimitRow> = rows.collect();
    rows.sort_by_key(|row| (row.most.is_empty(), row.status.room.is_none()));
    LimitsReport { tasks, rights: limits.rights, limits: rows, programs }
}

fn program_row(
    limits: &Limits,
    (program, needs): &(String, Result<Needs, String>),
    tasks: Option<u64>,
) -> ProgramRow {
    let known = needs.as_ref().ok();
    let tightest = known.and_then(|needs| limits.tightest(needs));
    ProgramRow {
        program: program.clone(),
        needs: known.copied(),
        most: tightest.map(|(_, most)| most),
        binding: tightest.map(|(limit, _)| limit.to_string()),
        fits: known.zip(tasks).map(|(needs, tasks)| limits.too_low(needs, tasks).is_empty()),
        error: needs.as_ref().err().cloned(),
    }
}

fn limit_row(
    limits: &Limits,
    status: &LimitStatus,
    programs: &[ProgramRow],
    tasks: Option<u64>,
) -> LimitRow {
    let (mut most, mut needed) = (BTreeMap::new(), BTreeMap::new());
    for row in programs {
        let Some(needs) = &row.needs else { continue };
        let twice = row.most.map(|most| most.saturating_mul(2).max(1));
        let value = tasks.or(twice).and_then(|tasks| status.needed(needs, tasks));
        most.extend(status.most_tasks(needs).map(|most| (row.program.clone(), most)));
        needed.extend(value.map(|value| (row.program.clone(), value)));
    }
    let remedy = needed.values().max().map(|value| status.remedy(*value, limits.rights.root));
    LimitRow { status: status.clone(), most, needed, remedy }
}
