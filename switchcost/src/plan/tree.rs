//! A tree of sources, and what cargo and git make of it: the checkout that this executable was built from, or another one
//! for a side of a duel.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::Value;

use crate::plan::ProgramTable;
use crate::system::console::{self, shell_line};
use crate::system::{tools, trust};
use host::path;

/// Files that decide what is built: no documents, tests, scripts or results.
const BUILT: &str =
    "*.rs *Cargo.toml Cargo.lock *.go *.java *.mjs *.py *.cpp :!*/tests/* :!*/benches/*";

/// Folders of sources that have programs in them.
const PROGRAMS: [&str; 2] = ["", "more"];

/// Stands in a table's words for the folder of the release executables.
pub(crate) const BIN: &str = "{bin}";

mod sources;

/// A cargo workspace, and where its executables are built.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// The checkout that this executable is in or was built from: git and cargo start there.
    home: PathBuf,
    /// The sources; for the checkout itself the same folder.
    pub(crate) sources: PathBuf,
    target: PathBuf,
    profile: String,
    /// Commit of the sources, if they are none of the checkout's.
    commit: Option<String>,
    /// A crate that cargo takes from a folder, as a value of its configuration.
    patch: Option<String>,
    /// Variables of its builds.
    variables: BTreeMap<String, String>,
}

