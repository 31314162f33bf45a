//! How late does a sleep end, and what does it cost?
//!
//! N timers (`--tasks`) each sleep for `--sleep`, again and again; `--on` says how. The timers begin one after the other
//! within the length of a sleep, so that they are not all due at the same moment. One iteration: each fires `--firings`
//! times, one after the other. The others are not awaited in between, but all have fired equally often when a pass ends.
//! A firing is what a runner takes for a hop.
//!
//! Timed: what one of the timers takes, from before its first sleep until after its last; with timerfd the N timers of
//! the one thread that waits for all of them. The distribution `late` shows by how much each sleep of all N was longer
//! than it was to be. The CPU time that a runner reads is that of all firings, and of the clock that is read between
//! them.
//!
//! Proof: the sleeps are counted, and one that ends early is an error.
//!
//! Tokio's timers count whole milliseconds and round up: an async task sleeps half a millisecond longer on average, and
//! a task that asks for 50 µs sleeps at least a millisecond. An interval is due at the multiples of its length: it
//! catches up with those that it has missed, and `late` counts from each of them. Not to be taken for the time of a timer
//! that is set and cancelled: that is a row of `waiting`.

mod tasks;
mod threads;
mod timerfd;

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use brigade::StackFlags;
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs, PassKind};
use contract::samples::Recorder;
use contract::{Defaults, Flags, Pass, Program, Run};
use host::units::{Bytes, Span};
use runtime::RuntimeFlags;

/// Time how late a sleep or a timer ends, and what a firing costs
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of timers at the same time").visible_alias("timers")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// What sleeps, and by what call
    #[arg(long, value_enum, default_value_t = SleepKind::Sleep)]
    on: SleepKind,
    /// How long each sleeps
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = length, default_value = "1ms")]
    sleep: Span,
    /// How often each timer fires in an iteration
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    firings: u32,
    #[command(flatten)]
    runtime: RuntimeFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SleepKind {
    /// a thread in std::thread::sleep: clock_nanosleep(2), which may end later by the thread's timer slack
    Sleep,
    /// the same with a timer slack of 1 ns: prctl(PR_SET_TIMERSLACK)
    #[value(name = "sleep-slack-1ns")]
    SleepSlack1ns,
    /// a thread that sleeps until 100 µs are left, and then reads the clock until they are over
    SleepSpin,
    /// a timerfd for each timer, and one thread in epoll_wait(2) for all of them
    Timerfd,
    /// an async task in tokio::time::sleep
    Tokio,
    /// an async task in the tick() of a tokio::time::interval
    TokioInterval,
}

impl SleepKind {
    fn is_of_tokio(self) -> bool {
        matches!(self, SleepKind::Tokio | SleepKind::TokioInterval)
    }
}

const STACK: StackFlags = StackFlags { stack_size: Bytes(64 << 10) };

/// A signal is looked for after each sleep.
const LONGEST: Span = Span(1_000_000_000);

fn length(text: &str) -> Result<Span, String> {
    match Span::at_most(text, LONGEST)? {
        Span(0) => Err("a sleep takes at least 1ns: raise it".to_owned()),
        span => Ok(span),
    }
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 500, warmup: 10 };

    fn describe(&self) -> anyhow::Result<Description> {
        let bytes = |each| Needs { bytes: Need::new(8 << 20, each), ..Needs::default() };
        let (claim, needs) = match self.on {
            SleepKind::Timerfd => {
                let timers = Needs { descriptors: Need::new(16, 1), ..Needs::default() };
                (Claim::NoSwitch, bytes(1 << 10) + timers)
            }
            SleepKind::Tokio | SleepKind::TokioInterval => (Claim::UserSwitch, bytes(4 << 10)),
            SleepKind::Sleep | SleepKind::SleepSlack1ns | SleepKind::SleepSpin => {
                (Claim::KernelSwitch, bytes(1 << 10) + STACK.needs())
            }
        };
        let described = Description {
            needs,
            hops: Some(u64::from(self.flags.tasks) * u64::from(self.firings)),
            // Nothing is gained by sleeps that are not timed.
            passes: vec![PassKind { settle: 0, ..PassKind::main() }],
            ..Description::new("timer-lateness", &self.flags, claim)
        };
        if self.on.is_of_tokio() {
            return self.runtime.describe(described);
        }
        self.runtime.refuse("tokio").map(|()| described)
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| match cli.on {
        SleepKind::Timerfd => timerfd::measure(cli, run),
        SleepKind::Tokio | SleepKind::TokioInterval => tasks::measure(cli, run),
        SleepKind::Sleep | SleepKind::SleepSlack1ns | SleepKind::SleepSpin => {
            threads::measure(cli, run)
        }
    })
}

/// When the first of so many timers begins: threads have to be created before.
fn beginning(timers: u32) -> Instant {
    Instant::now() + Duration::from_millis(20) + timers * Duration::from_micros(20)
}

fn sleep_until(then: Instant) {
    thread::sleep(then.saturating_duration_since(Instant::now()));
}

/// How much later than that is it now? An error if it is earlier.
fn lateness(due: Instant) -> anyhow::Result<u64> {
    let late = Instant::now().checked_duration_since(due).context("a sleep has ended early")?;
    Ok(late.as_nanos() as u64)
}

/// Adds to a pass how late each sleep of it was, also those of other sleepers.
fn finish(run: &mut Run, mut pass: Pass, late: Vec<u64>) -> anyhow::Result<()> {
    if pass.is_timed() {
        let mut recorder = Recorder::default();
        late.into_iter().for_each(|ns| recorder.record(ns));
        pass.add_extra("late", &recorder);
    }
    run.finish(pass)
}
