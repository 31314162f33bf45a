//! Sources of a side that is built: a work tree of git's, or these sources with another lock file. Each
//! has a folder in `target/duel`, with a target folder of its own, kept for the next time.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, bail, ensure};

use crate::checkout::Checkout;

/// Sources and target folder of a revision.
pub(super) fn worktree(checkout: &Checkout, revision: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
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
    Ok((sources, folder.join("target")))
}

/// Sources and target folder of this checkout with another version of a dependency.
pub(super) fn with_version(
    checkout: &Checkout,
    name: &str,
    version: &str,
) -> anyhow::Result<(PathBuf, PathBuf)> {
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
    Ok((sources, folder.join("target")))
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
}
