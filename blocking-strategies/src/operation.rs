//! What blocks: the operations of a batch, and whether each came to what it should.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::ValueEnum;
use fastrand::Rng;
use harness::BadUsage;
use harness::test_fault::{Ending, PASSED_BEFORE, TestFault};
use harness::units::Span;
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// What each operation does with the thread that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// return a constant: what is left is the strategy alone
    Noop,
    /// shuffle 300 integers and sort them: work for the CPU, of some µs
    Expensive,
    /// sleep in the kernel
    Sleep,
    /// keep a CPU busy, by the thread's own CPU time, so that being preempted is no progress
    Spin,
}

/// The flags that say what the operations are.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub(crate) struct Work {
    /// What each operation does
    #[arg(
        id = "operation",
        long,
        value_enum,
        value_name = "OPERATION",
        default_value = "expensive"
    )]
    #[serde(rename = "operation")]
    kind: Kind,

    /// How long each operation sleeps or spins, 1s at most [default: a draw for each of them, evenly
    /// distributed over 1 to 49µs]. A signal takes effect when the batch is through
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = length)]
    length: Option<Span>,

    /// What the shuffles and the draws follow from: two runs with the same seed do the same work
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = 1
    )]
    seed: u64,
}

/// The ends of the distribution that lengths are drawn from, in ns, both included.
const DRAWN: std::ops::RangeInclusive<u64> = 1_000..=49_000;

/// How many integers are shuffled and sorted.
const NUMBERS: u32 = 300;

/// What a noop returns.
const CONSTANT: u64 = 0x0B10_C4ED;

/// One piece of work that blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Noop,
    /// With the seed of its shuffle.
    Expensive(u64),
    Sleep(Duration),
    Spin(Duration),
    /// For a test.
    Faulty(Ending),
}

/// Nothing interrupts an operation, and a batch has many of them.
fn length(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(ns) if ns > 1_000_000_000 => Err("1s at most: nothing interrupts it".to_owned()),
        span => Ok(span),
    }
}

impl Work {
    /// Whether these flags go together.
    ///
    /// # Errors
    /// Where a length is given to what has none.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        match (self.length, self.has_length()) {
            (Some(_), false) => Err(BadUsage::new(
                "--length: noop and expensive take as long as they take: use --operation sleep or spin",
            )),
            _ => Ok(()),
        }
    }

    /// Whether each operation returns how long it took.
    pub(crate) fn has_length(&self) -> bool {
        matches!(self.kind, Kind::Sleep | Kind::Spin)
    }

    /// Makes the `count` operations of a batch, which are the same for the same number of it.
    pub(crate) fn draw(
        &self,
        batch: u64,
        count: u32,
        fault: &TestFault,
        operations: &mut Vec<Operation>,
    ) {
        let mut random = Rng::with_seed(self.seed.wrapping_add(batch));
        operations.clear();
        operations.extend((0..count).map(|k| match fault.of(k) {
            Some(ending) if batch >= PASSED_BEFORE || ending == Ending::Absent => {
                Operation::Faulty(ending)
            }
            _ => self.one(&mut random),
        }));
    }

    fn one(&self, random: &mut Rng) -> Operation {
        let mut length = || match self.length {
            Some(length) => length.into(),
            None => Duration::from_nanos(random.u64(DRAWN)),
        };
        match self.kind {
            Kind::Noop => Operation::Noop,
            Kind::Sleep => Operation::Sleep(length()),
            Kind::Spin => Operation::Spin(length()),
            Kind::Expensive => Operation::Expensive(random.u64(..)),
        }
    }
}

impl Operation {
    /// Does it, and returns what [`Operation::check`] goes by.
    ///
    /// # Errors
    /// What clock_gettime(2) reports, or what a test asks for.
    pub(crate) fn run(self) -> anyhow::Result<u64> {
        match self {
            Operation::Noop => Ok(black_box(CONSTANT)),
            Operation::Expensive(seed) => Ok(shuffle_and_sort(seed)),
            Operation::Sleep(length) => Ok(nanoseconds(sleep(length))),
            Operation::Spin(length) => spin(length).map(nanoseconds),
            Operation::Faulty(Ending::Hang) => loop {
                thread::park();
            },
            Operation::Faulty(ending) => Ok(ending.end(PASSED_BEFORE)?),
        }
    }

