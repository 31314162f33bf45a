//! The checkout that this executable was built from, and what it builds.

use std::env;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use serde::Deserialize;

use crate::system::console::{self, shell_line};
use crate::system::{tools, trust};

/// Files that decide what is built: no documents, tests, scripts or results.
const BUILT: &str =
    "*.rs *Cargo.toml Cargo.lock *.go *.java *.mjs *.py *.cpp :!*/tests/* :!*/benches/*";

/// Folders of sources that have programs in them.
const PROGRAMS: [&str; 2] = ["", "more"];

/// Stands in a table's words for the folder of the release executables.
pub(crate) const EXECUTABLES: &str = "{bin}";

/// A cargo workspace that executables can be built from.
#[derive(Clone, Debug)]
pub(crate) struct Checkout {
    pub(crate) folder: PathBuf,
    /// Its target folder.
    pub(crate) target: PathBuf,
    profile: String,
}

/// What cargo says of a target that it built, or that is up to date.
#[derive(Deserialize)]
struct Artifact {
    executable: PathBuf,
    profile: Optimisation,
}

#[derive(Deserialize)]
struct Optimisation {
    opt_level: String,
    debug_assertions: bool,
}

impl Checkout {
    /// The workspace with `folder` in its target folder, as `<target>/<profile>`.
    pub(crate) fn of(folder: &Path) -> anyhow::Result<Option<Self>> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        workspace.map_or(Ok(None), |workspace| Checkout::at(workspace, folder))
    }

    /// That one, if it is this workspace.
    fn at(workspace: &Path, folder: &Path) -> anyhow::Result<Option<Self>> {
        let (Some(target), Some(name)) = (folder.parent(), folder.file_name()) else {
            return Ok(None);
        };
        // Cargo puts this file into each target folder that it makes.
        if !workspace.join("Cargo.toml").is_file() || !target.join("CACHEDIR.TAG").is_file() {
            return Ok(None);
        }
        let manifest = concat!(env!("CARGO_PKG_NAME"), "/Cargo.toml");
        if let Some(around) = target.parent().filter(|around| around.join(manifest).is_file()) {
            ensure!(
                fs::canonicalize(around)? == fs::canonicalize(workspace)?,
                "{} holds a copy of what was built from {}, so the sources there would be measured: run `cargo build \
             --release` in {}",
                folder.display(),
                workspace.display(),
                around.display()
            );
        }
        let name = name.to_string_lossy();
        Ok(Some(Checkout {
            folder: workspace.to_owned(),
            target: target.to_owned(),
            profile: if name == "debug" { "dev" } else { &name }.to_owned(),
        }))
    }

    /// Names of the programs that it builds, in their order.
    pub(crate) fn programs(&self) -> Vec<String> {
        let folders = PROGRAMS.iter().map(|folder| fs::read_dir(self.folder.join(folder)));
        let entries = folders.flatten().flatten().flatten();
        let names = entries.filter_map(|folder| folder.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|name| is_crate(&self.folder, name)).collect();
        names.sort_unstable();
        names
    }

    /// Folder that a table's build puts its executables into.
    pub(crate) fn executables(&self) -> PathBuf {
        self.target.join("release")
    }

    /// Commit that is checked out, and changes of tracked files that decide what is built. Unknown
    /// without git or a repository of this workspace.
    pub(crate) fn revision(&self) -> (Option<String>, Option<bool>) {
        let git = |args: &[&str]| self.git(args);
        // Unpacked inside another repository, that one's revision says nothing about these sources.
        if git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_err() {
            return (None, None);
        }
        let status = ["status", "--porcelain", "--untracked-files=no", "--"];
        let changes = git(&status.into_iter().chain(BUILT.split(' ')).collect::<Vec<_>>());
        let revision = git(&["rev-parse", "--verify", "HEAD"]);
        (revision.ok(), changes.ok().map(|text| !text.is_empty()))
    }

    /// Output of git, started in this folder.
    pub(crate) fn git(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = tools::command("git", &self.folder);
        // A hook has these set to its own repository and index.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        // Nobody can answer a question for a password.
        command.env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null());
        // `status` would rewrite the index.
        output(command.arg("--no-optional-locks").args(args))
    }

    /// Cargo, started in this folder.
    pub(crate) fn cargo(&self) -> Command {
        let mut command =
            tools::command(find_cargo().unwrap_or_else(|| "cargo".into()), &self.folder);
        // With a target named, executables go into another folder, and old ones would be measured.
        command.env_remove("CARGO_BUILD_TARGET");
        // Those that the record has, whatever flags are set by now.
        if let Some(flags) = record::build::ENCODED_RUSTFLAGS {
            command.env("CARGO_ENCODED_RUSTFLAGS", flags);
        }
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
        let what = "the programs of this checkout";
        let built = self.cargo_build(&self.folder, &self.target, &[], &[], what)?;
        let is_apart = |name: &&str| !built.iter().any(|path| path.ends_with(name));
        let apart: Vec<&str> = crates.iter().copied().filter(is_apart).collect();
        if !apart.is_empty() {
            self.cargo_build(&self.folder, &self.target, &apart, &[], what)?;
        }
        Ok(())
    }

    /// Has cargo build packages of `sources`, the default members if none is named, with this one's
    /// profile, into a target folder. `patch` is cargo's configuration of a dependency, `what` says for whom. The
    /// executables.
    pub(crate) fn cargo_build(
        &self,
        sources: &Path,
        target: &Path,
        packages: &[&str],
        patch: &[String],
        what: &str,
    ) -> anyhow::Result<Vec<PathBuf>> {
        ensure_own(&[sources, target])?;
        let mut command = self.cargo();
        command.args(["build", "--locked", "--profile", &self.profile]);
        command.args(["--message-format", "json-render-diagnostics"]);
        // On a terminal cargo shows how far it is.
        if !io::stderr().is_terminal() {
            command.arg("--quiet");
        }
        command.arg("--manifest-path").arg(sources.join("Cargo.toml"));
        command.arg("--target-dir").arg(target);
        command.args(patch.iter().flat_map(|value| ["--config", value]));
        command.args(packages.iter().flat_map(|name| ["--package", name]));
        let built = build(&mut command, what)
            .map_err(|why| anyhow!("cargo could not build the programs: {why}"))?;
        self.ensure_built(&built, target)
    }

    /// The programs that cargo says it built. They are where they are started from, and optimised: configuration and
    /// environment may decide otherwise, and others would be measured without a word.
    fn ensure_built(&self, messages: &[u8], target: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let lines = messages.split(|byte| *byte == b'\n');
        let artifacts = lines.filter_map(|line| serde_json::from_slice::<Artifact>(line).ok());
        let is_runner = |path: &Path| path.ends_with(env!("CARGO_PKG_NAME"));
        let built: Vec<Artifact> = artifacts.filter(|it| !is_runner(&it.executable)).collect();
        ensure!(!built.is_empty(), "cargo built no program, but reported no error");
        let folder = fs::canonicalize(self.profile_folder(target))?;
        for Artifact { executable: path, profile } in &built {
            let place = path.parent().map(fs::canonicalize).transpose()?;
            ensure!(
                place.as_ref() == Some(&folder),
                "cargo built {}, and not in {}: remove `target` from [build] of its configuration (.cargo/config.toml)",
                path.display(),
                folder.display()
            );
            ensure!(
                self.profile != "release" || profile.opt_level != "0" && !profile.debug_assertions,
                "cargo built {} with opt-level {}, debug assertions {}: unset CARGO_PROFILE_RELEASE_*, and remove \
                 [profile.release] from its configuration (.cargo/config.toml)",
                path.display(),
                profile.opt_level,
                profile.debug_assertions
            );
        }
        Ok(built.into_iter().map(|artifact| artifact.executable).collect())
    }

    /// Folder of a target folder's executables.
    pub(crate) fn profile_folder(&self, target: &Path) -> PathBuf {
        target.join(if self.profile == "dev" { "debug" } else { &self.profile })
    }

    /// Builds a table's program; messages go to standard error.
    pub(crate) fn build_by(&self, words: &[String]) -> Result<(), String> {
        let executables = self.executables();
        let bin = executables.to_string_lossy();
        let words: Vec<String> = words.iter().map(|w| w.replace(EXECUTABLES, &bin)).collect();
        let Some((name, args)) = words.split_first() else {
            return Ok(());
        };
        ensure_own(&[&self.folder, &executables]).map_err(|why| why.to_string())?;
        let mut command =
            if name == "cargo" { self.cargo() } else { tools::command(name, &self.folder) };
        command.args(args).env("CARGO_TARGET_DIR", &self.target).stdout(io::stderr());
        build(&mut command, &format!("a program by {name}"))
            .map(drop)
            .map_err(|why| format!("it cannot be built: {}: {why}", shell_line(&words)))
    }
}

