//! Reports of the processes, in memory that all of them share.

#![expect(unsafe_code, reason = "memory is mapped that processes share")]

use std::io;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::thread;

use anyhow::anyhow;
use contract::console;

/// One report for each task. A page becomes resident when the first task of it ends.
#[derive(Debug)]
pub(crate) struct Reports {
    base: NonNull<Report>,
    count: usize,
}

/// Longest text of a report, in bytes.
const LONGEST: usize = 236;

/// Result of one process. Written by it just before it ends, read by the driver after that.
#[repr(C)]
struct Report {
    passed: AtomicU64,
    kind: AtomicU32,
    errno: AtomicI32,
    length: AtomicU32,
    text: [AtomicU8; LONGEST],
}

/// Kinds of reports; memory that was never written to has none of them.
const PASSED: u32 = 1;
const ERRNO: u32 = 2;
const TEXT: u32 = 3;

impl Reports {
    /// Maps memory for so many reports.
    ///
    /// # Errors
    /// Those of mmap(2).
    pub(crate) fn map(count: u32) -> io::Result<Self> {
        let count = count as usize;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: new memory at an address of the kernel's choice, which nothing else uses.
        let base = unsafe { libc::mmap(ptr::null_mut(), bytes(count), access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Reports {
            base: NonNull::new(base.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?,
            count,
        })
    }

    fn all(&self) -> &[Report] {
        // SAFETY: the mapping has room for so many, is aligned to a page, and holds zeros, which are
        // valid atomics. All writes to it go through atomics.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.count) }
    }

    /// Keeps the result of task `k`.
    pub(crate) fn write(&self, k: u32, outcome: &thread::Result<io::Result<u64>>) {
        let report = &self.all()[k as usize];
        let kind = match outcome {
            Ok(Ok(passed)) => {
                report.passed.store(*passed, Ordering::Relaxed);
                PASSED
            }
            Ok(Err(e)) => match e.raw_os_error() {
                Some(errno) => {
                    report.errno.store(errno, Ordering::Relaxed);
                    ERRNO
                }
                None => report.put(&e.to_string()),
            },
            Err(panic) => report.put(&console::panic_error(&**panic).to_string()),
        };
        report.kind.store(kind, Ordering::Release);
    }

    /// Result of task `k`; `None` where it left none.
    pub(crate) fn read(&self, k: u32) -> Option<anyhow::Result<u64>> {
        let report = &self.all()[k as usize];
        match report.kind.load(Ordering::Acquire) {
            PASSED => Some(Ok(report.passed.load(Ordering::Relaxed))),
            ERRNO => {
                let errno = report.errno.load(Ordering::Relaxed);
                Some(Err(io::Error::from_raw_os_error(errno).into()))
            }
            TEXT => Some(Err(anyhow!("{}", report.text()))),
            _ => None,
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        // SAFETY: the mapping is of this size, and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), bytes(self.count)) };
    }
}

impl Report {
    /// Keeps as much of a text as there is room for.
    fn put(&self, text: &str) -> u32 {
        let fits = |&end: &usize| text.is_char_boundary(end);
        let end = (0..=text.len().min(LONGEST)).rev().find(fits).unwrap_or(0);
        for (place, &byte) in self.text.iter().zip(&text.as_bytes()[..end]) {
            place.store(byte, Ordering::Relaxed);
        }
        self.length.store(end as u32, Ordering::Relaxed);
        TEXT
    }

    fn text(&self) -> String {
        let length = self.length.load(Ordering::Relaxed) as usize;
        let bytes = self.text.iter().take(length);
        let bytes: Vec<u8> = bytes.map(|byte| byte.load(Ordering::Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Size of so many reports.
fn bytes(count: usize) -> usize {
    count * size_of::<Report>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_report_is_read_and_the_others_are_absent() {
        let reports = Reports::map(600).unwrap();
        reports.write(0, &Ok(Ok(7)));
        reports.write(1, &Ok(Err(io::Error::from_raw_os_error(libc::EPIPE))));
        reports.write(2, &Ok(Err(io::Error::other("out of luck"))));
        reports.write(599, &Err(Box::new("gone")));
        assert_eq!(reports.read(0).unwrap().unwrap(), 7);
        let error = |k| reports.read(k).unwrap().unwrap_err();
        let pipe = error(1);
        let pipe = pipe.downcast_ref::<io::Error>().unwrap();
        assert_eq!(pipe.kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(error(2).to_string(), "out of luck");
        assert_eq!(error(599).to_string(), "gone");
        assert!(reports.read(3).is_none());
    }

    #[test]
    fn a_long_text_ends_between_characters() {
        let reports = Reports::map(1).unwrap();
        let text = "ü".repeat(LONGEST);
        reports.write(0, &Ok(Err(io::Error::other(text.clone()))));
        let kept = reports.read(0).unwrap().unwrap_err().to_string();
        assert_eq!(kept, text[..LONGEST]);
        assert_eq!(size_of::<Report>() % 64, 0, "no two share a cache line");
    }
}
