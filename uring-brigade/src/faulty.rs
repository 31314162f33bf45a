//! The task that ends in mid-run or spoils its tokens, for tests of what becomes of the others.

use std::future::pending;

use harness::ready::Arrival;
use harness::test_fault::Ending;

use crate::executor::{Sink, Source, Token};

/// What `pass_on` does, for a few tokens.
pub(crate) async fn pass_on<T: Token>(
    mut upstream: impl Source<T>,
    mut downstream: impl Sink<T>,
    mut token: T,
    arrival: Arrival,
    ending: Ending,
) -> anyhow::Result<u64> {
    if ending == Ending::Absent {
        return Ok(ending.end(0)?);
    }
    arrival.arrive();
    let mut passed = 0;
    while ending.goes_on(passed) {
        if !upstream.read(&mut token).await? {
            return Ok(passed);
        }
        let bytes = token.bytes();
        bytes[0] = bytes[0].wrapping_add(1);
        ending.spoil(passed, bytes);
        downstream.write(&mut token).await?;
        passed += 1;
    }
    if ending == Ending::Hang {
        pending::<()>().await;
    }
    Ok(ending.end(passed)?)
}