    /// Whether it returned what it should: a noop its constant, a sort its sum, a sleep or a spin how
    /// long it took, which is not less than asked for.
    ///
    /// # Errors
    /// Says what is wrong.
    pub(crate) fn check(self, returned: u64) -> anyhow::Result<()> {
        let (least, most) = match self {
            Operation::Noop => (CONSTANT, CONSTANT),
            Operation::Expensive(_) => (sorted_sum(), sorted_sum()),
            Operation::Sleep(length) | Operation::Spin(length) => (nanoseconds(length), u64::MAX),
            // It should not have come to an end.
            Operation::Faulty(_) => (1, 0),
        };
        ensure!(
            (least..=most).contains(&returned),
            "the operation {self:?} returned {returned}"
        );
        Ok(())
    }
}

/// Shuffles the integers below [`NUMBERS`], sorts them, and returns the sum of each times its place.
/// No other order has a sum as large as the ascending one (the rearrangement inequality).
fn shuffle_and_sort(seed: u64) -> u64 {
    let mut numbers: [u32; NUMBERS as usize] = std::array::from_fn(|k| k as u32);
    Rng::with_seed(seed).shuffle(&mut numbers);
    // The compiler must not see that they were in order before.
    black_box(&mut numbers).sort_unstable();
    weighed(&numbers)
}

fn weighed(numbers: &[u32]) -> u64 {
    let places = 0..;
    let each = numbers
        .iter()
        .zip(places)
        .map(|(&n, place): (_, u64)| u64::from(n) * place);
    each.sum()
}

/// The sum of the squares below [`NUMBERS`]: each number is in its own place.
const fn sorted_sum() -> u64 {
    let n = NUMBERS as u64;
    (n - 1) * n * (2 * n - 1) / 6
}

/// Sleeps, and returns for how long.
fn sleep(length: Duration) -> Duration {
    let begun = Instant::now();
    thread::sleep(length);
    begun.elapsed()
}

/// Keeps the CPU busy until the calling thread has used so much of it, and returns how much it has.
/// Reading that clock is a system call, and the last reading is a part of what is used.
fn spin(length: Duration) -> anyhow::Result<Duration> {
    let begun = cpu_time()?;
    loop {
        let used = cpu_time()?.saturating_sub(begun);
        if used >= length {
            return Ok(used);
        }
    }
}

