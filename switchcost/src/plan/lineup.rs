//! Cases of a duel: the rows that both sides have, each on both sides and with a twin of the first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context, bail};
use facts::Side;

use super::change::{Change, together};
use super::placement::{self, Absent};
use super::programs::Programs;
use super::{Case, ProgramTables, side};

/// Reason why a row has no side.
const NO_CRATE: &str = "its program is no crate of the workspace: `switchcost compare` of two runs";

/// Reason why a row is left out in which nothing can have changed.
const SAME: &str = "the same program on both sides";

/// What the sides differ in.
#[derive(Debug)]
pub struct Sides<'a> {
    /// Where their programs come from.
    pub builds: [&'a side::Side; 2],
    /// What they are started with.
    pub changes: [&'a [Change]; 2],
    /// Further changes of the second side; each has rows of its own.
    pub each: &'a [Change],
    /// Commands before their slices and after them.
    pub commands: [[Option<&'a str>; 2]; 2],
}

impl Sides<'_> {
    /// True if equal programs may differ.
    pub fn have_settings(&self) -> bool {
        let changes = self.changes.into_iter().chain([self.each]);
        let has_command = self.commands.as_flattened().iter().any(Option::is_some);
        has_command || changes.into_iter().any(|changes| !changes.is_empty())
    }

    /// What each is called: its build, its changes and its commands.
    fn names(&self, built: [String; 2]) -> [String; 2] {
        let with = |name: String, changes: &[Change]| match changes {
            [] => name,
            _ => format!("{name} with {}", together(changes)),
        };
        let [first, second] = built;
        let [a, b] = self.changes;
        let second = with(second, b);
        let second = match self.each {
            [] => second,
            each => format!("{second}, and each of {}", together(each)),
        };
        let [around_a, around_b] = self.commands.map(|[before, after]| {
            let told = |when: &str, command: Option<&str>| {
                command.map_or(String::new(), |command| format!(", {when} it `{command}`"))
            };
            told("before", before) + &told("after", after)
        });
        [with(first, a) + &around_a, second + &around_b]
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

    /// All rows, one for each case, or for each case and change; and those that cannot have a change.
    fn rows(&self, cases: &[Case]) -> (Vec<Case>, Vec<Absent>) {
        let step = cases.iter().map(|case| case.index + 1).max().unwrap_or(0);
        let (mut rows, mut left_out) = (Vec::new(), Vec::new());
        for case in cases {
            let mut put = |case: Case, each: Option<&Change>| match self.copies(&case, each) {
                Ok(copies) => rows.extend(copies),
                Err(why) => left_out.push((Case { side: Some(Side::A), ..case }, why)),
            };
            if self.each.is_empty() {
                put(case.clone(), None);
            }
            for (k, change) in (0..).zip(self.each) {
                let row = format!("{}: {change}", case.cell.row);
                let cell = Arc::new(facts::Case { row, ..(*case.cell).clone() });
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
        sides: &Sides<'_>,
    ) -> anyhow::Result<Self> {
        cases.retain(|case| !case.twin);
        let (cases, mut left_out) = placement::place_cases(cases)?;
        let names: BTreeSet<String> = cases.iter().map(|case| case.program.clone()).collect();
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let Found { programs, reasons, built } = match sides.builds {
            [side::Side::Sources, side::Side::Sources] => find_once(&names, tables)?,
            builds => find_both(&names, tables, builds, sides.have_settings())?,
        };
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
        let (cases, obstructed) = sides.rows(&measured);
        left_out.extend(obstructed);
        if cases.is_empty() {
            let why = left_out.first().map_or("the plan is empty", |(_, why)| why);
            bail!("no row can be measured: {why}");
        }
        Ok(Lineup { cases, left_out, programs, names: sides.names(built) })
    }

    /// Leaves rows out whose program refuses what it would be started with.
    ///
    /// # Errors
    /// When no row is left.
    pub fn leave_out(
        &mut self,
        mut reason: impl FnMut(&Case, &Programs) -> Option<String>,
    ) -> anyhow::Result<()> {
        let refused =
            self.cases.iter().filter_map(|case| Some((case.index, reason(case, &self.programs)?)));
        let refused: BTreeMap<u32, String> = refused.collect();
        let is_first = |case: &Case| case.side == Some(Side::A) && !case.twin;
        self.cases.retain(|case| {
            let Some(why) = refused.get(&case.index) else { return true };
            if is_first(case)
                && self.left_out.last().is_none_or(|(last, _)| last.index != case.index)
            {
                self.left_out.push((case.clone(), why.clone()));
            }
            false
        });
        match refused.values().next() {
            Some(why) if self.cases.is_empty() => bail!("no row can be measured: {why}"),
            _ => Ok(()),
        }
    }
}

/// Programs of the sides, the reasons for those that need not or cannot be measured, and the names of both.
struct Found<'a> {
    programs: Programs,
    reasons: BTreeMap<&'a str, String>,
    built: [String; 2],
}

/// The same programs on both sides: those of the workspace as `run` builds them, and its peers.
fn find_once<'a>(names: &BTreeSet<&'a str>, tables: &ProgramTables) -> anyhow::Result<Found<'a>> {
    let found = Programs::up_to_date(names.iter().copied(), tables)?;
    let mut programs = Programs::default();
    let mut reasons = BTreeMap::new();
    for &name in names {
        match found.executable(name) {
            Ok(executable) => {
                programs.insert(Side::A, name, executable.clone());
                programs.insert(Side::B, name, executable.clone());
            }
            Err(why) => drop(reasons.insert(name, why.to_string())),
        }
    }
    let build = found.build();
    let name = format!(". ({})", side::revision(build.git_revision.as_deref(), build.dirty));
    Ok(Found { programs, reasons, built: [name.clone(), name] })
}

/// Programs of both builds.
fn find_both<'a>(
    names: &BTreeSet<&'a str>,
    tables: &ProgramTables,
    builds: [&side::Side; 2],
    have_settings: bool,
) -> anyhow::Result<Found<'a>> {
    let (peers, crates): (BTreeSet<&str>, BTreeSet<&str>) =
        names.iter().copied().partition(|name| tables.contains_key(*name));
    let built = side::programs(builds, &crates)?;
    let (programs, mut reasons) = look_for(&crates, &built, have_settings)?;
    reasons.extend(peers.into_iter().map(|name| (name, NO_CRATE.to_owned())));
    Ok(Found { programs, reasons, built: [built[0].name(), built[1].name()] })
}

/// Programs of both sides, and the reason for each that need not or cannot be measured.
fn look_for<'a>(
    names: &BTreeSet<&'a str>,
    built: &[side::Built; 2],
    have_settings: bool,
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
        if !have_settings
            && side::is_same(built, name).with_context(|| format!("cannot read {name}"))?
        {
            reasons.insert(name, SAME.to_owned());
        }
    }
    if reasons.len() == names.len() {
        // Nothing differs: it is a duel of the machine with itself.
        reasons.retain(|_, why| why != SAME);
    }
    Ok((programs, reasons))
}
