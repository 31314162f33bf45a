//! The folder of the files. They have no names: whatever ends the program, the kernel frees them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use contract::BadUsage;
use contract::units::Bytes;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::sys::statvfs::statvfs;

/// A folder for files.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// This folder, or the system's for temporary files.
    ///
    /// # Errors
    /// A [`BadUsage`] error where it is no folder.
    pub(crate) fn new(asked: Option<&Path>) -> anyhow::Result<Self> {
        // An empty TMPDIR names none.
        let system = || match std::env::temp_dir() {
            path if path.as_os_str().is_empty() => PathBuf::from("/tmp"),
            path => path,
        };
        let path = asked.map_or_else(system, Path::to_owned);
        match fs::metadata(&path) {
            Ok(found) if !found.is_dir() => {
                Err(BadUsage::new(format!("--dir {}: not a folder: name one", path.display())))
            }
            Err(e) => Err(BadUsage::new(format!(
                "--dir {}: {e}: make it, or name another folder (default: TMPDIR or /tmp)",
                path.display()
            ))),
            Ok(_) => Ok(Folder(path)),
        }
    }

    /// Whether its files take memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        statfs(&self.0).is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC)
    }

    /// Makes a file for a trial, and checks that so many bodies find room.
    ///
    /// # Errors
    /// Names the folder, what is needed, what is left, and the remedy.
    pub(crate) fn check_room(&self, bodies: u32, size: Bytes) -> anyhow::Result<()> {
        self.file().map_err(|e| self.explain("cannot make a file", e))?;
        let (largest, _) = getrlimit(Resource::RLIMIT_FSIZE)?;
        if size.0 > largest {
            // A write past it would end the process by SIGXFSZ.
            bail!(
                "--size {size} is more than the limit of files ({}): lower --size, or `ulimit -f unlimited`",
                Bytes(largest)
            );
        }
        let shown = self.0.display();
        let room = statvfs(&self.0).with_context(|| format!("--dir {shown}"))?;
        let block = room.fragment_size().max(1);
        // Whole blocks, and one to find them by.
        let each = (size.0.div_ceil(block) + 1).saturating_mul(block);
        let free = room.blocks_available().saturating_mul(block);
        if each.saturating_mul(bodies.into()) > free {
            bail!(
                "--dir {shown}: {bodies} bodies of {size} do not fit into the {} that are free there; at most {} tasks fit: lower --tasks or --size, or name another folder",
                Bytes(free),
                free / each
            );
        }
        Ok(())
    }

    /// Makes a file without a name (O_TMPFILE, open(2)).
    ///
    /// # Errors
    /// What open(2) reports; `Unsupported` where the file system has no such files.
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
