//! A timerfd for each timer, and one thread that waits for all of them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use contract::{Interrupted, Run, limits};
use host::signals;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::{Cli, beginning, finish, lateness, sleep_until};

/// Most timers of which one call says that they have fired.
const EVENTS: usize = 128;

/// All timers, and when each is due.
struct Timers {
    epoll: Epoll,
    timers: Vec<(TimerFd, Instant)>,
    events: Vec<EpollEvent>,
}

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let (n, length) = (cli.flags.tasks, cli.sleep.into());
    let firings = n as usize * cli.firings as usize;
    let mut timers = Timers::new(n)?;
    while let Some(mut pass) = run.next_pass()? {
        let mut late = Vec::with_capacity(pass.left() as usize * firings);
        let begin = beginning(n);
        for k in 0..n {
            timers.set(k as usize, begin + length * (k + 1) / n)?;
        }
        sleep_until(begin);
        while pass.next_iteration().is_some() {
            let clock = Instant::now();
            let end = late.len() + firings;
            while late.len() < end {
                timers.fire(length, end, &mut late)?;
            }
            pass.record(clock.elapsed());
        }
        finish(run, pass, late)?;
    }
    Ok(())
}

impl Timers {
    fn new(n: u32) -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).context("epoll_create1")?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let mut timers = Vec::with_capacity(n as usize);
        for k in 0..n {
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags);
            let timer = timer.with_context(|| limits::refused("make a timerfd", "--tasks", n))?;
            epoll
                .add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, k.into()))
                .context("epoll_ctl")?;
            timers.push((timer, Instant::now()));
        }
        Ok(Timers { epoll, timers, events: vec![EpollEvent::empty(); EVENTS] })
    }

    /// Lets a timer fire then.
    fn set(&mut self, k: usize, due: Instant) -> Result<()> {
        let (timer, last) = &mut self.timers[k];
        *last = due;
        // Zero would clear it.
        let left = due.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        timer.set(Expiration::OneShot(left.into()), TimerSetTimeFlags::empty())?;
        Ok(())
    }

    /// Waits for timers that fire, so many in all, adds how late each was, and sets them again.
    fn fire(&mut self, length: Duration, end: usize, late: &mut Vec<u64>) -> Result<()> {
        let most = self.events.len().min(end - late.len());
        let fired = self.epoll.wait(&mut self.events[..most], EpollTimeout::NONE);
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        let fired = match fired {
            Err(Errno::EINTR) => 0,
            fired => fired.context("epoll_wait")?,
        };
        for place in 0..fired {
            let k = self.events[place].data() as usize;
            let (timer, due) = &self.timers[k];
            timer.wait().context("cannot read a timerfd that has fired")?;
            late.push(lateness(*due)?);
            self.set(k, Instant::now() + length)?;
        }
        Ok(())
    }
}
