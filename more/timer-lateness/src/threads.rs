//! Threads that sleep: one per timer. The driver is the first of them.

use std::hint::spin_loop;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use brigade::{Gate, StartLatch, join, wait_at};
use contract::{Interrupted, Run};
use host::signals;
use nix::sys::prctl::set_timerslack;

use crate::{Cli, STACK, Way, beginning, finish, lateness, sleep_until};

/// How long a thread reads the clock instead of sleeping: longer than most sleeps are late.
const SPIN: Duration = Duration::from_micros(100);

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let (n, way, length) = (cli.flags.tasks, cli.on, cli.sleep.into());
    let firings = cli.firings as usize;
    if way == Way::SleepSlack1ns {
        // The other threads inherit it.
        set_timerslack(1)?;
    }
    while let Some(mut pass) = run.next_pass()? {
        let (each, begin) = (pass.left() as usize * firings, beginning(n));
        let (gate, mut latch) = (Gate::new()?, StartLatch::new(n - 1));
        let mut others = Vec::with_capacity(n as usize);
        for k in 1..n {
            let (guard, gate) = (latch.guard()?, gate.reader());
            others.push(STACK.spawn(n, move || {
                sleep_until(begin + length * k / n);
                let late: Result<Vec<u64>> = (0..each).map(|_| sleep(way, length)).collect();
                // Nobody ends before the usage is read.
                guard.started();
                wait_at(&gate);
                late
            })?);
        }
        let mut late = Vec::with_capacity(each);
        sleep_until(begin);
        while pass.next_iteration().is_some() {
            let clock = Instant::now();
            for _ in 0..firings {
                late.push(sleep(way, length)?);
            }
            pass.record(clock.elapsed());

            if pass.left() == 0 {
                latch.wait()?;
            }
        }
        gate.open(n - 1)?;
        for other in others {
            late.extend(join(other)??);
        }
        finish(run, pass, late)?;
    }
    Ok(())
}

/// Sleeps once; returns how late that ended.
fn sleep(way: Way, length: Duration) -> Result<u64> {
    if signals::received().is_some() {
        return Err(Interrupted.into());
    }
    let due = Instant::now() + length;
    if way != Way::SleepSpin {
        thread::sleep(length);
    } else {
        thread::sleep(length.saturating_sub(SPIN));
        while Instant::now() < due {
            spin_loop();
        }
    }
    lateness(due)
}
