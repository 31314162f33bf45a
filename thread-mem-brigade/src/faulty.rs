//! The thread that ends in mid-run, for tests of what becomes of the others.

use std::io;
use std::thread;

use harness::ready::Arrival;
use harness::test_fault::{Ending, PASSED_BEFORE};

use crate::links::{Link, Put, Take};

/// What `pass_on` does, for a few tokens.
pub(crate) fn pass_on<L: Link>(
    mut upstream: L::Receiver,
    mut downstream: L::Sender,
    arrival: Arrival,
    ending: Ending,
) -> io::Result<u64> {
    if ending == Ending::Absent {
        return ending.end(0);
    }
    arrival.arrive();
    for passed in 0..PASSED_BEFORE {
        let Some(number) = upstream.take() else {
            return Ok(passed);
        };
        downstream.put(number + 1)?;
    }
    if ending == Ending::Hang {
        loop {
            thread::park();
        }
    }
    ending.end(PASSED_BEFORE)
}
