//! A side of a duel as it is written on a command line.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::plan::programs::Executables;
use crate::system::console::is_command;

/// A side as it is written on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SideArg {
    /// `.`: the sources that the runner was built from, or the programs beside it.
    Sources,
    /// A folder with programs.
    Folder(PathBuf),
    /// `git:REV`.
    Revision(String),
    /// `CRATE@VERSION`: an exact version of the registry.
    Version { name: String, version: String },
    /// `CRATE@path:FOLDER`.
    Path {
        name: String,
        /// Folder that holds it, as typed.
        folder: PathBuf,
    },
}

impl FromStr for SideArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains(is_command) {
            return Err("a side must not have control characters".to_owned());
        }
        if text == "." {
            return match crate_around() {
                None => Ok(SideArg::Sources),
                Some(name) => Err(format!(
                    "it stands for the sources of switchcost, and this folder is in another cargo package: write \
                     {name}@path:."
                )),
            };
        }
        if let Some(revision) = text.strip_prefix("git:") {
            if revision.is_empty() || revision.starts_with('-') {
                return Err("git: needs a revision: write one such as git:main".to_owned());
            }
            return Ok(SideArg::Revision(revision.to_owned()));
        }
        if Path::new(text).is_dir() {
            return Ok(SideArg::Folder(text.into()));
        }
        if Path::new(text).is_file() {
            return Err("it is a file: for a duel of commands, write -- ./old ARGS ::: ./new ARGS"
                .to_owned());
        }
        let (name, source) = text.split_once('@').filter(|(name, _)| is_word(name, "-_")).ok_or(
            "there is no such folder: write a folder with built programs, . (these sources), git:REV, \
             CRATE@VERSION such as tokio@1.50.0, or CRATE@path:FOLDER",
        )?;
        SideArg::of_crate(name, source)
    }
}

impl SideArg {
    /// Reads what follows the `@`.
    fn of_crate(name: &str, text: &str) -> Result<Self, String> {
        let name = name.to_owned();
        if let Some(folder) = text.strip_prefix("path:") {
            return if Path::new(folder).join("Cargo.toml").is_file() {
                Ok(SideArg::Path { name, folder: folder.into() })
            } else {
                Err(format!("{folder} has no Cargo.toml: name the folder of the crate"))
            };
        }
        if is_word(text, ".+-") && text.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(SideArg::Version { name, version: text.to_owned() });
        }
        Err("write CRATE@VERSION such as tokio@1.50.0, or CRATE@path:FOLDER for a clone of any revision".to_owned())
    }

    /// Name of the crate that it replaces.
    pub(in crate::plan) fn replaced(&self) -> Option<&str> {
        match self {
            SideArg::Version { name, .. } | SideArg::Path { name, .. } => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for SideArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SideArg::Sources => f.write_str("."),
            SideArg::Folder(folder) => folder.display().fmt(f),
            SideArg::Revision(revision) => write!(f, "git:{revision}"),
            SideArg::Version { name, version } => write!(f, "{name}@{version}"),
            SideArg::Path { name, folder } => write!(f, "{name}@path:{}", folder.display()),
        }
    }
}

/// Name of the package in a folder; CRATE if its Cargo.toml has no package, as in a workspace. `None` if there is no
/// such file.
pub(in crate::plan) fn crate_in(folder: &Path) -> Option<String> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let manifest: toml::Table = manifest.parse().unwrap_or_default();
    let name = manifest.get("package").and_then(|package| package.get("name")?.as_str());
    Some(name.unwrap_or("CRATE").to_owned())
}

/// The package that the current folder is in, if it is not one of switchcost's. `None` without a checkout, where `.`
/// has no sources.
fn crate_around() -> Option<String> {
    let here = env::current_dir().ok()?;
    let sources = fs::canonicalize(Executables::here().ok()?.tree?.sources).ok()?;
    here.ancestors().filter(|_| !here.starts_with(&sources)).find_map(crate_in)
}

/// True for ASCII letters, digits and the characters of `more`, the first one no other.
fn is_word(text: &str, more: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_read_as_they_print() {
        let own = concat!("stats@path:", env!("CARGO_MANIFEST_DIR"));
        for text in [".", "git:main", "git:HEAD~2", "tokio@1.50.0", "a_b-c@1.0.0-rc.1", "/", own] {
            assert_eq!(text.parse::<SideArg>().unwrap().to_string(), text);
        }
        for (text, words) in [
            ("a@path:/", "has no Cargo.toml"),
            ("tokio@git:https://github.com/tokio-rs/tokio#main", "CRATE@path:FOLDER for a clone"),
            ("tokio@master", "tokio@1.50.0, or CRATE@path:FOLDER"),
            ("tokio@", "CRATE@VERSION"),
            ("a@-1", "CRATE@VERSION"),
            ("", "no such folder"),
            ("tokio", "no such folder"),
            ("-x@1", "no such folder"),
            ("@1", "no such folder"),
            ("git:", "git:main"),
            ("git:--all", "git:main"),
        ] {
            let why = text.parse::<SideArg>().unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