/// True if `sources` have a benchmark program of that name.
pub(crate) fn is_crate(sources: &Path, name: &str) -> bool {
    !name.is_empty()
        && !name.contains('/')
        && !["switchcost", "xtask"].contains(&name)
        && PROGRAMS
            .iter()
            .any(|folder| sources.join(folder).join(name).join("src/main.rs").is_file())
}

/// Makes folders to build in, and checks that nobody else may put sources or what was built there.
pub(crate) fn ensure_own(folders: &[&Path]) -> anyhow::Result<()> {
    for folder in folders {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        trust::ensure_own(folder).map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

/// Cargo: the one that started this executable, or the one in PATH.
fn find_cargo() -> Option<PathBuf> {
    let named = env::var_os("CARGO").map(PathBuf::from);
    named.filter(|path| path.is_absolute()).or_else(|| tools::find("cargo"))
}

/// Time after which a build, or its wait for another one, is told. If nothing has changed it is over by then.
const SHORT: Duration = Duration::from_secs(2);

/// Runs a build, and says so if it is not over soon. Its standard output, unless that goes elsewhere.
fn build(command: &mut Command, what: &str) -> Result<Vec<u8>, String> {
    let (end, is_over) = mpsc::channel::<()>();
    command.stderr(Stdio::inherit());
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            if is_over.recv_timeout(SHORT) == Err(RecvTimeoutError::Timeout) {
                console::say(format_args!("building {what} …"));
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
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
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

    #[test]
    fn what_cargo_put_elsewhere_or_did_not_optimise_is_refused() {
        let target = tempfile::tempdir().unwrap();
        for folder in ["release", "triple/release"] {
            fs::create_dir_all(target.path().join(folder)).unwrap();
        }
        let folder = target.path().to_owned();
        let profile = "release".to_owned();
        let checkout = Checkout { folder: folder.clone(), target: folder.clone(), profile };
        let built = |place: &str, level: &str| {
            let profile = serde_json::json!({"opt_level": level, "debug_assertions": false});
            let executable = target.path().join(place);
            let artifact = serde_json::json!({"executable": executable, "profile": profile});
            let messages = format!("{artifact}\n{{\"reason\":\"build-finished\"}}\n");
            checkout.ensure_built(messages.as_bytes(), &folder).map_err(|why| why.to_string())
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
        assert!(checkout.ensure_built(b"", &folder).is_err());
    }

    #[test]
    fn a_target_folder_that_was_copied_with_its_checkout_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        for place in ["own", "copy"].map(|name| folder.path().join(name)) {
            fs::create_dir_all(place.join("target/release")).unwrap();
            fs::create_dir(place.join("switchcost")).unwrap();
            for file in ["Cargo.toml", "switchcost/Cargo.toml", "target/CACHEDIR.TAG"] {
                fs::write(place.join(file), "").unwrap();
            }
        }
        let of = |name: &str| {
            Checkout::at(&folder.path().join("own"), &folder.path().join(name).join("release"))
        };
        assert_eq!(of("own/target").unwrap().unwrap().profile, "release");
        let why = of("copy/target").unwrap_err().to_string();
        assert!(why.contains("copy of what was built from"), "{why}");
        // As by CARGO_TARGET_DIR.
        fs::remove_dir_all(folder.path().join("copy/switchcost")).unwrap();
        assert!(of("copy/target").unwrap().is_some());
    }
}
