//! The process that ends in mid-run or spoils its tokens, for tests of what becomes of the others.

use std::fs::File;
use std::io::{self, Read, Write};
use std::thread;

use harness::payload::Intake;
use harness::test_fault::Ending;

use crate::children::Arrival;

/// What `pass_on` does, for a few tokens.
pub(crate) fn pass_on(
    mut upstream: File,
    mut downstream: File,
    mut intake: impl Intake,
    arrival: Arrival,
    ending: Ending,
) -> io::Result<u64> {
    if ending == Ending::Absent {
        return ending.end(0);
    }
    arrival.arrive()?;
    let mut passed = 0;
    while ending.goes_on(passed) {
        let read = upstream.read(intake.room())?;
        if read == 0 {
            return intake.end().map(|()| passed);
        }
        for token in intake.whole(read) {
            token[0] = token[0].wrapping_add(1);
            ending.spoil(passed, token);
            downstream.write_all(token)?;
            passed += 1;
        }
    }
    if ending == Ending::Hang {
        loop {
            thread::park();
        }
    }
    ending.end(passed)
}
