//! The thread that ends in mid-run or spoils its tokens, for tests of what becomes of the others.

use std::io::{self, Read, Write};
use std::thread;

use harness::payload::Intake;
use harness::ready::Arrival;
use harness::test_fault::Ending;

/// What `pass_on` does, for a few tokens.
pub(crate) fn pass_on(
    mut upstream: impl Read,
    mut downstream: impl Write,
    mut intake: impl Intake,
    arrival: Arrival,
    ending: Ending,
) -> io::Result<u64> {
    if ending == Ending::Absent {
        return ending.end(0);
    }
    arrival.arrive();
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
