//! A neighbour of the batches on the same runtime, and what it notices: the heartbeat.
//!
//! It is a task that a kernel timer wakes at each interval, by a timerfd that the runtime's own epoll watches. A sample
//! is the time from when the beat was due until the task runs. Beats that fell due while the task could not run are
//! samples as well, so that a long stall weighs as much as it lasts. Tokio's own timers are not used: they count in
//! whole ms, and round up.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use contract::message::{Need, Needs, PassKind};
use contract::samples::Recorder;
use host::signals;
use nix::sys::timerfd::{
    ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags,
};
use nix::time::{ClockId, clock_gettime};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Interval of the heartbeat.
const INTERVAL: Duration = Duration::from_millis(1);

/// Fewest beats of a pass.
const BEATS: u64 = 100;

/// Name of the pass beside the heartbeat.
pub(crate) const PASS: &str = "neighbours";

/// The pass beside the heartbeat: its samples are the batches there.
pub fn pass() -> PassKind {
    PassKind { name: PASS.to_owned(), ..PassKind::main() }
}

/// Needs of the heartbeat: a timer.
pub fn needs() -> Needs {
    Needs { descriptors: Need::new(1, 0), ..Needs::default() }
}

/// State that the heartbeat shares with the driver of the batches.
#[derive(Debug, Default)]
pub struct Progress {
    beats: AtomicU64,
    is_over: AtomicBool,
}

impl Progress {
    /// True if the driver is to go on with untimed batches, until enough beats were heard.
    pub fn wants_more(&self) -> bool {
        let is_over = self.is_over.load(Ordering::Relaxed) || signals::received().is_some();
        self.beats.load(Ordering::Relaxed) < BEATS && !is_over
    }

    /// Ends the heartbeat.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// The heartbeat: returns how late each beat was.
pub(crate) async fn beat(progress: Arc<Progress>) -> anyhow::Result<Recorder> {
    let late = until_the_end(&progress).await;
    // Also if it could not start: the driver must not wait for beats.
    progress.end();
    late
}

async fn until_the_end(progress: &Progress) -> anyhow::Result<Recorder> {
    let mut due = monotonic()?;
    let timer = start_timer(due + INTERVAL).context("cannot start a kernel timer")?;
    let mut late = Recorder::default();
    while !progress.is_over.load(Ordering::Relaxed) {
        let expired = expirations(&timer).await.context("the heartbeat")?;
        let now = monotonic()?;
        for _ in 0..expired {
            due += INTERVAL;
            late.record(now.saturating_sub(due).as_nanos() as u64);
        }
        progress.beats.fetch_add(expired, Ordering::Relaxed);
    }
    Ok(late)
}

/// A kernel timer that expires at each interval.
fn start_timer(first: Duration) -> io::Result<AsyncFd<OwnedFd>> {
    let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
    let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, flags)?;
    let expiration = Expiration::IntervalDelayed(first.into(), INTERVAL.into());
    timer.set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
    #[allow(
        deprecated,
        reason = "its successor is unsafe, and Tokio 1.54 was the first to have it"
    )]
    AsyncFd::with_interest(OwnedFd::from(timer), Interest::READABLE)
}

/// Awaits the next expirations of a timer, and returns their number.
async fn expirations(timer: &AsyncFd<OwnedFd>) -> io::Result<u64> {
    loop {
        let mut ready = timer.readable().await?;
        let mut count = [0; 8];
        // timerfd_create(2): a read is of 8 bytes, or fails.
        if let Ok(read) = ready.try_io(|fd| Ok(nix::unistd::read(fd, &mut count)?)) {
            return read.map(|_| u64::from_ne_bytes(count));
        }
    }
}

fn monotonic() -> nix::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into())
}
