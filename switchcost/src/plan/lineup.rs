//! The cases of a duel: each row that both sides have, on either side, and once more on the first side as its twin.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use record::Side;

use super::change::{Change, together};
use super::placement::{self, Absent};
use super::programs::Programs;
use super::{Case, ProgramTables, side};

/// Why a row has no side.
const NO_CRATE: &str =
    "its program is not a crate of the workspace: measure it twice, and use `switchcost compare`";

/// Why a row is left out if nothing in it can have changed.
const SAME: &str = "its program is the same on both sides";

/// Commands around the second side, for `sh -c`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Runs before the side's processes start and before each group of its slices.
    pub before: Option<String>,
    /// Runs after them, even if they failed.
    pub after: Option<String>,
}

/// What the sides differ in.
#[derive(Debug)]
pub struct Sides<'a> {
    /// Where their programs come from.
    pub builds: [&'a side::Side; 2],
    /// What they are started with.
    pub changes: [&'a [Change]; 2],
    /// Extra changes of the second side; each has its own rows.
    pub each: &'a [Change],
    /// Commands around the second side.
    pub around: &'a Around,
}

impl Sides<'_> {
    /// True if equal programs may differ.
    fn have_settings(&self) -> bool {
        let mut changes = self.changes.into_iter().chain([self.each]);
        *self.around != Around::default() || changes.any(|changes| !changes.is_empty())
    }

    /// Names of the sides: their builds, changes and commands.
    fn names(&self, [mut a, mut b]: [String; 2]) -> [String; 2] {
        for (name, changes) in [(&mut a, self.changes[0]), (&mut b, self.changes[1])] {
            if !changes.is_empty() {
                *name += &format!(" with {}", together(changes));
            }
        }
        if !self.each.is_empty() {
            b += &format!(", and each of {}", together(self.each));
        }
        let Around { before, after } = self.around;
        for (when, command) in [("before", before), ("after", after)] {
            if let Some(command) = command {
                b += &format!(", {when} it `{command}`");
            }
        }
        [a, b]
    }

    /// A row on both sides, with a twin of the first, as often as the budget allows.
    ///
    /// # Errors
    /// The reason why it cannot have a change.
    fn copies(&self, case: &Case, each: Option<&Change>) -> Result<[Case; 3], String> {
        for change in self.changes.into_iter().flatten().chain(each) {
            change.obstacle(case).map_or(Ok(()), Err)?;
        }
        Ok([(Side::A, false), (Side::B, false), (Side::A, true)].map(|(side, twin)| {
            let mut copy = Case { rounds: u32::MAX, side: Some(side), twin, ..case.clone() };
            let changes = self.changes[usize::from(side == Side::B)].iter();
            let each = each.filter(|_| side == Side::B);
            changes.chain(each).for_each(|change| change.put_into(&mut copy));
            copy
        }))
    }

    /// All rows, one per case or per case and change, and the cases that cannot have a change.
    fn rows(&self, cases: &[Case]) -> (Vec<Case>, Vec<Absent>) {
        let step = cases.iter().map(|case| case.index + 1).max().unwrap_or(0);
        let (mut rows, mut left_out) = (Vec::new(), Vec::new());
        for case in cases {
            let mut put = |case: Case, each: Option<&Change>| match self.copies(&case, each) {
                Ok(copies) => rows.extend(copies),
                Err(why) => left_out.push((case, why)),
            };
            if self.each.is_empty() {
                put(case.clone(), None);
            }
            for (k, change) in (0..).zip(self.each) {
                let row = format!("{}: {change}", case.cell.row);
                let cell = Arc::new(record::Case { row, ..(*case.cell).clone() });
                let compared = case.compared.iter().map(|index| index + k * step).collect();
                let index = case.index + k * step;
                put(Case { index, compared, cell, ..case.clone() }, Some(change));
            }
        }
        (rows, left_out)
    }
}

/// What takes part in a duel.
#[derive(Debug)]
pub struct Lineup {
    /// The cases of all rounds.
    pub cases: Vec<Case>,
    /// A case of each row that is not measured, and the reason.
    pub left_out: Vec<Absent>,
    /// Programs of both sides.
    pub programs: Programs,
    /// What each side is called and what it was built from, in a line.
    pub names: [String; 2],
}

