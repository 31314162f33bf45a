//! The benchmark executables: where they are, and how they come to be there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use crate::console::{self, BadUsage};
use anyhow::{Context, bail};

use crate::goroutines::{self, Toolchain};
use crate::probe::{self, Answer, Kind};
use crate::{progress, tools};

/// The folder that holds the benchmark executables.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
    /// Why no program can be built that is written in Go.
    no_go: Option<String>,
    /// What each program follows that was asked.
    kinds: RefCell<BTreeMap<String, Kind>>,
}

impl Programs {
    /// The executables beside this one, after cargo has brought them up to date.
    ///
    /// Cargo decides what is missing or older than its sources. Where this executable is not in a
    /// cargo target folder whose workspace is still there, or cargo is not installed, the
    /// executables are taken as they are.
    ///
    /// # Errors
    /// When the build fails, or an executable that `wanted` names is not there, but for those that
    /// [`Programs::missing`] tells of.
    pub fn up_to_date<'a>(wanted: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Self> {
        let wanted: BTreeSet<&str> = wanted.into_iter().collect();
        let programs = Programs::brought_up_to_date(wanted.iter().copied())?;
        for name in wanted {
            if programs.missing(name).is_none() {
                programs.path(name)?;
            }
        }
        Ok(programs)
    }

    /// The same where some executables may be missing.
    ///
    /// # Errors
    /// When the build fails.
    pub fn brought_up_to_date<'a>(
        wanted: impl IntoIterator<Item = &'a str>,
    ) -> anyhow::Result<Self> {
        let this = this_executable()?;
        let mut folder = this.parent().context("this executable is in no folder")?;
        if folder.ends_with("deps") {
            // Tests and benchmarks are one level further down.
            folder = folder.parent().unwrap_or(folder);
        }
        let folder = folder.to_owned();
        let wanted: BTreeSet<&str> = wanted.into_iter().collect();
        let (in_go, crates): (BTreeSet<&str>, BTreeSet<&str>) =
            wanted.iter().partition(|name| goroutines::is_one(name));
        let mut no_go = None;
        if let Some(checkout) = Checkout::of(&folder) {
            checkout.know(&crates)?;
            if !crates.is_empty() {
                checkout.build()?;
            }
            if !in_go.is_empty() {
                match Toolchain::find(checkout.crates().join("peers/go")) {
                    Ok(go) => go.build(&in_go, &folder)?,
                    Err(why) => no_go = Some(why),
                }
            }
        }
        Ok(Programs {
            folder,
            no_go,
            kinds: RefCell::default(),
        })
    }

    /// Why a program is not there that needs not be: it is written in Go, and nothing here can build
    /// it. `None` where it is there.
    pub fn missing(&self, name: &str) -> Option<String> {
        if !goroutines::is_one(name) || self.folder.join(name).is_file() {
            return None;
        }
        let why = self.no_go.clone();
        Some(why.unwrap_or_else(|| {
            format!(
                "{}, and no {name} beside switchcost",
                goroutines::NO_TOOLCHAIN
            )
        }))
    }

    /// What a program follows; it is asked once.
    ///
    /// # Errors
    /// When it is not there, or cannot be asked.
    pub fn kind(&self, name: &str) -> anyhow::Result<Kind> {
        if let Some(kind) = self.kinds.borrow().get(name) {
            return Ok(*kind);
        }
        let kind = probe::kind(&self.path(name)?)?;
        self.kinds.borrow_mut().insert(name.to_owned(), kind);
        Ok(kind)
    }

    /// Asks a program whether it could run with these flags.
    ///
    /// # Errors
    /// When it is not there, or cannot be asked.
    pub fn ask(&self, name: &str, flags: &[String]) -> anyhow::Result<Answer> {
        probe::ask(&self.path(name)?, self.kind(name)?, flags)
    }

    /// Where a program's executable is.
    ///
    /// # Errors
    /// When it is not there.
    pub fn path(&self, name: &str) -> anyhow::Result<PathBuf> {
        let path = self.folder.join(name);
        if let Some(why) = self.missing(name) {
            bail!("{name}: {why}");
        }
        if !path.is_file() {
            bail!(
                "the program '{name}' is not in {}: build it there by `cargo build --release --workspace`, or copy it beside switchcost",
                self.folder.display()
            );
        }
        Ok(path)
    }
}

/// Where this executable is. The kernel tells in /proc; where that is not mounted, the command line
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

/// A cargo workspace that the executables can be built from.
struct Checkout {
    manifest: PathBuf,
    target: PathBuf,
    profile: OsString,
}

impl Checkout {
    /// The workspace whose target folder `folder` is a part of: `<target>/<profile>`.
    fn of(folder: &Path) -> Option<Self> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()?
            .join("Cargo.toml");
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

    /// The folder that the crates are in.
    fn crates(&self) -> PathBuf {
        self.manifest.with_file_name("")
    }

    /// Checks that every program is a crate of the workspace.
    fn know(&self, wanted: &BTreeSet<&str>) -> anyhow::Result<()> {
        let crates = self.crates();
        let is_benchmark = |name: &str| {
            !name.is_empty()
                && name != env!("CARGO_PKG_NAME")
                && crates.join(name).join("src/main.rs").is_file()
        };
        match wanted.iter().find(|name| !is_benchmark(name)) {
            Some(name) => Err(BadUsage::new(format!(
                "there is no benchmark program '{name}' in {}",
                crates.display()
            ))),
            None => Ok(()),
        }
    }

    /// Has cargo build what is missing or out of date; its messages go to standard error.
    ///
    /// All benchmarks, whatever is wanted: the features of a dependency are those that the packages of
    /// one build ask for together, so that a program built with others would be another one.
    fn build(&self) -> anyhow::Result<()> {
        let Some(cargo) = tools::find("CARGO", "cargo") else {
            console::say(format_args!(
                "switchcost: there is no cargo in PATH; using the programs as they are"
            ));
            return Ok(());
        };
        let mut command = tools::command(&cargo, &self.crates());
        command
            .args(["build", "--quiet", "--locked", "--manifest-path"])
            .arg(&self.manifest)
            .arg("--target-dir")
            .arg(&self.target)
            .arg("--profile")
            .arg(&self.profile)
            .args(["--workspace", "--exclude", env!("CARGO_PKG_NAME")]);
        let show = |line: &str| {
            if io::stderr().is_terminal() {
                progress::draw(line);
            }
        };
        show("bringing the benchmark programs up to date …");
        let status = command.status();
        show("");
        match status {
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
}
