//! A file that a child writes to.

use std::fs::File;

use anyhow::Context;
use nix::sys::memfd::{MFdFlags, memfd_create};

/// A file without a name, gone when it is closed. It is in memory: no disk works while a child
/// measures, and a read-only file system or an empty chroot is enough.
pub fn file() -> anyhow::Result<File> {
    let file = memfd_create("switchcost", MFdFlags::MFD_CLOEXEC);
    Ok(file.context("cannot make a file in memory (memfd_create)")?.into())
}