impl Lineup {
    /// Brings the programs of both sides up to date, which may take minutes, and chooses the rows. `refusal` says why a
    /// program would not run as a side has it.
    ///
    /// # Errors
    /// When there is no side, or no row.
    pub fn of(
        mut cases: Vec<Case>,
        tables: &ProgramTables,
        sides: &Sides<'_>,
        refusal: impl Fn(&Case, &Programs) -> Option<String>,
    ) -> anyhow::Result<Self> {
        cases.retain(|case| !case.twin);
        let (cases, mut left_out) = placement::place_cases(cases)?;
        let names: BTreeSet<String> = cases.iter().map(|case| case.program.clone()).collect();
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let (programs, built) = find(&names, tables, sides.builds)?;
        let reasons = reasons(&names, &programs, sides.have_settings())?;
        let reason = |case: &Case| reasons.get(&*case.program);
        // One of the rows that cannot differ shows the noise.
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
        let (mut cases, obstructed) = sides.rows(&measured);
        left_out.extend(obstructed);
        if sides.have_settings() {
            let asked = cases.iter().filter(|case| !case.twin);
            let refused = asked.filter_map(|case| Some((case.clone(), refusal(case, &programs)?)));
            let mut refused: Vec<Absent> = refused.collect();
            refused.sort_by_key(|(case, _)| case.index);
            refused.dedup_by_key(|(case, _)| case.index);
            cases.retain(|case| refused.iter().all(|(refused, _)| refused.index != case.index));
            left_out.extend(refused);
        }
        left_out.iter_mut().for_each(|(case, _)| case.side = Some(Side::A));
        if cases.is_empty() {
            let why = left_out.first().map_or("the plan is empty", |(_, why)| why);
            bail!("no row can be measured: {why}");
        }
        Ok(Lineup { cases, left_out, programs, names: sides.names(built) })
    }
}

/// The programs of both sides, and the names of both.
fn find(
    names: &BTreeSet<&str>,
    tables: &ProgramTables,
    builds: [&side::Side; 2],
) -> anyhow::Result<(Programs, [String; 2])> {
    if builds.iter().all(|build| build.is_sources()) {
        // The programs of the workspace, as `run` builds them, and its peers.
        let programs = Programs::up_to_date(names.iter().copied(), tables)?;
        let build = programs.build();
        let name = format!(". ({})", side::revision(build.git_revision.as_deref(), build.dirty));
        return Ok((programs, [name.clone(), name]));
    }
    let (peers, crates): (BTreeSet<&str>, BTreeSet<&str>) =
        names.iter().copied().partition(|name| tables.contains_key(*name));
    let built = side::programs(builds, &crates)?;
    let mut programs = Programs::default();
    for (side, built) in [Side::A, Side::B].into_iter().zip(&built) {
        for name in &crates {
            programs.insert(side, name, built.executable(name));
        }
        for name in &peers {
            programs.insert(side, name, Err(NO_CRATE.to_owned()));
        }
    }
    Ok((programs, built.map(|built| built.name())))
}

/// The reason for each program that cannot or need not be measured.
fn reasons<'a>(
    names: &BTreeSet<&'a str>,
    programs: &Programs,
    have_settings: bool,
) -> anyhow::Result<BTreeMap<&'a str, String>> {
    let mut reasons = BTreeMap::new();
    for &name in names {
        let sides = [Side::A, Side::B].map(|side| programs.get(Some(side), name));
        match sides {
            [Err(why), _] | [_, Err(why)] => drop(reasons.insert(name, why.to_string())),
            [Ok(a), Ok(b)] if !have_settings && is_same(&a.path, &b.path)? => {
                reasons.insert(name, SAME.to_owned());
            }
            _ => {}
        }
    }
    if reasons.len() == names.len() {
        // Nothing differs: it is a duel of the machine with itself.
        reasons.retain(|_, why| why != SAME);
    }
    Ok(reasons)
}

/// True if two files have equal bytes.
fn is_same(first: &Path, second: &Path) -> anyhow::Result<bool> {
    let read = |path: &Path| fs::read(path).with_context(|| path.display().to_string());
    Ok(first == second || read(first)? == read(second)?)
}
