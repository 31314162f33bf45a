//! Timers that never fire, and timeouts.
//!
//! With `--armed` so many others, of a day, stay in the same wheel or in the kernel. Without, each is the next one
//! to fire: Tokio then wakes its driver, by a write to an eventfd. A timer that fires, and what a sleeping runtime
//! does to look for the next one, are not in here.

use std::future::{poll_fn, ready};
use std::hint::black_box;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::Run;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::time::{sleep, timeout};

use crate::beside_timers::{DAY, beside_timers};
use crate::place::Place;
use crate::signals::WEEK;
use crate::{Cli, Way, team};

/// Polls once; true if it is pending.
async fn is_pending(future: impl Future) -> bool {
    let mut future = pin!(future);
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

/// `tokio-timer` and `timeout-ready`.
pub(crate) fn in_tokio(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (n, place, runtime) = (cli.flags.tasks, Place::new(cli)?, cli.runtime()?);
    let rest = |run: &mut Run| beside_timers(&cli.runtime()?, n, || run.held());
    let is_timeout = cli.on == Way::TimeoutReady;
    let work = move |share| async move {
        let mut count = 0;
        if is_timeout {
            for _ in 0..share {
                count += timeout(WEEK, ready(black_box(1))).await.unwrap_or(0);
            }
        } else {
            for _ in 0..share {
                count += u32::from(is_pending(sleep(WEEK)).await);
            }
        }
        ensure!(count == share, "a timer of a week has fired");
        Ok(())
    };
    beside_timers(&runtime, cli.armed, || team::measure(cli, run, (&place, &runtime), rest, work))
}

/// `timerfd`: a time of zero clears the timer.
pub(crate) fn by_timerfd(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (n, place) = (cli.flags.tasks, Place::new(cli)?);
    let make = || TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC);
    let set = |timer: &TimerFd, time: Duration| {
        timer.set(Expiration::OneShot(time.into()), TimerSetTimeFlags::empty())
    };
    let arm = |count| {
        let made = |_| make().and_then(|timer| set(&timer, DAY).map(|()| timer));
        let timers: nix::Result<Vec<TimerFd>> = (0..count).map(made).collect();
        let more = "raise ulimit -n, or lower --armed or --tasks";
        timers.with_context(|| format!("cannot make {count} timers: {more}"))
    };
    let (timer, _armed) = (make().context("cannot make a timer")?, arm(cli.armed)?);
    place.serve_thread(run, || {
        let begun = Instant::now();
        for _ in 0..n {
            set(&timer, WEEK)?;
            set(&timer, Duration::ZERO)?;
        }
        Ok((begun, Instant::now()))
    })
}
