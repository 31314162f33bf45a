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

use crate::system::console::{self, shell_line};
use crate::system::{tools, trust};

/// Files that decide what is built: no documents, tests, scripts or results.
const BUILT: &str =
    "*.rs *Cargo.toml Cargo.lock *.go *.java *.mjs *.py *.cpp :!*/tests/* :!*/benches/*";

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

impl Checkout {
    /// The workspace whose target folder `folder` is a part of: `<target>/<profile>`.
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
        let target = folder.parent()?;
        // Cargo puts this file into each target folder that it makes.
        if !workspace.join("Cargo.toml").is_file() || !target.join("CACHEDIR.TAG").is_file() {
            return None;
        }
        let name = folder.file_name()?.to_str()?;
        Some(Checkout {
            folder: workspace.to_owned(),
            target: target.to_owned(),
            profile: if name == "debug" { "dev" } else { name }.to_owned(),
        })
    }

    /// Names of the programs that it builds, in their order.
    pub(crate) fn programs(&self) -> Vec<String> {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = folders.filter_map(|folder| folder.file_name().into_string().ok());
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
        // Unpacked inside another repository, that one's revision says nothing about this workspace.
        if self.git(&["ls-files", "--error-unmatch", "Cargo.toml"]).is_err() {
            return (None, None);
        }
        let status = ["status", "--porcelain", "--untracked-files=no", "--"];
        let changes = self.git(&status.into_iter().chain(BUILT.split(' ')).collect::<Vec<_>>());
        let revision = self.git(&["rev-parse", "--verify", "HEAD"]);
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
            let why = "PATH has no cargo: install it; using the programs as they are";
            console::say(format_args!("switchcost: {why}"));
            return Ok(());
        }
        let defaults = self.default_members();
        let is_apart = |name: &&str| !defaults.iter().any(|default| default == name);
        let apart: Vec<&str> = crates.iter().copied().filter(is_apart).collect();
        let what = "the programs of this checkout";
        self.cargo_build(&self.folder, &self.target, &[], what)?;
        if !apart.is_empty() {
            self.cargo_build(&self.folder, &self.target, &apart, what)?;
        }
        Ok(())
    }

    /// Has cargo build packages of `sources`, the default members if none is named, with this one's
    /// profile, into a target folder. `what` says for whom.
    pub(crate) fn cargo_build(
        &self,
        sources: &Path,
        target: &Path,
        packages: &[&str],
        what: &str,
    ) -> anyhow::Result<()> {
        ensure_own(&[sources, target])?;
        let mut command = self.cargo();
        command.args(["build", "--locked", "--profile", &self.profile]);
        // On a terminal cargo shows how far it is.
        if !io::stderr().is_terminal() {
            command.arg("--quiet");
        }
        command.arg("--manifest-path").arg(sources.join("Cargo.toml"));
        command.arg("--target-dir").arg(target);
        command.args(packages.iter().flat_map(|name| ["--package", name]));
        build(&mut command, what)
            .map_err(|why| anyhow!("cargo could not build the programs: {why}"))
    }

    /// Folder of a target folder's executables.
    pub(crate) fn profile_folder(&self, target: &Path) -> PathBuf {
        target.join(if self.profile == "dev" { "debug" } else { &self.profile })
    }

    /// Crates that are built together, whatever is wanted.
    fn default_members(&self) -> Vec<String> {
        let manifest = fs::read_to_string(self.folder.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = manifest.parse().unwrap_or_default();
        let members = manifest.get("workspace").and_then(|w| w.get("default-members")?.as_array());
        let names = members.into_iter().flatten().filter_map(toml::Value::as_str);
        names.map(str::to_owned).collect()
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
            .map_err(|why| format!("it cannot be built: {}: {why}", shell_line(&words)))
    }
}

/// Folder of the package of that name in a folder, which may be the root of a workspace, and its version.
pub(crate) fn package_in(
    checkout: &Checkout,
    folder: &Path,
    name: &str,
) -> anyhow::Result<(PathBuf, String)> {
    let mut command = checkout.cargo();
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    let metadata = output(command.arg("--manifest-path").arg(folder.join("Cargo.toml")))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    let root = fs::canonicalize(folder)?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let packages = packages.filter_map(|package| {
        let manifest = fs::canonicalize(package["manifest_path"].as_str()?).ok()?;
        let folder = manifest.parent()?.to_owned();
        let version = package["version"].as_str()?;
        let is_inside = folder.starts_with(&root);
        is_inside.then_some((package["name"].as_str()?, folder, version))
    });
    let packages: Vec<(&str, PathBuf, &str)> = packages.collect();
    match packages.iter().find(|(other, ..)| *other == name) {
        Some((_, folder, version)) => Ok((folder.clone(), (*version).to_owned())),
        None => {
            let names: Vec<&str> = packages.iter().map(|(name, ..)| *name).collect();
            bail!("{} has no package '{name}', but {}", folder.display(), names.join(", "))
        }
    }
}

/// True if `sources` have a benchmark program of that name.
pub(crate) fn is_crate(sources: &Path, name: &str) -> bool {
    !name.is_empty()
        && !name.contains('/')
        && name != env!("CARGO_PKG_NAME")
        && sources.join(name).join("src/main.rs").is_file()
}

/// Makes folders to build in, and checks that nobody else may put sources or what was built there.
pub(crate) fn ensure_own(folders: &[&Path]) -> anyhow::Result<()> {
    for folder in folders {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        trust::ensure_own(folder).map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

/// Cargo: the one that started this executable, or that of PATH.
fn find_cargo() -> Option<PathBuf> {
    let named = env::var_os("CARGO").map(PathBuf::from);
    named.filter(|path| path.is_absolute()).or_else(|| tools::find("cargo"))
}

/// Time after which a build, or its wait for another one, is told. If nothing has changed it is over by then.
const SHORT: Duration = Duration::from_secs(2);

/// Runs a build. It says so if it is not over soon, and outside a terminal each minute that it goes on.
fn build(command: &mut Command, what: &str) -> Result<(), String> {
    let is_terminal = io::stderr().is_terminal();
    let tell = |minutes| match minutes {
        0 => console::say(format_args!("building {what} …")),
        _ if is_terminal => {}
        _ => console::say(format_args!("building {what}, for {minutes} min")),
    };
    match meanwhile([SHORT, Duration::from_secs(60)], tell, || command.status()) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(status.to_string()),
        Err(e) => Err(e.to_string()),
    }
}

/// Does some work, and tells after a first interval, and after each further one, how many of those are over.
fn meanwhile<T>(
    [first, further]: [Duration; 2],
    tell: impl Fn(u32) + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (end, is_over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let lasts = |interval| is_over.recv_timeout(interval) == Err(RecvTimeoutError::Timeout);
            (0..)
                .take_while(|&times| lasts(if times == 0 { first } else { further }))
                .for_each(tell);
        });
        let done = work();
        drop(end);
        done
    })
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
    fn work_that_lasts_is_told_until_it_ends() {
        let (told, heard) = mpsc::channel();
        let tell = move |times| told.send(times).unwrap();
        let first = meanwhile([Duration::from_millis(1); 2], tell, || {
            [heard.recv().unwrap(), heard.recv().unwrap()]
        });
        assert_eq!(first, [0, 1]);
        // Nothing is told of what is quick.
        assert_eq!(meanwhile([Duration::from_secs(3600); 2], |_| unreachable!(), || 7), 7);
    }
}
