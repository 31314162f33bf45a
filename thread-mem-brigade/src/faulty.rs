//! The thread that ends in mid-run, for tests of what becomes of the others.

use std::io;
use std::thread;

use harness::message::Message;
use harness::ready::Arrival;
use harness::test_fault::Ending;

use crate::links::{Put, Take};

/// What `pass_on` does, for a few tokens, or with tokens that it spoils.
pub(crate) fn pass_on<M: Message>(
    mut upstream: impl Take<M>,
    mut downstream: impl Put<M>,
    arrival: Arrival,
    ending: Ending,
) -> io::Result<u64> {
    if ending == Ending::Absent {
        return ending.end(0);
    }
    arrival.arrive();
    let mut passed = 0;
    while ending.goes_on(passed) {
        let Some(token) = upstream.take() else {
            return Ok(passed);
        };
        let mut token = token.passed();
        token.spoil(ending, passed);
        downstream.put(token)?;
        passed += 1;
    }
    if ending == Ending::Hang {
        loop {
            thread::park();
        }
    }
    ending.end(passed)
}
