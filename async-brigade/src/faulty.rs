//! The task that ends in mid-run, for tests of what becomes of the others.

use std::future::pending;
use std::slice;

use harness::ready::Arrival;
use harness::test_fault::{Ending, PASSED_BEFORE};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What `pass_on` does, for a few tokens.
pub(crate) async fn pass_on<R, W>(
    mut upstream: R,
    mut downstream: W,
    arrival: Arrival,
    ending: Ending,
) -> anyhow::Result<u64>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    if ending == Ending::Absent {
        return Ok(ending.end(0)?);
    }
    arrival.arrive();
    let mut byte = 0u8;
    for passed in 0..PASSED_BEFORE {
        if upstream.read(slice::from_mut(&mut byte)).await? == 0 {
            return Ok(passed);
        }
        downstream.write_all(&[byte.wrapping_add(1)]).await?;
    }
    if ending == Ending::Hang {
        pending::<()>().await;
    }
    Ok(ending.end(PASSED_BEFORE)?)
}
