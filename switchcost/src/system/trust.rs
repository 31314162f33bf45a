//! Trust in a file that is started without the user naming it: who else may have put it there.
//!
//! Trusted are root, this user, and whoever may write to this executable, who has decided already what runs. So a
//! developer's checkout serves in `sudo`, in a container, with umask 002 and on file systems that have one mode for all.
//! A group of one's own is its user (USERGROUPS_ENAB in login.defs(5)). Paths on a command line and folders of PATH are
//! the user's own decision, as in a shell.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use nix::unistd::{Gid, Group, Uid, User, geteuid};

/// Most links on a path, as path_resolution(7) has it.
const MOST_LINKS: u32 = 40;

/// User that stands for all that a user namespace does not map.
const UNMAPPED: u32 = 65534;

/// Bits of a mode: others, the group, and that only owners may replace what is in a folder.
const OTHERS: u32 = 0o002;
const GROUP: u32 = 0o020;
const STICKY: u32 = 0o1000;

/// Checks that no stranger may decide what is at a path: that each file, folder and link on the way belongs to somebody
/// trusted, and that nobody else may write to it. A sticky folder of all may hold the folder, but not the file.
///
/// # Errors
/// The first place that a stranger may change, its owner and mode, and the remedy.
pub(crate) fn ensure_own(path: &Path) -> Result<(), String> {
    let path = std::path::absolute(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Trusted::now().walk(&path)
}

/// Who may decide what runs.
struct Trusted {
    users: BTreeSet<u32>,
    /// This executable, if it can be looked at.
    runner: Option<Metadata>,
    /// True in a user namespace: parent folders may be of a user that it does not know.
    is_mapped: bool,
}

impl Trusted {
    fn now() -> Self {
        let path = env::current_exe().unwrap_or_default();
        let runner = fs::metadata(&path).ok();
        // Who owns a folder above it could have replaced it: root in a container, and a checkout of its user's.
        let owners = path.ancestors().filter_map(|place| fs::metadata(place).ok());
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let is_mapped = map.split_whitespace().ne(["0", "0", "4294967295"]);
        // Behind the user that is not mapped stands everybody else.
        let owners = owners.map(|facts| facts.uid()).filter(|&uid| !is_mapped || uid != UNMAPPED);
        let users = [0, geteuid().as_raw()].into_iter().chain(owners);
        Trusted { users: users.collect(), runner, is_mapped }
    }

    /// Follows a path as the kernel does, link by link.
    fn walk(&self, path: &Path) -> Result<(), String> {
        let mut left = parts(path);
        let mut at = PathBuf::from("/");
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name == ".." {
                at.pop();
                continue;
            }
            let folder = facts(&at)?;
            let entry = at.join(name);
            let found = facts(&entry)?;
            if self.is_open(&folder) && !(folder.mode() & STICKY != 0 && found.is_dir()) {
                return Err(open(&at, &folder));
            }
            let is_unmapped = self.is_mapped && found.is_dir() && found.uid() == UNMAPPED;
            if !is_unmapped && !self.users.contains(&found.uid()) {
                return Err(strange(&entry, &found));
            }
            if !found.is_symlink() {
                at = entry;
                continue;
            }
            links += 1;
            let target = fs::read_link(&entry).map_err(|e| of(&entry, &e))?;
            if links > MOST_LINKS {
                return Err(format!("{}: too many links", path.display()));
            }
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            left.extend(parts(&target));
        }
        let last = facts(&at)?;
        if self.is_open(&last) { Err(open(&at, &last)) } else { Ok(()) }
    }

    /// True if a stranger may write to it.
    fn is_open(&self, facts: &Metadata) -> bool {
        let runner = self.runner.as_ref().map_or(0, Metadata::mode);
        let is_of_group = self.runner.as_ref().is_some_and(|runner| runner.gid() == facts.gid());
        let is_known = is_of_group && runner & GROUP != 0;
        facts.mode() & OTHERS & !runner != 0
            || facts.mode() & GROUP != 0 && !is_known && !self.is_private(facts.gid())
    }

    /// True for the group of the same name as somebody trusted, without other members.
    fn is_private(&self, gid: u32) -> bool {
        let Ok(Some(group)) = Group::from_gid(Gid::from_raw(gid)) else { return false };
        let users = self.users.iter().filter_map(|&uid| User::from_uid(Uid::from_raw(uid)).ok()?);
        let is_own = users.map(|user| user.name).any(|name| name == group.name);
        is_own && group.mem.iter().all(|member| *member == group.name)
    }
}

/// Parts of a path, the last one first.
fn parts(path: &Path) -> Vec<OsString> {
    let named = |part| matches!(part, Component::Normal(_) | Component::ParentDir);
    let parts = path.components().filter(|&part| named(part));
    parts.rev().map(|part| part.as_os_str().to_owned()).collect()
}

fn facts(path: &Path) -> Result<Metadata, String> {
    fs::symlink_metadata(path).map_err(|e| of(path, &e))
}

fn of(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn strange(path: &Path, facts: &Metadata) -> String {
    let (name, uid, mode) = (path.display(), facts.uid(), facts.mode() & 0o7777);
    format!(
        "{name} belongs to another user ({uid}, mode {mode:o}), who decides what it does: remove it, or take it \
         over by chown if you know what it is"
    )
}

fn open(path: &Path, facts: &Metadata) -> String {
    let (name, mode) = (path.display(), facts.mode() & 0o7777);
    let (uid, gid) = (facts.uid(), facts.gid());
    // /tmp is what it is.
    let remedy = match mode & STICKY {
        0 => format!("look at what is there, then run `chmod go-w {name}`, or use another folder"),
        _ => "use a folder of your own".to_owned(),
    };
    format!(
        "others may write to {name} (user {uid}, group {gid}, mode {mode:o}), so they can decide what runs: {remedy}"
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
            assert!(
                refused("a/link").contains("another user (1234, mode 6"),
                "{}",
                refused("a/link")
            );
        }
    }

    #[test]
    fn a_group_of_ones_own_is_its_user() {
        let trusted = Trusted { users: BTreeSet::from([0]), runner: None, is_mapped: false };
        let group = |gid: u32| Group::from_gid(Gid::from_raw(gid)).ok().flatten();
        if group(0).is_some_and(|group| group.name == "root" && group.mem.is_empty()) {
            assert!(trusted.is_private(0));
        }
        assert!(!trusted.is_private(4_000_000));
    }
}
