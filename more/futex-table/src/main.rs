//! What a wake-up costs beside threads that sleep in the same table of futexes.
//!
//! One iteration: N operations in a row, where N is `--tasks`:
//! - `--on wake`: futex(2) is to wake a thread, and none sleeps on the word. The kernel has searched all sleepers of a
//!   slot then;
//! - `--on hand-over`: a round trip of two threads, two hops. In each a thread wakes the other one, and sleeps.
//!
//! `--idle` threads sleep all the time, each on a word of its own. The operations go from word to word, so that they
//! meet all slots of the table alike. With `--evict` other memory is written before each iteration, so that the
//! sleepers' records have left the caches.
//!
//! Timed: the operations. Left out: that memory, building and ending the threads, and the proof: nobody was
//! woken by a `wake`, the other thread answered each signal, and idle threads never woke.
//!
//! Beside the times stand `slot_count`, the slots of the table that has the sleepers, and `table_bytes`, what the
//! system's memory grew by when `--futex-slots` made it.
//!
//! Not to be taken for the price of a lock: most locks make no system call, and wake nobody, while nobody waits.

mod words;

use std::fs;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs};
use contract::samples::Recorder;
use contract::units::Bytes;
use contract::{Defaults, Flags, Program, Run};
use threads::futex::{self, FutexFlags, Kind};
use threads::rest;
use words::{Layout, Words};

/// Time a futex's wake-up beside threads that sleep in the same table
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Operation
    #[arg(long, value_enum, default_value_t = On::HandOver)]
    on: On,
    /// Further threads, which sleep all the time
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=4_000_000))]
    idle: u32,
    /// Futexes that processes could share: they are in the table of the whole system
    #[arg(long)]
    shared: bool,
    /// Layout of the words
    #[arg(long, value_enum, default_value_t = Layout::Spread)]
    words: Layout,
    /// Bytes that are written before each iteration; twice those of the L2 cache empty it
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, default_value = "0B")]
    evict: Bytes,
    #[command(flatten)]
    futex: FutexFlags,
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum On {
    /// a wake-up of nobody
    Wake,
    /// a wake-up of another thread, and a sleep until it wakes this one
    HandOver,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 100, iters: 1000, warmup: 10 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let (hops, claim) = match self.on {
            On::Wake => (None, Claim::NoSwitch),
            On::HandOver => (Some(2 * u64::from(self.flags.tasks)), Claim::KernelSwitch),
        };
        let threads = u64::from(self.idle) + 1;
        Ok(Description {
            hops,
            alone: self.kind() == Kind::Shared || self.futex.futex_slots == Some(0),
            needs: Needs {
                descriptors: Need::new(10, 0),
                threads: Need::new(threads, 0),
                maps: Need::new(64, 0),
                bytes: Need::new((24 << 20) + self.evict.0 + threads * words::SLEEPER_BYTES, 0),
                space: Need::new(threads * words::STACK as u64, 0),
            },
            ..Description::new("futex-table", &self.flags, claim)
        })
    }
}

impl Cli {
    fn kind(&self) -> Kind {
        if self.shared { Kind::Shared } else { Kind::Private }
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| {
        let mut beside = Vec::new();
        if cli.futex.futex_slots.is_some() {
            let before = kernel_memory()?;
            cli.futex.set()?;
            beside.push(("table_bytes", kernel_memory()?.saturating_sub(before)));
        }
        let words = Words::new(cli.words, cli.idle, cli.kind())?;
        words.start_sleepers(cli.idle)?;
        beside.extend(futex::table_slots(cli.kind()).map(|slots| ("slot_count", slots)));
        rest::beside(|| match cli.on {
            On::Wake => wakes(cli, run, words, &beside),
            On::HandOver => hand_overs(cli, run, words, &beside),
        })
    })
}

/// The wake-ups of nobody.
fn wakes(cli: &Cli, run: &mut Run, words: Words, beside: &[Beside]) -> anyhow::Result<()> {
    let (mut place, mut woken) = (0, 0);
    serve(cli, run, beside, || {
        let begun = Instant::now();
        for _ in 0..cli.flags.tasks {
            woken += words.wake(place);
            place += 1;
        }
        begun.elapsed()
    })?;
    ensure!(woken == 0, "{woken} threads were woken, where none sleeps");
    Ok(())
}

/// The hand-overs: this thread wakes the other one on each second word, and sleeps on those between.
fn hand_overs(cli: &Cli, run: &mut Run, words: Words, beside: &[Beside]) -> anyhow::Result<()> {
    let ended = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&ended);
    let other = thread::Builder::new().spawn(move || {
        for place in (0..).step_by(2) {
            words.sleep(place);
            if is_over.load(Ordering::Relaxed) {
                return place as u64 / 2;
            }
            words.signal(place + 1);
        }
        unreachable!("places do not end")
    });
    let other = other.context("cannot create a thread")?;
    let mut place = 0;
    serve(cli, run, beside, || {
        let begun = Instant::now();
        for _ in 0..cli.flags.tasks {
            words.signal(place);
            words.sleep(place + 1);
            place += 2;
        }
        begun.elapsed()
    })?;
    ended.store(true, Ordering::Relaxed);
    words.signal(place);
    let (answered, expected) = (threads::join(other)?, run.sent() * u64::from(cli.flags.tasks));
    ensure!(answered == expected, "{answered} signals were answered, expected {expected}");
    Ok(())
}

/// What stands beside the times.
type Beside = (&'static str, u64);

/// Times each iteration, before which other memory is written.
fn serve(
    cli: &Cli,
    run: &mut Run,
    beside: &[Beside],
    mut iterate: impl FnMut() -> Duration,
) -> anyhow::Result<()> {
    let mut other = vec![0_u8; cli.evict.0 as usize];
    while let Some(mut pass) = run.next_pass()? {
        for &(name, value) in beside {
            let mut one = Recorder::default();
            one.record(value);
            pass.add_extra(name, &one);
        }
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

/// Memory that the kernel has allocated for itself, in bytes: a table of many slots is in either part.
fn kernel_memory() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/meminfo").context("/proc/meminfo")?;
    let parts = text.lines().filter_map(|line| {
        let value = line.strip_prefix("Slab:").or_else(|| line.strip_prefix("VmallocUsed:"))?;
        value.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    Ok(parts.sum::<u64>() << 10)
}