impl Tree {
    /// The workspace with `folder` in its target folder, as `<target>/<profile>`: the one around that, or, with
    /// CARGO_TARGET_DIR elsewhere, the one that this executable was built from.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let (target, profile) = (folder.parent()?, folder.file_name()?.to_string_lossy());
        // Cargo puts this file into each target folder that it makes.
        if !target.join("CACHEDIR.TAG").is_file() {
            return None;
        }
        let manifest = concat!(env!("CARGO_PKG_NAME"), "/Cargo.toml");
        let workspaces = [target.parent(), Path::new(env!("CARGO_MANIFEST_DIR")).parent()];
        let home =
            workspaces.into_iter().flatten().find(|folder| folder.join(manifest).is_file())?;
        Some(Tree {
            home: home.to_owned(),
            sources: home.to_owned(),
            target: target.to_owned(),
            commit: None,
            patch: None,
            variables: BTreeMap::new(),
            profile: if profile == "debug" { "dev" } else { &profile }.to_owned(),
        })
    }

    /// Names of the programs that it builds, in their order.
    pub(crate) fn programs(&self) -> Vec<String> {
        let folders = PROGRAMS.iter().map(|folder| fs::read_dir(self.sources.join(folder)));
        let entries = folders.flatten().flatten().flatten();
        let names = entries.filter_map(|folder| folder.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| self.has_program(name)).collect();
        names.sort_unstable();
        names
    }

    /// True if it has a benchmark program of that name.
    pub(crate) fn has_program(&self, name: &str) -> bool {
        let is_main =
            |folder: &&str| self.sources.join(folder).join(name).join("src/main.rs").is_file();
        let is_tool = ["", "switchcost", "xtask"].contains(&name);
        !is_tool && !name.contains('/') && PROGRAMS.iter().any(is_main)
    }

    /// Folder of its executables.
    pub(crate) fn executables(&self) -> PathBuf {
        let triple = self.variables.get("CARGO_BUILD_TARGET");
        let folder = triple.map_or(self.target.clone(), |triple| self.target.join(triple));
        folder.join(if self.profile == "dev" { "debug" } else { &self.profile })
    }

    /// Folder that a table's build puts its executables into.
    pub(crate) fn release_folder(&self) -> PathBuf {
        self.target.join("release")
    }

    /// Commit that is checked out, and changes of tracked files that decide what is built. Unknown
    /// without git or a repository of this workspace.
    pub(crate) fn revision(&self) -> (Option<String>, Option<bool>) {
        if self.commit.is_some() {
            return (self.commit.clone(), None);
        }
        // Unpacked inside another repository, that one's revision says nothing about these sources.
        if self.git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_err() {
            return (None, None);
        }
        let status = ["status", "--porcelain", "--untracked-files=no", "--"];
        let changes = self.git(&status.into_iter().chain(BUILT.split(' ')).collect::<Vec<_>>());
        let revision = self.git(&["rev-parse", "--verify", "HEAD"]);
        (revision.ok(), changes.ok().map(|text| !text.is_empty()))
    }

    /// Output of git, started in the checkout.
    fn git(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = tools::command("git", &self.home);
        // A hook has these set to its own repository and index.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        // Nobody can answer a question for a password.
        command.env("GIT_TERMINAL_PROMPT", "0");
        // `status` would rewrite the index.
        output(command.arg("--no-optional-locks").args(args))
    }

    /// Cargo, started in the checkout.
    fn cargo(&self) -> Command {
        let mut command =
            tools::command(find_cargo().unwrap_or_else(|| "cargo".into()), &self.home);
        // With a target named, executables go into another folder, and old ones would be measured.
        command.env_remove("CARGO_BUILD_TARGET");
        // Those that the record has, whatever flags are set by now.
        if self.variables.contains_key("RUSTFLAGS") {
            command.env_remove("CARGO_ENCODED_RUSTFLAGS");
        } else if let Some(flags) = record::build::ENCODED_RUSTFLAGS {
            command.env("CARGO_ENCODED_RUSTFLAGS", flags);
        }
        command.envs(&self.variables);
        command
    }

    /// Has cargo build these crates if they are missing or out of date; its messages go to standard
    /// error. Without cargo they are taken as they are.
    ///
    /// The workspace's default members are always built together: the features of a dependency are those
    /// that the packages of one build ask for, so that a program built beside others would be another
    /// one, and would be built twice.
    pub(crate) fn bring_up_to_date(&self, crates: &[&str]) -> anyhow::Result<()> {
        if crates.is_empty() {
            return Ok(());
        }
        if find_cargo().is_none() {
            let why = "cargo is not in PATH: install it; the programs are used as they are";
            console::say(format_args!("switchcost: {why}"));
            return Ok(());
        }
        let subject = "the programs of this checkout";
        let built = self.build(&[], subject)?;
        let apart = crates.iter().copied();
        let apart = apart.filter(|name| !built.iter().any(|path| path.ends_with(name)));
        let apart: Vec<&str> = apart.collect();
        if !apart.is_empty() {
            self.build(&apart, subject)?;
        }
        Ok(())
    }

    /// Has cargo build packages, the default members if none is named; `subject` says for whom. The executables.
    pub(crate) fn build(&self, packages: &[&str], subject: &str) -> anyhow::Result<Vec<PathBuf>> {
        ensure_own(&[&self.sources, &self.target])?;
        let mut command = self.cargo();
        command.args(["build", "--locked", "--profile", &self.profile]);
        command.args(["--message-format", "json-render-diagnostics"]);
        // On a terminal cargo shows how far it is.
        if !io::stderr().is_terminal() {
            command.arg("--quiet");
        }
        command.arg("--manifest-path").arg(self.sources.join("Cargo.toml"));
        command.arg("--target-dir").arg(&self.target);
        command.args(self.configuration());
        command.args(packages.iter().flat_map(|name| ["--package", name]));
        let built = run(&mut command, subject)
            .map_err(|why| anyhow!("cargo could not build the programs: {why}"))?;
        self.ensure_built(&built)
    }

    /// Flags of cargo for what it takes from somewhere else.
    fn configuration(&self) -> impl Iterator<Item = &str> {
        self.patch.iter().flat_map(|value| ["--config", value])
    }

    /// The programs that cargo says it built. They are where they are started from, and optimised: configuration and
    /// environment may decide otherwise, and others would be measured without a word.
    fn ensure_built(&self, messages: &[u8]) -> anyhow::Result<Vec<PathBuf>> {
        let lines = messages.split(|byte| *byte == b'\n');
        let artifacts = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        let folder = self.executables();
        let mut built = Vec::new();
        for artifact in artifacts {
            let Some(path) = artifact["executable"].as_str().map(PathBuf::from) else { continue };
            if path.ends_with(env!("CARGO_PKG_NAME")) {
                continue;
            }
            let place = path.parent().map(fs::canonicalize).transpose()?;
            ensure!(
                place == Some(fs::canonicalize(&folder)?),
                "cargo built {}, and not in {}: remove `target` from [build] of its configuration (.cargo/config.toml)",
                path.display(),
                folder.display()
            );
            let profile = &artifact["profile"];
            let [level, checks] = [&profile["opt_level"], &profile["debug_assertions"]];
            ensure!(
                self.profile != "release"
                    || !self.variables.is_empty()
                    || *level != "0" && *checks != true,
                "cargo built {} with opt-level {}, debug assertions {checks}: unset CARGO_PROFILE_RELEASE_*, and remove \
                 [profile.release] from its configuration (.cargo/config.toml)",
                path.display(),
                level.as_str().unwrap_or_default(),
            );
            built.push(path);
        }
        ensure!(!built.is_empty(), "cargo built no program, but reported no error");
        Ok(built)
    }

    /// Builds a table's program; messages go to standard error.
    pub(super) fn build_by(&self, table: &ProgramTable) -> Result<(), String> {
        let executables = self.release_folder();
        let bin = executables.to_string_lossy();
        let words: Vec<String> = table.build.iter().map(|w| w.replace(BIN, &bin)).collect();
        let Some((name, args)) = words.split_first() else {
            return Ok(());
        };
        let folder = table.folder.as_ref().unwrap_or(&self.home);
        ensure_own(&[&self.sources, &executables, folder]).map_err(|why| why.to_string())?;
        let mut command = if name == "cargo" { self.cargo() } else { tools::command(name, folder) };
        command
            .current_dir(folder)
            .args(args)
            .env("CARGO_TARGET_DIR", &self.target)
            .stdout(io::stderr());
        run(&mut command, &format!("a program by {name}"))
            .map(drop)
            .map_err(|why| format!("it cannot be built: {}: {why}", shell_line(&words)))
    }
}

