//! Which file system a folder is on.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::sys::statfs::{self, FsType};
use serde::{Deserialize, Serialize};

use crate::limits::mounts::{self, Mount};

/// The file system of a folder that a program keeps files in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// The folder.
    pub folder: String,
    /// Such as `tmpfs` or `ext4`; null where the kernel does not tell.
    #[serde(default)]
    pub kind: Option<String>,
    /// On a tmpfs, which files get huge pages: the mount option huge= (tmpfs(5)), or what
    /// /sys/kernel/mm/transparent_hugepage/shmem_enabled has in the place of it, `deny` or `force`.
    /// Null elsewhere.
    #[serde(default)]
    pub huge: Option<String>,
}

/// File systems whose type is one number for one kind (statfs(2), linux/magic.h). The number of ext4 is
/// that of its two predecessors too.
const KINDS: [(FsType, &str); 6] = [
    (statfs::TMPFS_MAGIC, "tmpfs"),
    (statfs::BTRFS_SUPER_MAGIC, "btrfs"),
    (statfs::XFS_SUPER_MAGIC, "xfs"),
    (statfs::OVERLAYFS_SUPER_MAGIC, "overlay"),
    (statfs::NFS_SUPER_MAGIC, "nfs"),
    (statfs::FUSE_SUPER_MAGIC, "fuse"),
];

impl FileSystem {
    /// That of an existing folder: as /proc tells of the mount, or else by its number.
    ///
    /// # Errors
    /// Where the folder cannot be opened.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let (kind, options) = match mount(folder)? {
            Some(mount) => (Some(mount.kind), mount.options),
            None => (by_number(folder), Vec::new()),
        };
        let huge = match kind.as_deref() {
            Some("tmpfs") => huge_pages(&options),
            _ => None,
        };
        Ok(FileSystem {
            folder: folder.display().to_string(),
            kind,
            huge,
        })
    }
}

/// The mount that a folder is on: the kernel tells its number for each open file
/// (proc_pid_fdinfo(5)). A search for the longest path would not know what is mounted over what.
fn mount(folder: &Path) -> io::Result<Option<Mount>> {
    let open = fs::OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_DIRECTORY)
        .open(folder)?;
    let read = |path: &str| fs::read_to_string(path).ok();
    let info = read(&format!("/proc/self/fdinfo/{}", open.as_raw_fd()));
    let id = info.and_then(|info| crate::usage::field(&info, "mnt_id"));
    let mounts = read("/proc/self/mountinfo").unwrap_or_default();
    Ok(mounts::parse(&mounts)
        .into_iter()
        .find(|mount| Some(mount.id) == id))
}

fn by_number(folder: &Path) -> Option<String> {
    let number = statfs::statfs(folder).ok()?.filesystem_type();
    let known = KINDS.iter().find(|(known, _)| *known == number);
    known.map(|(_, name)| (*name).to_owned())
}

/// Where neither the mount nor the system names them there are none (shmem_show_options in the
/// kernel's mm/shmem.c shows the option unless it is `never`).
fn huge_pages(options: &[String]) -> Option<String> {
    let shmem = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    let shmem = shmem.unwrap_or_default();
    let chosen = shmem
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let of_mount = options
        .iter()
        .find_map(|option| option.strip_prefix("huge="));
    match chosen {
        Some((everywhere @ ("deny" | "force"), _)) => Some(everywhere.to_owned()),
        _ if options.is_empty() => None,
        _ => Some(of_mount.unwrap_or("never").to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_one_and_what_is_not_there_has_none() {
        let root = FileSystem::of(Path::new("/")).unwrap();
        assert_eq!(root.folder, "/");
        assert!(root.kind.is_some_and(|kind| !kind.is_empty()));
        assert!(FileSystem::of(Path::new("/nonexistent")).is_err());
        assert!(FileSystem::of(Path::new("/proc/self/status")).is_err());
    }

    #[test]
    fn proc_and_the_number_agree_on_a_tmpfs() {
        let shm = Path::new("/dev/shm");
        if by_number(shm).as_deref() != Some("tmpfs") {
            return;
        }
        let shm = FileSystem::of(shm).unwrap();
        assert_eq!(shm.kind.as_deref(), Some("tmpfs"));
        assert!(shm.huge.is_some_and(|huge| !huge.is_empty()));
    }

    #[test]
    fn huge_pages_are_those_of_the_mount() {
        let options = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let read = huge_pages(&options("rw,size=4k,huge=within_size")).unwrap();
        assert!(["within_size", "deny", "force"].contains(&read.as_str()));
        let read = huge_pages(&options("rw,size=4k")).unwrap();
        assert!(["never", "deny", "force"].contains(&read.as_str()));
    }
}
