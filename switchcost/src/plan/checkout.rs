//! The checkout that this executable was built from, and what it builds.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use crate::system::console::{self, BadUsage, shell_line};
use crate::system::progress;
use crate::system::tools;

/// Files that decide what is built: no documents, tests, scripts or results.
const BUILT: &[&str] = &[
    "*.rs",
    "*Cargo.toml",
    "Cargo.lock",
    "*.go",
    "*.java",
    "*.mjs",
    "*.py",
    "*.cpp",
    ":!*/tests/*",
    ":!*/benches/*",
];

/// Stands in a table's words for the folder of the release executables.
pub(crate) const EXECUTABLES: &str = "{bin}";

/// A cargo workspace that executables can be built from.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    manifest: PathBuf,
    target: PathBuf,
    profile: OsString,
}

impl Checkout {
    /// The workspace whose target folder `folder` is a part of: `<target>/<profile>`.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.join("Cargo.toml");
        let target = folder.parent()?;
        // Cargo puts this file into each target folder that it makes.
        if !manifest.is_file() || !target.join("CACHEDIR.TAG").is_file() {
            return None;
        }
        Some(Checkout {
            manifest,
            target: target.to_owned(),
            profile: match folder.file_name()?.to_str()? {
                "debug" => "dev".into(),
                other => other.into(),
            },
        })
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.manifest.with_file_name("")
    }

    /// Folder that a table's build puts its executables into.
    pub(crate) fn executables(&self) -> PathBuf {
        self.target.join("release")
    }

    /// Builds the benchmarks if these are among them. A program that is no crate may be an executable
    /// in the folder `beside`.
    ///
    /// # Errors
    /// When a program is neither, or the build fails.
    pub(crate) fn bring_up_to_date(
        &self,
        wanted: &BTreeSet<&str>,
        beside: &Path,
    ) -> anyhow::Result<()> {
        let (crates, others): (Vec<&str>, Vec<&str>) =
            wanted.iter().partition(|name| self.has_crate(name));
        let own = env!("CARGO_PKG_NAME");
        let is_missing = |name: &&&str| **name == own || !beside.join(name).is_file();
        if let Some(name) = others.iter().find(is_missing) {
            return Err(BadUsage::new(format!(
                "there is no benchmark program '{name}' in {}",
                self.folder().display()
            )));
        }
        if crates.is_empty() {
            return Ok(());
        }
        let defaults = self.default_members();
        let apart: Vec<&str> = crates
            .into_iter()
            .filter(|&name| !defaults.iter().any(|default| default == name))
            .collect();
        self.build_crates(&apart)
    }

    /// Commit that is checked out, and changes of tracked files that decide what is built. Unknown where
    /// there is no git or no repository of this workspace.
    pub(crate) fn revision(&self) -> (Option<String>, Option<bool>) {
        let git = |args: &[&str]| {
            // `status` would rewrite the index.
            let mut command = self.git()?;
            let output =
                command.arg("--no-optional-locks").args(args).stderr(Stdio::null()).output();
            let output = output.ok().filter(|output| output.status.success())?;
            String::from_utf8(output.stdout).ok()
        };
        // Unpacked inside another repository, that one's revision says nothing about this workspace.
        if git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_none() {
            return (None, None);
        }
        let revision = git(&["rev-parse", "--verify", "HEAD"]);
        let changes =
            git(&[&["status", "--porcelain", "--untracked-files=no", "--"], BUILT].concat());
        (revision.map(|text| text.trim().to_owned()), changes.map(|text| !text.is_empty()))
    }

    fn has_crate(&self, name: &str) -> bool {
        is_crate(&self.folder(), name)
    }

    /// Folder for what a duel builds.
    pub(crate) fn duels(&self) -> PathBuf {
        self.target.join("duel")
    }

    /// Builds some benchmarks of `sources`, with this one's profile, into a target folder. Returns the
    /// folder of the executables.
    ///
    /// # Errors
    /// When cargo fails or is not there.
    pub(crate) fn build_some(
        &self,
        sources: &Path,
        target: &Path,
        crates: &[&str],
    ) -> anyhow::Result<PathBuf> {
        let mut command = self.cargo_build(sources, target, crates)?;
        let status = run(&mut command, "a side of the duel").context("cannot run cargo")?;
        ensure!(status.success(), "cargo could not build it: {status}");
        let profile = if self.profile == "dev" { "debug".as_ref() } else { &*self.profile };
        Ok(target.join(profile))
    }

    /// Git, started in this folder; `None` where PATH has none.
    pub(crate) fn git(&self) -> Option<Command> {
        let mut command = tools::command(&tools::find("git")?, &self.folder());
        // A hook has these set to its own repository and index.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        Some(command)
    }

    /// Cargo, started in this folder.
    ///
    /// # Errors
    /// When it is not there.
    pub(crate) fn cargo(&self) -> anyhow::Result<Command> {
        let cargo = cargo().context("PATH has no cargo: install it")?;
        Ok(tools::command(&cargo, &self.folder()))
    }

    /// Has cargo build what is missing or out of date; its messages go to standard error.
    ///
    /// Always the workspace's default members together: the features of a dependency are those that the
    /// packages of one build ask for, so that a program built beside others would be another one, and
    /// would be built twice. `others` come on top.
    fn build_crates(&self, others: &[&str]) -> anyhow::Result<()> {
        let apart = (!others.is_empty()).then_some(others);
        for packages in iter::once(&[][..]).chain(apart) {
            let built = self.cargo_build(&self.folder(), &self.target, packages);
            let status = built
                .and_then(|mut build| run(&mut build, "the programs").context("cannot run cargo"));
            match status {
                Ok(status) => {
                    ensure!(status.success(), "cargo could not build the programs: {status}")
                }
                Err(e) => {
                    let why = format!("{e:#}");
                    console::say(format_args!("switchcost: {why}; using the programs as they are"));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Cargo's build of packages of `sources`, with this one's profile; of the default members where none
    /// is named.
    fn cargo_build(
        &self,
        sources: &Path,
        target: &Path,
        packages: &[&str],
    ) -> anyhow::Result<Command> {
        let mut command = self.cargo()?;
        command.args(["build", "--quiet", "--locked", "--manifest-path"]);
        command.arg(sources.join("Cargo.toml")).arg("--target-dir").arg(target);
        command.arg("--profile").arg(&self.profile);
        for name in packages {
            command.args(["--package", name]);
        }
        Ok(command)
    }

    /// Crates that are built together, whatever is wanted.
    fn default_members(&self) -> Vec<String> {
        let members = || -> Option<Vec<String>> {
            let manifest: toml::Table = fs::read_to_string(&self.manifest).ok()?.parse().ok()?;
            let members = manifest.get("workspace")?.get("default-members")?.as_array()?;
            Some(members.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect())
        };
        members().unwrap_or_default()
    }

    /// Builds a table's program; messages go to standard error.
    ///
    /// # Errors
    /// Why it cannot be built, in a line.
    pub(crate) fn build(&self, words: &[String]) -> Result<(), String> {
        let executables = self.executables();
        let words =
            words.iter().map(|word| word.replace(EXECUTABLES, &executables.to_string_lossy()));
        let words: Vec<String> = words.collect();
        let Some((name, args)) = words.split_first() else {
            return Ok(());
        };
        let failed = |why: String| format!("it cannot be built: {}: {why}", shell_line(&words));
        let tool = match name.as_str() {
            "cargo" => cargo(),
            name if name.contains('/') => Some(self.folder().join(name)),
            name => tools::find(name),
        };
        let tool = tool.ok_or_else(|| failed(format!("PATH has no {name}")))?;
        fs::create_dir_all(&executables).map_err(|e| failed(e.to_string()))?;
        let mut command = tools::command(&tool, &self.folder());
        command.args(args).env("CARGO_TARGET_DIR", &self.target);
        let what = format!("a program ({name})");
        let status = run(command.stdout(io::stderr()), &what).map_err(|e| failed(e.to_string()))?;
        match status.success() {
            true => Ok(()),
            false => Err(failed(status.to_string())),
        }
    }
}

/// True if `sources` have a benchmark program of that name.
pub(crate) fn is_crate(sources: &Path, name: &str) -> bool {
    !name.is_empty()
        && name != env!("CARGO_PKG_NAME")
        && sources.join(name).join("src/main.rs").is_file()
}

/// Cargo: the one that started this executable, or that of PATH.
fn cargo() -> Option<PathBuf> {
    let named = env::var_os("CARGO").map(PathBuf::from);
    named.filter(|path| path.is_absolute()).or_else(|| tools::find("cargo"))
}

/// Runs a build, and says so on a terminal.
fn run(command: &mut Command, what: &str) -> io::Result<std::process::ExitStatus> {
    let show = |line: &str| {
        if io::stderr().is_terminal() {
            progress::draw(line);
        }
    };
    show(&format!("bringing {what} up to date …"));
    let status = command.status();
    show("");
    status
}
