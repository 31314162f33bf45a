//! Files that are replaced whole or left as they are.

use std::fs::{self, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, ensure};

/// Gives a file new contents. A temporary file in the same folder takes its name when it is
/// complete, so a full disk leaves the old file. A device or a pipe, such as /dev/stdout, is written
/// to. A link to a file is refused: it may be another user's.
pub fn file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a folder for files of [`file()`], with its parents.
pub fn folder(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_dir()) {
        return Ok(OpenOptions::new().write(true).open(path)?.write_all(bytes)?);
    }
    ensure!(!path.is_symlink(), "it is a link: name the file itself, or - for standard output");
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::Builder::new()
        .prefix(".switchcost-")
        // The umask removes what the user does not want to give.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(parent.unwrap_or(Path::new(".")))?;
    new.write_all(bytes)?;
    if let Some(old) = old {
        new.as_file().set_permissions(old.permissions())?;
    }
    new.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_replaced_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        file(&path, b"one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_written_through_to_a_device_only() {
        let folder = tempfile::tempdir().unwrap();
        for (target, is_refused) in [("/dev/null", false), ("missing", true), ("there", true)] {
            let link = folder.path().join(format!("to-{}", target.replace('/', "")));
            symlink(target, &link).unwrap();
            fs::write(folder.path().join("there"), "kept").unwrap();
            assert_eq!(file(&link, b"new").is_err(), is_refused, "{target}");
            assert!(link.is_symlink() && !folder.path().join("missing").exists());
        }
        assert_eq!(fs::read(folder.path().join("there")).unwrap(), b"kept");
    }
}
