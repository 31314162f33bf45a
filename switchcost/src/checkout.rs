//! The checkout that this executable was built from, and what it builds.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::bail;

use crate::console::{self, BadUsage};
use crate::plan::built_in_tables;
use crate::{progress, tools};

/// Stands in a build's words for the folder of the release executables.
const EXECUTABLES: &str = "{bin}";

/// A cargo workspace that executables can be built from.
#[derive(Debug)]
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
        match crates.is_empty() {
            true => Ok(()),
            false => self.build_crates(),
        }
    }

    fn has_crate(&self, name: &str) -> bool {
        !name.is_empty()
            && name != env!("CARGO_PKG_NAME")
            && self.folder().join(name).join("src/main.rs").is_file()
    }

    /// Has cargo build what is missing or out of date; its messages go to standard error.
    ///
    /// All benchmarks, whatever is wanted: the features of a dependency are those that the packages of
    /// one build ask for together, so that a program built with others would be another one.
    fn build_crates(&self) -> anyhow::Result<()> {
        let Some(cargo) = cargo() else {
            console::say(format_args!(
                "switchcost: there is no cargo in PATH; using the programs as they are"
            ));
            return Ok(());
        };
        let mut command = tools::command(&cargo, &self.folder());
        command
            .args(["build", "--quiet", "--locked", "--manifest-path"])
            .arg(&self.manifest)
            .arg("--target-dir")
            .arg(&self.target)
            .arg("--profile")
            .arg(&self.profile)
            .args(["--workspace", "--exclude", env!("CARGO_PKG_NAME")]);
        for peer in self.peers()? {
            command.arg("--exclude").arg(peer);
        }
        match run(&mut command, "the benchmark programs") {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => bail!("cargo could not build the benchmarks: {status}"),
            Err(e) => {
                console::say(format_args!(
                    "switchcost: cannot run {}: {e}; using the programs as they are",
                    cargo.display()
                ));
                Ok(())
            }
        }
    }

    /// Crates that only a plan's table builds: those of the built-in tables, and all in `peers`.
    fn peers(&self) -> anyhow::Result<Vec<OsString>> {
        let folders = fs::read_dir(self.folder().join("peers"));
        let folders = folders.into_iter().flatten().flatten();
        let peers = folders
            .filter(|entry| entry.path().join("Cargo.toml").is_file())
            .map(|entry| entry.file_name());
        let tables = built_in_tables()?.into_keys();
        let tables = tables.filter(|name| self.has_crate(name));
        Ok(peers.chain(tables.map(OsString::from)).collect())
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
        let failed = |why: String| format!("it cannot be built: {}: {why}", words.join(" "));
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
