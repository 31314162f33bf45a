//! The task that ends in mid-run, for tests of what becomes of the others.

use std::future::pending;

use harness::ready::Arrival;
use harness::test_fault::{Ending, PASSED_BEFORE};

use crate::executor::{Sink, Source};

/// What `pass_on` does, for a few tokens.
pub(crate) async fn pass_on(
    mut upstream: impl Source,
    mut downstream: impl Sink,
    arrival: Arrival,
    ending: Ending,
) -> anyhow::Result<u64> {
    if ending == Ending::Absent {
        return Ok(ending.end(0)?);
    }
    arrival.arrive();
    for passed in 0..PASSED_BEFORE {
        let Some(byte) = upstream.read().await? else {
            return Ok(passed);
        };
        downstream.write(byte.wrapping_add(1)).await?;
    }
    if ending == Ending::Hang {
        pending::<()>().await;
    }
    Ok(ending.end(PASSED_BEFORE)?)
}
