//! Sides of a duel: what is written on a command line, and where its programs are.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, bail, ensure};

use self::build::Tree;
use self::lock::{Lock, short};
use crate::plan::checkout::is_crate;
use crate::plan::programs::Places;
use crate::system::console::is_command;
use crate::system::executable::Executable;
use crate::system::trust;

mod build;
mod lock;
mod source;

pub use source::Source;
use source::is_word;

/// One side, as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// `.`: the sources that the runner was built from, or the programs beside it.
    Sources,
    /// A folder with programs.
    Folder(PathBuf),
    /// `git:REV`.
    Revision(String),
    /// `CRATE@VERSION`, `CRATE@path:DIR` or `CRATE@git:URL#REV`.
    Dependency {
        /// Name of the crate.
        name: String,
        /// Which of its sources.
        source: Source,
    },
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "." {
            return Ok(Side::Sources);
        }
        if text.contains(is_command) {
            return Err("it has control characters, which no side may have".to_owned());
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
            Some((name, source)) if is_word(name, "-_") => {
                Ok(Side::Dependency { name: name.to_owned(), source: Source::of(source)? })
            }
            _ => Err("there is no such folder: write a folder with built programs, . for these \
                      sources, git:REV, or CRATE@VERSION such as tokio@1.50.0, CRATE@path:FOLDER or \
                      CRATE@git:URL#REV"
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
            Side::Dependency { name, source } => write!(f, "{name}@{source}"),
        }
    }
}

/// The programs of a side, all in one folder.
#[derive(Debug)]
pub struct Built {
    side: String,
    folder: PathBuf,
    /// Sources that they are built from.
    tree: Option<Tree>,
    /// What the side was resolved to: crates, commit or folder, in a line.
    resolved: String,
}

/// Programs of both sides, built unless a side is a folder. Both are looked for before either is built,
/// which takes minutes.
pub fn programs(sides: [&Side; 2], wanted: &BTreeSet<&str>) -> anyhow::Result<[Built; 2]> {
    let places = Places::find()?;
    let find = |side: &Side| side.find(&places).with_context(|| side.to_string());
    let mut both = [find(sides[0])?, find(sides[1])?];
    refuse_mixed_features(&both, &places)?;
    // The features of a dependency are those that the programs of one build ask for. So both sides build
    // the same programs.
    let is_in_both = |name: &&str| both.iter().all(|programs| programs.may_have(name));
    let crates: Vec<&str> = wanted.iter().copied().filter(is_in_both).collect();
    ensure!(
        !crates.is_empty() || both.iter().all(|programs| programs.tree.is_none()),
        "{} and {}: none of the plan's programs is in the sources of both",
        sides[0],
        sides[1]
    );
    let builds = both.iter().filter(|programs| programs.tree.is_some()).count();
    let mut build = 0;
    for (programs, name) in both.iter_mut().zip(["A", "B"]) {
        if let (Some(checkout), Some(tree)) = (&places.checkout, &programs.tree) {
            build += 1;
            let what = format!("{name}, {build} of {builds}: {}", programs.side);
            let built = checkout
                .cargo_build(&tree.sources, &tree.target, &crates, &tree.patch, &what)
                .and_then(|()| tree.describe(sides));
            programs.resolved = built.with_context(|| programs.side.clone())?;
        }
    }
    Ok(both)
}

/// Refuses this build's own executables beside a side that is built: cargo built them together with the
/// runner, which asks dependencies for more features. Equal sources would differ in the layout of their
/// code, and so in time.
fn refuse_mixed_features(both: &[Built; 2], places: &Places) -> anyhow::Result<()> {
    for [given, built] in [[&both[0], &both[1]], [&both[1], &both[0]]] {
        let is_mixed = given.tree.is_none()
            && built.tree.is_some()
            && fs::canonicalize(&given.folder)? == fs::canonicalize(&places.beside)?;
        ensure!(
            !is_mixed,
            "{}: it was built together with the runner, and its dependencies have other features than \
             those of {}: write . for these sources",
            given.side,
            built.side
        );
    }
    Ok(())
}

