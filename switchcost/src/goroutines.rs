//! The programs that are written in Go: which they are, and how they are built.

use std::collections::BTreeSet;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::tools;

/// The programs in the folder `peers/go`.
pub const PROGRAMS: [&str; 3] = [
    "goroutine-brigade",
    "goroutine-mem-brigade",
    "goroutine-creation",
];

/// How the reason begins why one of them is not there.
pub const NO_TOOLCHAIN: &str = "no Go toolchain";

/// The minor version of Go 1 that `peers/go/go.mod` asks for.
const OLDEST: u32 = 22;

/// Where an installation by hand puts it, which not every PATH has.
const USUAL: &str = "/usr/local/go/bin/go";

/// Whether a program is written in Go.
pub fn is_one(name: &str) -> bool {
    PROGRAMS.contains(&name)
}

/// A Go toolchain that can build them.
#[derive(Debug)]
pub struct Toolchain {
    command: PathBuf,
    /// The folder of the sources.
    sources: PathBuf,
}

impl Toolchain {
    /// The one that is installed: an absolute path in `GO`, or `go` in PATH, or where it usually is.
    ///
    /// # Errors
    /// Why there is none, in a line.
    pub fn find(sources: PathBuf) -> Result<Self, String> {
        let candidates = match env::var_os("GO").map(PathBuf::from) {
            Some(go) if go.is_absolute() => vec![go],
            Some(go) => {
                let go = go.display();
                return Err(format!(
                    "{NO_TOOLCHAIN}: GO is {go}, which is no absolute path"
                ));
            }
            None => [tools::find("GO", "go"), Some(USUAL.into())]
                .into_iter()
                .flatten()
                .collect(),
        };
        let mut too_old = None;
        for command in candidates {
            let toolchain = Toolchain {
                command,
                sources: sources.clone(),
            };
            match toolchain.version() {
                Some(version) if minor(&version).is_none_or(|minor| minor < OLDEST) => {
                    too_old = Some(version);
                }
                Some(_) => return Ok(toolchain),
                None => {}
            }
        }
        Err(match too_old {
            Some(version) => {
                format!("{NO_TOOLCHAIN}: {version} is here, and Go 1.{OLDEST} or later is needed")
            }
            None => format!("{NO_TOOLCHAIN}: install Go 1.{OLDEST} or later"),
        })
    }

    fn go(&self) -> Command {
        let mut command = tools::command(&self.command, &self.sources);
        // Nothing is fetched: a toolchain that is too old is too old.
        command.env("GOTOOLCHAIN", "local");
        command
    }

    fn version(&self) -> Option<String> {
        let output = self.go().args(["env", "GOVERSION"]).output().ok()?;
        let version = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| version.trim().to_owned())
    }

    /// Builds programs of the sources into a folder, where they are missing or older than their
    /// sources; its messages go to standard error.
    ///
    /// # Errors
    /// When a build fails.
    pub fn build(&self, names: &BTreeSet<&str>, into: &Path) -> anyhow::Result<()> {
        for name in names {
            let mut command = self.go();
            command.args(["build", "-trimpath", "-o"]);
            command.arg(into.join(name)).arg(format!("./{name}"));
            let has_cache = ["GOCACHE", "XDG_CACHE_HOME", "HOME"]
                .iter()
                .any(|name| env::var_os(name).is_some());
            if !has_cache {
                command.env("GOCACHE", into.join("go-cache"));
            }
            let status = command.stdout(io::stderr()).status();
            let status =
                status.with_context(|| format!("cannot run {}", self.command.display()))?;
            if !status.success() {
                bail!("go could not build {name}: {status}");
            }
        }
        Ok(())
    }
}

/// The minor version in the name of one, such as `go1.26.8`.
fn minor(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("go1.")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_program_of_the_folder_is_known() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/go");
        let found: BTreeSet<String> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.path().join("main.go").is_file())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        assert_eq!(found, PROGRAMS.map(str::to_owned).into());
        let module = fs::read_to_string(folder.join("go.mod")).unwrap();
        assert!(module.contains(&format!("\ngo 1.{OLDEST}\n")), "{module}");
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(minor("go1.26.8"), Some(26));
        assert_eq!(minor("go1.24"), Some(24));
        assert_eq!(minor("go1.25rc1"), Some(25));
        assert_eq!(minor("devel go1.27-abc"), None);
        assert_eq!(minor(""), None);
    }
}
