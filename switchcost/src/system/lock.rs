//! One runner at a time: two runners that measure at once would measure each other.

use std::env;
use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use nix::fcntl::OFlag;

use crate::system::{console, signals};

/// The variable that names another file, or none.
const VARIABLE: &str = "SWITCHCOST_LOCK";

/// The usual file. Every user of a machine can reach this folder, whatever their TMPDIR and
/// XDG_RUNTIME_DIR are, and users disturb each other as well.
const USUAL: &str = "/tmp/switchcost.lock";

/// Pause between two attempts to get the lock: too few to disturb who has it.
const RETRY: Duration = Duration::from_millis(500);

/// Waits for the lock, and holds it until the file is dropped; children do not inherit it. `None` if a signal ended the
/// wait, or if there is no lock: a lock that cannot be had is reported, but does not stop the run.
pub(crate) fn acquire() -> Option<File> {
    let path = match env::var_os(VARIABLE) {
        None => PathBuf::from(USUAL),
        Some(name) if name.is_empty() || name == "none" => return None,
        Some(name) => PathBuf::from(name),
    };
    open(&path).and_then(lock).unwrap_or_else(|e| {
        let path = path.display();
        console::say(format_args!(
            "switchcost: cannot lock {path}: {e}; make sure that no other switchcost is measuring, or name another file by {VARIABLE}"
        ));
        None
    })
}

/// Opens the file, or creates it. Reading is enough for flock(2), so the file may belong to another user. Anybody may
/// write to the folder, so no link is followed and no FIFO is waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    match OpenOptions::new().read(true).custom_flags(flags.bits()).open(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let file = File::create_new(path)?;
            // Other users must be able to open it, whatever the umask is.
            file.set_permissions(Permissions::from_mode(0o644))?;
            Ok(file)
        }
        opened => opened,
    }
}

/// Locks the file, after its holder has let go; `None` if a signal came first.
fn lock(file: File) -> io::Result<Option<File>> {
    let mut has_waited = false;
    while signals::received().is_none() {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) if has_waited => {}
            Err(TryLockError::WouldBlock) => console::say(format_args!(
                "switchcost: waiting for another switchcost to end, since two measurements at once would disturb each other; with {VARIABLE}=none it does not wait"
            )),
        }
        has_waited = true;
        thread::sleep(RETRY);
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_new_file_can_be_opened_by_all_and_a_link_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (link, new) = (folder.path().join("link"), folder.path().join("lock"));
        std::os::unix::fs::symlink(&new, &link).unwrap();
        assert!(open(&link).is_err());
        open(&new).unwrap();
        assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, 0o644);
        assert!(open(&new).is_ok() && open(&link).is_err());
    }
}
