//! Sides of a duel: what is written on a command line, and where its programs are.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, ensure};

use self::build::Tree;
use self::lock::{Lock, short};
use crate::plan::checkout::{Checkout, is_crate};
use crate::plan::programs::Places;
use crate::system::executable::Executable;

mod build;
mod lock;

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
        if text == "." {
            return Ok(Side::Sources);
        }
        if let Some(revision) = text.strip_prefix("git:") {
            if revision.is_empty() || revision.starts_with('-') {
                return Err("git: needs a revision, such as git:main".to_owned());
            }
            return Ok(Side::Revision(revision.to_owned()));
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

/// True for ASCII letters, digits and the characters of `more`, the first one no other.
fn is_word(text: &str, more: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
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
    side: String,
    folder: PathBuf,
    /// Sources that they were built from.
    sources: Option<PathBuf>,
    /// What the side was resolved to: crates, commit or folder, in a line.
    resolved: String,
}

/// Where a side's programs come from.
enum Source {
    /// They are in this folder.
    Built(PathBuf),
    /// They are built.
    Sources(Checkout, Tree),
}

/// Programs of both sides, built unless a side is a folder. Both are looked for before either is built,
/// which takes minutes.
///
/// # Errors
/// If a side does not exist, or cannot be built.
pub fn programs(sides: [&Side; 2], wanted: &BTreeSet<&str>) -> anyhow::Result<[Programs; 2]> {
    let [first, second] = sides;
    let [first_source, second_source] = [first.find()?, second.find()?];
    refuse_mixed_features([(first, &first_source), (second, &second_source)])?;
    // The features of a dependency are those that the programs of one build ask for. So both sides build
    // the same programs.
    let is_in_both = |name: &&str| first_source.may_have(name) && second_source.may_have(name);
    let crates: Vec<&str> = wanted.iter().copied().filter(is_in_both).collect();
    let is_built = [&first_source, &second_source].iter().any(|s| matches!(s, Source::Sources(..)));
    ensure!(
        !crates.is_empty() || !is_built,
        "{first} and {second}: none of the plan's programs is in the sources of both"
    );
    let dependencies: BTreeSet<&str> = sides
        .into_iter()
        .filter_map(
            |side| if let Side::Dependency { name, .. } = side { Some(&**name) } else { None },
        )
        .collect();
    Ok([
        first.build(first_source, &crates, &dependencies)?,
        second.build(second_source, &crates, &dependencies)?,
    ])
}

/// Refuses this build's own executables beside a side that is built: cargo built them together with the
/// runner, which asks dependencies for more features. Equal sources would differ in the layout of their
/// code, and so in time.
fn refuse_mixed_features(sides: [(&Side, &Source); 2]) -> anyhow::Result<()> {
    let (side, folder, other) = match sides {
        [(side, Source::Built(folder)), (other, Source::Sources(..))]
        | [(other, Source::Sources(..)), (side, Source::Built(folder))] => (side, folder, other),
        _ => return Ok(()),
    };
    ensure!(
        fs::canonicalize(folder)? != fs::canonicalize(Places::find()?.beside)?,
        "{side}: it was built together with the runner, and its dependencies have other features than \
         those of {other}: write . for these sources"
    );
    Ok(())
}

impl Side {
    /// Finds the folder or the sources.
    fn find(&self) -> anyhow::Result<Source> {
        let found = || {
            if let Side::Folder(path) = self {
                return Ok(Source::Built(std::path::absolute(path)?));
            }
            let places = Places::find()?;
            let Some(checkout) = places.checkout else {
                ensure!(
                    *self == Side::Sources,
                    "it must be built, and only a checkout builds: name a folder"
                );
                return Ok(Source::Built(places.beside));
            };
            let tree = match self {
                Side::Revision(revision) => build::worktree(&checkout, revision)?,
                Side::Dependency { name, version } => {
                    build::with_version(&checkout, name, version)?
                }
                Side::Sources | Side::Folder(_) => build::these(&checkout),
            };
            Ok(Source::Sources(checkout, tree))
        };
        found().with_context(|| self.to_string())
    }

    /// Builds programs, and says what they are: `dependencies` are those that either side names.
    fn build(
        &self,
        source: Source,
        crates: &[&str],
        dependencies: &BTreeSet<&str>,
    ) -> anyhow::Result<Programs> {
        let side = self.to_string();
        let (checkout, tree) = match source {
            Source::Sources(checkout, tree) => (checkout, tree),
            Source::Built(folder) => {
                let resolved = folder.to_string_lossy().into_owned();
                return Ok(Programs { side, folder, sources: None, resolved });
            }
        };
        let folder = checkout.cargo_build(&tree.sources, &tree.target, crates);
        let folder = folder.with_context(|| side.clone())?;
        let lock = Lock::read(&tree.sources).with_context(|| side.clone())?;
        let named = dependencies.iter().flat_map(|name| lock.named(name));
        let mut parts: Vec<String> = named.map(ToString::to_string).collect();
        parts.extend(tree.commit.map(|commit| format!("commit {}", short(&commit))));
        if tree.dirty == Some(true) {
            parts.push("changed since".to_owned());
        }
        if parts.is_empty() {
            parts.push("sources of an unknown revision".to_owned());
        }
        Ok(Programs { side, folder, sources: Some(tree.sources), resolved: parts.join(", ") })
    }
}

impl Source {
    /// False if a build cannot make that program.
    fn may_have(&self, name: &str) -> bool {
        match self {
            Source::Built(_) => true,
            Source::Sources(_, tree) => is_crate(&tree.sources, name),
        }
    }
}

impl Programs {
    /// Name of the side, and what it resolved to, in a line.
    pub fn name(&self) -> String {
        if self.resolved.ends_with(&self.side) {
            return self.resolved.clone();
        }
        format!("{} ({})", self.side, self.resolved)
    }

    /// A program's executable.
    ///
    /// # Errors
    /// If the side has none.
    pub fn executable(&self, name: &str) -> Result<Executable, String> {
        let path = self.folder.join(name);
        // One that was built before its crate was removed is not of these sources.
        let is_of_sources = self.sources.as_ref().is_none_or(|sources| is_crate(sources, name));
        if path.is_file() && !name.contains('/') && is_of_sources {
            Ok(path.into())
        } else {
            Err(format!("{} has no program '{name}'", self.side))
        }
    }
}

/// True if both sides have a program, and equal bytes of it: nothing need be measured.
///
/// # Errors
/// If an executable cannot be read.
pub fn is_same(sides: &[Programs; 2], program: &str) -> io::Result<bool> {
    let [Ok(first), Ok(second)] = sides.each_ref().map(|side| side.executable(program)) else {
        return Ok(false);
    };
    let [first_length, second_length] =
        [fs::metadata(&first.path)?, fs::metadata(&second.path)?].map(|m| m.len());
    Ok(first_length == second_length && fs::read(first.path)? == fs::read(second.path)?)
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

    #[test]
    fn a_program_differs_by_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let sides = ["a", "b"].map(|side| {
            let folder = folder.path().join(side);
            fs::create_dir(&folder).unwrap();
            for (name, text) in [("equal", "equal"), ("other", side), (side, "")] {
                fs::write(folder.join(name), text).unwrap();
            }
            let (side, resolved) = (side.to_owned(), String::new());
            Programs { side, folder, sources: None, resolved }
        });
        for (program, expected) in [("equal", true), ("other", false), ("a", false)] {
            assert_eq!(is_same(&sides, program).unwrap(), expected, "{program}");
        }
        // An executable whose crate is gone.
        let [mut side, _] = sides;
        side.sources = Some(folder.path().to_owned());
        assert!(side.executable("equal").unwrap_err().contains("no program 'equal'"));
    }
}
