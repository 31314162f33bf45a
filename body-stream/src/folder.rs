//! The folder for the files, which have no names: whatever ends the program, the kernel frees them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, anyhow, bail};
use harness::BadUsage;
use harness::file_system::FileSystem;
use harness::units::Bytes;
use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::statvfs::statvfs;

/// A folder in which files can be made.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// This folder, or else the system's for temporary files. A file is made in it for a trial.
    ///
    /// # Errors
    /// Where it is not there, or nothing can be made in it.
    pub(crate) fn open(asked: Option<&Path>) -> anyhow::Result<Self> {
        let path = asked.map_or_else(temporary, Path::to_owned);
        let shown = path.display();
        match fs::metadata(&path) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Err(BadUsage::new(format!(
                    "--dir {shown}: there is no such folder: make it, or name another one (without --dir it is TMPDIR or /tmp)"
                )));
            }
            Ok(found) if !found.is_dir() => {
                return Err(BadUsage::new(format!(
                    "--dir {shown}: that is not a folder: name one"
                )));
            }
            _ => {}
        }
        let folder = Folder(path);
        match folder.file() {
            Ok(_) => Ok(folder),
            Err(e) => Err(folder.explain("cannot make a file", e)),
        }
    }

    /// What it is on.
    ///
    /// # Errors
    /// Where it cannot be opened.
    pub(crate) fn file_system(&self) -> anyhow::Result<FileSystem> {
        FileSystem::of(&self.0).with_context(|| format!("--dir {}", self.0.display()))
    }

    /// Whether `bodies` files of `size` bytes each find room, as things stand.
    ///
    /// # Errors
    /// Names the folder, what is needed, what there is, and what helps.
    pub(crate) fn check_room(&self, bodies: u32, size: Bytes) -> anyhow::Result<()> {
        let (largest, _) = getrlimit(Resource::RLIMIT_FSIZE)?;
        if size.0 > largest {
            // A write past it would end the process by SIGXFSZ.
            bail!(
                "--size {size} is more than a file of this process may have (ulimit -f): {} at most: lower --size, or raise it by `ulimit -f unlimited`",
                Bytes(largest)
            );
        }
        let room = statvfs(&self.0).with_context(|| format!("--dir {}", self.0.display()))?;
        let block = room.fragment_size().max(1);
        let each = needed(size.0, block);
        let free = room.blocks_available().saturating_mul(block);
        let shown = self.0.display();
        if each.saturating_mul(u64::from(bodies)) > free {
            let most = free / each;
            let fewer = match most {
                0 => "lower --size".to_owned(),
                _ => format!("lower --tasks to {most} or less, or --size"),
            };
            bail!(
                "--dir {shown}: {bodies} bodies of {size} need {} of disk space, and {} are free there: free some, {fewer}, or name a folder with more room by --dir",
                Bytes(each.saturating_mul(u64::from(bodies))),
                Bytes(free)
            );
        }
        // Where there is no bound the file system has no number of them.
        if room.files() > 0 && room.files_available() < u64::from(bodies) {
            bail!(
                "--dir {shown}: {bodies} bodies need as many files, and there can be {} more: lower --tasks, or name another folder by --dir",
                room.files_available()
            );
        }
        Ok(())
    }

    /// Makes a file without a name. Where the file system knows none (O_TMPFILE in open(2)), one with
    /// a name, which it loses at once.
    ///
    /// # Errors
    /// What open(2) and unlink(2) report.
    pub(crate) fn file(&self) -> io::Result<File> {
        let unnamed = options()
            .custom_flags(libc::O_TMPFILE | libc::O_EXCL)
            .open(&self.0);
        match unnamed {
            Err(e) if is_unknown(&e) => self.unlinked(),
            other => other,
        }
    }

    fn unlinked(&self) -> io::Result<File> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = format!(".body-stream-{}-{count}", process::id());
            let path = self.0.join(name);
            match options().create_new(true).open(&path) {
                // Left behind by a process that had this number, in the instant before it had no name.
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(file) => {
                    fs::remove_file(&path)?;
                    return Ok(file);
                }
            }
        }
    }

    /// An error with a file of this folder, and what helps.
    pub(crate) fn explain(&self, what: &str, error: io::Error) -> anyhow::Error {
        let remedy = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "free some space, lower --tasks or --size, or name another folder by --dir"
            }
            _ => "name another folder by --dir",
        };
        anyhow!("--dir {}: {what}: {error}: {remedy}", self.0.display())
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

/// What a file system reports that has no files without a name; the second before Linux 3.11, or
/// from one in user space.
fn is_unknown(error: &io::Error) -> bool {
    let known = [
        Errno::EOPNOTSUPP,
        Errno::EISDIR,
        Errno::EINVAL,
        Errno::ENOSYS,
    ];
    known
        .iter()
        .any(|&errno| error.raw_os_error() == Some(errno as i32))
}

/// What a file takes: whole blocks, and one to find them by.
fn needed(size: u64, block: u64) -> u64 {
    let blocks = size.div_ceil(block).saturating_add(1);
    blocks.saturating_mul(block)
}

/// The folder for temporary files: a TMPDIR that is empty names none.
fn temporary() -> PathBuf {
    match std::env::temp_dir() {
        path if path.as_os_str().is_empty() => PathBuf::from("/tmp"),
        path => path,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::open(Some(place.path())).unwrap();
        (place, folder)
    }

    fn is_empty(place: &tempfile::TempDir) -> bool {
        fs::read_dir(place.path()).unwrap().next().is_none()
    }

    #[test]
    fn files_have_no_names() {
        let (place, folder) = folder();
        for make in [Folder::file, Folder::unlinked] {
            let mut file = make(&folder).unwrap();
            assert!(is_empty(&place));
            file.write_all(b"some").unwrap();
            file.rewind().unwrap();
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "some");
        }
        assert!(is_empty(&place));
    }

    #[test]
    fn a_folder_that_is_none_is_bad_usage() {
        for path in ["/nonexistent", "/proc/self/status", "/proc/self/status/x"] {
            let error = Folder::open(Some(Path::new(path))).unwrap_err();
            assert!(error.downcast_ref::<BadUsage>().is_some(), "{error}");
            assert!(error.to_string().contains("--dir"), "{error}");
        }
    }

    #[test]
    fn a_folder_that_takes_no_files_is_told() {
        let error = Folder::open(Some(Path::new("/proc/self"))).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("--dir /proc/self: cannot make a file"),
            "{text}"
        );
    }

    #[test]
    fn more_than_there_is_room_for_is_told_with_what_fits() {
        let (_place, folder) = folder();
        folder.check_room(1, Bytes(1)).unwrap();
        let free = statvfs(&folder.0).unwrap();
        let free = free.blocks_available() * free.fragment_size();
        let error = folder.check_room(1 << 20, Bytes(free / 100)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("lower --tasks to 9"), "{text}");
        let error = folder.check_room(1, Bytes(free * 2)).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("are free there: free some, lower --size"),
            "{text}"
        );
    }

    #[test]
    fn blocks_are_whole() {
        assert_eq!(needed(1, 4096), 8192);
        assert_eq!(needed(4096, 4096), 8192);
        assert_eq!(needed(4097, 4096), 3 * 4096);
        assert_eq!(needed(u64::MAX, 4096), u64::MAX);
    }
}
