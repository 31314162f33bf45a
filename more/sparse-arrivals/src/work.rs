//! Work of a task: multiplications, each of which waits for the one before, as many as take so much CPU time.

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, ensure};
use contract::units::Span;
use nix::time::{ClockId, clock_gettime};

/// Multiplications that are timed at once to calibrate them: some ms.
const TRIAL: u32 = 1 << 20;

/// Trials, of which the shortest counts.
const TRIALS: u32 = 7;

pub(crate) fn time(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(ns) if (1000..=1_000_000).contains(&ns) => Ok(Span(ns)),
        _ => Err("a time is 1us at least and 1ms at most".to_owned()),
    }
}

/// Multiplies so many times. No compiler finds a shorter way to the same number.
pub(crate) fn multiply(times: u32) -> u64 {
    (0..times).fold(black_box(3), |x: u64, _| x.wrapping_mul(x).wrapping_add(5))
}

/// Number of multiplications that take so much CPU time of this thread (CLOCK_THREAD_CPUTIME_ID in
/// clock_gettime(2)), in which others that run on its CPU do not count.
pub(crate) fn multiplications(Span(ns): Span) -> anyhow::Result<u32> {
    let mut shortest = Duration::MAX;
    for _ in 0..TRIALS {
        let begun = cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
        // Without a use for the product nothing would be multiplied.
        black_box(multiply(TRIAL));
        shortest = shortest.min(cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID)?.saturating_sub(begun));
    }
    let shortest = shortest.as_nanos() as u64;
    ensure!(shortest > 0, "the CPU time of a thread stands still: its work cannot be calibrated");
    let count = ns * u64::from(TRIAL) / shortest;
    Ok(u32::try_from(count).unwrap_or(u32::MAX).max(1))
}

/// CPU time by one of the kernel's clocks for it.
pub(crate) fn cpu_time(clock: ClockId) -> anyhow::Result<Duration> {
    Ok(clock_gettime(clock).context("cannot read CPU time")?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_takes_each_multiplication() {
        // 3² + 5 = 14, 14² + 5 = 201.
        assert_eq!([0, 1, 2].map(multiply), [3, 14, 201]);
    }
}
