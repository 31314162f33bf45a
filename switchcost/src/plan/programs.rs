//! Programs to measure: where they are, and how they are brought up to date.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use record::{Build, Row, Side, Why};

use crate::plan::tree::{BIN, Tree};
use crate::plan::{BUILT_IN, ProgramTable};
use crate::system::console::BadUsage;
use crate::system::program::Program;
use crate::system::trust;
use host::path;

/// Programs of a run, by their side in a duel and by their name in a plan or on a command line.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    programs: BTreeMap<(Side, String), Result<Program, Why>>,
    tree: Option<Tree>,
}

/// Executables in a folder, and the tree that they are built from, if there is one.
#[derive(Debug)]
pub(super) struct Executables {
    pub(super) folder: PathBuf,
    pub(super) tree: Option<Tree>,
}

impl Programs {
    /// Programs of these names, after cargo and the tables' own builds have brought them up to date; an
    /// error if one without a table is not there.
    ///
    /// A name is the name of a table or of an executable beside this one; with a `/` it is a path. Only a checkout
    /// builds: unless cargo is installed and this executable is in a cargo target folder with its workspace, the
    /// executables are taken as they are.
    pub fn up_to_date<'a>(
        wanted: impl IntoIterator<Item = &'a str>,
        tables: &BTreeMap<String, ProgramTable>,
    ) -> anyhow::Result<Self> {
        let here = Executables::here()?;
        let wanted: BTreeSet<&str> = wanted.into_iter().collect();
        ensure_known(wanted.iter().copied(), tables)?;
        if let Some(checkout) = &here.tree {
            // A table may start a crate of the workspace in another environment.
            let started = wanted.iter().map(|&name| {
                let table = tables.get(name).and_then(|table| table.run.first());
                table.map_or(name, String::as_str)
            });
            let crates: Vec<&str> = started.filter(|name| checkout.has_program(name)).collect();
            checkout.bring_up_to_date(&crates)?;
        }
        let programs = wanted.into_iter().map(|name| {
            let program = match tables.get(name) {
                Some(table) => here.of_table(table),
                None => here.of_name(name),
            };
            ((Side::A, name.to_owned()), program)
        });
        Ok(Programs { programs: programs.collect(), tree: here.tree })
    }

    /// Adds a program of a side of a duel.
    pub(super) fn insert(&mut self, side: Side, name: &str, program: Result<Program, String>) {
        self.programs.insert((side, name.to_owned()), program.map_err(Why::Failed));
    }

    /// The build of the programs; in a duel, only what both sides have in common.
    pub fn build(&self) -> Build {
        // Away from its checkout an executable knows the commit, and nothing of changes.
        let (git_revision, dirty) = match &self.tree {
            Some(tree) => tree.revision(),
            None => (option_env!("SWITCHCOST_COMMIT").map(str::to_owned), None),
        };
        let mut build = record::build::current();
        if self.programs.keys().any(|(side, _)| *side == Side::B) {
            build.remove("tokio");
            return build;
        }
        build.extend(git_revision.map(|revision| ("git_revision".to_owned(), revision.into())));
        build.extend(dirty.map(|dirty| ("dirty".to_owned(), dirty.into())));
        build
    }

    /// Program of a row.
    pub fn of_row(&self, row: &Row) -> Result<&Program, Why> {
        self.get(row.place.side, &row.command.program)
    }

    /// The program of this name; of a duel, the first side's.
    pub fn named(&self, name: &str) -> anyhow::Result<&Program> {
        self.get(Side::A, name).map_err(|why| anyhow!("{why}"))
    }

    /// A program of a side; the first side's, if the second one has none of its own.
    pub(super) fn get(&self, side: Side, name: &str) -> Result<&Program, Why> {
        let sides = [side, Side::A].into_iter();
        let program = sides.filter_map(|side| self.programs.get(&(side, name.to_owned()))).next();
        let program = program.ok_or_else(|| Why::Failed("it was not looked for".to_owned()))?;
        program.as_ref().map_err(Clone::clone)
    }
}

