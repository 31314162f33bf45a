//! The lock file of a side's sources.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail, ensure};
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
pub(super) struct Package {
    name: String,
    version: String,
    /// Registry or repository, as cargo writes it; `None` for a folder of this machine.
    source: Option<String>,
    /// SHA-256 of what the registry holds.
    checksum: Option<String>,
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.in_line("from a folder"))
    }
}

impl Package {
    /// Its name, version and source; `folder` is said of one that comes from a folder.
    pub(super) fn in_line(&self, folder: &str) -> String {
        let source = match (&self.source, &self.checksum) {
            (None, _) => folder.to_owned(),
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

    /// Packages of that name.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Package> {
        self.package.iter().filter(move |package| package.name == name)
    }

    /// Checks that a build takes a crate from there.
    pub(super) fn expect(&self, name: &str, source: &Source) -> anyhow::Result<()> {
        match source {
            Source::Version(version) => self.expect_version(name, version),
            Source::Path(_) => self.expect_use(name, self.named(name).any(|p| p.source.is_none())),
            Source::Git { .. } => {
                let is_git =
                    |p: &Package| p.source.as_deref().is_some_and(|s| s.starts_with("git+"));
                self.expect_use(name, self.named(name).any(is_git))
            }
        }
    }

    /// Cargo leaves a crate of another version than its dependents ask for.
    fn expect_use(&self, name: &str, is_used: bool) -> anyhow::Result<()> {
        let found: Vec<String> = self.named(name).map(ToString::to_string).collect();
        ensure!(
            is_used,
            "cargo takes {} in its place: its version is not one that the programs ask for",
            if found.is_empty() { "nothing".to_owned() } else { found.join(" and ") }
        );
        Ok(())
    }

    /// Checks that a build takes this version from a registry.
    fn expect_version(&self, name: &str, version: &str) -> anyhow::Result<()> {
        if let Some(package) = self.named(name).find(|package| package.checksum.is_none()) {
            bail!(
                "these sources take it from {}, whatever the version: remove what replaces the \
                 registry's crate, such as [patch], or name a revision without it (git:REV)",
                package.source.as_deref().unwrap_or("a folder")
            );
        }
        let found: Vec<&str> = self.named(name).map(|package| package.version.as_str()).collect();
        // Cargo adds what follows a `+`, which is no part of the order of versions.
        let is_wanted =
            |found: &&str| *found == version || found.split('+').next() == Some(version);
        ensure!(
            found.iter().any(is_wanted),
            "cargo resolves it to {name} {}: name that version",
            found.join(" and ")
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_the_registry_holds() {
        let text = "[[package]]\nname = 'tokio'\nversion = '1.54.1+meta'\nsource = 'registry+x'\n\
                    checksum = '0123456789abcdef'\n\
                    [[package]]\nname = 'mio'\nversion = '1.0.0'\nsource = 'git+x#abcdef'\n\
                    [[package]]\nname = 'libc'\nversion = '0.2.1'\n";
        let lock: Lock = toml::from_str(text).unwrap();
        let tokio = "tokio 1.54.1+meta (registry, sha256 0123456789ab)";
        for (name, line, version, refused) in [
            ("tokio", tokio, "1.54.1", ""),
            ("tokio", tokio, "1.54.1+meta", ""),
            ("tokio", tokio, "1.54", "resolves it to tokio 1.54.1+meta"),
            ("mio", "mio 1.0.0 (git+x#abcdef)", "1.0.0", "from git+x#abcdef"),
            ("libc", "libc 0.2.1 (from a folder)", "0.2.1", "from a folder, whatever"),
        ] {
            assert_eq!(lock.named(name).map(ToString::to_string).collect::<Vec<_>>(), [line]);
            let error = lock.expect_version(name, version).err();
            let why = error.map_or(String::new(), |why| why.to_string());
            assert!(why.contains(refused) && why.is_empty() == refused.is_empty(), "{why}");
        }
    }
}
