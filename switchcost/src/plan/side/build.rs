//! Sources of a side that is built: a work tree of git's, or these sources with another lock file. Each
//! has a folder in `target/duel`, with a target folder of its own, kept for the next time.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, bail, ensure};

use super::{Lock, expect_no_patch};
use crate::plan::checkout::Checkout;

/// Sources of a side that is built, and where.
pub(super) struct Tree {
    pub(super) sources: PathBuf,
    pub(super) target: PathBuf,
    /// Commit of the sources, and changes since, as far as they are known.
    pub(super) commit: Option<String>,
    pub(super) dirty: Option<bool>,
}

/// Sources of a revision, with its commit.
pub(super) fn worktree(checkout: &Checkout, revision: &str) -> anyhow::Result<Tree> {
    let git = |args: &[&str]| {
        let mut git = checkout.git().context("PATH has no git: install it")?;
        output(git.args(args))
    };
    let commit = format!("{revision}^{{commit}}");
    let found = git(&["rev-parse", "--verify", "--end-of-options", &commit])?;
    let hash = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    let folder = checkout.duels().join(format!("git-{hash}"));
    let sources = folder.join("sources");
    if !sources.join("Cargo.toml").is_file() {
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        // One that was begun, or that `cargo clean` has removed.
        let path = sources.to_string_lossy();
        git(&["worktree", "prune"])?;
        git(&["worktree", "add", "--quiet", "--force", "--force", "--detach", &path, &hash])?;
    }
    Ok(Tree { sources, target: folder.join("target"), commit: Some(hash), dirty: None })
}

/// These sources, with another version of a dependency.
///
/// # Errors
/// When cargo has no such version, or would build something else in its place.
pub(super) fn with_version(checkout: &Checkout, name: &str, version: &str) -> anyhow::Result<Tree> {
    expect_no_patch(&checkout.folder(), name)?;
    let folder = checkout.duels().join(format!("{name}-{version}"));
    let sources = folder.join("sources");
    fs::create_dir_all(&sources).with_context(|| folder.display().to_string())?;
    let lock = "Cargo.lock";
    let own = fs::read(checkout.folder().join(lock)).context(lock)?;
    let base = folder.join("Cargo.lock.base");
    // Where it was updated before, neither the network is needed nor a new build.
    let is_updated = sources.join(lock).is_file() && fs::read(&base).is_ok_and(|b| b == own);
    mirror(&checkout.folder(), &sources, Some(lock))
        .with_context(|| format!("cannot copy the sources to {}", sources.display()))?;
    if !is_updated {
        let _ = fs::remove_file(&base);
        fs::write(sources.join(lock), &own).context(lock)?;
        let mut command = checkout.cargo()?;
        command.args(["update", "--quiet", "--package", name, "--precise", version]);
        let updated = output(command.arg("--manifest-path").arg(sources.join("Cargo.toml")));
        if let Err(e) = updated {
            let _ = fs::remove_dir_all(&folder);
            return Err(e);
        }
        fs::write(&base, &own).context(lock)?;
    }
    // A patch of cargo's configuration stands, whatever version cargo was asked for.
    if let Err(e) = Lock::read(&sources)?.expect_version(name, version) {
        // The lock file is made anew when the patch is gone.
        let _ = fs::remove_file(&base);
        return Err(e);
    }
    Ok(Tree { sources, target: folder.join("target"), ..these(checkout) })
}

/// These sources as they are.
///
/// Not in the usual target folder: built beside others, a program's dependencies have other features, and
/// the sides shall have the same.
pub(super) fn these(checkout: &Checkout) -> Tree {
    let (commit, dirty) = checkout.revision();
    let target = checkout.duels().join("sources");
    Tree { sources: checkout.folder(), target, commit, dirty }
}

