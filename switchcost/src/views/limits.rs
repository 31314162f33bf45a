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
    /// Every limit, those that bound a program first.
    pub limits: Vec<LimitRow>,
    /// Every program.
    pub programs: Vec<ProgramRow>,
    /// Remedies in the order to apply them: for the requested number of tasks, or for twice as many as each program may
    /// have now.
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
    pub(crate) needs: Option<Needs>,
    /// Most tasks that all limits together allow; absent if no known limit bounds them.
    pub(crate) most: Option<u64>,
    pub(crate) binding: Option<String>,
    /// The number of tasks that was asked about fits.
    pub fits: Option<bool>,
    pub(crate) error: Option<String>,
}

/// A limit that is too low.
#[derive(Clone, Debug, Serialize)]
pub struct Raise {
    /// The limit.
    pub limit: LimitStatus,
    /// Largest value that a program needs, what is in use included.
    pub(crate) needed: u64,
    pub(crate) remedy: String,
    /// The programs that need it.
    pub programs: Vec<String>,
}

/// Checks programs against limits: each has what it needs, or why it could not be asked.
pub fn check(
    limits: &Limits,
    asked: &[(String, Result<Needs, String>)],
    tasks: Option<u64>,
) -> LimitsReport {
    let programs: Vec<ProgramRow> =
        asked.iter().map(|one| program_row(limits, one, tasks)).collect();
    let statuses = limits.statuses.iter();
    let raises = statuses.clone().filter_map(|limit| raise(limits, limit, &programs, tasks));
    let raises = raises.collect();
    let mut rows: Vec<LimitRow> = statuses
        .map(|status| {
            let most = programs.iter().filter_map(|row| {
                let most = status.most_tasks(&row.needs?)?;
                Some((row.program.clone(), most))
            });
            LimitRow { most: most.collect(), status: status.clone() }
        })
        .collect();
    rows.sort_by_key(|row| (row.most.is_empty(), row.status.room.is_none()));
    LimitsReport { tasks, rights: limits.rights, limits: rows, programs, raises }
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

/// What raises one limit for all programs to which it is too low; `None` if it is to none.
fn raise(
    limits: &Limits,
    limit: &LimitStatus,
    programs: &[ProgramRow],
    tasks: Option<u64>,
) -> Option<Raise> {
    let needed = |row: &ProgramRow| {
        let twice = row.most.map(|most| most.saturating_mul(2).max(1));
        limit.needed(&row.needs?, tasks.or(twice)?)
    };
    let short: Vec<(u64, &ProgramRow)> =
        programs.iter().filter_map(|row| Some((needed(row)?, row))).collect();
    let needed = short.iter().map(|(needed, _)| *needed).max()?;
    Some(Raise {
        limit: limit.clone(),
        needed,
        remedy: limit.remedy(needed, limits.rights.root),
        programs: short.into_iter().map(|(_, row)| row.program.clone()).collect(),
    })
}
