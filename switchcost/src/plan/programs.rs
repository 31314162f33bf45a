//! Programs to measure: where they are, and how they are brought up to date.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use facts::{Build, Side, not_run};

use crate::plan::checkout::{Checkout, EXECUTABLES};
use crate::plan::{Case, ProgramTable, ProgramTables};
use crate::system::executable::Executable;
use crate::system::tools;

/// Programs by the names that a plan or a command line gives them.
#[derive(Clone, Debug)]
pub struct Programs {
    /// Each with its executable, or with the reason why there is none.
    found: BTreeMap<String, Result<Executable, String>>,
    checkout: Option<Checkout>,
}

/// Executables of a run by the side of a duel and the name, or the reasons why there are none.
#[derive(Clone, Debug, Default)]
pub struct Executables(pub BTreeMap<(Option<Side>, String), Result<Executable, String>>);

impl Executables {
    /// Executable of a case.
    ///
    /// # Errors
    /// When it is not there.
    pub fn of(&self, case: &Case) -> anyhow::Result<&Executable> {
        let found = self.0.get(&(case.side, case.program.clone()));
        found.context("it was not looked for")?.as_ref().map_err(|why| anyhow!("{why}"))
    }
}

/// Where programs are looked for.
pub(crate) struct Places {
    /// Folder of this executable.
    pub(crate) beside: PathBuf,
    /// The checkout that it was built from.
    pub(crate) checkout: Option<Checkout>,
}

impl Programs {
    /// Programs of these names, after cargo and the tables' own builds have brought them up to date.
    ///
    /// A name is a table's, or that of an executable beside this one, a path one with a `/`. Only a
    /// checkout builds: where this executable is not in a cargo target folder whose workspace is still
    /// there, or cargo is not installed, the executables are taken as they are.
    ///
    /// # Errors
    /// When cargo's build fails, or an executable without a table is not there. A table's program
    /// that is not there is told of by [`Programs::missing`].
    pub fn up_to_date<'a>(
        wanted: impl IntoIterator<Item = &'a str>,
        tables: &ProgramTables,
    ) -> anyhow::Result<Self> {
        let programs = Programs::find(wanted, tables)?;
        for (name, found) in &programs.found {
            if let (Err(why), false) = (found, tables.contains_key(name)) {
                return Err(anyhow!("{why}"));
            }
        }
        Ok(programs)
    }

    /// The same where any executable may be missing.
    ///
    /// # Errors
    /// When cargo's build fails, or the checkout has no such program.
    pub fn find<'a>(
        wanted: impl IntoIterator<Item = &'a str>,
        tables: &ProgramTables,
    ) -> anyhow::Result<Self> {
        let places = Places::find()?;
        let wanted: BTreeSet<&str> = wanted.into_iter().collect();
        let is_crate = |name: &&&str| !name.contains('/') && !tables.contains_key(**name);
        let crates: BTreeSet<&str> = wanted.iter().filter(is_crate).copied().collect();
        if let (Some(checkout), false) = (&places.checkout, crates.is_empty()) {
            checkout.bring_up_to_date(&crates, &places.beside)?;
        }
        let found = wanted.iter().map(|&name| {
            let executable = match tables.get(name) {
                Some(table) => places.of_table(table),
                None if name.contains('/') => is_there(PathBuf::from(name)),
                None => places.beside(name),
            };
            (name.to_owned(), executable)
        });
        Ok(Programs { found: found.collect(), checkout: places.checkout })
    }

    /// All of them, of no side of a duel.
    pub fn executables(&self) -> Executables {
        let found = self.found.iter();
        Executables(found.map(|(name, found)| ((None, name.clone()), found.clone())).collect())
    }

    /// Build that they are of.
    pub fn build(&self) -> Build {
        let (git_revision, dirty) = self.checkout.as_ref().map_or((None, None), Checkout::revision);
        Build { git_revision, dirty, ..facts::build::current() }
    }

    /// Reason why a program is not there; `None` where it is.
    pub fn missing(&self, name: &str) -> Option<&str> {
        match self.found.get(name) {
            Some(Err(why)) => Some(why),
            _ => None,
        }
    }

    /// Executable of a program.
    ///
    /// # Errors
    /// When it is not there.
    pub fn executable(&self, name: &str) -> anyhow::Result<&Executable> {
        let found = self.found.get(name).context("it was not looked for")?;
        found.as_ref().map_err(|why| anyhow!("{why}"))
    }
}

