//! The pace of a program: what a turn of it leaves out, and how long it is timed.
//!
//! After a wait, a program may be slower than in a row. Caches are cold, and data that nearly fill a cache come back into
//! it over many passes, not in one: docs/findings/pause.md. So a turn begins with untimed iterations, and the slices that
//! follow directly take up to twice as long.

use std::time::Duration;

use contract::message::MOST_SAMPLES;

/// Length of a slice: in longer ones the machine changes, and shorter ones are mostly the start of a run.
const SLICE: Duration = Duration::from_millis(8);

/// Most untimed iterations at the beginning of a turn: each is a pass over the data of a chain.
const SETTLING: u64 = 60;

/// Most time for them. Servers were steady after two windows of 50 ms.
const SETTLING_TIME: Duration = Duration::from_millis(120);

/// Time of the slices of a turn, in times of its settling.
const TIMED: u64 = 2;

/// Iterations and slices of a program's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Untimed iterations at the beginning.
    pub settling: u64,
    /// Timed iterations of a slice.
    pub slice: u64,
    /// Most slices in a row.
    pub slices: u32,
}

impl Pace {
    /// Pace of a program whose iterations take so long.
    pub(super) fn of(iteration: Duration, settles: bool) -> Self {
        let fitting = |time: Duration| (time.as_nanos() / iteration.as_nanos().max(1)) as u64;
        let slice = fitting(SLICE).clamp(1, MOST_SAMPLES);
        let settling = if settles { fitting(SETTLING_TIME).min(SETTLING) } else { 0 };
        let slices = (TIMED * settling).div_ceil(slice).max(1);
        Pace { settling, slice, slices: slices as u32 }
    }

    /// All iterations in one slice.
    pub(crate) fn whole(iterations: u64) -> Self {
        Pace { settling: 0, slice: iterations.min(MOST_SAMPLES), slices: 1 }
    }

    /// Turns for so many slices.
    pub(super) fn turns(&self, slices: u32) -> u32 {
        slices.div_ceil(self.slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settling_takes_a_third_of_a_turn_at_most() {
        for (us, settles, settling, slice, slices) in [
            (4_000, true, 30, 2, 30),
            (1_000, true, 60, 8, 15),
            (50, true, 60, 160, 1),
            (0, true, 60, MOST_SAMPLES, 1),
            (50_500, true, 2, 1, 4),
            (500_000, true, 0, 1, 1),
            (4_000, false, 0, 2, 1),
        ] {
            let pace = Pace::of(Duration::from_micros(us), settles);
            assert_eq!(pace, Pace { settling, slice, slices }, "{us} µs");
        }
        let pace = Pace { settling: 60, slice: 8, slices: 15 };
        assert_eq!([1, 15, 16].map(|slices| pace.turns(slices)), [1, 1, 2]);
    }
}