/// The CPU time that the calling thread has used (CLOCK_THREAD_CPUTIME_ID in clock_gettime(2)).
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

    fn work(kind: Kind) -> Work {
        Work {
            kind,
            length: None,
            seed: 7,
        }
    }

    fn drawn(work: Work, batch: u64) -> Vec<Operation> {
        let mut operations = Vec::new();
        let fault = TestFault { test_fault: None };
        work.draw(batch, 1000, &fault, &mut operations);
        operations
    }

    #[test]
    fn nothing_blocks_for_longer_than_a_second() {
        assert_eq!(length("1s"), Ok(Span(1_000_000_000)));
        assert!(length("1001ms").is_err() && length("soon").is_err());
    }

    #[test]
    fn a_batch_follows_from_the_seed_and_its_number() {
        for kind in [Kind::Sleep, Kind::Spin, Kind::Expensive] {
            assert_eq!(drawn(work(kind), 3), drawn(work(kind), 3));
            assert_ne!(drawn(work(kind), 3), drawn(work(kind), 4));
            let other = Work {
                seed: 8,
                ..work(kind)
            };
            assert_ne!(drawn(work(kind), 3), drawn(other, 3));
        }
        assert_eq!(drawn(work(Kind::Noop), 0), [Operation::Noop; 1000]);
    }

    #[test]
    fn lengths_are_spread_evenly_over_1_to_49_us() {
        let lengths: Vec<u64> = (0..20)
            .flat_map(|batch| drawn(work(Kind::Sleep), batch))
            .map(|operation| match operation {
                Operation::Sleep(length) => nanoseconds(length),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(lengths.iter().all(|length| DRAWN.contains(length)));
        // Of 20,000 draws: the mean is 25 µs with a standard error of 48 µs / sqrt(12 * 20,000).
        let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
        assert!((mean - 25_000.0).abs() < 5.0 * 98.0, "{mean}");
        // Each twelfth of the range has its share: 1667, with a standard error of 39.
        for twelfth in 0..12 {
            let from = 1_000 + twelfth * 4_000;
            let here = lengths.iter().filter(|l| (from..from + 4_000).contains(*l));
            let here = here.count();
            assert!((1667 - 200..1667 + 200).contains(&here), "{from}: {here}");
        }
    }

    #[test]
    fn a_fixed_length_is_that_of_all() {
        let fixed = Work {
            length: Some(Span(10_000)),
            ..work(Kind::Spin)
        };
        let expected = Operation::Spin(Duration::from_micros(10));
        assert_eq!(drawn(fixed, 5), [expected; 1000]);
        assert!(fixed.check().is_ok() && work(Kind::Noop).check().is_ok());
        for kind in [Kind::Noop, Kind::Expensive] {
            let refused = Work { kind, ..fixed }.check().unwrap_err();
            assert!(refused.to_string().contains("--length"), "{refused}");
        }
    }

    #[test]
    fn every_operation_passes_its_own_check() {
        for operation in [
            Operation::Noop,
            Operation::Expensive(1),
            Operation::Expensive(u64::MAX),
            Operation::Sleep(Duration::from_micros(3)),
            Operation::Spin(Duration::ZERO),
            Operation::Spin(Duration::from_micros(300)),
        ] {
            operation.check(operation.run().unwrap()).unwrap();
        }
    }

    #[test]
    fn a_wrong_result_is_told() {
        let millisecond = Duration::from_millis(1);
        for (operation, returned) in [
            (Operation::Noop, 0),
            (Operation::Expensive(1), sorted_sum() - 1),
            (Operation::Sleep(millisecond), 999_999),
            (Operation::Spin(millisecond), 999_999),
            (Operation::Faulty(Ending::Close), PASSED_BEFORE),
        ] {
            let error = operation.check(returned).unwrap_err().to_string();
            assert!(error.contains(&returned.to_string()), "{error}");
        }
    }

    #[test]
    fn only_the_ascending_order_has_the_sum_of_a_sort() {
        let mut numbers: Vec<u32> = (0..NUMBERS).collect();
        assert_eq!(weighed(&numbers), sorted_sum());
        numbers.swap(10, 11);
        assert!(weighed(&numbers) < sorted_sum());
        Rng::with_seed(1).shuffle(&mut numbers);
        assert!(weighed(&numbers) < sorted_sum());
    }

    #[test]
    fn a_preempted_thread_has_not_spun() {
        // More threads than CPUs, so that each is off its CPU for a part of the time.
        let threads = 8 * thread::available_parallelism().map_or(1, usize::from);
        let length = Duration::from_millis(20);
        let begun = Instant::now();
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| assert!(spin(length).unwrap() >= length));
            }
        });
        assert!(begun.elapsed() >= 3 * length, "{:?}", begun.elapsed());
    }

    #[test]
    fn a_fault_begins_after_some_batches() {
        let fault = |text: &str| TestFault {
            test_fault: Some(text.parse().unwrap()),
        };
        let mut operations = Vec::new();
        for (text, batch, faulty) in [
            ("fail@1", PASSED_BEFORE - 1, false),
            ("fail@1", PASSED_BEFORE, true),
            ("absent@1", 0, true),
        ] {
            work(Kind::Noop).draw(batch, 3, &fault(text), &mut operations);
            let second = matches!(operations[1], Operation::Faulty(_));
            assert_eq!(second, faulty, "{text} in batch {batch}");
            assert_eq!([operations[0], operations[2]], [Operation::Noop; 2]);
        }
    }
}
