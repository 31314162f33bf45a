//! The pace of a program: what a turn of it leaves out, and how long it is timed.
//!
//! After a wait, a program may be slower than in a row. Caches are cold, and large data may come back into them over many
//! passes: docs/findings/pause.md. So a turn begins with untimed iterations, and the slices that follow directly take up
//! to 1.5 times as long.

use std::time::Duration;

use contract::message::MOST_SAMPLES;

/// Length of a slice: in longer ones the machine changes, and shorter ones are mostly the start of a run.
const SLICE: Duration = Duration::from_millis(8);

/// Most untimed iterations at the beginning of a turn: each is a pass over the data of a chain.
const SETTLING: u64 = 60;

/// Most time for them. Servers were steady after three windows of 50 ms.
const SETTLING_TIME: Duration = Duration::from_millis(160);

/// Longest run of a command that is run once more, untimed, before it is timed.
const LONGEST_WARM_UP: Duration = Duration::from_secs(1);

/// Iterations and slices of a program's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Untimed iterations at the beginning.
    pub settling: u64,
    pub slice: u64,
    pub slices: u32,
}

impl Pace {
    /// Pace of a program whose iterations take so long.
    pub(super) fn of(iteration: Duration, settles: bool) -> Self {
        let [slice, settling] = [SLICE, SETTLING_TIME]
            .map(|time| (time.as_nanos() / iteration.as_nanos().max(1)) as u64);
        let slice = slice.clamp(1, MOST_SAMPLES);
        let settling = if settles { settling.min(SETTLING) } else { 0 };
        let slices = (3 * settling).div_ceil(2 * slice).max(1);
        Pace { settling, slice, slices: slices as u32 }
    }

    /// Pace of a program whose iterations are fresh processes: each is timed after an untimed one, unless that takes long.
    pub(crate) fn of_fresh(iteration: Duration) -> Self {
        Pace { settling: u64::from(iteration <= LONGEST_WARM_UP), slice: 1, slices: 1 }
    }

    /// So many runs of a command in a row.
    pub(crate) fn of_runs(runs: u64) -> Self {
        Pace { settling: 1, slice: 1, slices: runs.try_into().unwrap_or(u32::MAX) }
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
    fn slices_take_one_and_a_half_times_as_long_as_settling() {
        for (us, settles, settling, slice, slices) in [
            (4_000, true, 40, 2, 30),
            (1_000, true, 60, 8, 12),
            (50, true, 60, 160, 1),
            (0, true, 60, MOST_SAMPLES, 1),
            (50_500, true, 3, 1, 5),
            (500_000, true, 0, 1, 1),
            (4_000, false, 0, 2, 1),
        ] {
            let pace = Pace::of(Duration::from_micros(us), settles);
            assert_eq!(pace, Pace { settling, slice, slices }, "{us} µs");
        }
        let pace = Pace { settling: 60, slice: 8, slices: 12 };
        assert_eq!([1, 12, 13].map(|slices| pace.turns(slices)), [1, 1, 2]);
    }
}
