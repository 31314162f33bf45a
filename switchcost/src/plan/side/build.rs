//! Sources of a side that is built: a work tree of git's, or these sources with another lock file. Each
//! has a folder in `target/duel`, with a target folder of its own, kept for the next time.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use super::source::{Source, revision};
use crate::plan::checkout::{Checkout, ensure_own, output};
use crate::system::console;

/// Sources of a side that is built, and where.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) sources: PathBuf,
    pub(super) target: PathBuf,
    /// Commit of the sources, and changes since, as far as they are known.
    commit: Option<String>,
    dirty: Option<bool>,
    /// What cargo takes from somewhere else, as values of its configuration.
    pub(super) patch: Vec<String>,
}

impl Tree {
    /// The crates of these names that it is built from, and the commit, in a line. What cargo cannot tell of `side` is
    /// said.
    pub(super) fn describe(
        &self,
        checkout: &Checkout,
        names: &BTreeSet<&str>,
        side: &str,
    ) -> String {
        let tell = |name: &str, why| {
            console::say(format_args!("{side}: its name lacks {name}: {why:#}"));
        };
        let taken = |name: &&str| self.taken(checkout, name).map_err(|why| tell(name, why)).ok();
        let crates = names.iter().filter_map(taken);
        let mut parts: Vec<String> = crates.map(|id| id.replace(REGISTRY, "")).collect();
        let own = revision(self.commit.as_deref(), self.dirty);
        if parts.is_empty() {
            parts.push(own);
        } else if self.commit.is_some() {
            parts.push(format!("programs of {own}"));
        }
        parts.join(", ")
    }

    /// Flags of cargo for what it takes from somewhere else.
    fn configuration(&self) -> impl Iterator<Item = &str> {
        self.patch.iter().flat_map(|value| ["--config", value])
    }

    /// What the lock file has for a crate, as cargo names it.
    fn taken(&self, checkout: &Checkout, name: &str) -> anyhow::Result<String> {
        let mut cargo = checkout.cargo();
        cargo.args(["pkgid", "--package", name]).args(self.configuration());
        output(cargo.arg("--manifest-path").arg(self.sources.join("Cargo.toml")))
    }
}

/// Prefix of a crate from the usual registry, as cargo prints it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index#";

/// True if cargo takes the source that a side names.
fn is_of(id: &str, wanted: &Source) -> bool {
    match wanted {
        Source::Version(wanted) => {
            // Cargo adds what follows a `+`, which is no part of the order of versions.
            let order = |version: &str| version.split('+').next().map(str::to_owned);
            let version = id.rsplit(['#', '@']).next().unwrap_or_default();
            id.starts_with("registry+") && order(version) == order(wanted)
        }
        Source::Path(_) => id.starts_with("path+"),
        Source::Git { .. } => id.starts_with("git+"),
    }
}

/// Sources of a revision.
pub(super) fn worktree(checkout: &Checkout, revision: &str) -> anyhow::Result<Tree> {
    let commit = format!("{revision}^{{commit}}");
    let hash = checkout
        .git(&["rev-parse", "--verify", "--end-of-options", &commit])
        .and_then(|hash| if hash.starts_with('^') { bail!("it is left out") } else { Ok(hash) })
        .context(
            "this checkout has no such commit: run `git fetch`, or name another commit, branch or tag",
        )?;
    let folder = checkout.target.join("duel").join(format!("git-{hash}"));
    let sources = folder.join("sources");
    let path = sources.to_string_lossy();
    let status = ["-C", &path, "status", "--porcelain", "--untracked-files=no"];
    let is_whole = sources.join(".git").is_file()
        && checkout.git(&status).is_ok_and(|changes| changes.is_empty());
    if !is_whole {
        ensure_own(&[&folder])?;
        // It is unfinished, was changed, or was removed by `cargo clean`.
        if sources.exists() {
            fs::remove_dir_all(&sources).with_context(|| path.clone().into_owned())?;
        }
        checkout.git(&["worktree", "prune"])?;
        let add = ["worktree", "add", "--quiet", "--force", "--force", "--detach", &path, &hash];
        checkout.git(&add)?;
    }
    let target = folder.join("target");
    Ok(Tree { sources, target, commit: Some(hash), dirty: None, patch: Vec::new() })
}

/// These sources as they are.
///
/// Not in the usual target folder: built beside others, a program's dependencies have other features, and
/// the sides shall have the same.
pub(super) fn these(checkout: &Checkout) -> Tree {
    let (commit, dirty) = checkout.revision();
    let sources = checkout.folder.clone();
    let target = checkout.target.join("duel").join("sources");
    Tree { sources, target, commit, dirty, patch: Vec::new() }
}

/// These sources, with another version of a dependency.
pub(super) fn with_source(
    checkout: &Checkout,
    name: &str,
    source: &Source,
) -> anyhow::Result<Tree> {
    let mut hasher = DefaultHasher::new();
    format!("{source:?}").hash(&mut hasher);
    let folder = checkout.target.join("duel").join(format!("{name}-{:016x}", hasher.finish()));
    // A source that is not there leaves no folder.
    let patch = patch(checkout, name, source)?;
    ensure_own(&[&folder])?;
    let tree = Tree {
        sources: folder.join("sources"),
        target: folder.join("target"),
        patch,
        ..these(checkout)
    };
    resolve(checkout, &tree, name, source).inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
    Ok(tree)
}

