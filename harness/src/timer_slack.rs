//! How late the kernel may wake a thread that sleeps for a time: its timer slack.
//!
//! The kernel fires a timer up to so much later than asked, so that it can serve several at once
//! (prctl(2), PR_SET_TIMERSLACK). A thread has that of the one that created it; the usual value is 50 µs.
//! Real-time threads have none. It concerns nanosleep(2) and the time-outs of futex(2), poll(2) and
//! epoll_wait(2).

use anyhow::Context;
use nix::sys::prctl;
use serde::Serialize;

use crate::units::Span;

/// `--timer-slack SPAN`. Programs flatten it into their own arguments.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct TimerSlack {
    /// How much later than asked the kernel may wake a thread that sleeps for a time, so as to serve
    /// several timers at once: 1ns for as exact as it can [default: as inherited, 50µs mostly]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = some_time)]
    pub timer_slack: Option<Span>,
}

/// The kernel takes 0 for "the usual value".
fn some_time(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(0) => Err("the kernel knows no timer slack of 0: the least is 1ns".to_owned()),
        span => Ok(span),
    }
}

impl TimerSlack {
    /// Sets it for the calling thread and all that it will create. Call it before there are others.
    ///
    /// # Errors
    /// What prctl(2) reports.
    pub fn set(self) -> anyhow::Result<()> {
        match self.timer_slack {
            None => Ok(()),
            Some(Span(slack)) => {
                prctl::set_timerslack(slack).context("--timer-slack: prctl(2) failed")
            }
        }
    }
}

/// The calling thread's timer slack in ns; `None` where the kernel does not tell.
pub(crate) fn now() -> Option<u64> {
    u64::try_from(prctl::get_timerslack().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_inherits_the_slack_that_was_set() {
        let seen = thread::spawn(|| {
            let asked = TimerSlack {
                timer_slack: Some(Span(1234)),
            };
            asked.set().unwrap();
            thread::spawn(now).join().unwrap()
        });
        assert_eq!(seen.join().unwrap(), Some(1234));
    }

    #[test]
    fn no_slack_at_all_cannot_be_asked_for() {
        assert!(some_time("0s").is_err());
        assert_eq!(some_time("1ns"), Ok(Span(1)));
    }
}
