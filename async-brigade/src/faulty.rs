//! The task that ends in mid-run or spoils its tokens, for tests of what becomes of the others.

use std::future::pending;

use harness::payload::Intake;
use harness::ready::Arrival;
use harness::test_fault::Ending;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// What `pass_on` does, for a few tokens.
pub(crate) async fn pass_on<R, W>(
    mut upstream: R,
    mut downstream: W,
    mut intake: impl Intake,
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
    let mut passed = 0;
    while ending.goes_on(passed) {
        let read = upstream.read(intake.room()).await?;
        if read == 0 {
            intake.end()?;
            return Ok(passed);
        }
        for token in intake.whole(read) {
            token[0] = token[0].wrapping_add(1);
            ending.spoil(passed, token);
            downstream.write_all(token).await?;
            passed += 1;
        }
    }
    if ending == Ending::Hang {
        pending::<()>().await;
    }
    Ok(ending.end(passed)?)
}