/// Commit of sources, and whether they were changed since.
pub(super) fn revision(commit: Option<&str>, dirty: Option<bool>) -> String {
    let since = if dirty == Some(true) { ", changed since" } else { "" };
    commit.map_or("switchcost of an unknown revision".to_owned(), |commit| {
        format!("switchcost at commit {}{since}", commit.get(..12).unwrap_or(commit))
    })
}

/// Makes folders to build in, and checks that nobody else may put sources or what was built there.
fn ensure_own(folders: &[&Path]) -> anyhow::Result<()> {
    for folder in folders {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        trust::ensure_own(folder).map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

/// Cargo: the one that started this executable, or the one in PATH.
fn find_cargo() -> Option<PathBuf> {
    let named = env::var_os("CARGO").map(PathBuf::from);
    named.filter(|path| path.is_absolute()).or_else(|| path::find("cargo"))
}

/// Time after which a build, or its wait for another one, is told. If nothing has changed it is over by then.
const SHORT: Duration = Duration::from_secs(2);

/// Runs a build, and says so if it is not over soon. Its standard output, unless that goes elsewhere.
fn run(command: &mut Command, subject: &str) -> Result<Vec<u8>, String> {
    let (end, is_over) = mpsc::channel::<()>();
    command.stderr(Stdio::inherit());
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            if is_over.recv_timeout(SHORT) == Err(RecvTimeoutError::Timeout) {
                console::say(format_args!("building {subject} …"));
            }
        });
        let output = command.output();
        drop(end);
        output
    });
    match output {
        Ok(output) if output.status.success() => Ok(output.stdout),
        Ok(output) => Err(output.status.to_string()),
        Err(e) => Err(e.to_string()),
    }
}

/// Output of a tool that succeeds, trimmed.
fn output(command: &mut Command) -> anyhow::Result<String> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    ensure!(!lines.is_empty(), "{name}: {}", output.status);
    // Cargo has each cause below a line of its own.
    bail!("{name}: {}", lines.join("; ").replace("; Caused by:; ", ": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree in a folder that is also its target folder.
    pub(super) fn tree_in(folder: &Path) -> Tree {
        let [home, sources, target] = [(); 3].map(|()| folder.to_owned());
        Tree {
            home,
            sources,
            target,
            profile: "dev".to_owned(),
            commit: None,
            patch: None,
            variables: BTreeMap::new(),
        }
    }

    #[test]
    fn what_cargo_put_elsewhere_or_did_not_optimise_is_refused() {
        let target = tempfile::tempdir().unwrap();
        for folder in ["release", "triple/release"] {
            fs::create_dir_all(target.path().join(folder)).unwrap();
        }
        let folder = target.path().to_owned();
        let profile = "release".to_owned();
        let tree = Tree { profile, ..tree_in(&folder) };
        let built = |place: &str, level: &str| {
            let profile = serde_json::json!({"opt_level": level, "debug_assertions": false});
            let executable = target.path().join(place);
            let artifact = serde_json::json!({"executable": executable, "profile": profile});
            let messages = format!("{artifact}\n{{\"reason\":\"build-finished\"}}\n");
            tree.ensure_built(messages.as_bytes()).map_err(|why| why.to_string())
        };
        assert_eq!(built("release/x", "1").unwrap(), [target.path().join("release/x")]);
        for (place, level, words) in [
            ("triple/release/x", "3", "remove `target` from [build]"),
            ("release/x", "0", "unset CARGO_PROFILE_RELEASE_*"),
            ("release/switchcost", "0", "built no program"),
        ] {
            let why = built(place, level).unwrap_err();
            assert!(why.contains(words), "{why}");
        }
        assert!(tree.ensure_built(b"").is_err());
    }

    #[test]
    fn builds_with_variables_have_folders_of_their_own() {
        let tree = tree_in(Path::new("/x/sources"));
        let folder = |variables: &[(&'static str, &'static str)]| {
            let variables = variables.iter().copied().collect();
            tree.clone().with_variables(&variables).executables()
        };
        assert_eq!(folder(&[]), tree.executables());
        let [first, second] =
            ["-O", "-g"].map(|flags| folder(&[("RUSTFLAGS", flags)]).parent().unwrap().to_owned());
        assert!(first != second && first.to_string_lossy().starts_with("/x/sources-"));
        let triple = folder(&[("CARGO_BUILD_TARGET", "x86_64-unknown-linux-musl")]);
        assert!(triple.ends_with("x86_64-unknown-linux-musl/debug"), "{}", triple.display());
    }

    #[test]
    fn a_checkout_that_was_copied_with_its_target_folder_has_its_own_sources() {
        let folder = tempfile::tempdir().unwrap();
        for place in ["copy/switchcost", "copy/target/release"] {
            fs::create_dir_all(folder.path().join(place)).unwrap();
        }
        for file in ["copy/switchcost/Cargo.toml", "copy/target/CACHEDIR.TAG"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let home = || Tree::of(&folder.path().join("copy/target/release")).unwrap().home;
        assert_eq!(home(), folder.path().join("copy"));
        // As by CARGO_TARGET_DIR.
        fs::remove_dir_all(folder.path().join("copy/switchcost")).unwrap();
        assert_eq!(home(), Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap());
    }
}
