//! A fixed schedule: absolute times, so that no lateness adds up.

use std::time::Duration;

use anyhow::Context;
use contract::units::Span;
use nix::errno::Errno;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Arrivals at a fixed interval, by CLOCK_MONOTONIC.
pub(crate) struct Schedule {
    /// In ns.
    every: u64,
    /// Time of the last one, in ns.
    due: u64,
}

/// Reads an interval.
pub(crate) fn interval(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(ns) if ns < 1000 => Err("1us at least: arrivals would be one stream".to_owned()),
        Span(ns) if ns > 1_000_000_000 => Err("1s at most: nothing interrupts a sleep".to_owned()),
        span => Ok(span),
    }
}

impl Schedule {
    /// A schedule whose first arrival is due an interval from now.
    pub(crate) fn new(every: Span) -> anyhow::Result<Self> {
        Ok(Schedule { every: every.0, due: now()? })
    }

    /// Sleeps until the next arrival that is due from now on. Returns how late it woke.
    pub(crate) fn sleep(&mut self) -> anyhow::Result<Duration> {
        self.due = next(self.due, self.every, now()?);
        let due = Duration::from_nanos(self.due).into();
        let flags = ClockNanosleepFlags::TIMER_ABSTIME;
        loop {
            match clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &due) {
                // A signal ends the run after this iteration.
                Err(Errno::EINTR) => {}
                other => {
                    other.context("cannot sleep until the next arrival")?;
                    return Ok(Duration::from_nanos(now()?.saturating_sub(self.due)));
                }
            }
        }
    }
}

/// First time after `due` on the schedule that is not over yet: those that were missed are left out.
fn next(due: u64, every: u64, now: u64) -> u64 {
    let missed = now.saturating_sub(due + 1) / every;
    due + (missed + 1) * every
}

fn now() -> anyhow::Result<u64> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC).context("cannot read the clock")?;
    Ok(Duration::from(time).as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_that_were_missed_are_left_out() {
        for (now, due) in [(90, 110), (100, 110), (109, 110), (110, 110), (111, 120), (150, 150)] {
            assert_eq!(next(100, 10, now), due, "{now}");
        }
    }

    #[test]
    fn it_never_wakes_early() {
        let mut schedule = Schedule::new(Span(2_000_000)).unwrap();
        for _ in 0..5 {
            schedule.sleep().unwrap();
            assert!(now().unwrap() >= schedule.due);
        }
    }
}
