//! Sides of a duel: what is written on a command line, and where its programs are.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, ensure};

use self::build::Tree;
use crate::plan::checkout::{Checkout, is_crate};
use crate::plan::programs::Places;
use crate::system::executable::Executable;

mod build;
mod resolved;

pub(super) use resolved::{Lock, expect_no_patch};
pub use resolved::{Package, Resolved};

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
    resolved: Resolved,
    /// Sources that they were built from, with their lock file.
    built: Option<(PathBuf, Lock)>,
}

/// Where a side's programs come from.
enum Source {
    /// They are in this folder.
    Built(PathBuf),
    /// They are built.
    Sources(Checkout, Tree),
}

/// Reason why a program cannot differ between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sameness {
    /// The two executables are equal, byte by byte.
    Bytes,
    /// Neither its own sources nor any crate that it is built from differ.
    Sources,
}

/// Programs of both sides, built where a side is not a folder. Both are looked for before either is built,
/// which takes minutes.
///
/// # Errors
/// When a side does not exist, or cannot be built.
pub fn programs(sides: [&Side; 2], wanted: &BTreeSet<&str>) -> anyhow::Result<[Programs; 2]> {
    let [first, second] = sides;
    let sources = [first.source()?, second.source()?];
    refuse_mixed_features(sides, &sources)?;
    // The features of a dependency are those that the programs of one build ask for. So both sides build
    // the same programs.
    let crates: Vec<&str> =
        wanted.iter().filter(|name| sources.iter().all(|s| s.may_have(name))).copied().collect();
    let is_built = sources.iter().any(|source| matches!(source, Source::Sources(..)));
    ensure!(
        !crates.is_empty() || !is_built,
        "{first} and {second}: none of the plan's programs is in the sources of both"
    );
    let names: BTreeSet<&str> = sides.into_iter().filter_map(Side::dependency).collect();
    let [first_source, second_source] = sources;
    Ok([first.build(first_source, &crates, &names)?, second.build(second_source, &crates, &names)?])
}

/// Refuses this build's own executables beside a side that is built: cargo built them together with the
/// runner, which asks dependencies for more features. Equal sources would differ in the layout of their
/// code, and so in time.
fn refuse_mixed_features(sides: [&Side; 2], sources: &[Source; 2]) -> anyhow::Result<()> {
    let ((side, folder), other) = match sources {
        [Source::Built(folder), Source::Sources(..)] => ((sides[0], folder), sides[1]),
        [Source::Sources(..), Source::Built(folder)] => ((sides[1], folder), sides[0]),
        _ => return Ok(()),
    };
    ensure!(
        fs::canonicalize(folder)? != fs::canonicalize(Places::find()?.beside)?,
        "{side}: it was built together with the runner, and its dependencies have other features than \
         those of {other}: write . for these sources"
    );
    Ok(())
}

/// Reason why a program need not be measured, if there is one. A program that only one side has can differ.
///
/// # Errors
/// When an executable cannot be read.
pub fn sameness(sides: [&Programs; 2], program: &str) -> io::Result<Option<Sameness>> {
    let [Ok(first), Ok(second)] = sides.map(|side| side.executable(program)) else {
        return Ok(None);
    };
    if same_bytes(&first, &second)? {
        return Ok(Some(Sameness::Bytes));
    }
    let is_of_these =
        |side: &Programs| matches!(side.side, Side::Sources | Side::Dependency { .. });
    let [Some((_, first_lock)), Some((_, second_lock))] = sides.map(|side| side.built.as_ref())
    else {
        return Ok(None);
    };
    let is_same = sides.into_iter().all(is_of_these)
        && first_lock.needed_by(program) == second_lock.needed_by(program);
    Ok(is_same.then_some(Sameness::Sources))
}

/// True if two executables are equal, byte by byte.
///
/// # Errors
/// When one cannot be read.
pub fn same_bytes(first: &Executable, second: &Executable) -> io::Result<bool> {
    let paths = [&first.path, &second.path];
    let [first_length, second_length] = paths.map(|path| fs::metadata(path).map(|m| m.len()));
    Ok(first_length? == second_length? && fs::read(paths[0])? == fs::read(paths[1])?)
}

impl Side {
    fn source(&self) -> anyhow::Result<Source> {
        self.find().with_context(|| self.to_string())
    }