impl Side {
    /// Finds the folder or the sources; nothing is built.
    fn find(&self, places: &Places) -> anyhow::Result<Built> {
        let tree = match (self, &places.checkout) {
            (Side::Folder(_), _) | (Side::Sources, None) => None,
            (_, None) => bail!("it must be built, and only a checkout builds: name a folder"),
            (Side::Sources, Some(checkout)) => Some(build::these(checkout)),
            (Side::Revision(revision), Some(checkout)) => {
                Some(build::worktree(checkout, revision)?)
            }
            (Side::Dependency { name, source }, Some(checkout)) => {
                Some(build::with_source(checkout, name, source)?)
            }
        };
        let folder = match (&tree, &places.checkout, self) {
            (Some(tree), Some(checkout), _) => checkout.profile_folder(&tree.target),
            (_, _, Side::Folder(path)) => std::path::absolute(path)?,
            _ => places.beside.clone(),
        };
        let resolved = folder.to_string_lossy().into_owned();
        Ok(Built { side: self.to_string(), folder, tree, resolved })
    }
}

impl Tree {
    /// The crates that the sides name, as the lock file has them, and the commit, in a line.
    fn describe(&self, sides: [&Side; 2]) -> anyhow::Result<String> {
        let mut names: Vec<&str> = sides
            .into_iter()
            .filter_map(|side| match side {
                Side::Dependency { name, .. } => Some(&**name),
                _ => None,
            })
            .collect();
        names.dedup();
        let mut parts = Lock::read(&self.sources)?.lines(&names);
        let own = revision(self.commit.as_deref(), self.dirty);
        if parts.is_empty() {
            parts.push(own);
        } else if self.commit.is_some() {
            parts.push(format!("programs of {own}"));
        }
        Ok(parts.join(", "))
    }
}

/// Commit of sources, and whether they were changed since.
pub(super) fn revision(commit: Option<&str>, dirty: Option<bool>) -> String {
    let since = if dirty == Some(true) { ", changed since" } else { "" };
    commit.map_or("sources of an unknown revision".to_owned(), |commit| {
        format!("commit {}{since}", short(commit))
    })
}

impl Built {
    /// Name of the side, and what it resolved to, in a line.
    pub fn name(&self) -> String {
        if self.resolved.ends_with(&self.side) {
            return self.resolved.clone();
        }
        format!("{} ({})", self.side, self.resolved)
    }

    /// False if the sources have no such program. An executable may have been built before its crate was
    /// removed.
    fn may_have(&self, name: &str) -> bool {
        self.tree.as_ref().is_none_or(|tree| is_crate(&tree.sources, name))
    }

    /// A program's executable.
    pub fn executable(&self, name: &str) -> Result<Executable, String> {
        let path = self.folder.join(name);
        if path.is_file() && !name.contains('/') && self.may_have(name) {
            trust::ensure_own(&path).map(|()| path.into())
        } else {
            Err(format!("{} has no program '{name}'", self.side))
        }
    }
}

/// True if both sides have a program, and equal bytes of it: nothing need be measured.
pub fn is_same(sides: &[Built; 2], program: &str) -> io::Result<bool> {
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
        let own = concat!("stats@path:", env!("CARGO_MANIFEST_DIR"));
        for text in [own, "tokio@git:https://github.com/tokio-rs/tokio#main"] {
            assert_eq!(text.parse::<Side>().unwrap().to_string(), text);
        }
        for text in ["a@path:/", "a@git:", "a@git:x", "a@git:x#", "a@git:x#-y", "a@git:x y#z"] {
            assert!(text.parse::<Side>().is_err(), "{text}");
        }
        for (text, words) in [
            ("tokio@master", "tokio@1.50.0, CRATE@path:FOLDER or CRATE@git:URL#REVISION"),
            ("tokio@git:/tmp/tk#x", "git:file:///tmp/tk#x"),
        ] {
            let why = text.parse::<Side>().unwrap_err();
            assert!(why.contains(words), "{why}");
        }
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
            Built { side: side.to_owned(), folder, tree: None, resolved: String::new() }
        });
        for (program, expected) in [("equal", true), ("other", false), ("a", false)] {
            assert_eq!(is_same(&sides, program).unwrap(), expected, "{program}");
        }
    }
}
