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
        let (cases, mut left_out) = placement::place_cases(cases)?;
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
        // Each on both sides and as a twin of the first, as often as the budget allows.
        let places = [(Side::A, false), (Side::B, false), (Side::A, true)];
        let copies = measured.iter().flat_map(|case| {
            let case = Case { rounds: u32::MAX, ..case.clone() };
            places.map(|(side, twin)| Case { side: Some(side), twin, ..case.clone() })
        });
        Ok(Lineup {
            cases: copies.collect(),
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