/// Checks, without a build, that each program has a table, is a crate of the checkout, or exists. Without a checkout,
/// one such program is enough: the others are left out.
pub fn ensure_known<'a>(
    names: impl IntoIterator<Item = &'a str>,
    tables: &BTreeMap<String, ProgramTable>,
) -> anyhow::Result<()> {
    let here = Executables::here()?;
    let (mut is_one_known, mut missing) = (false, None);
    for name in names {
        if let Some(why) = tables.get(name).and_then(ProgramTable::fault) {
            return Err(BadUsage::new(format!("[program.{name}]: {why}")));
        }
        match here.of_name(name) {
            _ if tables.contains_key(name) => is_one_known = true,
            _ if here.tree.as_ref().is_some_and(|tree| tree.has_program(name)) => {
                is_one_known = true;
            }
            Ok(_) => is_one_known = true,
            Err(Why::LeftOut(why)) => missing = missing.or(Some(why)),
            Err(Why::Failed(why)) => return Err(BadUsage::new(why)),
        }
    }
    missing.filter(|_| !is_one_known).map_or(Ok(()), |why| Err(BadUsage::new(why)))
}

impl Executables {
    /// Those beside this executable.
    pub(super) fn here() -> anyhow::Result<Self> {
        let this = this_executable()?;
        let mut folder = this.parent().context("this executable is in no folder")?;
        if folder.ends_with("deps") {
            // Tests and benchmarks are one level further down.
            folder = folder.parent().unwrap_or(folder);
        }
        Ok(Executables { folder: folder.to_owned(), tree: Tree::of(folder) })
    }

    /// False if there is no such program, or the sources have none. An executable may have been built before its crate
    /// was removed.
    pub(super) fn may_have(&self, name: &str) -> bool {
        match &self.tree {
            Some(tree) => tree.has_program(name),
            None => !name.contains('/') && self.folder.join(name).is_file(),
        }
    }

    /// A program of a side of a duel.
    ///
    /// # Errors
    /// When `side` has none of that name, or another user may have put it there.
    pub(super) fn of_side(&self, name: &str, side: &str) -> Result<Program, String> {
        let path = self.folder.join(name);
        if path.is_file() && self.may_have(name) {
            trust::ensure_own(&path).map(|()| path.into())
        } else {
            Err(format!("{side} has no program '{name}'"))
        }
    }

    /// An executable at a path, or in this folder.
    fn of_name(&self, name: &str) -> Result<Program, Why> {
        let is_path = name.contains('/');
        let path = if is_path { PathBuf::from(name) } else { self.folder.join(name) };
        if path.is_file() && name != env!("CARGO_PKG_NAME") {
            // A path was typed, or is a plan's, which has been looked at.
            let is_own = if is_path { Ok(()) } else { trust::ensure_own(&path) };
            return is_own.map(|()| path.into()).map_err(Why::Failed);
        }
        Err(match &self.tree {
            _ if name.starts_with('-') => {
                Why::Failed(format!("{name} is a flag, where the name of a program belongs"))
            }
            _ if is_path => Why::Failed(format!("there is no program {name}")),
            Some(checkout) => Why::Failed(format!(
                "there is no benchmark program '{name}' in {}; there are {}",
                checkout.sources.display(),
                checkout.programs().join(", ")
            )),
            None => {
                let plans = BUILT_IN.iter().filter_map(|built_in| built_in.plan().ok());
                let is_of_plans =
                    plans.flat_map(|p| p.rows()).any(|row| row.command.program == name);
                let why = format!(
                    "there is no program '{name}' in {}: install it there, as switchcost was installed \
                     (`cargo install --git URL {name}`, or from the archive), or use a checkout",
                    self.folder.display()
                );
                if is_of_plans { Why::LeftOut(why) } else { Why::Failed(why) }
            }
        })
    }

