//! Trees of the sides of a duel: a work tree of git's, or these sources with another lock file. Each has a folder in
//! `target/duel`, with a target folder of its own, kept for the next time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use super::{Tree, ensure_own, output, revision};
use crate::plan::side::{SideArg, crate_in};

/// Prefix of a crate from the usual registry, as cargo prints it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index#";

/// True if cargo takes the source that a side names.
fn is_of(id: &str, wanted: &SideArg) -> bool {
    match wanted {
        SideArg::Version { version: wanted, .. } => {
            // Cargo adds what follows a `+`, which is no part of the order of versions.
            let version = id.rsplit(['#', '@']).next().unwrap_or_default();
            id.starts_with("registry+") && version.split('+').next() == wanted.split('+').next()
        }
        SideArg::Path { .. } => id.starts_with("path+"),
        SideArg::Sources | SideArg::Folder(_) | SideArg::Revision(_) => false,
    }
}

impl Tree {
    /// The tree of a side. Nothing is built.
    pub(in crate::plan) fn of_side(&self, side: &SideArg) -> anyhow::Result<Tree> {
        match side {
            SideArg::Revision(revision) => self.worktree(revision),
            SideArg::Version { name, .. } | SideArg::Path { name, .. } => {
                self.with_source(name, side)
            }
            SideArg::Sources => Ok(self.as_it_is()),
            SideArg::Folder(_) => bail!("a folder of programs has no sources"),
        }
    }

    /// These sources as they are.
    ///
    /// Not in the usual target folder: built beside others, a program's dependencies have other features, and
    /// the sides shall have the same.
    fn as_it_is(&self) -> Tree {
        Tree { target: self.target.join("duel").join("sources"), ..self.clone() }
    }

    /// The same sources, built with variables that cargo or rustc reads, in a target folder of their own.
    #[must_use]
    pub(in crate::plan) fn with_variables(self, variables: &BTreeMap<&str, &str>) -> Tree {
        if variables.is_empty() {
            return self;
        }
        let mut hasher = DefaultHasher::new();
        variables.hash(&mut hasher);
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let target = self.target.with_file_name(format!("{name}-{:016x}", hasher.finish()));
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Tree { target, variables: variables.collect(), ..self }
    }

    /// Sources of a revision.
    fn worktree(&self, revision: &str) -> anyhow::Result<Tree> {
        let commit = format!("{revision}^{{commit}}");
        let hash = self
            .git(&["rev-parse", "--verify", "--end-of-options", &commit])
            .and_then(|hash| if hash.starts_with('^') { bail!("it is left out") } else { Ok(hash) })
            .context(
                "this checkout has no such commit: run `git fetch`, or name another commit, branch or tag",
            )?;
        let folder = self.target.join("duel").join(format!("git-{hash}"));
        let sources = folder.join("sources");
        let path = sources.to_string_lossy();
        let status = ["-C", &path, "status", "--porcelain", "--untracked-files=no"];
        let is_whole = sources.join(".git").is_file()
            && self.git(&status).is_ok_and(|changes| changes.is_empty());
        if !is_whole {
            ensure_own(&[&folder])?;
            // It is unfinished, was changed, or was removed by `cargo clean`.
            if sources.exists() {
                fs::remove_dir_all(&sources).with_context(|| path.clone().into_owned())?;
            }
            self.git(&["worktree", "prune"])?;
            let add =
                ["worktree", "add", "--quiet", "--force", "--force", "--detach", &path, &hash];
            self.git(&add)?;
        }
        let target = folder.join("target");
        Ok(Tree { sources, target, commit: Some(hash), ..self.clone() })
    }

    /// These sources, with another version of a dependency.
    fn with_source(&self, name: &str, side: &SideArg) -> anyhow::Result<Tree> {
        let mut hasher = DefaultHasher::new();
        side.to_string().hash(&mut hasher);
        let folder = self.target.join("duel").join(format!("{name}-{:016x}", hasher.finish()));
        // A source that is not there leaves no folder.
        let patch = match side {
            // A text of JSON is one of TOML.
            SideArg::Path { folder, .. } => {
                let path = std::path::absolute(package_in(folder, name)?)?;
                let path = path.to_string_lossy().into_owned();
                Some(format!("patch.crates-io.{name}.path={}", serde_json::Value::from(path)))
            }
            _ => None,
        };
        ensure_own(&[&folder])?;
        let (sources, target) = (folder.join("sources"), folder.join("target"));
        let tree = Tree { sources, target, patch, ..self.clone() };
        tree.resolve(name, side).inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
        Ok(tree)
    }

    /// Makes the lock file for sources that take a crate from somewhere else. If it exists already, neither the network
    /// nor a new build is needed.
    fn resolve(&self, name: &str, side: &SideArg) -> anyhow::Result<()> {
        let (lock, base) = (self.sources.join("Cargo.lock"), self.sources.with_file_name("base"));
        let ours = fs::read(self.home.join("Cargo.lock")).context("Cargo.lock")?;
        let manifest = match side {
            SideArg::Path { folder, .. } => fs::read(package_in(folder, name)?.join("Cargo.toml"))?,
            _ => Vec::new(),
        };
        let now = [&ours, self.patch.as_deref().unwrap_or_default().as_bytes(), &manifest].concat();
        link_entries(&self.home, &self.sources)
            .with_context(|| format!("cannot link the sources into {}", self.sources.display()))?;
        if !lock.is_file() || fs::read(&base).ok().as_ref() != Some(&now) {
            fs::write(&lock, &ours).context("Cargo.lock")?;
            let mut command = self.cargo();
            command.args(["update", "--quiet", "--package", name]);
            if let SideArg::Version { version, .. } = side {
                command.args(["--precise", version]);
            }
            command.args(self.configuration());
            output(command.arg("--manifest-path").arg(self.sources.join("Cargo.toml")))
                .with_context(|| {
                    format!("cargo does not take it; if a requirement forbids it, name another version of {name}")
                })?;
        }
        let taken = self.taken(name)?;
        // Cargo ignores a version that the dependents do not accept, and a [patch] in its configuration takes precedence.
        ensure!(
            is_of(&taken, side),
            "cargo takes {taken} instead: the programs do not accept that version, or their sources replace the crate, \
             perhaps by [patch]"
        );
        fs::write(&base, &now).context("Cargo.lock")
    }

