//! The part of its stack that a task has touched before it waits.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use host::units::Bytes;

/// Greatest depth: half the stack of a Tokio worker.
const DEEPEST: Bytes = Bytes(1 << 20);

/// Bytes of stack that one call takes, at least.
const FRAME: usize = 1024;

/// Reads a depth.
pub(crate) fn parse(text: &str) -> Result<Bytes, String> {
    let depth = text.parse()?;
    if depth > DEEPEST {
        Err(format!("a stack is touched to a depth of at most {DEEPEST}: lower it"))
    } else {
        Ok(depth)
    }
}

/// Depth of this run, in bytes. It is a static, so that a task need not carry it.
static DEPTH: AtomicUsize = AtomicUsize::new(0);

/// Sets the depth of this run.
pub(crate) fn set(depth: Bytes) {
    DEPTH.store(depth.0 as usize, Ordering::Relaxed);
}

/// Uses the stack of the caller down to the depth of this run, and returns.
#[inline(never)]
pub(crate) fn use_stack() {
    let (top, depth) = (0u8, DEPTH.load(Ordering::Relaxed));
    let top = &raw const top as usize;
    if depth > 0 {
        descend(top.saturating_sub(depth));
    }
}

/// Calls itself until its frame lies at that address or below: stacks grow down.
#[inline(never)]
fn descend(bottom: usize) {
    let mut frame = [0u8; FRAME];
    if black_box(&mut frame).as_ptr() as usize > bottom {
        descend(bottom);
    }
    // Used after the call, so that the frame is still there during it.
    black_box(&mut frame);
}
