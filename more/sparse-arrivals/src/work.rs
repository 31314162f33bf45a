//! Work of a task: multiplications of which each waits for the one before, or the CPU time that they take.

use std::hint::black_box;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, ensure};
use contract::units::Span;
use nix::time::{ClockId, clock_gettime};

use crate::task::multiply;

/// Most multiplications of a task.
const MOST: u32 = 100_000_000;

/// Bounds of the CPU time of a task, in ns.
const TIMES: [u64; 2] = [1000, 1_000_000];

/// Multiplications that are timed at once to calibrate them: some ms.
const TRIAL: u32 = 1 << 20;

/// Trials, of which the shortest counts.
const TRIALS: u32 = 7;

/// Work of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// So many multiplications.
    Multiplications(u32),
    /// As many as take so much CPU time.
    Time(Span),
}

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.bytes().all(|b| b.is_ascii_digit()) {
            let count = text.parse().ok().filter(|&count| count <= MOST);
            return count
                .map(Work::Multiplications)
                .ok_or_else(|| format!("write a number up to {MOST}, or a time such as 20us"));
        }
        match text.parse()? {
            Span(ns) if (TIMES[0]..=TIMES[1]).contains(&ns) => Ok(Work::Time(Span(ns))),
            _ => Err("a time is 1us at least and 1ms at most".to_owned()),
        }
    }
}

impl Work {
    /// Number of multiplications. Of a time, as many as take so much CPU time of this thread
    /// (CLOCK_THREAD_CPUTIME_ID in clock_gettime(2)), in which others that run on its CPU do not count.
    pub(crate) fn multiplications(self) -> anyhow::Result<u32> {
        let Span(ns) = match self {
            Work::Multiplications(count) => return Ok(count),
            Work::Time(time) => time,
        };
        let mut shortest = Duration::MAX;
        for _ in 0..TRIALS {
            let begun = cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
            // Without a use for the product nothing would be multiplied.
            black_box(multiply(TRIAL));
            shortest =
                shortest.min(cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID)?.saturating_sub(begun));
        }
        let shortest = shortest.as_nanos() as u64;
        ensure!(shortest > 0, "the CPU time of a thread stands still: write --work as a number");
        let count = ns * u64::from(TRIAL) / shortest;
        Ok(count.clamp(1, u64::from(MOST)) as u32)
    }
}

/// CPU time by one of the kernel's clocks for it.
pub(crate) fn cpu_time(clock: ClockId) -> anyhow::Result<Duration> {
    Ok(clock_gettime(clock).context("cannot read CPU time")?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_a_number_or_a_time() {
        for (text, work) in [
            ("0", Work::Multiplications(0)),
            ("3000", Work::Multiplications(3000)),
            ("20us", Work::Time(Span(20_000))),
            ("1ms", Work::Time(Span(1_000_000))),
        ] {
            assert_eq!(text.parse(), Ok(work));
        }
        for text in ["", "-1", "100000001", "99999999999", "999ns", "1001us", "2s", "x"] {
            assert!(text.parse::<Work>().is_err(), "{text}");
        }
    }

    #[test]
    fn more_time_is_more_multiplications() {
        let [few, many] =
            [1000, 1_000_000].map(|ns| Work::Time(Span(ns)).multiplications().unwrap());
        // A thousand times the work, whatever the CPU, and however its speed changes.
        assert!(few > 1 && many / few > 100, "{few} {many}");
    }
}
