//! What a side was resolved to: crates of its lock file, commit, folder.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use serde::{Deserialize, Serialize};

/// What a side was resolved to. Its `Display` is one line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// Folder of programs that were built before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Commit of the sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// True if files that decide what is built differ from the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    /// Crates that either side names, as this side's lock file has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<Package>,
}

/// A crate of a lock file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Registry or repository, as cargo writes it; `None` for a folder of this machine.
    pub source: Option<String>,
    /// SHA-256 of what the registry holds.
    pub checksum: Option<String>,
    #[serde(default, skip_serializing)]
    dependencies: Vec<String>,
}

/// A lock file.
#[derive(Clone, Debug, Deserialize)]
pub(in crate::plan) struct Lock {
    package: Vec<Package>,
}

impl fmt::Display for Resolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.dependencies.iter().map(ToString::to_string).collect();
        parts.extend(self.commit.as_ref().map(|commit| format!("commit {}", short(commit))));
        if self.dirty == Some(true) {
            parts.push("changed since".to_owned());
        }
        parts.extend(self.folder.clone());
        if parts.is_empty() {
            return f.write_str("sources of an unknown revision");
        }
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.name, self.version)?;
        match (&self.source, &self.checksum) {
            (None, _) => f.write_str("(from a folder)"),
            (Some(_), Some(sum)) => write!(f, "(registry, sha256 {})", short(sum)),
            (Some(source), None) => write!(f, "({source})"),
        }
    }
}

/// Checks that `[patch]` of a workspace's manifest does not name a crate: the lock file need not tell yet.
pub(in crate::plan) fn expect_no_patch(sources: &Path, name: &str) -> anyhow::Result<()> {
    let path = sources.join("Cargo.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let manifest: toml::Table = text.parse().with_context(|| path.display().to_string())?;
    let registries = manifest.get("patch").and_then(toml::Value::as_table);
    let is_patched =
        registries.is_some_and(|all| all.values().any(|crates| crates.get(name).is_some()));
    if is_patched { Err(replaced("[patch] of Cargo.toml")) } else { Ok(()) }
}

fn replaced(place: &str) -> anyhow::Error {
    anyhow!(
        "these sources take it from {place}, whatever the version: remove what replaces the registry's \
         crate, or name a revision without it (git:REV)"
    )
}

/// The first digits of a hash.
fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

impl Lock {
    /// The one of a workspace.
    pub(in crate::plan) fn read(sources: &Path) -> anyhow::Result<Self> {
        let path = sources.join("Cargo.lock");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        toml::from_str(&text).with_context(|| path.display().to_string())
    }

    /// Packages of that name.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Package> {
        self.package.iter().filter(move |package| package.name == name)
    }

    /// Packages that a program is built from. Those that only tests or other systems need are among them.
    pub(super) fn needed_by(&self, program: &str) -> BTreeSet<&Package> {
        let mut needed = BTreeSet::new();
        let mut names = vec![program];
        while let Some(name) = names.pop() {
            for package in self.named(name) {
                if needed.insert(package) {
                    let words = package.dependencies.iter();
                    names.extend(words.filter_map(|words| words.split(' ').next()));
                }
            }
        }
        needed
    }

    /// Checks that a build takes this version from a registry.
    pub(in crate::plan) fn expect_version(&self, name: &str, version: &str) -> anyhow::Result<()> {
        if let Some(package) = self.named(name).find(|package| package.checksum.is_none()) {
            return Err(replaced(package.source.as_deref().unwrap_or("a folder")));
        }
        // Cargo adds what follows a `+`, which is no part of the order of versions.
        let is_wanted = |package: &Package| {
            package.version == version || package.version.split('+').next() == Some(version)
        };
        let found: Vec<&str> = self.named(name).map(|p| p.version.as_str()).collect();
        ensure!(
            self.named(name).any(is_wanted),
            "cargo resolves it to {name} {}: name that version",
            found.join(" and ")
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `tokio` of a registry, `libc` from a folder, `mio` from a repository.
    const LOCK: &str = r#"
        version = 4
        [[package]]
        name = "program"
        version = "0.1.0"
        dependencies = ["tokio", "libc 0.2.1"]
        [[package]]
        name = "tokio"
        version = "1.54.1+meta"
        source = "registry+https://example.org/index"
        checksum = "0123456789abcdef"
        dependencies = ["mio"]
        [[package]]
        name = "mio"
        version = "1.0.0"
        source = "git+https://example.org/mio#abcdef"
        [[package]]
        name = "libc"
        version = "0.2.1"
        [[package]]
        name = "other"
        version = "1.0.0"
        dependencies = ["program", "libc"]
    "#;

    fn lock() -> Lock {
        toml::from_str(LOCK).unwrap()
    }

    #[test]
    fn a_version_is_what_the_registry_holds() {
        for (name, version, words) in [
            ("tokio", "1.54.0", "resolves it to tokio 1.54.1+meta"),
            ("tokio", "1.54", "resolves it to"),
            ("mio", "1.0.0", "from git+https://example.org/mio#abcdef"),
            ("libc", "0.2.1", "from a folder, whatever the version"),
        ] {
            let why = lock().expect_version(name, version).unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
        for version in ["1.54.1", "1.54.1+meta"] {
            lock().expect_version("tokio", version).unwrap();
        }
    }

    #[test]
    fn a_patch_is_seen_in_the_manifest() {
        let folder = tempfile::tempdir().unwrap();
        let patch = "[patch.crates-io]\ntokio = { path = '../tokio' }\n";
        fs::write(folder.path().join("Cargo.toml"), patch).unwrap();
        let why = expect_no_patch(folder.path(), "tokio").unwrap_err().to_string();
        assert!(why.contains("[patch]") && why.contains("git:REV"), "{why}");
        expect_no_patch(folder.path(), "mio").unwrap();
    }

    #[test]
    fn a_program_needs_what_its_dependencies_need() {
        let lock = lock();
        let names = |program| -> Vec<&str> {
            lock.needed_by(program).iter().map(|package| package.name.as_str()).collect()
        };
        assert_eq!(names("program"), ["libc", "mio", "program", "tokio"]);
        assert_eq!(names("mio"), ["mio"]);
        assert!(names("none").is_empty());
    }

    #[test]
    fn what_a_side_is_reads_as_a_line() {
        let of = |name: &str| Resolved {
            dependencies: lock().named(name).cloned().collect(),
            commit: Some("0123456789abcdef".to_owned()),
            dirty: Some(true),
            ..Resolved::default()
        };
        for (name, line) in [
            ("tokio", "tokio 1.54.1+meta (registry, sha256 0123456789ab), "),
            ("mio", "mio 1.0.0 (git+https://example.org/mio#abcdef), "),
            ("libc", "libc 0.2.1 (from a folder), "),
            ("none", ""),
        ] {
            let line = format!("{line}commit 0123456789ab, changed since");
            assert_eq!(of(name).to_string(), line);
        }
        assert_eq!(Resolved::default().to_string(), "sources of an unknown revision");
        let json = serde_json::to_value(of("tokio")).unwrap();
        assert_eq!(json["dependencies"][0]["checksum"], "0123456789abcdef");
        assert!(json.get("folder").is_none());
    }
}
