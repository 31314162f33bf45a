//! One runner at a time: two that measure at once measure each other.

use std::env;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;

use crate::system::console;
use crate::system::signals;
use nix::fcntl::OFlag;
use nix::sys::stat::{major, minor};

/// The variable that names another file, or none.
const VARIABLE: &str = "SWITCHCOST_LOCK";

/// The usual file. Every user of a machine can reach this folder, whatever their TMPDIR and
/// XDG_RUNTIME_DIR are, and users disturb each other as well.
const USUAL: &str = "/tmp/switchcost.lock";

/// The turn to measure, given up when it is dropped. Children do not inherit it.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Nothing where there is no lock to be had.
    _file: Option<File>,
}

impl Turn {
    /// Waits for the turn; `None` where a signal ended the wait. Where the lock cannot be had, this
    /// is said, and everybody may measure.
    pub(crate) fn take() -> Option<Turn> {
        let path = match env::var_os(VARIABLE) {
            None => PathBuf::from(USUAL),
            Some(name) if name.is_empty() || name == "none" => return Some(Turn { _file: None }),
            Some(name) => PathBuf::from(name),
        };
        match open(&path).and_then(lock) {
            Ok(Some(file)) => Some(Turn { _file: Some(file) }),
            Ok(None) => None,
            Err(e) => {
                console::say(format_args!(
                    "switchcost: cannot lock {}: {e}; see to it that no other switchcost measures now, or name another file by {VARIABLE}",
                    path.display()
                ));
                Some(Turn { _file: None })
            }
        }
    }
}

/// Opens the file, and makes it where it is not there. It is opened for reading only, which is
/// enough for flock(2), so that it may be another user's. Anybody may write to the folder: what is
/// no plain file is not for us.
fn open(path: &Path) -> io::Result<File> {
    let no_trap = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let existing = || OpenOptions::new().read(true).custom_flags(no_trap).open(path);
    let file = match existing() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => match File::create_new(path) {
            Ok(file) => {
                // Whatever the umask is, others must be able to open it.
                file.set_permissions(Permissions::from_mode(0o644))?;
                file
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => existing()?,
            Err(e) => return Err(e),
        },
        other => other?,
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    Ok(file)
}

/// Locks the file, asleep until its holder lets go; `None` where a signal came first.
fn lock(file: File) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => return Ok(Some(file)),
        Err(TryLockError::Error(e)) => return Err(e),
        Err(TryLockError::WouldBlock) => {}
    }
    console::say(format_args!(
        "switchcost: waiting for {} to end: two measurements at once would spoil each other; {VARIABLE}=none does not wait",
        holder(&file)
    ));
    // flock(2) goes on after a signal, and so does the standard library after a flock that did
    // not: another thread takes the wait, and its end of a pipe tells when it is over.
    let (reader, writer) = io::pipe()?;
    let locker = file.try_clone()?;
    thread::Builder::new().spawn(move || {
        if let Err(e) = locker.lock() {
            console::say(format_args!("switchcost: cannot lock: {e}"));
        }
        drop(writer);
    })?;
    Ok(signals::await_readable(reader.as_fd())?.then_some(file))
}

/// Who has locked a file, in words, from the lines of /proc/locks (proc_locks(5)).
pub(crate) fn holder(file: &File) -> String {
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    match file.metadata() {
        Ok(m) => name(&locks, (major(m.st_dev()), minor(m.st_dev()), m.st_ino())),
        Err(_) => name("", (0, 0, 0)),
    }
}

fn name(locks: &str, (major, minor, inode): (u64, u64, u64)) -> String {
    let ours = format!("{major:02x}:{minor:02x}:{inode}");
    let process = locks.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        // One that waits has an arrow in the place of the kind.
        let is_held = fields.next()? == "FLOCK";
        let (process, place) = (fields.nth(2)?, fields.next()?);
        (is_held && place == ours).then_some(process)
    });
    match process {
        // 0 is a process outside of this PID namespace.
        Some(process) if process != "0" => format!("another switchcost (process {process})"),
        _ => "another switchcost".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "\
1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF
2: FLOCK  ADVISORY  WRITE 12 fe:00:78 0 EOF
3: FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF
3: -> FLOCK  ADVISORY  WRITE 14 fe:00:77 0 EOF
4: FLOCK  ADVISORY  WRITE 0 fe:00:79 0 EOF
";

    #[test]
    fn the_holder_is_found_by_the_file() {
        assert_eq!(name(LOCKS, (0xfe, 0, 77)), "another switchcost (process 13)");
        for inode in [79, 80] {
            assert_eq!(name(LOCKS, (0xfe, 0, inode)), "another switchcost");
        }
    }

    #[test]
    fn this_process_is_found() {
        let file = tempfile::tempfile().unwrap();
        file.lock().unwrap();
        let id = std::process::id();
        assert_eq!(holder(&file), format!("another switchcost (process {id})"));
    }

    #[test]
    fn what_is_no_plain_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/nonexistent", &link).unwrap();
        for path in [Path::new("/dev/null"), folder.path(), &link] {
            assert!(open(path).is_err(), "{}", path.display());
        }
        assert!(!Path::new("/nonexistent").exists());
        let made = folder.path().join("lock");
        open(&made).unwrap();
        let mode = fs::metadata(&made).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        open(&made).unwrap();
    }
}
