//! What takes part in a run. The rows of a duel: each row of a plan that both sides have, on either side, and once more
//! on the first side as its twin.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use record::{Effort, Row, Side};

use super::change::{Change, ensure_each_once, together};
use super::placement::{self, Absent};
use super::programs::Programs;
use super::side::{self, Build, SideArg};
use super::{ProgramTable, tree};
use crate::system::console::BadUsage;

/// Why a row has no side.
const NO_CRATE: &str =
    "its program is not a crate of the workspace: measure it twice, and use `switchcost compare`";

/// Why a row is left out if nothing in it can have changed.
const SAME: &str = "its program is the same on both sides";

/// Refuses an empty command.
fn not_empty(line: &str) -> Result<String, &'static str> {
    if line.trim().is_empty() {
        Err("it is empty: `true` does nothing")
    } else {
        Ok(line.to_owned())
    }
}

/// What the sides differ in.
#[derive(Clone, Debug, clap::Args)]
pub struct Sides {
    /// Old side; it is also measured against itself, which shows the noise [default: .]
    #[arg(value_name = "A", conflicts_with = "words")]
    first: Option<SideArg>,

    /// New side [default: .]
    #[arg(value_name = "B")]
    second: Option<SideArg>,

    /// Setting for the old side, repeatable: NAME=VALUE (an environment variable), flags="--workers 4" (for the programs
    /// that have them), cpus=0-3, policy=batch, or wrap="nice -n 19" (a command that executes the program)
    #[arg(help_heading = "Settings", long = "a", value_name = "SETTING")]
    a: Vec<Change>,

    /// Setting for the new side, repeatable
    #[arg(help_heading = "Settings", long = "b", value_name = "SETTING")]
    b: Vec<Change>,

    /// Extra setting for the new side, repeatable: each one has its own rows, and the intervals are joint over all rows
    #[arg(help_heading = "Settings", long, value_name = "SETTING")]
    each: Vec<Change>,

    /// Command to run, by `sh -c`, before the new side's processes start and before its slices, such as
    /// "sysctl -q kernel.sched_autogroup_enabled=0"
    #[arg(help_heading = "Settings", long, value_name = "COMMAND", requires = "after_b", value_parser = not_empty)]
    before_b: Option<String>,

    /// Command to run after them, unless SIGKILL ends the runner, to undo --before-b; `true` if there is nothing to undo
    #[arg(help_heading = "Settings", long, value_name = "COMMAND", requires = "before_b", value_parser = not_empty)]
    after_b: Option<String>,

    /// The commands that they run in each row, if they are no builds.
    #[arg(skip)]
    pub commands: BTreeMap<String, [Change; 2]>,
}

impl Sides {
    /// Checks that no setting would replace another one.
    ///
    /// # Errors
    /// The setting that is given twice.
    pub fn ensure_each_once(&self) -> anyhow::Result<()> {
        let Sides { a, b, each, .. } = self;
        if let Some(twice) = (1..each.len()).find(|&k| each[..k].contains(&each[k])) {
            let change = &each[twice];
            return Err(BadUsage::new(format!("--each {change} is given twice: drop one of them")));
        }
        if let Some(change) = each.iter().find(|change| self.of_build(change).is_some()) {
            let why = "it makes a build, and each side has one: use --b";
            return Err(BadUsage::new(format!("--each {change}: {why}")));
        }
        ensure_each_once(a)?;
        ensure_each_once(b)?;
        each.iter().try_for_each(|change| ensure_each_once(b.iter().chain([change])))
    }

    /// Where their programs come from.
    fn builds(&self) -> [Build<'_>; 2] {
        let sides = [(&self.first, &self.a), (&self.second, &self.b)];
        sides.map(|(side, changes)| Build {
            side: side.as_ref().unwrap_or(&SideArg::Sources),
            variables: changes.iter().filter_map(|change| self.of_build(change)).collect(),
        })
    }

