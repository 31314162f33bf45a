//! The thread that ends in mid-run, for tests of what becomes of the others.

use std::io::{self, Read, Write};
use std::slice;
use std::thread;

use harness::ready::Arrival;
use harness::test_fault::{Ending, PASSED_BEFORE};

/// What `pass_on` does, for a few tokens.
pub(crate) fn pass_on(
    mut upstream: impl Read,
    mut downstream: impl Write,
    arrival: Arrival,
    ending: Ending,
) -> io::Result<u64> {
    if ending == Ending::Absent {
        return ending.end(0);
    }
    arrival.arrive();
    let mut byte = 0u8;
    for passed in 0..PASSED_BEFORE {
        if upstream.read(slice::from_mut(&mut byte))? == 0 {
            return Ok(passed);
        }
        downstream.write_all(&[byte.wrapping_add(1)])?;
    }
    if ending == Ending::Hang {
        loop {
            thread::park();
        }
    }
    ending.end(PASSED_BEFORE)
}
