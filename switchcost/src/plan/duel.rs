//! Cases of a duel: the rows that both sides have, each on both sides and with a twin of the first.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use record::{Build, Side};

use super::placement::{self, Absent};
use super::programs::Executables;
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
    pub executables: Executables,
    /// What each side is called and what it was built from, in a line.
    pub names: [String; 2],
    /// Build of the programs, as far as it is that of both sides.
    pub build: Build,
}

impl Lineup {
    /// Brings the programs of both sides up to date, which may take minutes, and chooses the rows.
    ///
    /// # Errors
    /// When a side does not exist, or cannot be built.
    pub fn of(
        mut cases: Vec<Case>,
        tables: &ProgramTables,
        sides: [&side::Side; 2],
    ) -> anyhow::Result<Self> {
        cases.retain(|case| !case.twin);
        thin_out(&mut cases);
        let (mut cases, mut left_out) = placement::place(cases)?;
        let is_table = |case: &Case| tables.contains_key(&case.program);
        leave_out(&mut cases, &mut left_out, |case| is_table(case).then(|| NO_CRATE.to_owned()));
        let cases = distinct(cases);
        let build = Build { git_revision: None, dirty: None, ..observe::build::current() };
        let names = sides.map(ToString::to_string);
        let executables = Executables::default();
        let mut lineup = Lineup { cases, left_out, executables, names, build };
        if !lineup.cases.is_empty() {
            lineup.resolve(sides)?;
        }
        lineup.left_out.dedup_by_key(|(case, _)| case.index);
        for (case, _) in &mut lineup.left_out {
            case.side = Some(Side::A);
        }
        lineup.cases = on_both_sides(&lineup.cases);
        Ok(lineup)
    }

    /// Finds the programs of both sides, and leaves out the rows that a side lacks or that cannot differ.
    fn resolve(&mut self, sides: [&side::Side; 2]) -> anyhow::Result<()> {
        let programs: BTreeSet<String> =
            self.cases.iter().map(|case| case.program.clone()).collect();
        let built = side::programs(sides, &programs.iter().map(String::as_str).collect())?;
        self.names = [built[0].name(), built[1].name()];
        let mut same = BTreeSet::new();
        for program in &programs {
            for (side, built) in [Side::A, Side::B].into_iter().zip(&built) {
                let key = (Some(side), program.clone());
                self.executables.0.insert(key, built.executable(program));
            }
            let sameness = side::sameness([&built[0], &built[1]], program);
            if sameness.with_context(|| format!("cannot read {program}"))?.is_some() {
                same.insert(program.as_str());
            }
        }
        leave_out(&mut self.cases, &mut self.left_out, |case| {
            built.iter().find_map(|side| side.executable(&case.program).err())
        });
        if self.cases.iter().all(|case| same.contains(&*case.program)) {
            // It is a duel of the machine with itself.
            return Ok(());
        }
        let is_same = |case: &Case| same.contains(&*case.program);
        // One of them shows the noise.
        let is_control = |case: &&Case| is_same(case) && case.pin && !case.is_alone();
        let control = self.cases.iter().find(is_control).map(|case| case.index);
        leave_out(&mut self.cases, &mut self.left_out, |case| {
            (is_same(case) && Some(case.index) != control).then(|| SAME.to_owned())
        });
        Ok(())
    }
}

/// Moves the cases that have a reason to those that are left out.
fn leave_out(
    cases: &mut Vec<Case>,
    left_out: &mut Vec<Absent>,
    reason: impl Fn(&Case) -> Option<String>,
) {
    cases.retain(|case| {
        let why = reason(case);
        left_out.extend(why.iter().map(|why| (case.clone(), why.clone())));
        why.is_none()
    });
}

/// Cases without those whose processes another table has too.
fn distinct(cases: Vec<Case>) -> Vec<Case> {
    let process = |case: &Case| {
        let is_slope = case.section.metric.is_slope();
        (is_slope, case.program.clone(), case.flags.clone(), case.pin, case.setting.clone())
    };
    let mut distinct: Vec<Case> = Vec::new();
    for case in cases {
        if !distinct.iter().any(|other| process(other) == process(&case)) {
            distinct.push(case);
        }
    }
    distinct
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