/// Makes `to` a tree of links to the files of `from`: cargo sees their own times, and builds again only
/// what has changed. The folders are real, since a path with `..` leads out of a linked one.
fn mirror(from: &Path, to: &Path, except: Option<&str>) -> anyhow::Result<()> {
    let names = |folder: &Path| -> anyhow::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Hidden files are git's, or cargo's configuration, which is that of the checkout anyway; and
            // cargo marks its target folders, this one's parent among them.
            let is_target = entry.path().join("CACHEDIR.TAG").is_file();
            if !name.starts_with('.') && !is_target && Some(&*name) != except {
                names.push(name);
            }
        }
        Ok(names)
    };
    let wanted = names(from)?;
    for name in names(to)? {
        let (theirs, ours) = (from.join(&name), to.join(&name));
        let is_folder = fs::symlink_metadata(&ours)?.is_dir();
        match is_folder {
            true if theirs.is_dir() => {}
            true => fs::remove_dir_all(ours)?,
            false => fs::remove_file(ours)?,
        }
    }
    for name in wanted {
        let (theirs, ours) = (from.join(&name), to.join(&name));
        match theirs.is_dir() {
            true => {
                if !ours.is_dir() {
                    fs::create_dir(&ours)?;
                }
                mirror(&theirs, &ours, None)?;
            }
            false => symlink(theirs, ours)?,
        }
    }
    Ok(())
}

/// Output of a tool that succeeds; its complaint in one line where it does not.
fn output(command: &mut Command) -> anyhow::Result<Output> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    ensure!(!lines.is_empty(), "{name}: {}", output.status);
    bail!("{name}: {}", lines.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::programs::Places;

    #[test]
    fn a_mirror_follows_its_sources() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::create_dir(&to).unwrap();
        for file in ["a/b/file", "a/gone", "lock", ".hidden"] {
            fs::write(from.join(file), file).unwrap();
        }
        fs::create_dir(from.join("built")).unwrap();
        fs::write(from.join("built/CACHEDIR.TAG"), "").unwrap();
        mirror(&from, &to, Some("lock")).unwrap();
        assert_eq!(fs::read(to.join("a/b/file")).unwrap(), b"a/b/file");
        for name in [".hidden", "lock", "built"] {
            assert!(!to.join(name).exists(), "{name}");
        }
        assert!(fs::symlink_metadata(to.join("a/b")).unwrap().is_dir());

        fs::write(to.join("lock"), "ours").unwrap();
        fs::remove_file(from.join("a/gone")).unwrap();
        fs::remove_dir_all(from.join("a/b")).unwrap();
        fs::write(from.join("a/b"), "now a file").unwrap();
        mirror(&from, &to, Some("lock")).unwrap();
        assert!(fs::symlink_metadata(to.join("a/gone")).is_err());
        assert_eq!(fs::read(to.join("a/b")).unwrap(), b"now a file");
        assert_eq!(fs::read(to.join("lock")).unwrap(), b"ours");
    }
    /// Else a duel of equal builds would find the layout of their code.
    #[test]
    fn equal_sources_in_two_folders_give_equal_bytes() {
        let Some(checkout) = Places::find().unwrap().checkout else {
            crate::system::console::say(format_args!("skipped: not in a checkout's target folder"));
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("duel/x-1.0.0/sources"));
        let package = |name: &str, needs: &str| {
            format!("[package]\nname = '{name}'\nversion = '1.0.0'\nedition = '2024'\n{needs}")
        };
        let included = "include!(concat!(env!(\"OUT_DIR\"), \"/f.rs\"));";
        let build = "fn main() { let out = std::env::var(\"OUT_DIR\").unwrap(); \
                     std::fs::write(out + \"/f.rs\", \"pub fn f() -> u32 { 7 }\").unwrap() }";
        let workspace = "[workspace]\nmembers = ['one', 'two']\nresolver = '3'\n\
                         [profile.dev]\ndebug = false\n";
        let lock = "version = 4\n[[package]]\nname = 'one'\nversion = '1.0.0'\n\
                    dependencies = ['two']\n[[package]]\nname = 'two'\nversion = '1.0.0'\n";
        for (path, text) in [
            ("Cargo.toml", workspace),
            ("Cargo.lock", &lock.replace('\'', "\"")),
            ("one/Cargo.toml", &package("one", "[dependencies]\ntwo.path = '../two'\n")),
            ("one/src/main.rs", "fn main() { println!(\"{} {}\", file!(), two::f()) }"),
            ("two/Cargo.toml", &package("two", "")),
            ("two/build.rs", build),
            ("two/src/lib.rs", included),
        ] {
            let path = from.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(&to).unwrap();
        mirror(&from, &to, None).unwrap();
        let of = |sources: &Path, target: &str| {
            let built =
                checkout.build_some(sources, &folder.path().join(target), &["one"]).unwrap();
            fs::read(built.join("one")).unwrap()
        };
        let (first, second) = (of(&from, "duel/sources"), of(&to, "duel/x-1.0.0/target"));
        assert!(first == second, "{} and {} bytes", first.len(), second.len());
    }
}
