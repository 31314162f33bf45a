//! Trust in a file that is started without the user naming it: who else may have put it there.
//!
//! Root, this user, and the owners of this executable and of the folders above it are trusted: they already decide what
//! runs. So a developer's checkout also works under `sudo` and in a container. Paths on a command line and folders of
//! PATH are the user's own decision, as in a shell.

use std::env;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::geteuid;

/// User that stands for all that a user namespace does not map.
const UNMAPPED: u32 = 65534;

/// Bits of a mode: the group and others may write, and only owners may replace what is in a folder.
const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// Who may decide what runs.
struct Trusted {
    users: Vec<u32>,
    /// This executable, if it can be looked at.
    runner: Option<Metadata>,
    /// True in a user namespace: folders may be of a user that it does not know.
    is_mapped: bool,
}

/// Checks that no stranger may decide what is at a path: that it, each folder above it and each link on the way belong to
/// somebody trusted, and that nobody else may write to them. A sticky folder of all, such as /tmp, may hold the next
/// folder, but not the file.
///
/// # Errors
/// The first place that a stranger may change, its owner and mode, and the remedy.
pub(crate) fn ensure_own(path: &Path) -> Result<(), String> {
    // Links that lead nowhere, or round, end here.
    let absolute = fs::canonicalize(path).and_then(|_| std::path::absolute(path));
    Trusted::now().ensure(&absolute.map_err(|e| fault(path, &e))?)
}

impl Trusted {
    fn now() -> Self {
        let path = env::current_exe().unwrap_or_default();
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let is_mapped = map.split_whitespace().ne(["0", "0", "4294967295"]);
        let owners = path.ancestors().filter_map(|place| Some(fs::metadata(place).ok()?.uid()));
        // Behind the user that is not mapped stands everybody else.
        let owners = owners.filter(|&uid| !is_mapped || uid != UNMAPPED);
        let users = [0, geteuid().as_raw()].into_iter().chain(owners).collect();
        Trusted { users, runner: fs::metadata(&path).ok(), is_mapped }
    }

    /// Checks a path, the folders above it, and where links among them lead.
    fn ensure(&self, path: &Path) -> Result<(), String> {
        let mut holds_folder = false;
        for place in path.ancestors() {
            let facts = place.symlink_metadata().map_err(|e| fault(place, &e))?;
            let is_in_sticky = facts.mode() & STICKY != 0 && holds_folder;
            if !self.knows(&facts) || !facts.is_symlink() && self.is_open(&facts) && !is_in_sticky {
                return Err(strange(place, &facts));
            }
            if facts.is_symlink() {
                let folder = place.parent().unwrap_or(Path::new("/"));
                let folder = fs::canonicalize(folder).map_err(|e| fault(place, &e))?;
                let target = fs::read_link(place).map_err(|e| fault(place, &e))?;
                self.ensure(&folder.join(target))?;
            }
            holds_folder = facts.is_dir();
        }
        Ok(())
    }

    /// True if its owner is trusted.
    fn knows(&self, facts: &Metadata) -> bool {
        let is_unmapped = self.is_mapped && facts.is_dir() && facts.uid() == UNMAPPED;
        is_unmapped || self.users.contains(&facts.uid())
    }

    /// True if somebody may write to it who may not write to the runner.
    fn is_open(&self, facts: &Metadata) -> bool {
        let runner = self.runner.as_ref().map_or(0, Metadata::mode);
        let is_of_group = self.runner.as_ref().is_some_and(|runner| runner.gid() == facts.gid());
        let is_known = is_of_group && runner & GROUP != 0;
        facts.mode() & OTHERS & !runner != 0 || facts.mode() & GROUP != 0 && !is_known
    }
}

fn fault(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn strange(place: &Path, facts: &Metadata) -> String {
    let (name, mode) = (place.display(), facts.mode() & 0o7777);
    let (uid, gid) = (facts.uid(), facts.gid());
    format!(
        "others may write to {name} (user {uid}, group {gid}, mode {mode:o}), so they can decide what runs: look at what \
         is there, then take it over by chown and `chmod go-w`, or use a folder of your own"
    )
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
                let words = [format!("/{name} (user"), format!("mode {bits:o}")];
                assert!(words.iter().all(|word| why.contains(word)), "{name} {bits:o}: {why}");
            }
            mode(name, before);
        }
        // As in /tmp: the folder inside is one's own, a link need not be.
        mode("a", 0o1777);
        assert_eq!(refused("a/b/file"), "");
        assert_ne!(refused("a/link"), "");
        assert_ne!(refused("a/b/none"), "");
        assert_ne!(refused("a"), "");
        mode("a", 0o755);
        // Each link on the way counts.
        fs::create_dir(path("c")).unwrap();
        symlink("../a/b/file", path("c/second")).unwrap();
        symlink("../c/second", path("a/first")).unwrap();
        assert_eq!(refused("a/first"), "");
        mode("c", 0o777);
        assert!(refused("a/first").contains("mode 777"), "{}", refused("a/first"));
        symlink("endless", path("a/endless")).unwrap();
        assert_ne!(refused("a/endless"), "");
        if geteuid().is_root() {
            chown(path("a/b/file"), Some(1234), None).unwrap();
            let why = refused("a/link");
            assert!(why.contains("(user 1234, group"), "{why}");
        }
    }
}
