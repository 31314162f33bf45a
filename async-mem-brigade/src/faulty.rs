//! The task that ends in mid-run, for tests of what becomes of the others.

use std::future::pending;

use harness::link_ended;
use harness::ready::Arrival;
use harness::test_fault::{Ending, PASSED_BEFORE};

use crate::links::{Link, Put, Take};

/// What `pass_on` does, for a few tokens.
pub(crate) async fn pass_on<L: Link>(
    mut upstream: L::Receiver,
    mut downstream: L::Sender,
    arrival: Arrival,
    ending: Ending,
) -> anyhow::Result<u64> {
    if ending == Ending::Absent {
        return Ok(ending.end(0)?);
    }
    arrival.arrive();
    for passed in 0..PASSED_BEFORE {
        let Some(number) = upstream.take().await else {
            return Ok(passed);
        };
        downstream.put(number + 1).await.map_err(link_ended)?;
    }
    if ending == Ending::Hang {
        pending::<()>().await;
    }
    Ok(ending.end(PASSED_BEFORE)?)
}
