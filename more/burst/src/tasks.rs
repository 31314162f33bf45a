//! A burst of async tasks.

use std::hint::black_box;
use std::sync::Arc;

use anyhow::Result;
use brigade::StartLatch;
use runtime::{join, wait_for};
use tokio::sync::Notify;

use crate::STATE;

/// Has N tasks alive at once, each of which has written its memory, while `look` runs; then all end. As in most programs,
/// the workers allocate and free that memory, each in its own part of the heap.
pub(crate) async fn burst(n: u32, look: impl FnOnce() -> Result<()>) -> Result<()> {
    let (gate, mut latch) = (Arc::new(Notify::new()), StartLatch::new(n));
    let mut tasks = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (gate, guard) = (Arc::clone(&gate), latch.guard()?);
        tasks.push(tokio::spawn(async move {
            // It will be woken from now on, also by an opening before it is polled.
            let opened = gate.notified();
            let state = black_box(vec![u8::MAX; STATE]);
            guard.started();
            opened.await;
            drop(black_box(state));
            anyhow::Ok(())
        }));
    }
    wait_for(&mut latch).await?;
    look()?;
    gate.notify_waiters();
    for task in tasks {
        join(task).await?;
    }
    Ok(())
}
