//! The programs of both sides of a duel.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, bail, ensure};

use crate::plan::programs::Executables;
use crate::plan::tree::Tree;
use crate::system::console::BadUsage;

mod arg;

pub use arg::SideArg;
pub(super) use arg::crate_in;

/// Programs of both sides, built unless a side is a folder, and what each side is called. Both are looked for before
/// either is built, which takes minutes.
pub(super) fn programs(
    builds: &[Build<'_>; 2],
    wanted: &BTreeSet<&str>,
) -> anyhow::Result<[(Executables, String); 2]> {
    let sides = builds.each_ref().map(|build| build.side);
    let here = Executables::here()?;
    refuse_unused(sides, wanted, &here)?;
    let [a, b] =
        builds.each_ref().map(|build| find(build, &here).with_context(|| build.side.to_string()));
    let executables = [a?, b?];
    refuse_mixed_features(sides, &executables, &here)?;
    for (side, programs) in sides.into_iter().zip(&executables) {
        let has_any = wanted.is_empty() || wanted.iter().any(|name| programs.may_have(name));
        let hint = crate_in(&programs.folder).map_or(String::new(), |name| {
            format!(", or write {name}@path:{side} for a crate that they use")
        });
        ensure!(
            has_any,
            "{side} has no program of these rows: name a folder with built programs{hint}"
        );
    }
    // The features of a dependency are those that the programs of one build ask for. So both sides build
    // the same programs.
    let shared = wanted.iter().copied();
    let shared = shared.filter(|name| executables.iter().all(|programs| programs.may_have(name)));
    let crates: Vec<&str> = shared.collect();
    let replaced: BTreeSet<&str> = sides.into_iter().filter_map(SideArg::replaced).collect();
    // Before the builds, which take minutes.
    let revisions =
        executables.each_ref().map(|programs| programs.tree.as_ref().map(Tree::revision));
    let mut resolved =
        executables.each_ref().map(|programs| programs.folder.to_string_lossy().into_owned());
    for (k, name) in ["A", "B"].into_iter().enumerate() {
        if let (Some(tree), Some(revision)) = (&executables[k].tree, &revisions[k]) {
            ensure!(!crates.is_empty(), "no program of these rows is in the sources of both sides");
            let side = sides[k].to_string();
            tree.build(&crates, &format!("side {name}: {side}")).context(side)?;
            resolved[k] = tree.describe(&replaced, revision);
        }
    }
    let [a, b] = executables;
    let [name_a, name_b] = [0, 1].map(|k| called(&sides[k].to_string(), &resolved[k]));
    Ok([(a, name_a), (b, name_b)])
}

/// What a side is called, and what it resolved to, in a line.
fn called(side: &str, resolved: &str) -> String {
    let is_in_it = resolved.starts_with(side) || resolved.ends_with(side);
    if is_in_it { resolved.to_owned() } else { format!("{side} ({resolved})") }
}

/// What the programs of a side are built from, and with which variables that cargo and rustc read.
#[derive(Debug)]
pub(super) struct Build<'a> {
    pub(super) side: &'a SideArg,
    pub(super) variables: BTreeMap<&'a str, &'a str>,
}

impl Build<'_> {
    /// True if it is the build that every verb uses.
    pub(super) fn is_usual(&self) -> bool {
        *self.side == SideArg::Sources && self.variables.is_empty()
    }
}

/// Finds the folder or the sources of a side; nothing is built.
fn find(build: &Build<'_>, here: &Executables) -> anyhow::Result<Executables> {
    let variable = build.variables.keys().next();
    match (build.side, &here.tree) {
        (SideArg::Folder(_), _) if let Some(name) = variable => {
            bail!("its programs are built already, so {name} would change nothing: name sources")
        }
        (SideArg::Sources, None) if let Some(name) = variable => {
            bail!("{name} makes a build, which only a checkout can do")
        }
        (SideArg::Folder(path), _) => {
            Ok(Executables { folder: std::path::absolute(path)?, tree: None })
        }
        (SideArg::Sources, None) => Ok(Executables { folder: here.folder.clone(), tree: None }),
        (_, None) => bail!(
            "it must be built, which only a checkout can do: name a folder with built programs"
        ),
        (_, Some(checkout)) => {
            let tree = checkout.of_side(build.side)?.with_variables(&build.variables);
            Ok(Executables { folder: tree.executables(), tree: Some(tree) })
        }
    }
}

/// Refuses a crate that no program of the rows depends on: nothing would differ.
fn refuse_unused(
    sides: [&SideArg; 2],
    wanted: &BTreeSet<&str>,
    here: &Executables,
) -> anyhow::Result<()> {
    // Other sides may differ in more than the crate.
    let mut replaced = sides.into_iter().filter(|side| **side != SideArg::Sources);
    let are_of_crate = replaced.all(|side| side.replaced().is_some());
    let Some(tree) = here.tree.as_ref().filter(|_| are_of_crate) else {
        return Ok(());
    };
    for name in sides.into_iter().filter_map(SideArg::replaced) {
        // A name that is unknown is bad usage; another fault may be the sources', and a bisection goes on.
        if !tree.has_crate(name)? {
            let why = format!("{name}: no crate of that name is in Cargo.lock");
            return Err(BadUsage::new(format!("{why}: name one that `cargo tree` shows")));
        }
        let users = tree.dependents(name)?;
        if !wanted.iter().any(|program| users.contains(*program)) {
            let why = format!("{name}: no program of these rows depends on it");
            return Err(BadUsage::new(format!("{why}: choose others by --plan or --filter")));
        }
    }
    Ok(())
}

/// Refuses this build's own executables beside a side that is built: cargo built them together with the
/// runner, which asks dependencies for more features. Equal sources would differ in the layout of their
/// code, and so in time.
fn refuse_mixed_features(
    sides: [&SideArg; 2],
    executables: &[Executables; 2],
    here: &Executables,
) -> anyhow::Result<()> {
    for (given, built) in [(0, 1), (1, 0)] {
        if executables[given].tree.is_some() || executables[built].tree.is_none() {
            continue;
        }
        ensure!(
            fs::canonicalize(&executables[given].folder)? != fs::canonicalize(&here.folder)?,
            "{}: it was built together with the runner, so its dependencies have other features than in {}: write . for these sources",
            sides[given],
            sides[built]
        );
    }
    Ok(())
}
