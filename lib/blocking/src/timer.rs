//! A kernel timer that a task can await. Tokio's own timers count in whole ms.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use nix::sys::timerfd::{
    ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags,
};
use nix::time::{ClockId, clock_gettime};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A kernel timer that expires at each interval.
pub(crate) struct Timer {
    fd: AsyncFd<OwnedFd>,
    /// Time of the next expiration, by CLOCK_MONOTONIC.
    due: Duration,
    interval: Duration,
}

impl Timer {
    /// Starts it within a runtime; the first expiration is due an interval from now.
    pub(crate) fn start(interval: Duration) -> io::Result<Self> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, flags)?;
        let due = monotonic()? + interval;
        timer.set(
            Expiration::IntervalDelayed(due.into(), interval.into()),
            TimerSetTimeFlags::TFD_TIMER_ABSTIME,
        )?;
        #[allow(
            deprecated,
            reason = "its successor is unsafe, and Tokio 1.54 was the first to have it"
        )]
        let fd = AsyncFd::with_interest(OwnedFd::from(timer), Interest::READABLE)?;
        Ok(Timer { fd, due, interval })
    }

    /// Awaits the next expirations, and returns their number: more than one if nobody has asked for longer than
    /// an interval.
    pub(crate) async fn expirations(&self) -> io::Result<u64> {
        loop {
            let mut ready = self.fd.readable().await?;
            let mut count = [0; 8];
            // timerfd_create(2): a read is of 8 bytes, or fails.
            if let Ok(read) = ready.try_io(|fd| Ok(nix::unistd::read(fd, &mut count)?)) {
                return read.map(|_| u64::from_ne_bytes(count));
            }
        }
    }

    /// Time at which the earliest expiration was due that was not asked for yet, by [`monotonic`].
    pub(crate) fn next_due(&mut self) -> Duration {
        let due = self.due;
        self.due += self.interval;
        due
    }
}

/// Time by the timer's own clock (CLOCK_MONOTONIC in clock_gettime(2)).
pub(crate) fn monotonic() -> nix::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expirations_add_up_while_nobody_asks() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
        runtime.block_on(async {
            let interval = Duration::from_millis(2);
            let mut timer = Timer::start(interval).unwrap();
            let first = timer.due;
            std::thread::sleep(7 * interval);
            let expired = timer.expirations().await.unwrap();
            assert!(expired >= 6, "{expired}");
            let last = (0..expired).map(|_| timer.next_due()).last().unwrap();
            assert_eq!(last, first + interval * (expired as u32 - 1));
            assert!(last <= monotonic().unwrap());
        });
    }
}
