//! What a child process writes to, also where there is no folder to write in: a server's read-only
//! file system, an empty chroot.

use std::fs::File;

use anyhow::Context;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// A file without a name, gone when it is closed. It is in memory, so that no disk works while a
/// child measures; where that is forbidden, in the folder for temporary files.
///
/// # Errors
/// When there is neither.
pub fn file() -> anyhow::Result<File> {
    match memfd_create("switchcost", MFdFlags::MFD_CLOEXEC) {
        Ok(file) => Ok(file.into()),
        Err(e) => tempfile::tempfile().with_context(|| {
            format!(
                "cannot make a temporary file, neither in memory (memfd_create: {e}) nor in a \
                 folder: let TMPDIR name one that can be written"
            )
        }),
    }
}
