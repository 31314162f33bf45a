//! A file in memory.

#![expect(unsafe_code, reason = "a file is mapped")]

use std::fs::File;
use std::io;

use memmap2::{Advice, Mmap, MmapOptions};

/// The map of a file that nobody else has.
pub(crate) struct Map(Mmap);

impl Map {
    /// Maps the first `length` bytes, for a sequential read.
    ///
    /// # Errors
    /// What mmap(2) and madvise(2) report.
    pub(crate) fn new(file: &File, length: u64) -> io::Result<Self> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: the file has no name, only this program has its descriptor, and nothing is written to
        // it any more, so that neither its bytes nor its length change while it is mapped.
        let map = unsafe { MmapOptions::new().len(length).map(file) }?;
        map.advise(Advice::Sequential)?;
        Ok(Map(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
