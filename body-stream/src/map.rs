//! A file in memory.

#![expect(unsafe_code, reason = "a file is mapped")]

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap, MmapOptions};

/// Maps the first `length` bytes of a file that nobody else has, for a sequential read.
pub(crate) fn map(file: &File, length: u64) -> io::Result<Mmap> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    // SAFETY: the file has no name, only this program has its descriptor, and nothing is written to it any
    // more, so that neither its bytes nor its length change while it is mapped.
    let map = unsafe { MmapOptions::new().len(length).map(file) }?;
    map.advise(Advice::Sequential)?;
    Ok(map)
}
