//! Threads that sleep: one per timer. The driver is the first of them.

use std::hint::spin_loop;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use brigade::join;
use contract::{Interrupted, Run};
use host::signals;
use nix::sys::prctl::set_timerslack;

use crate::{Cli, STACK, SleepKind, beginning, finish, lateness, sleep_until};

/// How long a thread reads the clock instead of sleeping: longer than most sleeps are late.
const SPIN: Duration = Duration::from_micros(100);

/// How often a thread is to sleep, and from when on.
type Order = (usize, Instant);

/// How late each of those sleeps was.
type Report = Result<Vec<u64>>;

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let (n, kind, length) = (cli.flags.tasks, cli.on, cli.sleep.into());
    if kind == SleepKind::SleepSlack1ns {
        // The other threads inherit it.
        set_timerslack(1)?;
    }
    let firings = cli.firings as usize;
    let (report, reports) = mpsc::channel();
    let mut others = Vec::with_capacity(n as usize);
    for _ in 1..n {
        others.push(sleeper(n, kind, length, report.clone())?);
    }
    while let Some(mut pass) = run.next_pass()? {
        let (each, begin) = (pass.left() as usize * firings, beginning(n));
        for (k, (order, _)) in (1..).zip(&others) {
            order.send((each, begin + length * k / n)).context("a thread has ended early")?;
        }
        let mut late = Vec::with_capacity(each);
        sleep_until(begin);
        while pass.next_iteration().is_some() {
            let clock = Instant::now();
            for _ in 0..firings {
                late.push(sleep(kind, length)?);
            }
            pass.record(clock.elapsed());

            if pass.left() == 0 {
                // Nobody has to wake this thread while it sleeps itself.
                thread::sleep(length);
                for _ in &others {
                    late.extend(reports.recv()??);
                }
            }
        }
        finish(run, pass, late)?;
    }
    for (order, thread) in others {
        drop(order);
        join(thread)?;
    }
    Ok(())
}

/// A thread that follows orders until there are no more.
fn sleeper(
    threads: u32,
    kind: SleepKind,
    length: Duration,
    report: Sender<Report>,
) -> Result<(Sender<Order>, JoinHandle<()>)> {
    let (order, orders) = mpsc::channel::<Order>();
    let thread = STACK.spawn(threads, move || {
        for (times, begin) in orders {
            sleep_until(begin);
            // Nobody hears it where a signal has ended the run.
            let _ = report.send((0..times).map(|_| sleep(kind, length)).collect());
        }
    })?;
    Ok((order, thread))
}

/// Sleeps once; returns how late that ended.
fn sleep(kind: SleepKind, length: Duration) -> Result<u64> {
    if signals::received().is_some() {
        return Err(Interrupted.into());
    }
    let due = Instant::now() + length;
    if kind != SleepKind::SleepSpin {
        thread::sleep(length);
    } else {
        thread::sleep(length.saturating_sub(SPIN));
        while Instant::now() < due {
            spin_loop();
        }
    }
    lateness(due)
}