    /// The variable of a change that makes another build. A command is not built here.
    fn of_build<'a>(&self, change: &'a Change) -> Option<(&'a str, &'a str)> {
        change.of_build().filter(|_| self.commands.is_empty())
    }

    /// Commands before and after the second side.
    pub fn around(&self) -> Option<[String; 2]> {
        self.before_b.clone().zip(self.after_b.clone()).map(<[String; 2]>::from)
    }

    /// True if equal programs may differ.
    fn have_settings(&self) -> bool {
        let mut changes = [&self.a, &self.b, &self.each].into_iter().flatten();
        !self.commands.is_empty()
            || self.around().is_some()
            || changes.any(|change| self.of_build(change).is_none())
    }

    /// Names of the sides: their builds, changes and commands.
    fn names(&self, builds: [String; 2]) -> [String; 2] {
        let lines = [0, 1].map(|side| {
            let lines = self.commands.values().map(|commands| commands[side].to_string());
            lines.collect::<Vec<_>>().join("; ")
        });
        let [mut a, mut b] = if self.commands.is_empty() { builds } else { lines };
        for (name, changes) in [(&mut a, &self.a), (&mut b, &self.b)] {
            if !changes.is_empty() {
                *name += &format!(" with {}", together(changes));
            }
        }
        if !self.each.is_empty() {
            b += &format!(", and each of {}", together(&self.each));
        }
        if let Some([before, after]) = self.around() {
            b += &format!(", before it `{before}`, after it `{after}`");
        }
        [a, b]
    }

    /// A row on both sides, with a twin of the first, as often as the budget allows.
    ///
    /// # Errors
    /// The reason why it cannot have a change, or why a program would not run so.
    fn copies(
        &self,
        row: &Row,
        each: Option<&Change>,
        refusal: impl Fn(&Row) -> Option<String>,
    ) -> Result<[Row; 3], String> {
        let commands = self.commands.get(&row.place.row);
        for change in self.a.iter().chain(&self.b).chain(each) {
            change.obstacle(&row.command).map_or(Ok(()), Err)?;
        }
        let copies = [Side::A, Side::B, Side::Twin].map(|side| {
            let effort = Effort { rounds: None, ..row.effort.clone() };
            let mut copy = Row { place: row.place.on(side), effort, ..row.clone() };
            let changes = if side == Side::B { &self.b } else { &self.a }.iter();
            let each = each.filter(|_| side == Side::B);
            let changes = changes.filter(|change| self.of_build(change).is_none());
            let command = commands.map(|commands| &commands[usize::from(side == Side::B)]);
            command
                .into_iter()
                .chain(changes)
                .chain(each)
                .for_each(|change| change.put_into(&mut copy.command));
            copy
        });
        let asked = if self.have_settings() { &copies[..2] } else { &[] };
        asked.iter().find_map(refusal).map_or(Ok(copies), Err)
    }

    /// Each row on both sides and as a twin, once, or once per change of `each`. A row in `absent` stays as it is; a row
    /// with a point that cannot have a change is added to `absent`.
    fn rows(
        &self,
        rows: &[Row],
        absent: &mut Absent,
        refusal: impl Fn(&Row) -> Option<String>,
    ) -> Vec<Row> {
        let mut copied = Vec::new();
        let each: Vec<Option<&Change>> =
            if self.each.is_empty() { vec![None] } else { self.each.iter().map(Some).collect() };
        for (k, &change) in each.iter().enumerate() {
            for points in rows.chunk_by(|row, next| row.place.cell() == next.place.cell()) {
                if absent.contains_key(&points[0].place) {
                    copied.extend(points.iter().filter(|_| k == 0).cloned());
                    continue;
                }
                let mut points = points.to_vec();
                for row in &mut points {
                    row.place.setting = change.map(Change::to_string);
                }
                let copies = points.iter().map(|row| self.copies(row, change, &refusal));
                match copies.collect::<Result<Vec<_>, _>>() {
                    Ok(copies) => copied.extend(copies.into_iter().flatten()),
                    Err(why) => {
                        let places = points.iter().map(|row| (row.place.clone(), why.clone()));
                        absent.extend(places);
                        copied.extend(points);
                    }
                }
            }
        }
        copied
    }
}

/// What takes part in a run.
#[derive(Clone, Debug, Default)]
pub struct Lineup {
    /// The rows in the plan's order, of a duel on all sides, with those that are not measured.
    pub rows: Vec<Row>,
    /// Rows that are not measured, and the reason.
    pub absent: Absent,
    /// The programs, of a duel those of both sides.
    pub programs: Programs,
    /// What each side of a duel is called and what it was built from, in a line.
    pub sides: Option<[String; 2]>,
    /// What its rows do not tell of the sides.
    pub note: Option<String>,
}

