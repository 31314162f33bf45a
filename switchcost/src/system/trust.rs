//! Trust in a file that is started without the user naming it: who else may have put it there.
//!
//! Trusted are root, this user, a group that may write, and the owners of this executable and of the folders above it,
//! who decide already what runs. So a developer's checkout serves in `sudo`, in a container, with umask 002, and on file
//! systems that have one mode for all. Paths on a command line and folders of PATH are the user's own decision, as in a
//! shell.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::geteuid;

/// Most links on a path, as path_resolution(7) has it.
const MOST_LINKS: u32 = 40;

/// Bits of a mode: others may write, and only owners may replace what is in a folder.
const OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Checks that no stranger may decide what is at a path: that each file, folder and link on the way belongs to somebody
/// trusted, and that others may not write to it. A sticky folder of all may hold the folder, but not the file.
///
/// # Errors
/// The first place that a stranger may change, its owner and mode, and the remedy.
pub(crate) fn ensure_own(path: &Path) -> Result<(), String> {
    let path = std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let runner = env::current_exe().unwrap_or_default();
    let places: Vec<Metadata> = runner.ancestors().flat_map(fs::metadata).collect();
    let trusted = Trusted {
        users: places.iter().map(Metadata::uid).chain([0, geteuid().as_raw()]).collect(),
        others: places.first().is_some_and(|runner| runner.mode() & OTHERS != 0),
    };
    trusted.walk(&path, MOST_LINKS)
}

/// Who may decide what runs.
struct Trusted {
    users: BTreeSet<u32>,
    /// True if all may write to this executable.
    others: bool,
}

impl Trusted {
    /// Follows a path from the root, and each link on it.
    fn walk(&self, path: &Path, links: u32) -> Result<(), String> {
        let mut places: Vec<&Path> = path.ancestors().collect();
        places.reverse();
        let mut above: Option<(&Path, Metadata)> = None;
        for place in places {
            let cannot = |e| format!("{}: {e}", place.display());
            let mut found = fs::symlink_metadata(place).map_err(cannot)?;
            if let Some((folder, facts)) = &above
                && !(facts.mode() & STICKY != 0 && found.is_dir())
            {
                self.ensure_closed(folder, facts)?;
            }
            if !self.users.contains(&found.uid()) {
                return Err(format!(
                    "{} belongs to another user ({}, mode {:o}), who decides what it does: remove it, or take it over \
                     by chown if you know what it is",
                    place.display(),
                    found.uid(),
                    found.mode() & 0o7777
                ));
            }
            if found.is_symlink() {
                let left = links.checked_sub(1);
                let left = left.ok_or_else(|| format!("{}: too many links", path.display()))?;
                let target = fs::read_link(place).map_err(cannot)?;
                let folder = place.parent().unwrap_or(Path::new("/"));
                self.walk(&folder.join(target), left)?;
                found = fs::metadata(place).map_err(cannot)?;
            }
            above = Some((place, found));
        }
        above.map_or(Ok(()), |(last, facts)| self.ensure_closed(last, &facts))
    }

    /// Checks that a stranger may not write to a place.
    fn ensure_closed(&self, place: &Path, facts: &Metadata) -> Result<(), String> {
        if self.others || facts.mode() & OTHERS == 0 {
            return Ok(());
        }
        let (name, mode) = (place.display(), facts.mode() & 0o7777);
        let (uid, gid) = (facts.uid(), facts.gid());
        // /tmp is what it is.
        let remedy = if mode & STICKY == 0 {
            format!("`chmod o-w {name}` after a look at what is there, or take another folder")
        } else {
            "take a folder of your own".to_owned()
        };
        Err(format!(
            "others may write to {name} (user {uid}, group {gid}, mode {mode:o}), and so decide what runs: {remedy}"
        ))
    }
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
        symlink("b/file", path("a/link")).unwrap();
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
                assert_eq!(why.contains("chmod o-w"), bits & 0o1000 == 0, "{why}");
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
            assert!(
                refused("a/link").contains("another user (1234, mode 6"),
                "{}",
                refused("a/link")
            );
        }
    }
}
