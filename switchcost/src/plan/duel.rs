//! Cases of a duel: the rows that both sides have, each on both sides and with a twin of the first.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use facts::Side;

use super::placement::{self, Absent};
use super::programs::Programs;
use super::{Case, ProgramTables, side};

/// Reason why a row has no side.
const NO_CRATE: &str = "its program is no crate of the workspace: `switchcost compare` of two runs";

/// Reason why a row is left out in which nothing can have changed.
const SAME: &str = "the same program on both sides";

/// What takes part in a duel.
#[derive(Debug)]
pub struct Lineup {
    /// Cases of all rounds.
    pub cases: Vec<Case>,
    /// A case of each row that is not measured, and the reason.
    pub left_out: Vec<Absent>,
    /// Programs of both sides.
    pub programs: Programs,
    /// What each side is called and what it was built from, in a line.
    pub names: [String; 2],
}

impl Lineup {
    /// Brings the programs of both sides up to date, which may take minutes, and chooses the rows.
    pub fn of(
        mut cases: Vec<Case>,
        tables: &ProgramTables,
        sides: [&side::Side; 2],
    ) -> anyhow::Result<Self> {
        cases.retain(|case| !case.twin);
        thin_out(&mut cases);
        let (cases, mut left_out) = placement::place(cases)?;
        let names: BTreeSet<String> = cases.iter().map(|case| case.program.clone()).collect();
        let (peers, crates): (BTreeSet<&str>, BTreeSet<&str>) =
            names.iter().map(String::as_str).partition(|name| tables.contains_key(*name));
        let built = side::programs(sides, &crates)?;
        let (programs, mut reasons) = look_for(&crates, &built)?;
        reasons.extend(peers.into_iter().map(|name| (name, NO_CRATE.to_owned())));
        let reason = |case: &Case| reasons.get(&*case.program);
        // One row of those that cannot differ shows the noise.
        let is_control = |case: &&Case| {
            reason(case).is_some_and(|why| why == SAME) && case.pin && !case.is_alone()
        };
        let control = cases.iter().find(is_control).map(|case| case.index);
        let mut measured = Vec::new();
        for case in cases {
            match reason(&case) {
                Some(why) if Some(case.index) != control => left_out.push((case, why.clone())),
                _ => measured.push(case),
            }
        }
        left_out.dedup_by_key(|(case, _)| case.index);
        left_out.iter_mut().for_each(|(case, _)| case.side = Some(Side::A));
        if measured.is_empty() {
            let why = left_out.first().map_or("the plan is empty", |(_, why)| why);
            bail!("no row can be measured: {why}");
        }
        Ok(Lineup {
            cases: on_both_sides(&measured),
            left_out,
            programs,
            names: [built[0].name(), built[1].name()],
        })
    }
}

/// Programs of both sides, and the reason for each that need not or cannot be measured.
fn look_for<'a>(
    names: &BTreeSet<&'a str>,
    built: &[side::Programs; 2],
) -> anyhow::Result<(Programs, BTreeMap<&'a str, String>)> {
    let mut programs = Programs::default();
    let mut reasons = BTreeMap::new();
    for &name in names {
        for (side, built) in [Side::A, Side::B].into_iter().zip(built) {
            match built.executable(name) {
                Ok(found) => programs.insert(side, name, found),
                Err(why) => drop(reasons.entry(name).or_insert(why)),
            }
        }
        if side::is_same(built, name).with_context(|| format!("cannot read {name}"))? {
            reasons.insert(name, SAME.to_owned());
        }
    }
    if reasons.len() == names.len() {
        // Nothing differs: it is a duel of the machine with itself.
        reasons.retain(|_, why| why != SAME);
    }
    Ok((programs, reasons))
}

/// Keeps three task counts of each slope: the fewest, the most and one between. More pairs are worth more
/// than more counts.
fn thin_out(cases: &mut Vec<Case>) {
    let mut counts: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    for case in cases.iter() {
        counts.entry(case.index).or_default().extend(case.x);
    }
    cases.retain(|case| {
        let all: Vec<u64> = counts[&case.index].iter().copied().collect();
        let last = all.len().saturating_sub(1);
        case.x.is_none_or(|x| [0, last / 2, last].iter().any(|&k| all[k] == x))
    });
}

/// Each case on both sides and as a twin of the first, as often as the budget allows.
fn on_both_sides(cases: &[Case]) -> Vec<Case> {
    let places = [(Side::A, false), (Side::B, false), (Side::A, true)];
    let all = cases.iter().flat_map(|case| {
        places.map(|(side, twin)| Case { side: Some(side), twin, rounds: u32::MAX, ..case.clone() })
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn a_line_has_both_ends_and_what_is_between() {
        let mut cases = Plan::memory().unwrap().cases(false);
        thin_out(&mut cases);
        let bare = cases.iter().filter(|case| case.cell.name() == "bare thread");
        let tasks: Vec<_> = bare.filter_map(|case| case.x).collect();
        assert_eq!(tasks, [200, 950, 2000]);
    }
}
