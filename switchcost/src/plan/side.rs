//! Sides of a duel: what is written on a command line, and where its programs are.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail, ensure};

use self::build::Tree;
use crate::plan::checkout::is_crate;
use crate::plan::programs::Places;
use crate::system::console::is_command;
use crate::system::executable::Executable;
use crate::system::trust;

mod build;
mod source;

pub(super) use source::revision;
use source::{Source, is_word};

/// One side; displays as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    text: String,
    origin: Origin,
}

/// Where the programs of a side come from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
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
        source: Source,
    },
}

impl FromStr for Side {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(is_command) {
            return Err("a side must not have control characters".to_owned());
        }
        let origin = if text == "." {
            Origin::Sources
        } else if let Some(revision) = text.strip_prefix("git:") {
            if revision.is_empty() || revision.starts_with('-') {
                return Err("git: needs a revision: write one such as git:main".to_owned());
            }
            Origin::Revision(revision.to_owned())
        } else if Path::new(text).is_dir() {
            Origin::Folder(text.into())
        } else {
            let (name, source) =
                text.split_once('@').filter(|(name, _)| is_word(name, "-_")).ok_or(
                    "there is no such folder: write a folder with built programs, . (these sources), git:REV, or \
                     CRATE@VERSION such as tokio@1.50.0, CRATE@path:FOLDER or CRATE@git:URL#REV",
                )?;
            Origin::Dependency { name: name.to_owned(), source: source.parse()? }
        };
        Ok(Side { text: text.to_owned(), origin })
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
    let builds = both.iter().filter(|programs| programs.tree.is_some()).count();
    ensure!(
        !crates.is_empty() || builds == 0,
        "{} and {}: no program of the plan is in the sources of both",
        sides[0],
        sides[1]
    );
    let names = sides.into_iter().filter_map(|side| match &side.origin {
        Origin::Dependency { name, .. } => Some(&**name),
        _ => None,
    });
    let names: BTreeSet<&str> = names.collect();
    let mut build = 0;
    for (programs, name) in both.iter_mut().zip(["A", "B"]) {
        if let (Some(checkout), Some(tree)) = (&places.checkout, &programs.tree) {
            build += 1;
            let what = format!("{name}, {build} of {builds}: {}", programs.side);
            checkout
                .cargo_build(&tree.sources, &tree.target, &crates, &tree.patch, &what)
                .with_context(|| programs.side.clone())?;
            programs.resolved = tree.describe(checkout, &names, &programs.side);
        }
    }
    Ok(both)
}

/// Refuses this build's own executables beside a side that is built: cargo built them together with the
/// runner, which asks dependencies for more features. Equal sources would differ in the layout of their
/// code, and so in time.
fn refuse_mixed_features(both: &[Built; 2], places: &Places) -> anyhow::Result<()> {
    let (given, built): (Vec<&Built>, Vec<&Built>) = both.iter().partition(|it| it.tree.is_none());
    for (given, built) in given.iter().zip(built) {
        ensure!(
            fs::canonicalize(&given.folder)? != fs::canonicalize(&places.beside)?,
            "{}: it was built together with the runner, so its dependencies have other features than in {}: write . for these sources",
            given.side,
            built.side
        );
    }
    Ok(())
}

impl Side {
    /// True for the sources that the runner was built from.
    pub fn is_sources(&self) -> bool {
        self.origin == Origin::Sources
    }

    /// Finds the folder or the sources; nothing is built.
    fn find(&self, places: &Places) -> anyhow::Result<Built> {
        let tree = match (&self.origin, &places.checkout) {
            (Origin::Folder(_), _) | (Origin::Sources, None) => None,
            (_, None) => bail!(
                "it must be built, which only a checkout can do: name a folder with built programs"
            ),
            (Origin::Sources, Some(checkout)) => Some(build::these(checkout)),
            (Origin::Revision(revision), Some(checkout)) => {
                Some(build::worktree(checkout, revision)?)
            }
            (Origin::Dependency { name, source }, Some(checkout)) => {
                Some(build::with_source(checkout, name, source)?)
            }
        };
        let folder = match (&tree, &places.checkout, &self.origin) {
            (Some(tree), Some(checkout), _) => checkout.profile_folder(&tree.target),
            (_, _, Origin::Folder(path)) => std::path::absolute(path)?,
            _ => places.beside.clone(),
        };
        let resolved = folder.to_string_lossy().into_owned();
        Ok(Built { side: self.to_string(), folder, tree, resolved })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_read_as_they_print() {
        let own = concat!("stats@path:", env!("CARGO_MANIFEST_DIR"));
        let git = "tokio@git:https://github.com/tokio-rs/tokio#main";
        for text in
            [".", "git:main", "git:HEAD~2", "tokio@1.50.0", "a_b-c@1.0.0-rc.1", "/", own, git]
        {
            assert_eq!(text.parse::<Side>().unwrap().to_string(), text);
        }
        for (text, words) in [
            ("a@path:/", "has no Cargo.toml"),
            ("a@git:", "CRATE@VERSION"),
            ("a@git:file:///x", "CRATE@VERSION"),
            ("a@git:file:///x#-y", "CRATE@VERSION"),
            ("a@git:file:///x y#z", "CRATE@VERSION"),
            ("tokio@git:/tmp/tk#x", "file:///FOLDER"),
            ("tokio@master", "tokio@1.50.0, CRATE@path:FOLDER or CRATE@git:URL#REV"),
            ("tokio@", "CRATE@VERSION"),
            ("a@-1", "CRATE@VERSION"),
            ("", "no such folder"),
            ("tokio", "no such folder"),
            ("-x@1", "no such folder"),
            ("@1", "no such folder"),
            ("git:", "git:main"),
            ("git:--all", "git:main"),
        ] {
            let why = text.parse::<Side>().unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