impl Lineup {
    /// Rows that are measured.
    pub fn measured(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !self.absent.contains_key(&row.place))
    }

    /// Brings the programs of both sides of a duel up to date, which may take minutes, and chooses the rows. `refusal`
    /// says why a program would not run as a side has it.
    ///
    /// # Errors
    /// When there is no side, or no row.
    pub fn of_duel(
        mut rows: Vec<Row>,
        tables: &BTreeMap<String, ProgramTable>,
        sides: &Sides,
        refusal: impl Fn(&Row, &Programs) -> Option<String>,
    ) -> anyhow::Result<Self> {
        rows.retain(|row| row.place.side == Side::A);
        let mut absent = placement::place_rows(&mut rows)?;
        let names: BTreeSet<String> = rows.iter().map(|row| row.command.program.clone()).collect();
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let (programs, built) = find(&names, tables, sides.builds())?;
        let mut reasons = reasons(&names, &programs, sides.have_settings())?;
        let note = note(&names, &reasons, sides.builds());
        if reasons.len() == names.len() {
            reasons.retain(|_, why| why != SAME);
        }
        for row in &rows {
            if let Some(why) = reasons.get(&*row.command.program) {
                absent.entry(row.place.clone()).or_insert_with(|| why.clone());
            }
        }
        let mut rows = sides.rows(&rows, &mut absent, |row| refusal(row, &programs));
        // Of a curve, one point tells why it is left out.
        let mut told = HashSet::new();
        rows.retain(|row| !absent.contains_key(&row.place) || told.insert(row.place.cell()));
        if rows.iter().all(|row| absent.contains_key(&row.place)) {
            let why = rows.first().and_then(|row| absent.get(&row.place));
            bail!("no row can be measured: {}", why.map_or("the plan is empty", |why| why));
        }
        Ok(Lineup { rows, absent, programs, sides: Some(sides.names(built)), note })
    }
}

/// The programs of both sides, and the names of both.
fn find(
    names: &BTreeSet<&str>,
    tables: &BTreeMap<String, ProgramTable>,
    builds: [Build<'_>; 2],
) -> anyhow::Result<(Programs, [String; 2])> {
    if builds.iter().all(Build::is_usual) {
        // The programs of the workspace, as `run` builds them, its peers, and the plan's own.
        let programs = Programs::up_to_date(names.iter().copied(), tables)?;
        let build = programs.build();
        let revision = build.get("git_revision").and_then(|revision| revision.as_str());
        let dirty = build.get("dirty").and_then(|dirty| dirty.as_bool());
        let (users, ours): (Vec<&str>, Vec<&str>) = names.iter().copied().partition(|name| {
            name.contains('/') || tables.get(*name).is_some_and(|table| table.folder.is_some())
        });
        let ours = (!ours.is_empty()).then(|| format!(". ({})", tree::revision(revision, dirty)));
        let users = users.into_iter().map(str::to_owned);
        let name = users.chain(ours).collect::<Vec<_>>().join(", ");
        return Ok((programs, [name.clone(), name]));
    }
    let (peers, crates): (BTreeSet<&str>, BTreeSet<&str>) =
        names.iter().copied().partition(|name| tables.contains_key(*name));
    let built = side::programs(&builds, &crates)?;
    let mut programs = Programs::default();
    for ((side, (built, _)), arg) in [Side::A, Side::B].into_iter().zip(&built).zip(&builds) {
        for name in &crates {
            programs.insert(side, name, built.of_side(name, &arg.side.to_string()));
        }
        for name in &peers {
            programs.insert(side, name, Err(NO_CRATE.to_owned()));
        }
    }
    Ok((programs, built.map(|(_, name)| name)))
}

/// The reason for each program that cannot or need not be measured.
fn reasons<'a>(
    names: &BTreeSet<&'a str>,
    programs: &Programs,
    have_settings: bool,
) -> anyhow::Result<BTreeMap<&'a str, String>> {
    let mut reasons = BTreeMap::new();
    for &name in names {
        let sides = [Side::A, Side::B].map(|side| programs.get(side, name));
        match sides {
            [Err(why), _] | [_, Err(why)] => drop(reasons.insert(name, why.to_string())),
            [Ok(a), Ok(b)] if !have_settings && is_same(&a.path, &b.path)? => {
                reasons.insert(name, SAME.to_owned());
            }
            _ => {}
        }
    }
    Ok(reasons)
}

/// What is not known of the rows, or that nothing differs.
fn note(
    names: &BTreeSet<&str>,
    reasons: &BTreeMap<&str, String>,
    builds: [Build<'_>; 2],
) -> Option<String> {
    let unlike: Vec<&str> =
        names.iter().copied().filter(|name| !reasons.contains_key(name)).collect();
    if unlike.is_empty() {
        let are_same = reasons.values().any(|why| why == SAME);
        return are_same.then(|| {
            "The programs are the same on both sides: only the machine can differ.".into()
        });
    }
    let crates: BTreeSet<&str> = builds.iter().filter_map(|build| build.side.replaced()).collect();
    let crates: Vec<&str> = crates.into_iter().collect();
    (!crates.is_empty()).then(|| {
        let (crates, programs) = (crates.join(" and "), unlike.join(", "));
        format!(
            "Programs built with {crates}: {programs}; which of their rows use it is not known."
        )
    })
}

/// True if two files have equal bytes.
fn is_same(first: &Path, second: &Path) -> anyhow::Result<bool> {
    let [a, b] =
        [first, second].map(|path| fs::read(path).with_context(|| path.display().to_string()));
    Ok(first == second || a? == b?)
}
