//! Operations of a batch, and the check of what each returned.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::ValueEnum;
use contract::BadUsage;
use fastrand::Rng;
use host::units::Span;
use nix::time::{ClockId, clock_gettime};

/// Kind of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// return a constant, which shows the cost of the strategy alone
    Noop,
    /// shuffle 300 integers and sort them in a stable way, which takes a few µs of CPU time
    Expensive,
    /// sleep in the kernel
    Sleep,
    /// keep a CPU busy; the length is CPU time of the thread, without the time that it is preempted
    Spin,
}

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Work {
    /// What each operation does
    #[arg(
        id = "operation",
        long,
        value_enum,
        value_name = "OPERATION",
        default_value = "expensive"
    )]
    kind: Kind,

    /// How long each operation sleeps or spins, at most 1s [default: drawn at random from 1, 2, 3, 4, 5, 6, 7, 8, 12
    /// and 49µs]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = length)]
    length: Option<Span>,
}

/// Lengths to draw from, in µs, as in the benchmarks of the crate blocking-permit (benches/dispatch.rs); docs/CLAIMS.md
/// compares their results. The mean is 9.7 µs.
const DRAWN: [u64; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 12, 49];

/// Number of integers that are shuffled and sorted, and of different ones among them, as there.
const NUMBERS: usize = 300;
const VALUES: usize = 101;

/// Each number times its place, summed up, when all are in order.
const SORTED_SUM: u64 = {
    let (mut sum, mut place, mut value) = (0, 0, 0);
    while value < VALUES {
        let mut number = value;
        while number < NUMBERS {
            sum += (place * value) as u64;
            place += 1;
            number += VALUES;
        }
        value += 1;
    }
    sum
};

const CONSTANT: u64 = 0x0B10_C4ED;

/// One piece of work that blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Noop,
    Expensive(u64),
    Sleep(Duration),
    Spin(Duration),
}

fn length(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(ns) if ns > 1_000_000_000 => {
            Err("an operation takes at most 1s, since nothing interrupts it: lower it".to_owned())
        }
        span => Ok(span),
    }
}

impl Work {
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.length.is_some() && !self.has_length() {
            return Err(BadUsage::new(
                "--length: noop and expensive have no length: drop it, or use --operation sleep or spin",
            ));
        }
        Ok(())
    }

    /// True if each operation returns how long it took.
    pub(crate) fn has_length(&self) -> bool {
        matches!(self.kind, Kind::Sleep | Kind::Spin)
    }

    /// Draws the operations of a batch: always the same ones for the same batch number.
    pub(crate) fn draw(&self, batch: u64, count: u32, operations: &mut Vec<Operation>) {
        let mut random = Rng::with_seed(batch.wrapping_add(1));
        operations.clear();
        operations.extend((0..count).map(|_| match self.kind {
            Kind::Noop => Operation::Noop,
            Kind::Expensive => Operation::Expensive(random.u64(..)),
            Kind::Sleep => Operation::Sleep(self.length(&mut random)),
            Kind::Spin => Operation::Spin(self.length(&mut random)),
        }));
    }

    fn length(&self, random: &mut Rng) -> Duration {
        match self.length {
            Some(length) => length.into(),
            None => Duration::from_micros(DRAWN[random.usize(..DRAWN.len())]),
        }
    }
}

impl Operation {
    /// Does the operation, and returns what [`Operation::check`] checks.
    pub(crate) fn run(self) -> anyhow::Result<u64> {
        match self {
            Operation::Noop => Ok(black_box(CONSTANT)),
            Operation::Expensive(seed) => Ok(shuffle_and_sort(seed)),
            Operation::Sleep(length) => Ok(nanoseconds(sleep(length))),
            Operation::Spin(length) => spin(length).map(nanoseconds),
        }
    }

    /// Checks what an operation returned: a noop returns its constant, a sort its sum, a sleep or a spin its length.
    pub(crate) fn check(self, returned: u64) -> anyhow::Result<()> {
        let is_right = match self {
            Operation::Noop => returned == CONSTANT,
            Operation::Expensive(_) => returned == SORTED_SUM,
            Operation::Sleep(length) | Operation::Spin(length) => returned >= nanoseconds(length),
        };
        ensure!(is_right, "the operation {self:?} returned {returned}");
        Ok(())
    }
}

/// Shuffles [`NUMBERS`] integers, sorts them in a stable way, and returns the sum of each times its place.
/// No other order has as large a sum as the ascending one (the rearrangement inequality).
fn shuffle_and_sort(seed: u64) -> u64 {
    let mut numbers: [usize; NUMBERS] = std::array::from_fn(|k| k % VALUES);
    Rng::with_seed(seed).shuffle(&mut numbers);
    // The compiler must not see what they were before.
    #[expect(clippy::stable_sort_primitive, reason = "as in those benchmarks")]
    black_box(&mut numbers).sort();
    numbers.iter().enumerate().map(|(place, number)| (place * number) as u64).sum()
}

/// Sleeps, and returns for how long.
fn sleep(length: Duration) -> Duration {
    let begun = Instant::now();
    thread::sleep(length);
    begun.elapsed()
}

/// Keeps the CPU busy until the calling thread has used so much CPU time, and returns how much it has.
/// Reading that clock is a system call, and part of the work.
fn spin(length: Duration) -> anyhow::Result<Duration> {
    let begun = cpu_time()?;
    loop {
        let used = cpu_time()?.saturating_sub(begun);
        if used >= length {
            return Ok(used);
        }
    }
}

/// CPU time of the calling thread (CLOCK_THREAD_CPUTIME_ID in clock_gettime(2)).
fn cpu_time() -> anyhow::Result<Duration> {
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    Ok(time.context("cannot read the CPU time of a thread")?.into())
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_passes_its_own_check_and_no_other_value_does() {
        let millisecond = Duration::from_millis(1);
        for operation in [
            Operation::Noop,
            Operation::Expensive(1),
            Operation::Expensive(u64::MAX),
            Operation::Sleep(millisecond),
            Operation::Spin(millisecond),
        ] {
            operation.check(operation.run().unwrap()).unwrap();
            assert!(operation.check(1).is_err(), "{operation:?}");
        }
    }
}
