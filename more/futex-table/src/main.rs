//! Cost of a futex wake-up while other threads sleep in the same table of the kernel.
//!
//! One iteration: N operations in a row, where N is `--tasks`:
//! - `--on wake`: FUTEX_WAKE on a word without waiters: the kernel walks past all sleepers of a slot;
//! - `--on hand-over`: a round trip of two threads, two hops. In each a thread wakes the other one, which fell asleep
//!   last, and sleeps. On one CPU the woken thread may preempt its waker, which then need not sleep: the policy
//!   SCHED_BATCH prevents that.
//!
//! `--idle` threads sleep all the time. The operations go from word to word, a sample of the slots. With `--evict`
//! other memory is written before each iteration, so that the sleepers' records leave the nearer caches.
//!
//! Timed: the operations. Left out: that memory, building the threads, and the proof: a `wake` woke nobody, the
//! other thread answered each signal, and idle threads never woke.
//!
//! Beside the times stand `slot_count`, the slots of the table that has the sleepers, and `table_bytes`, what the
//! system's memory grew by when `--futex-slots` made it.
//!
//! Not to be taken for the price of a lock: most make no system call while nobody waits.

mod rest;
mod words;

use std::fs;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use brigade::futex::{self, FutexFlags};
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs};
use contract::{Defaults, Flags, Program, Run, limits};
use host::units::Bytes;
use words::Words;

/// Time how long it takes to wake a thread (futex) while many other threads sleep
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of operations per iteration")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Operation to time
    #[arg(long, value_enum, default_value_t = On::HandOver)]
    on: On,
    /// Number of extra threads that sleep all the time
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=4_000_000))]
    idle: u32,
    /// Write this many bytes before each iteration; twice the size of the L2 cache empties it
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, default_value = "0B")]
    evict: Bytes,
    #[command(flatten)]
    futex: FutexFlags,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum On {
    /// call FUTEX_WAKE for a word on which nobody sleeps
    Wake,
    /// wake another thread, and sleep until it wakes this one
    HandOver,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 100, iters: 1000, warmup: 10 };

    fn describe(&self) -> anyhow::Result<Description> {
        let (hops, claim) = match self.on {
            On::Wake => (None, Claim::NoSwitch),
            On::HandOver => (Some(2 * u64::from(self.flags.tasks)), Claim::KernelSwitch),
        };
        let threads = u64::from(self.idle) + 1;
        let bytes = self.evict.0.saturating_add((24 << 20) + threads * words::SLEEPER_BYTES);
        Ok(Description {
            hops,
            // Sleepers of other programs in the system-wide table would be in the way.
            alone: self.futex.futex_slots == Some(0) || !futex::has_own_tables(),
            needs: Needs {
                descriptors: Need::new(10, 0),
                threads: Need::new(threads, 0),
                maps: Need::new(64, 0),
                bytes: Need::new(bytes, 0),
                space: Need::new(threads * words::STACK as u64, 0),
            },
            ..Description::new("futex-table", &self.flags, claim)
        })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| {
        let before = kernel_memory();
        cli.futex.set()?;
        let grown = kernel_memory().zip(before).and_then(|(now, before)| now.checked_sub(before));
        let words = Words::new(cli.idle)?;
        words.start_sleepers(cli.idle)?;
        let table = grown.filter(|_| cli.futex.futex_slots.is_some());
        run.add_extra("table_bytes", &table.into_iter().collect());
        let operate = |run: &mut Run| match cli.on {
            On::Wake => wakes(cli, run, words),
            On::HandOver => hand_overs(cli, run, words),
        };
        if cli.idle == 0 { operate(run) } else { rest::beside(|| operate(run)) }
    })
}

/// Wake-ups on words without waiters.
fn wakes(cli: &Cli, run: &mut Run, words: Words) -> anyhow::Result<()> {
    let (mut place, mut woken) = (0, 0);
    serve(cli, run, || {
        let begun = Instant::now();
        for _ in 0..cli.flags.tasks {
            woken += words.wake(place);
            place += 1;
        }
        begun.elapsed()
    })?;
    ensure!(woken == 0, "{woken} threads were woken, but none should have slept there");
    Ok(())
}

/// Hand-overs: this thread wakes the other one on each second word, and sleeps on those between.
fn hand_overs(cli: &Cli, run: &mut Run, words: Words) -> anyhow::Result<()> {
    static IS_OVER: AtomicBool = AtomicBool::new(false);
    let other = thread::Builder::new().spawn(move || {
        let mut answered = 0;
        loop {
            words.sleep(2 * answered);
            if IS_OVER.load(Ordering::Relaxed) {
                return answered;
            }
            words.signal(2 * answered + 1);
            answered += 1;
        }
    });
    let other = other.with_context(|| limits::refused("create a thread", "--tasks", 1))?;
    let mut made = 0;
    serve(cli, run, || {
        let begun = Instant::now();
        for _ in 0..cli.flags.tasks {
            words.signal(2 * made);
            words.sleep(2 * made + 1);
            made += 1;
        }
        begun.elapsed()
    })?;
    IS_OVER.store(true, Ordering::Relaxed);
    words.signal(2 * made);
    let answered = brigade::join(other)?;
    ensure!(answered == made, "{answered} signals were answered, expected {made}");
    Ok(())
}

/// Times each iteration, before which other memory is written.
fn serve(cli: &Cli, run: &mut Run, mut iterate: impl FnMut() -> Duration) -> anyhow::Result<()> {
    let (mut other, evict) = (Vec::new(), cli.evict.0 as usize);
    other.try_reserve_exact(evict).context("cannot have the memory to write: lower --evict")?;
    other.resize(evict, 0_u8);
    // A process has a table of its own from its second thread on.
    run.add_extra("slot_count", &futex::table_slots().into_iter().collect());
    while let Some(mut pass) = run.next_pass()? {
        while pass.next_iteration().is_some() {
            for byte in other.iter_mut().step_by(64) {
                *byte = black_box(*byte).wrapping_add(1);
            }
            pass.record(iterate());
        }
        run.finish(pass)?;
    }
    Ok(())
}

/// Memory that the kernel has allocated for itself, in bytes, if it tells: a table of many slots is in either part.
fn kernel_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let parts = text.lines().filter_map(|line| {
        let value = line.strip_prefix("Slab:").or_else(|| line.strip_prefix("VmallocUsed:"))?;
        value.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    Some(parts.sum::<u64>() << 10)
}
