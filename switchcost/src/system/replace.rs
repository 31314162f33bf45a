//! Files that are replaced whole or left as they are.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use nix::fcntl::OFlag;

/// Gives a file new contents. A temporary file in the same folder takes its name when it is
/// complete, so a full disk leaves the old file. An existing file keeps its permissions, and its
/// owner where the system permits. A device or a FIFO is written to. A link to a file is refused:
/// it may be another user's, and a link such as /dev/stdout must not be replaced.
///
/// # Errors
/// When `path` is a link to a file, or what the system reports, with the path.
pub fn file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a folder for files of [`file()`], with its parents.
///
/// # Errors
/// What the system reports, with the path.
pub fn folder(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let old = match fs::symlink_metadata(path) {
        Ok(old) => Some(old),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e.into()),
    };
    match old {
        Some(old) if old.is_symlink() => {
            if !fs::metadata(path).is_ok_and(|m| is_special(&m)) {
                bail!("it is a link: name the file itself, or - for standard output");
            }
            // A trusted link, such as /dev/stdout or /dev/fd/3.
            write_special(path, OFlag::empty(), bytes)
        }
        Some(old) if is_special(&old) => write_special(path, OFlag::O_NOFOLLOW, bytes),
        old => replace(path, old.as_ref(), bytes),
    }
}

/// Writes to a device or a FIFO, which must stay what it is.
fn write_special(path: &Path, flags: OFlag, bytes: &[u8]) -> anyhow::Result<()> {
    let mut special = OpenOptions::new().write(true).custom_flags(flags.bits()).open(path)?;
    if !is_special(&special.metadata()?) {
        bail!("another process has changed what this name stands for");
    }
    Ok(special.write_all(bytes)?)
}

fn replace(path: &Path, old: Option<&Metadata>, bytes: &[u8]) -> anyhow::Result<()> {
    let mut new = tempfile::Builder::new()
        .prefix(".switchcost-")
        // The umask takes from it what the user does not want to give.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder_of(path))?;
    new.write_all(bytes)?;
    if let Some(old) = old {
        keep_owner(new.as_file(), old)?;
        // After the owner: a change of owner clears bits of the mode.
        let mode = old.permissions().mode() & 0o777;
        new.as_file().set_permissions(Permissions::from_mode(mode))?;
    }
    new.persist(path)?;
    Ok(())
}

/// Gives the new file the owner and the group of the old one. Only root may give files away; other
/// users may set a group of theirs.
fn keep_owner(new: &File, old: &Metadata) -> io::Result<()> {
    let now = new.metadata()?;
    if (now.uid(), now.gid()) == (old.uid(), old.gid()) {
        return Ok(());
    }
    let whole = fchown(new, Some(old.uid()), Some(old.gid()));
    let kept = whole.or_else(|_| fchown(new, None, Some(old.gid())));
    match kept {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

/// The folder that holds a name.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) => PathBuf::from("."),
        None => PathBuf::from("/"),
    }
}

/// True for a device, a FIFO or a socket.
fn is_special(metadata: &Metadata) -> bool {
    !metadata.is_file() && !metadata.is_dir() && !metadata.is_symlink()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, symlink};
    use std::thread;

    use nix::sys::stat::Mode;
    use nix::unistd::{geteuid, mkfifo};

    use super::*;

    /// A user other than this one: `nobody` on most systems.
    const OTHER: u32 = 65_534;

    #[test]
    fn a_file_is_replaced_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        file(&path, b"one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_to_a_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        symlink(&target, &link).unwrap();
        for there in [false, true] {
            if there {
                fs::write(&target, "kept").unwrap();
            }
            let error = format!("{:#}", file(&link, b"new").unwrap_err());
            assert!(error.contains("name the file itself"), "{error}");
            assert_eq!(target.exists(), there);
        }
        assert_eq!(fs::read(&target).unwrap(), b"kept");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_users_file_does_not_become_roots() {
        if !geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        chown(&path, Some(OTHER), Some(OTHER)).unwrap();
        file(&path, b"two").unwrap();
        let new = fs::metadata(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!((new.uid(), new.gid()), (OTHER, OTHER));
        assert_eq!(new.mode() & 0o777, 0o604);
    }

    #[test]
    fn a_device_stays_a_device() {
        file(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink("/dev/null", &link).unwrap();
        file(&link, b"gone").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn a_fifo_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        mkfifo(&path, Mode::S_IRWXU).unwrap();
        let reader = {
            let path = path.clone();
            thread::spawn(move || fs::read(path).unwrap())
        };
        file(&path, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(!fs::metadata(&path).unwrap().is_file());
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = file(Path::new("/nonexistent/a.html"), b"").unwrap_err();
        assert!(format!("{error:#}").contains("/nonexistent/a.html"));
    }
}