impl Places {
    /// Those of this executable.
    ///
    /// # Errors
    /// When it cannot be told where it is.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let this = this_executable()?;
        let mut folder = this.parent().context("this executable is in no folder")?;
        if folder.ends_with("deps") {
            // Tests and benchmarks are one level further down.
            folder = folder.parent().unwrap_or(folder);
        }
        Ok(Places { beside: folder.to_owned(), checkout: Checkout::of(folder) })
    }

    /// An executable beside this one.
    fn beside(&self, name: &str) -> Result<Executable, String> {
        let folder = &self.beside;
        is_there(folder.join(name)).map_err(|_| {
            format!(
                "the program '{name}' is not in {}: build it there by `cargo build --release --workspace`, or copy it beside switchcost",
                folder.display()
            )
        })
    }

    /// The executable of a table, built first where this is a checkout.
    fn of_table(&self, table: &ProgramTable) -> Result<Executable, String> {
        if let Some(tool) = table.needs.iter().find(|tool| tools::find(tool).is_none()) {
            // What is built already needs no tool that builds it.
            let built = || self.executable(table).filter(|_| self.checkout.is_none());
            return built()
                .ok_or_else(|| not_run(format!("it needs {tool}, and PATH has none: install it")));
        }
        if let (Some(checkout), false) = (&self.checkout, table.build.is_empty()) {
            checkout.build(&table.build)?;
        }
        self.executable(table).ok_or_else(|| {
            let program = table.run.first().map_or("", String::as_str);
            let folder = self.beside.display();
            match self.checkout {
                Some(_) => format!("there is no {program}, neither built nor in {folder}"),
                None => not_run(format!(
                    "there is no {program} in {folder}, and only a checkout builds it"
                )),
            }
        })
    }

    /// The executable that a table's first word names.
    fn executable(&self, table: &ProgramTable) -> Option<Executable> {
        let (program, args) = table.run.split_first()?;
        let checkout = self.checkout.as_ref();
        let path = match program.contains('/') {
            true => checkout.map_or(PathBuf::new(), Checkout::folder).join(program),
            false => checkout
                .map(Checkout::executables)
                .into_iter()
                .chain([self.beside.clone()])
                .map(|folder| folder.join(program))
                .find(|path| path.is_file())
                .or_else(|| tools::find(program))?,
        };
        let built = checkout.map_or(self.beside.clone(), Checkout::executables);
        let args = args.iter().map(|word| word.replace(EXECUTABLES, &built.to_string_lossy()));
        path.is_file().then(|| Executable {
            path,
            args: args.collect(),
            folder: checkout.map(Checkout::folder),
        })
    }
}

fn is_there(path: PathBuf) -> Result<Executable, String> {
    match path.is_file() {
        true => Ok(path.into()),
        false => Err(format!("there is no program {}", path.display())),
    }
}

/// Path of this executable. The kernel tells in /proc; where that is not mounted, the command line
/// does, if it has a path in it.
fn this_executable() -> anyhow::Result<PathBuf> {
    let untold = match env::current_exe() {
        Ok(path) => return Ok(path),
        Err(e) => e,
    };
    let typed = env::args_os().next().map(PathBuf::from).unwrap_or_default();
    let has_folder = typed.parent().is_some_and(|folder| folder != Path::new(""));
    match fs::canonicalize(&typed) {
        Ok(path) if has_folder => Ok(path),
        _ => Err(untold).context(
            "cannot find this executable, and the programs beside it: start it by its path, such as ./switchcost",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn places() -> (tempfile::TempDir, Places) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("here");
        fs::write(&program, "").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let places = Places { beside: folder.path().to_owned(), checkout: None };
        (folder, places)
    }

    fn table(run: &[&str], needs: &[&str]) -> ProgramTable {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        ProgramTable { run: words(run), build: words(&["false"]), needs: words(needs) }
    }

    #[test]
    fn without_a_checkout_nothing_is_built_and_what_is_beside_is_taken() {
        let (folder, places) = places();
        let found = places.of_table(&table(&["here", "x", "{bin}/y"], &["no-such-tool"]));
        let executable = found.unwrap();
        let in_folder = |name| folder.path().join(name);
        assert_eq!(executable.path, in_folder("here"));
        assert_eq!(executable.args, ["x", in_folder("y").to_str().unwrap()]);
        for (needs, word) in [(&[][..], "only a checkout"), (&["no-such-tool"], "PATH has")] {
            let why = places.of_table(&table(&["there"], needs)).unwrap_err();
            assert!(why.starts_with("not run: ") && why.contains(word), "{why}");
        }
        assert!(places.of_table(&table(&["sh"], &["sh"])).is_ok());
    }

    #[test]
    fn a_path_is_taken_as_it_is() {
        let (folder, _) = places();
        let path = folder.path().join("here");
        let name = path.to_str().unwrap();
        let programs = Programs::up_to_date([name], &ProgramTables::new()).unwrap();
        assert_eq!(programs.executable(name).unwrap(), &Executable::from(path.clone()));
        let other = folder.path().join("there");
        let none = Programs::up_to_date([other.to_str().unwrap()], &ProgramTables::new());
        assert!(none.unwrap_err().to_string().contains("there is no program"));
    }

    #[test]
    fn a_build_that_fails_is_the_reason_of_its_program_alone() {
        let (_folder, mut places) = places();
        places.checkout = Checkout::of(Places::find().unwrap().beside.as_path());
        if places.checkout.is_none() {
            crate::system::console::say(format_args!(
                "skipped: the tests are not in a checkout's target folder"
            ));
            return;
        }
        let why = places.of_table(&table(&["here"], &[])).unwrap_err();
        assert!(why.contains("false: exit status: 1"), "{why}");
    }
}
