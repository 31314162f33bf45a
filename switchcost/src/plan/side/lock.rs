//! The lock file of a side's sources.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use serde::Deserialize;

use super::Source;
use crate::plan::check::in_line;

/// A lock file of cargo's.
#[derive(Debug, Deserialize)]
pub(super) struct Lock {
    package: Vec<Package>,
}

/// A crate of a lock file.
#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    /// Registry or repository, as cargo writes it; `None` for a folder of this machine.
    source: Option<String>,
    /// SHA-256 of what the registry holds.
    checksum: Option<String>,
}

impl Package {
    /// True if it is what a side names.
    fn is_of(&self, wanted: &Source) -> bool {
        match wanted {
            // Cargo adds what follows a `+`, which is no part of the order of versions.
            Source::Version(version) => {
                let is_same = self.version.split('+').next() == version.split('+').next();
                is_same && self.checksum.is_some()
            }
            Source::Path(_) => self.source.is_none(),
            Source::Git { .. } => self.source.as_ref().is_some_and(|s| s.starts_with("git+")),
        }
    }

    /// Its name, version and source.
    fn in_line(&self) -> String {
        let source = match (&self.source, &self.checksum) {
            (None, _) => "from a folder".to_owned(),
            (Some(_), Some(sum)) => format!("registry, sha256 {}", short(sum)),
            (Some(source), None) => source.clone(),
        };
        format!("{} {} ({source})", self.name, self.version)
    }
}

/// The first digits of a hash.
pub(super) fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

impl Lock {
    /// The one of a workspace.
    pub(super) fn read(sources: &Path) -> anyhow::Result<Self> {
        let path = sources.join("Cargo.lock");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        toml::from_str(&text)
            .map_err(|e| in_line(&text, &e))
            .with_context(|| path.display().to_string())
    }

    /// What it has of these crates, each in a line.
    pub(super) fn lines(&self, names: &[&str]) -> Vec<String> {
        let wanted = self.package.iter().filter(|package| names.contains(&&*package.name));
        wanted.map(Package::in_line).collect()
    }

    /// Checks that a build takes a crate from there. Cargo leaves one of another version than its dependents ask for,
    /// and a patch of its configuration stands, whatever it was asked for.
    pub(super) fn expect(&self, name: &str, source: &Source) -> anyhow::Result<()> {
        let mut own = self.package.iter().filter(|package| package.name == name);
        let found = self.lines(&[name]).join(" and ");
        ensure!(
            own.any(|package| package.is_of(source)),
            "cargo takes {} in its place: the programs do not ask for that version, or their sources replace the \
             crate, as by [patch]",
            if found.is_empty() { "nothing" } else { &found }
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_takes_is_what_a_side_names() {
        let text = "[[package]]\nname = 'tokio'\nversion = '1.54.1+meta'\nsource = 'registry+x'\n\
                    checksum = '0123456789abcdef'\n\
                    [[package]]\nname = 'mio'\nversion = '1.0.0'\nsource = 'git+x#abcdef'\n\
                    [[package]]\nname = 'libc'\nversion = '0.2.1'\n";
        let lock: Lock = toml::from_str(text).unwrap();
        let tokio = "tokio 1.54.1+meta (registry, sha256 0123456789ab)";
        let (mio, libc) = ("mio 1.0.0 (git+x#abcdef)", "libc 0.2.1 (from a folder)");
        for (name, source, instead) in [
            ("tokio", "1.54.1", None),
            ("tokio", "1.54", Some(tokio)),
            ("mio", "1.0.0", Some(mio)),
            ("mio", "git:file:///x#y", None),
            ("libc", "0.2.1", Some(libc)),
            ("serde", "1.0.0", Some("nothing")),
        ] {
            let found = lock.expect(name, &Source::of(source).unwrap());
            let why = found.err().map(|why| why.to_string());
            let is_told = why.as_ref().zip(instead).is_some_and(|(why, it)| why.contains(it));
            assert!(is_told || why.is_none() && instead.is_none(), "{name} {source}: {why:?}");
        }
    }
}
