//! The folder of the files. They have no names: whatever ends the program, the kernel frees them.
//!
//! A tmpfs of the program's own is mounted nowhere (fsmount(2)): it is reached by its descriptor, and ends
//! with it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::ValueEnum;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
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
    /// The system's folder for temporary files.
    pub(crate) fn temporary() -> Self {
        Folder(std::env::temp_dir(), None)
    }

    /// The root of a new tmpfs, which nobody else sees.
    pub(crate) fn tmpfs(huge: Huge) -> anyhow::Result<Self> {
        let root = mount_tmpfs(huge).context(
            "--tmpfs: cannot mount a tmpfs, which needs CAP_SYS_ADMIN: begin the command with `unshare --map-root-user --mount`, or drop the flag",
        )?;
        Ok(Folder(format!("/proc/self/fd/{}", root.as_raw_fd()).into(), Some(root)))
    }

    /// True if its files take memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        statfs(&self.0).is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC)
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
        let remedy = "lower --tasks or --size, or set TMPDIR to another folder";
        anyhow!("{}: {what}: {error}: {remedy}", self.0.display())
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
