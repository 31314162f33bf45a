//! Sides of a duel: what is written on a command line, and where its programs are.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, ensure};

use super::build;
use crate::checkout::{Checkout, is_crate};
use crate::executable::Executable;
use crate::programs::Places;

/// One side, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// `.`: the sources that the runner was built from, or the programs beside it.
    Sources,
    /// A folder with programs.
    Folder(PathBuf),
    /// `git:REV`.
    Revision(String),
    /// `CRATE@VERSION`.
    Dependency {
        /// Name of the crate.
        name: String,
        /// Its exact version.
        version: String,
    },
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_word = |word: &str, more: &str| {
            word.starts_with(|c: char| c.is_ascii_alphanumeric())
                && word.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        if text == "." {
            return Ok(Side::Sources);
        }
        if let Some(revision) = text.strip_prefix("git:") {
            return match revision.is_empty() || revision.starts_with('-') {
                true => Err("git: needs a revision, such as git:main".to_owned()),
                false => Ok(Side::Revision(revision.to_owned())),
            };
        }
        let path = PathBuf::from(text);
        if path.is_dir() {
            return Ok(Side::Folder(path));
        }
        match text.split_once('@') {
            Some((name, version)) if is_word(name, "-_") && is_word(version, ".+-") => {
                Ok(Side::Dependency { name: name.to_owned(), version: version.to_owned() })
            }
            _ => Err("there is no such folder: write a folder with built programs, . for these \
                      sources, git:REV, or CRATE@VERSION such as tokio@1.50.0"
                .to_owned()),
        }
    }
}

impl fmt::Display for Side {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Sources => f.write_str("."),
            Side::Folder(path) => write!(f, "{}", path.display()),
            Side::Revision(revision) => write!(f, "git:{revision}"),
            Side::Dependency { name, version } => write!(f, "{name}@{version}"),
        }
    }
}

/// The programs of a side, all in one folder.
#[derive(Debug)]
pub struct Programs {
    folder: PathBuf,
    side: Side,
}

/// Where a side's programs come from.
enum Source {
    /// They are in this folder.
    Built(PathBuf),
    /// They are built from sources, into a target folder.
    Sources(Checkout, PathBuf, PathBuf),
}

/// Programs of both sides, built where a side is not a folder. Both are looked for before either is built,
/// which takes minutes.
///
/// # Errors
/// When a side does not exist, or cannot be built.
pub fn programs(sides: [&Side; 2], wanted: &BTreeSet<&str>) -> anyhow::Result<[Programs; 2]> {
    let [first, second] = sides;
    let sources = [first.source()?, second.source()?];
    let [first_source, second_source] = &sources;
    Ok([first.build(first_source, wanted)?, second.build(second_source, wanted)?])
}

impl Side {
    fn source(&self) -> anyhow::Result<Source> {
        self.find().with_context(|| self.to_string())
    }

    fn build(&self, source: &Source, wanted: &BTreeSet<&str>) -> anyhow::Result<Programs> {
        let folder = source.folder(wanted).with_context(|| self.to_string())?;
        Ok(Programs { folder, side: self.clone() })
    }

    fn find(&self) -> anyhow::Result<Source> {
        if let Side::Folder(path) = self {
            return Ok(Source::Built(std::path::absolute(path)?));
        }
        let places = Places::find()?;
        let checkout = match (self, places.checkout) {
            (_, Some(checkout)) => checkout,
            (Side::Sources, None) => return Ok(Source::Built(places.beside)),
            _ => anyhow::bail!("it must be built, and only a checkout builds: name a folder"),
        };
        let (sources, target) = match self {
            Side::Revision(revision) => build::worktree(&checkout, revision)?,
            Side::Dependency { name, version } => build::with_version(&checkout, name, version)?,
            // Not in the usual target folder: built beside others, a program's dependencies have other
            // features, and the sides shall have the same.
            Side::Sources | Side::Folder(_) => {
                (checkout.folder(), checkout.duels().join("sources"))
            }
        };
        Ok(Source::Sources(checkout, sources, target))
    }
}

impl Source {
    /// Folder of the programs.
    fn folder(&self, wanted: &BTreeSet<&str>) -> anyhow::Result<PathBuf> {
        let (checkout, sources, target) = match self {
            Source::Built(folder) => return Ok(folder.clone()),
            Source::Sources(checkout, sources, target) => (checkout, sources, target),
        };
        let crates: Vec<&str> =
            wanted.iter().filter(|name| is_crate(sources, name)).copied().collect();
        ensure!(!crates.is_empty(), "its sources have none of the plan's programs");
        checkout.build_some(sources, target, &crates)
    }
}

/// Whether two executables are the same file, byte by byte.
///
/// # Errors
/// When one cannot be read.
pub fn same_bytes(a: &Executable, b: &Executable) -> std::io::Result<bool> {
    Ok(std::fs::read(&a.path)? == std::fs::read(&b.path)?)
}

impl Programs {
    /// Name of the side.
    pub fn name(&self) -> String {
        self.side.to_string()
    }

    /// A program's executable.
    ///
    /// # Errors
    /// When the side has none.
    pub fn executable(&self, name: &str) -> Result<Executable, String> {
        let path = self.folder.join(name);
        match path.is_file() && !name.contains('/') {
            true => Ok(path.into()),
            false => Err(format!("{} has no program '{name}'", self.side)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_read_as_they_print() {
        for text in [".", "git:main", "git:HEAD~2", "tokio@1.50.0", "a_b-c@1.0.0-rc.1", "/"] {
            assert_eq!(text.parse::<Side>().unwrap().to_string(), text);
        }
        assert_eq!("/".parse(), Ok(Side::Folder("/".into())));
        for text in ["", "git:", "git:--all", "tokio", "tokio@", "@1", "-x@1", "a@-1", "no/such"] {
            assert!(text.parse::<Side>().is_err(), "{text}");
        }
    }
}
