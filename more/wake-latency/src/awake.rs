//! Keeps a CPU from idling.

#![expect(unsafe_code, reason = "a scheduling policy is set")]

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use anyhow::Context;
use brigade::{futex, join};
use nix::errno::Errno;

use crate::STACK;

/// A thread that computes on the CPU of its creator whenever nobody else wants to, and a pass is on.
#[derive(Debug)]
pub(crate) struct AwakeCpu {
    state: Arc<AtomicU32>,
    thread: JoinHandle<anyhow::Result<()>>,
}

/// States of that thread.
const AT_REST: u32 = 0;
const AWAKE: u32 = 1;
const OVER: u32 = 2;

impl AwakeCpu {
    /// A thread at rest.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let state = Arc::new(AtomicU32::new(AT_REST));
        let theirs = Arc::clone(&state);
        let thread = STACK.spawn(1, move || keep_awake(&theirs))?;
        Ok(AwakeCpu { state, thread })
    }

    pub(crate) fn begin(&self) {
        self.tell(AWAKE);
    }

    pub(crate) fn rest(&self) {
        self.tell(AT_REST);
    }

    fn tell(&self, state: u32) {
        self.state.store(state, Ordering::Release);
        futex::wake(&self.state);
    }

    pub(crate) fn end(self) -> anyhow::Result<()> {
        self.tell(OVER);
        join(self.thread)?
    }
}

fn keep_awake(state: &AtomicU32) -> anyhow::Result<()> {
    let lowest = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters are there during the call, which changes the calling thread alone.
    let set = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const lowest) };
    Errno::result(set).context("--keep-awake: cannot have SCHED_IDLE")?;
    loop {
        match state.load(Ordering::Acquire) {
            AT_REST => futex::wait(state, AT_REST),
            AWAKE => spin_loop(),
            _ => return Ok(()),
        }
    }
}
