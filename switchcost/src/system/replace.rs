//! Files that are named on a command line. Outputs are regular files, or `-`, which is standard output: another user may
//! have put a link or a FIFO into the place of a file.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use anyhow::Context;
use nix::fcntl::OFlag;
use nix::sys::stat::makedev;
use nix::unistd::geteuid;

use crate::system::console::plain;
use crate::system::write;

/// Gives a file a new text, without characters that a terminal obeys: see [`plain`]. A temporary file in the same
/// folder takes its name when it is complete, so a full disk leaves the old file.
pub fn file(path: &Path, text: &[u8]) -> anyhow::Result<()> {
    let text = String::from_utf8_lossy(text);
    replace(path, plain(&text).as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a folder for files of [`file()`], with its parents.
pub fn folder(path: &Path) -> anyhow::Result<()> {
    let made = if path.is_symlink() {
        Err(io::Error::other("it is a link: name the folder itself"))
    } else {
        fs::create_dir_all(path)
    };
    made.with_context(|| format!("cannot make the folder {}", path.display()))
}

fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if is_stdout(path) {
        return match write::whole(stdout()?, bytes) {
            // It has seen enough, as head(1) has.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => Ok(written?),
        };
    }
    let old = fs::symlink_metadata(path).ok().filter(|old| !old.is_dir());
    if let Some(old) = &old {
        ensure_output(old)?;
        if !old.is_file() {
            return Ok(());
        }
    }
    let parent = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut new = tempfile::Builder::new()
        .prefix(".switchcost-")
        // The umask removes what the user does not want to give.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(parent.unwrap_or(Path::new(".")))?;
    new.write_all(bytes)?;
    // What somebody else has planted gives it no rights.
    if let Some(old) = old.filter(|old| old.uid() == geteuid().as_raw()) {
        new.as_file().set_permissions(Permissions::from_mode(old.mode() & 0o777))?;
    }
    new.persist(path)?;
    Ok(())
}

/// Opens a file to append to it; true if it was not there before.
pub(crate) fn append(path: &Path) -> io::Result<(File, bool)> {
    if is_stdout(path) {
        return Ok((stdout()?, false));
    }
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    match options.clone().create_new(true).open(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        made => return Ok((made?, true)),
    }
    ensure_output(&fs::symlink_metadata(path)?)?;
    // Something else may have its name by now.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file = options.custom_flags(flags.bits()).open(path)?;
    ensure_output(&file.metadata()?)?;
    Ok((file, false))
}

/// Checks that it is a regular file, or /dev/null, which keeps nothing.
pub(crate) fn ensure_output(metadata: &Metadata) -> io::Result<()> {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_char_device() && metadata.rdev() == makedev(1, 3) => return Ok(()),
        kind if kind.is_symlink() => "a link: name the file itself",
        kind if kind.is_dir() => "a folder: name a file",
        kind if kind.is_fifo() => "a FIFO: name a regular file",
        kind if kind.is_socket() => "a socket: name a regular file",
        _ => "a device: name a regular file",
    };
    Err(io::Error::other(format!("it is {kind}, or - for standard output")))
}

/// True if a path names standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Standard output as a file.
fn stdout() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

/// Text of a regular file.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    // No FIFO is waited for.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file: copy it into one"));
    }
    io::read_to_string(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    #[test]
    fn a_file_is_replaced_and_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        file(&path, b"one").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4640)).unwrap();
        file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        if geteuid().is_root() {
            // Another user has planted it.
            fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
            chown(&path, Some(1234), None).unwrap();
            file(&path, b"three").unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o022, 0);
        }
    }
}