    /// True if the lock file has a crate of that name.
    pub(in crate::plan) fn has_crate(&self, name: &str) -> anyhow::Result<bool> {
        #[derive(Deserialize)]
        struct Lock {
            package: Vec<Package>,
        }
        #[derive(Deserialize)]
        struct Package {
            name: String,
        }
        let text = fs::read_to_string(self.home.join("Cargo.lock")).context("Cargo.lock")?;
        let lock: Lock = toml::from_str(&text).context("Cargo.lock")?;
        Ok(lock.package.iter().any(|package| package.name == name))
    }

    /// Packages of the workspace and its dependencies that depend on a crate, directly or not.
    pub(in crate::plan) fn dependents(&self, name: &str) -> anyhow::Result<BTreeSet<String>> {
        let mut cargo = self.cargo();
        cargo.args(["tree", "--quiet", "--locked", "--workspace", "--edges", "normal,build"]);
        let tree = output(cargo.args(["--prefix", "none", "--invert", name]))?;
        // A package is a line, and its name the first word.
        let names = tree.lines().filter_map(|line| line.split_whitespace().next());
        Ok(names.map(str::to_owned).collect())
    }

    /// The crates of these names that it is built from, and its commit, in a line. An earlier revision may lack a crate.
    pub(in crate::plan) fn describe(
        &self,
        names: &BTreeSet<&str>,
        (commit, dirty): &(Option<String>, Option<bool>),
    ) -> String {
        let crates = names.iter().filter_map(|name| self.taken(name).ok());
        let mut parts: Vec<String> = crates.map(|id| id.replace(REGISTRY, "")).collect();
        let revision = revision(commit.as_deref(), *dirty);
        if parts.is_empty() {
            parts.push(revision);
        } else if commit.is_some() {
            parts.push(format!("programs of {revision}"));
        }
        parts.join(", ")
    }

    /// What the lock file has for a crate, as cargo names it.
    fn taken(&self, name: &str) -> anyhow::Result<String> {
        let mut cargo = self.cargo();
        cargo.args(["pkgid", "--package", name]).args(self.configuration());
        output(cargo.arg("--manifest-path").arg(self.sources.join("Cargo.toml")))
    }
}

/// Folder of the package `name`: this folder or, in a workspace, its folder of that name.
fn package_in(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let places = [folder.to_owned(), folder.join(name)];
    places.into_iter().find(|place| crate_in(place).as_deref() == Some(name)).with_context(|| {
        format!("{} has no package '{name}': name the folder of its Cargo.toml", folder.display())
    })
}

/// Gives `to` a link to each entry of `from` that cargo may need: it sees the files' own times, and builds again only
/// what has changed. The lock file is its own.
fn link_entries(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if entry.file_type()?.is_symlink() {
            fs::remove_file(entry.path())?;
        }
    }
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name()))?;
        // Hidden files are git's, or cargo's configuration, which is the checkout's anyway; and
        // cargo marks its target folders, this one's parent among them.
        let is_hidden = name.to_string_lossy().starts_with('.');
        if !is_hidden && name != "Cargo.lock" && !path.join("CACHEDIR.TAG").is_file() {
            symlink(path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tree::tests::tree_in;

    #[test]
    fn sources_of_a_revision_are_its_own_whatever_was_left_there() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), "own").unwrap();
        let tree = Tree { target: folder.path().join("target"), ..tree_in(folder.path()) };
        for args in ["init -q -b main", "add .", "commit -q -m x"] {
            let own = ["-c", "user.name=x", "-c", "user.email=x@x"];
            tree.git(&own.into_iter().chain(args.split(' ')).collect::<Vec<_>>()).unwrap();
        }
        let sources = tree.worktree("main").unwrap().sources;
        let file = sources.join("a/b");
        let spoils: [fn(&Path) -> io::Result<()>; 3] = [
            |file| fs::write(file, "changed"),
            |file| fs::remove_file(file),
            |file| fs::remove_file(file.with_file_name("../.git")),
        ];
        for spoil in spoils {
            assert_eq!(fs::read_to_string(&file).unwrap(), "own");
            spoil(&file).unwrap();
            assert_eq!(tree.worktree("main").unwrap().sources, sources);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "own");
        assert!(tree.worktree("^main").unwrap_err().to_string().contains("name another commit"));
    }

    #[test]
    fn what_cargo_takes_is_what_a_side_names() {
        for (id, wanted, expected) in [
            ("registry+https://x#tokio@1.54.1+meta", "tokio@1.54.1", true),
            ("registry+https://x#tokio@1.54.1", "tokio@1.54", false),
            ("git+https://x/tokio?rev=abc#1.0.0", "tokio@1.0.0", false),
            ("path+file:///x#1.0.0", "tokio@1.0.0", false),
        ] {
            assert_eq!(is_of(id, &wanted.parse().unwrap()), expected, "{id} {wanted}");
        }
    }
}