/// Makes the lock file for sources that take a crate from somewhere else. If it exists already, neither the network nor
/// a new build is needed.
fn resolve(checkout: &Checkout, tree: &Tree, name: &str, source: &Source) -> anyhow::Result<()> {
    let (lock, base) = (tree.sources.join("Cargo.lock"), tree.sources.with_file_name("base"));
    let own = fs::read(checkout.folder.join("Cargo.lock")).context("Cargo.lock")?;
    let manifest = match source {
        Source::Path(path) => fs::read(package_in(path, name)?.join("Cargo.toml"))?,
        Source::Version(_) | Source::Git { .. } => Vec::new(),
    };
    let now = [&own, tree.patch.concat().as_bytes(), &manifest].concat();
    link_entries(&checkout.folder, &tree.sources)
        .with_context(|| format!("cannot link the sources into {}", tree.sources.display()))?;
    if !lock.is_file() || fs::read(&base).ok().as_ref() != Some(&now) {
        fs::write(&lock, &own).context("Cargo.lock")?;
        let mut command = checkout.cargo();
        command.args(["update", "--quiet", "--package", name]);
        if let Source::Version(version) = source {
            command.args(["--precise", version]);
        }
        command.args(tree.configuration());
        output(command.arg("--manifest-path").arg(tree.sources.join("Cargo.toml")))?;
    }
    let taken = tree.taken(checkout, name)?;
    // Cargo ignores a version that the dependents do not accept, and a [patch] in its configuration takes precedence.
    ensure!(
        is_of(&taken, source),
        "cargo takes {taken} instead: the programs do not accept that version, or their sources replace the crate, \
         perhaps by [patch]"
    );
    fs::write(&base, &now).context("Cargo.lock")
}

/// Values of configuration that take a crate from somewhere else, unless that is the registry.
fn patch(checkout: &Checkout, name: &str, source: &Source) -> anyhow::Result<Vec<String>> {
    // A text of JSON is one of TOML.
    let value = |key: &str, text: &str| {
        format!("patch.crates-io.{name}.{key}={}", serde_json::Value::from(text))
    };
    Ok(match source {
        Source::Version(_) => Vec::new(),
        Source::Path(path) => vec![value("path", &package_in(path, name)?.to_string_lossy())],
        Source::Git { url, revision } => {
            // A branch moves. Tags and commits cargo finds by itself.
            let branch = format!("refs/heads/{revision}");
            let found = checkout.git(&["ls-remote", "--", url, &branch])?;
            let commit = found.split_whitespace().next().unwrap_or(revision);
            vec![value("git", url), value("rev", commit)]
        }
    })
}

/// Folder of the package `name`: this folder or, in a workspace, its folder of that name.
fn package_in(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let is_of = |folder: &PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = manifest.parse().unwrap_or_default();
        let found = manifest.get("package").and_then(|package| package.get("name")?.as_str());
        found == Some(name)
    };
    let places = [folder.to_owned(), folder.join(name)];
    places.into_iter().find(is_of).with_context(|| {
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
        // Hidden files are git's, or cargo's configuration, which is that of the checkout anyway; and
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
    use crate::plan::programs::Places;

    #[test]
    fn sources_of_a_revision_are_its_own_whatever_was_left_there() {
        let Some(mut checkout) = Places::find().unwrap().checkout else { return };
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/b"), "own").unwrap();
        checkout.folder = folder.path().to_owned();
        checkout.target = folder.path().join("target");
        for args in ["init -q -b main", "add .", "commit -q -m x"] {
            let own = ["-c", "user.name=x", "-c", "user.email=x@x"];
            checkout.git(&own.into_iter().chain(args.split(' ')).collect::<Vec<_>>()).unwrap();
        }
        let sources = worktree(&checkout, "main").unwrap().sources;
        let file = sources.join("a/b");
        let spoils: [fn(&Path) -> io::Result<()>; 3] = [
            |file| fs::write(file, "changed"),
            |file| fs::remove_file(file),
            |file| fs::remove_file(file.with_file_name("../.git")),
        ];
        for spoil in spoils {
            assert_eq!(fs::read_to_string(&file).unwrap(), "own");
            spoil(&file).unwrap();
            assert_eq!(worktree(&checkout, "main").unwrap().sources, sources);
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "own");
        assert!(
            worktree(&checkout, "^main").unwrap_err().to_string().contains("name another commit")
        );
    }

    #[test]
    fn what_cargo_takes_is_what_a_side_names() {
        for (id, wanted, expected) in [
            ("registry+https://x#tokio@1.54.1+meta", "1.54.1", true),
            ("registry+https://x#tokio@1.54.1", "1.54", false),
            ("git+https://x/tokio?rev=abc#1.0.0", "1.0.0", false),
            ("git+https://x/tokio?rev=abc#1.0.0", "git:file:///x#y", true),
            ("path+file:///x#1.0.0", "1.0.0", false),
        ] {
            assert_eq!(is_of(id, &wanted.parse().unwrap()), expected, "{id} {wanted}");
        }
    }
}
