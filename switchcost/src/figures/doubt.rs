//! Doubts: what makes figures less sure, each with its sentence. Every view says them in these words.

use std::collections::BTreeMap;
use std::fmt;

use record::{Account, Record};
use serde::Serialize;

use crate::figures::CONFIDENCE;
use crate::figures::cases::{Cases, case_name};
use crate::figures::number::{capitalised, percent};
use crate::measure::quiet::{Disturbance, Tally};

/// Share of the CPU time, used by others or stolen, from which it is a doubt.
const BUSY: f64 = 0.05;

/// Distance of two equal runs, as a share, from which it is one.
const RESTLESS: f64 = 0.1;

/// Change of a yardstick over the rounds, as a share, from which it is one.
const DRIFT: f64 = 0.1;

/// Something that makes figures less sure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// Too few slices of rows of the answer were quiet: all of them count.
    FewQuiet {
        /// The rows; none for all.
        rows: Vec<String>,
        /// Share that was quiet, of all slices.
        share: f64,
        /// What disturbed most of the others.
        cause: Disturbance,
    },
    /// Other programs used the CPUs; the share of their time.
    Busy(f64),
    /// The host took time of the CPUs; the share.
    Stolen(f64),
    /// Two equal runs differed by this share.
    Unsteady(f64),
    /// Work that depends on the machine alone took longer or shorter at the end: its name and the change.
    Drift(String, f64),
    /// The kernel's share of a row's memory could not be told from what others did; the row.
    NoKernelShare(String),
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::FewQuiet { rows, share, cause } => {
                match rows.is_empty() {
                    true => write!(
                        f,
                        "Do not trust these figures: the machine was quiet in {} of the slices only. ",
                        percent(*share)
                    )?,
                    false => write!(
                        f,
                        "Do not trust '{}': too few slices were quiet. ",
                        rows.join("', '")
                    )?,
                }
                f.write_str(match cause {
                    Disturbance::Slow => {
                        "The CPUs were slower than they can be: a busy neighbour on the same core, or a changed clock."
                    }
                    Disturbance::Stolen => "The host took CPU time.",
                    Disturbance::Others => "Other programs used the CPUs.",
                })
            }
            Doubt::Busy(share) => {
                write!(
                    f,
                    "This machine was busy: other programs used {} of its CPU time.",
                    percent(*share)
                )
            }
            Doubt::Stolen(share) => {
                write!(f, "The host took {} of the CPU time.", percent(*share))
            }
            Doubt::Unsteady(apart) => {
                write!(
                    f,
                    "This machine was unsteady: two equal runs differed by {}.",
                    percent(*apart)
                )
            }
            Doubt::Drift(name, change) => write!(
                f,
                "This machine changed: {name} took {} {} in the last round than in the first.",
                percent(change.abs()),
                if *change > 0.0 { "longer" } else { "shorter" }
            ),
            Doubt::NoKernelShare(row) => write!(
                f,
                "'{row}' is the memory of the process alone: others changed the kernel's too much meanwhile."
            ),
        }
    }
}

/// What is known of a machine while a plan ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Conditions {
    /// Slices, and which of them were disturbed.
    pub slices: Tally,
    /// CPU time of all windows; `None` for records that have none.
    pub account: Option<Account>,
    /// Median distance of two equal runs of a round, as a share, and the number of pairs.
    pub apart: Option<(f64, usize)>,
    /// Rounds.
    pub rounds: u32,
}

impl Conditions {
    /// Conditions of some records.
    pub fn of(records: &[Record], cases: &Cases<'_>) -> Self {
        // Programs that took turns have one account together.
        let accounts: BTreeMap<(u64, u32, u64), Account> = records
            .iter()
            .filter_map(|r| r.account.map(|account| ((r.run, r.round, account.at), account)))
            .collect();
        let apart: Vec<f64> = cases.in_order().iter().flat_map(|(_, runs)| runs.apart()).collect();
        Conditions {
            slices: Tally::of(records),
            account: accounts.into_values().reduce(Account::plus),
            apart: stats::median(&apart).map(|median| (median.exp_m1(), apart.len())),
            rounds: records.iter().map(|r| r.round.saturating_add(1)).max().unwrap_or(1),
        }
    }

    /// Doubts about an answer whose rows of times are `all` in number; `disturbed` names those of which too few
    /// slices were quiet.
    pub fn doubts(&self, cases: &Cases<'_>, all: usize, disturbed: Vec<String>) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        let most = self.slices.disturbed.iter().max_by_key(|(_, count)| **count);
        if let (false, Some(share), Some((&cause, _))) =
            (disturbed.is_empty(), self.slices.quiet(), most)
        {
            let rows = if disturbed.len() < all { disturbed } else { Vec::new() };
            doubts.push(Doubt::FewQuiet { rows, share, cause });
        }
        let account = self.account.as_ref();
        let above = |share: Option<f64>| share.filter(|&share| share > BUSY);
        doubts.extend(above(account.and_then(Account::others)).map(Doubt::Busy));
        doubts.extend(above(account.and_then(Account::stolen)).map(Doubt::Stolen));
        let apart = self.apart.map(|(apart, _)| apart).filter(|&apart| apart > RESTLESS);
        doubts.extend(apart.map(Doubt::Unsteady));
        doubts.extend(drift(cases));
        doubts
    }
}

/// The largest clear change of a yardstick over the rounds.
fn drift(cases: &Cases<'_>) -> Option<Doubt> {
    let yardsticks = cases.in_order().into_iter().filter(|(_, runs)| runs.place.case.yardstick);
    let drifts = yardsticks.filter_map(|(key, runs)| {
        let means: Vec<f64> = runs.means().into_values().collect();
        let rounds: Vec<f64> = (0..means.len()).map(|round| round as f64).collect();
        let logs: Vec<f64> = means.iter().map(|mean| mean.ln()).collect();
        let slope = stats::fit_line(&rounds, &logs, CONFIDENCE)?.slope;
        let change = (slope.estimate * (means.len() - 1) as f64).exp_m1();
        let is_clear = !slope.contains(0.0) && change.abs() > DRIFT;
        is_clear.then(|| (case_name(&key.row, &key.column), change))
    });
    let most = drifts.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    most.map(|(name, change)| Doubt::Drift(name, change))
}

impl fmt::Display for Conditions {
    /// How far to trust the figures, in a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(quiet) = self.slices.quiet() {
            let which = if self.slices.is_too_few() { " (all count)" } else { "" };
            let (share, all) = (percent(quiet), self.slices.slices);
            parts.push(format!("the machine was quiet in {share} of {all} slices{which}"));
        }
        if let Some(account) = &self.account {
            let others = account.others().map_or("an unknown share".to_owned(), percent);
            let stolen = account.stolen().map_or("an unknown share".to_owned(), percent);
            let missing = account.unaccounted().map_or(String::new(), |share| {
                format!(
                    ", and the kernel accounts for {} too {}",
                    percent(share.abs()),
                    if share > 0.0 { "little" } else { "much" }
                )
            });
            parts.push(format!("others used {others} of the CPU time, the host {stolen}{missing}"));
        }
        parts.push(match self.apart {
            Some((apart, _)) => format!("two equal runs differed by {}", percent(apart)),
            None => "two equal runs were not made (--a-a makes them)".to_owned(),
        });
        parts.push(format!("{} rounds", self.rounds));
        let line = parts.join("; ") + ".";
        f.write_str(&capitalised(&line))
    }
}
