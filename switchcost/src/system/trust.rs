//! Trust in a file that is started without the user naming it: who else may have put it there.
//!
//! Trusted are root, this user, and whoever owns this executable or a folder above it, who has decided already what
//! runs: a developer's checkout serves in `sudo` and in a container. Paths on a command line and folders of PATH are the
//! user's own decision, as in a shell.

use std::env;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::geteuid;

/// Bits of a mode: the group and others may write, and only owners may replace what is in a folder.
const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Checks that no stranger may decide what is at a path: that it and each folder above it, where it is named and where it
/// really is, belong to somebody trusted, and that nobody else may write to them. A sticky folder of all, such as /tmp,
/// may hold the next folder, but not the file.
///
/// # Errors
/// The first place that a stranger may change, its owner and mode, and the remedy.
pub(crate) fn ensure_own(path: &Path) -> Result<(), String> {
    let unknown = |e| format!("{}: {e}", path.display());
    let runner = env::current_exe().unwrap_or_default();
    let known: Vec<Metadata> =
        runner.ancestors().filter_map(|place| fs::metadata(place).ok()).collect();
    for path in [std::path::absolute(path).map_err(unknown)?, path.canonicalize().map_err(unknown)?]
    {
        let mut holds_folder = path.is_dir();
        for place in path.ancestors() {
            let facts =
                place.symlink_metadata().map_err(|e| format!("{}: {e}", place.display()))?;
            ensure_owner(place, &facts, &known)?;
            if !facts.is_symlink() {
                ensure_closed(place, &facts, holds_folder, known.first())?;
            }
            holds_folder = facts.is_dir();
        }
    }
    Ok(())
}

fn ensure_owner(place: &Path, facts: &Metadata, known: &[Metadata]) -> Result<(), String> {
    let (uid, mode) = (facts.uid(), facts.mode() & 0o7777);
    if [0, geteuid().as_raw()].contains(&uid) || known.iter().any(|known| known.uid() == uid) {
        return Ok(());
    }
    Err(format!(
        "{} belongs to another user ({uid}, mode {mode:o}), who decides what it does: remove it, or take it over by \
         chown if you know what it is",
        place.display()
    ))
}

/// Checks that only whoever may write to the runner, too, may write to a place.
fn ensure_closed(
    place: &Path,
    facts: &Metadata,
    holds_folder: bool,
    runner: Option<&Metadata>,
) -> Result<(), String> {
    let (mode, gid) = (facts.mode() & 0o7777, facts.gid());
    let of_runner = runner.map_or(0, Metadata::mode);
    let is_group_known = runner.is_some_and(|runner| runner.gid() == gid) && of_runner & GROUP != 0;
    let is_open = mode & OTHERS & !of_runner != 0 || mode & GROUP != 0 && !is_group_known;
    if !is_open || mode & STICKY != 0 && holds_folder {
        return Ok(());
    }
    let name = place.display();
    // /tmp is what it is.
    let remedy = if mode & STICKY == 0 {
        format!("look at what is there, then run `chmod go-w {name}`, or use another folder")
    } else {
        "use a folder of your own".to_owned()
    };
    Err(format!(
        "others may write to {name} (user {}, group {gid}, mode {mode:o}), so they can decide what runs: {remedy}",
        facts.uid()
    ))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    #[test]
    fn what_others_may_have_put_there_is_not_trusted() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        let mode = |name: &str, mode| {
            fs::set_permissions(path(name), Permissions::from_mode(mode)).unwrap()
        };
        let refused = |name: &str| ensure_own(&path(name)).err().unwrap_or_default();
        fs::create_dir_all(path("a/b")).unwrap();
        fs::write(path("a/b/file"), "").unwrap();
        symlink("../a/b/file", path("a/link")).unwrap();
        for name in ["a/b/file", "a/link", "a/../a/b/./file", "a/b"] {
            assert_eq!(refused(name), "", "{name}");
        }
        for (name, bits) in [("a/b/file", 0o646), ("a/b", 0o777), ("a/b", 0o1777), ("a", 0o757)] {
            let before = fs::metadata(path(name)).unwrap().mode();
            mode(name, bits);
            for through in ["a/b/file", "a/link"] {
                let why = refused(through);
                let words = [format!("{} (user", path(name).display()), format!("mode {bits:o}")];
                assert!(words.iter().all(|word| why.contains(word)), "{name} {bits:o}: {why}");
                assert_eq!(why.contains("chmod go-w"), bits & 0o1000 == 0, "{why}");
            }
            mode(name, before);
        }
        // As in /tmp: the folder inside is one's own, a link need not be.
        mode("a", 0o1777);
        assert_eq!(refused("a/b/file"), "");
        assert_ne!(refused("a/link"), "");
        assert_ne!(refused("a/b/none"), "");
        mode("a", 0o755);
        if geteuid().is_root() {
            chown(path("a/b/file"), Some(1234), None).unwrap();
            let why = refused("a/link");
            assert!(why.contains("another user (1234, mode 6"), "{why}");
        }
    }
}