    fn dependency(&self) -> Option<&str> {
        match self {
            Side::Dependency { name, .. } => Some(name),
            _ => None,
        }
    }

    /// Builds programs, and says what they are: `names` are those of the duel's dependencies.
    fn build(
        &self,
        source: Source,
        crates: &[&str],
        names: &BTreeSet<&str>,
    ) -> anyhow::Result<Programs> {
        let side = self.clone();
        let (checkout, tree) = match source {
            Source::Sources(checkout, tree) => (checkout, tree),
            Source::Built(folder) => {
                let shown = Some(folder.to_string_lossy().into_owned());
                let resolved = Resolved { folder: shown, ..Resolved::default() };
                return Ok(Programs { folder, side, resolved, built: None });
            }
        };
        let Tree { sources, target, commit, dirty } = tree;
        let folder = checkout
            .build_some(&sources, &target, crates)
            .and_then(|folder| Ok((folder, Lock::read(&sources)?)));
        let (folder, lock) = folder.with_context(|| self.to_string())?;
        let dependencies = names.iter().flat_map(|name| lock.named(name)).cloned().collect();
        let resolved = Resolved { folder: None, commit, dirty, dependencies };
        Ok(Programs { folder, side, resolved, built: Some((sources, lock)) })
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
        let tree = match self {
            Side::Revision(revision) => build::worktree(&checkout, revision)?,
            Side::Dependency { name, version } => build::with_version(&checkout, name, version)?,
            Side::Sources | Side::Folder(_) => build::these(&checkout),
        };
        Ok(Source::Sources(checkout, tree))
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
        let (side, resolved) = (self.side.to_string(), self.resolved.to_string());
        if resolved.ends_with(&side) { resolved } else { format!("{side} ({resolved})") }
    }

    /// What the side was resolved to.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }

    /// A program's executable.
    ///
    /// # Errors
    /// When the side has none.
    pub fn executable(&self, name: &str) -> Result<Executable, String> {
        let path = self.folder.join(name);
        // One that was built before its crate was removed is not of these sources.
        let is_of_sources = self.built.as_ref().is_none_or(|(sources, _)| is_crate(sources, name));
        if path.is_file() && !name.contains('/') && is_of_sources {
            Ok(path.into())
        } else {
            Err(format!("{} has no program '{name}'", self.side))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
    /// Programs of the side `.`, with a lock file in which `program` needs this version of `tokio`.
    fn these(folder: &Path, version: &str) -> Programs {
        fs::create_dir_all(folder.join("built")).unwrap();
        for (name, text) in [("program", version), ("other", version), ("equal", "equal")] {
            fs::create_dir_all(folder.join(name).join("src")).unwrap();
            fs::write(folder.join(name).join("src/main.rs"), "").unwrap();
            fs::write(folder.join("built").join(name), text).unwrap();
        }
        let package = |name: &str, version: &str, needs: &str| {
            format!(
                "[[package]]\nname = '{name}'\nversion = '{version}'\ndependencies = [{needs}]\n"
            )
        };
        let lock = package("program", "1.0.0", "'tokio'")
            + &package("other", "1.0.0", "")
            + &package("tokio", version, "");
        fs::write(folder.join("Cargo.lock"), lock).unwrap();
        Programs {
            folder: folder.join("built"),
            side: Side::Sources,
            resolved: Resolved::default(),
            built: Some((folder.to_owned(), Lock::read(folder).unwrap())),
        }
    }

    #[test]
    fn a_program_differs_by_its_bytes_and_what_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let sides = [("a", "1.50.0"), ("b", "1.54.1")];
        let [a, mut b] = sides.map(|(name, version)| these(&folder.path().join(name), version));
        for (program, expected) in [
            ("equal", Some(Sameness::Bytes)),
            ("other", Some(Sameness::Sources)),
            ("program", None),
            ("none", None),
        ] {
            assert_eq!(sameness([&a, &b], program).unwrap(), expected, "{program}");
        }
        b.side = Side::Revision("main".to_owned());
        assert_eq!(sameness([&a, &b], "other").unwrap(), None);
        // An executable whose crate is gone.
        fs::remove_dir_all(folder.path().join("b/equal")).unwrap();
        assert!(b.executable("equal").unwrap_err().contains("no program 'equal'"));
    }
}
