//! The folder of the files. They have no names: whatever ends the program, the kernel frees them.
//!
//! A tmpfs of the program's own is mounted nowhere (fsmount(2)): it is reached by its descriptor, and ends
//! with it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use clap::ValueEnum;
use contract::BadUsage;
use contract::units::Bytes;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::sys::statvfs::statvfs;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};

/// A folder for files, with the mount that it is the root of.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf, #[expect(dead_code, reason = "ends with it")] Option<OwnedFd>);

/// Huge pages of a tmpfs, by the words of its mount option (tmpfs(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Huge {
    /// pages of 4 KiB
    Never,
    /// pages of 2 MiB (on x86-64) wherever a file begins one
    Always,
}

impl Folder {
    /// This folder, or the system's for temporary files.
    pub(crate) fn new(asked: Option<&Path>) -> anyhow::Result<Self> {
        let path = asked.map_or_else(std::env::temp_dir, Path::to_owned);
        if path.is_dir() {
            return Ok(Folder(path, None));
        }
        Err(BadUsage::new(format!(
            "--dir {}: there is no such folder: make it, or name another (default: TMPDIR or /tmp)",
            path.display()
        )))
    }

    /// The root of a new tmpfs, which nobody else sees.
    pub(crate) fn tmpfs(huge: Huge) -> anyhow::Result<Self> {
        let root = mount_tmpfs(huge).context(
            "--tmpfs: cannot mount a tmpfs, which takes CAP_SYS_ADMIN: begin the command with `unshare --map-root-user --mount`, or use --dir",
        )?;
        Ok(Folder(format!("/proc/self/fd/{}", root.as_raw_fd()).into(), Some(root)))
    }

    /// True if its files take memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        statfs(&self.0).is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC)
    }

    /// Checks that so many bodies find room.
    pub(crate) fn check_room(&self, bodies: u32, size: Bytes) -> anyhow::Result<()> {
        let shown = self.0.display();
        let room = statvfs(&self.0).with_context(|| format!("--dir {shown}"))?;
        let free = room.blocks_available().saturating_mul(room.fragment_size());
        if size.0.saturating_mul(bodies.into()) > free {
            bail!(
                "--dir {shown}: {bodies} bodies of {size} do not fit into the {} that are free there: lower --tasks or --size, or name another folder",
                Bytes(free)
            );
        }
        Ok(())
    }

    /// Makes a file without a name (O_TMPFILE, open(2)).
    pub(crate) fn file(&self) -> io::Result<File> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .mode(0o600)
            .custom_flags(libc::O_TMPFILE | libc::O_EXCL)
            .open(&self.0)
    }

    /// An error of a file in this folder, with the remedy.
    pub(crate) fn explain(&self, what: &str, error: io::Error) -> anyhow::Error {
        let remedy = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "free some space, lower --tasks or --size, or name another folder"
            }
            _ => "name another folder",
        };
        anyhow!("--dir {}: {what}: {error}: {remedy}", self.0.display())
    }
}

/// Mounts a tmpfs nowhere, and returns its root.
fn mount_tmpfs(huge: Huge) -> rustix::io::Result<OwnedFd> {
    let huge = match huge {
        Huge::Never => "never",
        Huge::Always => "always",
    };
    let tmpfs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&tmpfs, "huge", huge)?;
    fsconfig_create(&tmpfs)?;
    fsmount(&tmpfs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}
