//! Sources of a side that is built: a work tree of git's, or these sources with another lock file. Each
//! has a folder in `target/duel`, with a target folder of its own, kept for the next time.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::Source;
use super::lock::Lock;
use crate::plan::checkout::{Checkout, output};

/// Sources of a side that is built, and where.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) sources: PathBuf,
    pub(super) target: PathBuf,
    /// Commit of the sources, and changes since, as far as they are known.
    pub(super) commit: Option<String>,
    pub(super) dirty: Option<bool>,
}

/// Sources of a revision.
pub(super) fn worktree(checkout: &Checkout, revision: &str) -> anyhow::Result<Tree> {
    let commit = format!("{revision}^{{commit}}");
    let hash = checkout.git(&["rev-parse", "--verify", "--end-of-options", &commit])?;
    let folder = checkout.target.join("duel").join(format!("git-{hash}"));
    let sources = folder.join("sources");
    if !sources.join("Cargo.toml").is_file() {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let path = sources.to_string_lossy();
        // One that was begun, or that `cargo clean` has removed.
        checkout.git(&["worktree", "prune"])?;
        let add = ["worktree", "add", "--quiet", "--force", "--force", "--detach", &path, &hash];
        checkout.git(&add)?;
    }
    Ok(Tree { sources, target: folder.join("target"), commit: Some(hash), dirty: None })
}

/// These sources, with another one of a dependency.
pub(super) fn with_source(
    checkout: &Checkout,
    name: &str,
    source: &Source,
) -> anyhow::Result<Tree> {
    let word = source.to_string().replace(|c: char| !c.is_ascii_alphanumeric() && c != '.', "-");
    let folder = checkout.target.join("duel").join(format!("{name}-{word}"));
    let [sources, base, kept] =
        ["sources", "Cargo.lock.base", "Cargo.lock.kept"].map(|name| folder.join(name));
    let lock = sources.join("Cargo.lock");
    let own = fs::read(checkout.folder.join("Cargo.lock")).context("Cargo.lock")?;
    // If it was updated before, neither the network is needed nor a new build.
    let is_updated =
        fs::read(&base).is_ok_and(|base| base == own) && fs::rename(&lock, &kept).is_ok();
    // Written again at the end.
    let _ = fs::remove_file(&base);
    fs::create_dir_all(&folder)
        .and_then(|()| mirror(&checkout.folder, &sources))
        .and_then(|()| patch(&sources.join("Cargo.toml"), name, source))
        .with_context(|| format!("cannot copy the sources to {}", sources.display()))?;
    if is_updated {
        fs::rename(&kept, &lock).context("Cargo.lock")?;
    } else {
        fs::write(&lock, &own).context("Cargo.lock")?;
        let mut command = checkout.cargo();
        command.args(["update", "--quiet", "--package", name]);
        if let Source::Version(version) = source {
            command.args(["--precise", version]);
        }
        output(command.arg("--manifest-path").arg(sources.join("Cargo.toml")))
            .inspect_err(|_| drop(fs::remove_dir_all(&folder)))?;
    }
    // A patch of cargo's configuration stands, whatever cargo was asked for.
    Lock::read(&sources)?.expect(name, source)?;
    fs::write(&base, &own).context("Cargo.lock")?;
    Ok(Tree { sources, target: folder.join("target"), ..these(checkout) })
}

/// Has a manifest take a crate from somewhere else, unless that is the registry.
fn patch(manifest: &Path, name: &str, source: &Source) -> io::Result<()> {
    // A text of JSON is one of TOML.
    let text = |text: &str| serde_json::Value::from(text);
    let keys = match source {
        Source::Version(_) => return Ok(()),
        Source::Path(path) => format!("path = {}", text(&path.to_string_lossy())),
        Source::Git { url, revision } => {
            format!("git = {}\nrev = {}", text(url), text(revision))
        }
    };
    let own = fs::read_to_string(manifest)?;
    let patched = format!("{own}\n[patch.crates-io.{name}]\n{keys}\n");
    // It is a link to the checkout's own.
    fs::remove_file(manifest)?;
    fs::write(manifest, patched)
}

/// These sources as they are.
///
/// Not in the usual target folder: built beside others, a program's dependencies have other features, and
/// the sides shall have the same.
pub(super) fn these(checkout: &Checkout) -> Tree {
    let (commit, dirty) = checkout.revision();
    let sources = checkout.folder.clone();
    Tree { sources, target: checkout.target.join("duel").join("sources"), commit, dirty }
}

/// Makes `to` a tree of links to the files of `from`, but for its lock file: cargo sees their own times,
/// and builds again only what has changed. The folders are real, since a path with `..` leads out of a
/// linked one.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    if to.is_dir() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        // Hidden files are git's, or cargo's configuration, which is that of the checkout anyway; and
        // cargo marks its target folders, this one's parent among them.
        if name.to_string_lossy().starts_with('.') || path.join("CACHEDIR.TAG").is_file() {
            continue;
        }
        if path.is_dir() {
            mirror(&path, &to.join(name))?;
        } else if name != "Cargo.lock" {
            symlink(path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::programs::Places;

    /// Else a duel of equal builds would find the layout of their code.
    #[test]
    fn equal_sources_in_two_folders_give_equal_bytes() {
        let Some(checkout) = Places::find().unwrap().checkout else {
            crate::system::console::say(format_args!("skipped: not in a checkout's target folder"));
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("duel/x-1.0.0/sources"));
        fs::create_dir_all(to.join("gone")).unwrap();
        let manifest = |name: &str, needs: &str| {
            format!("[package]\nname = '{name}'\nversion = '1.0.0'\nedition = '2024'\n{needs}")
        };
        for (path, text) in [
            (
                "Cargo.toml",
                "[workspace]\nmembers = ['one', 'two']\nresolver = '3'\n\
                 [profile.dev]\ndebug = false\n",
            ),
            ("one/Cargo.toml", &manifest("one", "[dependencies]\ntwo.path = '../two'\n")),
            ("one/src/main.rs", "fn main() { println!(\"{} {}\", file!(), two::f()) }"),
            ("two/Cargo.toml", &manifest("two", "")),
            (
                "two/build.rs",
                "fn main() { let out = std::env::var(\"OUT_DIR\").unwrap(); \
                 std::fs::write(out + \"/f.rs\", \"pub fn f() -> u32 { 7 }\").unwrap() }",
            ),
            ("two/src/lib.rs", "include!(concat!(env!(\"OUT_DIR\"), \"/f.rs\"));"),
            (".hidden", ""),
            ("built/CACHEDIR.TAG", ""),
        ] {
            let path = from.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        mirror(&from, &to).unwrap();
        for name in ["gone", ".hidden", "built"] {
            assert!(!to.join(name).exists(), "{name}");
        }
        let lock = "version = 4\n[[package]]\nname = \"one\"\nversion = \"1.0.0\"\n\
                    dependencies = [\"two\"]\n[[package]]\nname = \"two\"\nversion = \"1.0.0\"\n";
        let [first, second] = [&from, &to].map(|sources| {
            fs::write(sources.join("Cargo.lock"), lock).unwrap();
            let target = sources.with_file_name("target");
            checkout.cargo_build(sources, &target, &["one"], "one").unwrap();
            fs::read(checkout.profile_folder(&target).join("one")).unwrap()
        });
        assert!(first == second, "{} and {} bytes", first.len(), second.len());
    }
}