    /// The executable of a table, built first if this is a checkout.
    fn of_table(&self, table: &ProgramTable) -> Result<Program, Why> {
        let lacking =
            table.needs.iter().find(|tool| path::find(tool).is_none()).map(|tool| {
                Why::LeftOut(format!("it needs {tool}, which is not in PATH: install it"))
            });
        let program = table.run.first().map_or("", String::as_str);
        if let Some(checkout) = &self.tree {
            if let Some(why) = lacking {
                return Err(why);
            }
            checkout.build_by(table).map_err(Why::Failed)?;
            let executable = self.executable(table)?;
            return executable
                .ok_or_else(|| Why::Failed(format!("there is no {program}, built or in PATH")));
        }
        // Away from a checkout, what is built already needs no tool that builds it.
        let folder = self.folder.display();
        let absent = Why::LeftOut(format!(
            "there is no {program} in {folder}: install it there, or use a build in a checkout"
        ));
        self.executable(table)?.ok_or(lacking.unwrap_or(absent))
    }

    /// The executable that a table's first word names, unless somebody else may have put it there, or another file that
    /// is named. Away from a checkout the files must be there.
    fn executable(&self, table: &ProgramTable) -> Result<Option<Program>, Why> {
        let Some((program, args)) = table.run.split_first() else { return Ok(None) };
        let sources = self.tree.as_ref().map(|tree| &tree.sources);
        let folder = table.folder.as_ref().or(sources).cloned();
        let built = self.tree.as_ref().map_or(self.folder.clone(), Tree::release_folder);
        let home = folder.clone().unwrap_or_default();
        let args = args.iter().map(|word| word.replace(BIN, &built.to_string_lossy()));
        let args: Vec<String> = args.collect();
        for word in [program].into_iter().chain(&args).filter(|word| word.contains('/')) {
            let path = home.join(word);
            if path.exists() {
                trust::ensure_own(&path).map_err(Why::Failed)?;
            } else if folder.is_none() && !word.starts_with('-') {
                let why = format!("it needs {word}, which only a checkout has");
                return Err(Why::LeftOut(why));
            }
        }
        let path = if program.contains('/') {
            Some(home.join(program)).filter(|path| path.is_file())
        } else {
            let known = [&built, &self.folder].map(|folder| folder.join(program));
            let built = known.into_iter().find(|path| path.is_file());
            if let Some(path) = &built {
                trust::ensure_own(path).map_err(Why::Failed)?;
            }
            built.or_else(|| path::find(program))
        };
        Ok(path.map(|path| Program { args, folder, ..path.into() }))
    }
}

/// Path of this executable. The kernel tells in /proc; if that is not mounted, the command line does,
/// provided that it has a path in it.
fn this_executable() -> anyhow::Result<PathBuf> {
    env::current_exe().or_else(|untold| {
        let typed = env::args_os().next().map(PathBuf::from).unwrap_or_default();
        let has_folder = typed.parent().is_some_and(|folder| folder != Path::new(""));
        fs::canonicalize(&typed).ok().filter(|_| has_folder).ok_or(untold).context(
            "cannot find this executable and the programs beside it: start it by its path, such as ./switchcost",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(run: &[&str], needs: &[&str]) -> ProgramTable {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let (build, folder) = (words(&["false"]), None);
        ProgramTable { run: words(run), build, needs: words(needs), folder }
    }

    #[test]
    fn without_a_checkout_nothing_is_built_and_what_is_beside_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["here", "y"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let here = Executables { folder: folder.path().to_owned(), tree: None };
        let found = here.of_table(&table(&["here", "x", "{bin}/y"], &["no-such-tool"])).unwrap();
        assert_eq!(found.path, folder.path().join("here"));
        assert_eq!(found.args, ["x", folder.path().join("y").to_str().unwrap()]);
        assert!(here.of_table(&table(&["sh"], &["sh"])).is_ok());
        for (needs, word) in [(&[][..], "build in a checkout"), (&["no-such-tool"], "not in PATH")]
        {
            let why = here.of_table(&table(&["there"], needs)).unwrap_err();
            assert!(matches!(&why, Why::LeftOut(why) if why.contains(word)), "{why}");
        }
        // An interpreter is there, and what it is to run is not.
        for (word, part) in [("{bin}/classes", "classes,"), ("peers/x.mjs", "needs peers/x.mjs,")] {
            let why = here.of_table(&table(&["sh", word], &["sh"])).unwrap_err();
            assert!(matches!(&why, Why::LeftOut(why) if why.contains(part)), "{why}");
        }
    }
}
