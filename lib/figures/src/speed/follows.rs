//! Whether corrected times still follow how slow their CPUs were: a test of the correction that needs no quiet slices.

use std::collections::BTreeMap;
use std::fmt;

use record::Record;
use serde::Serialize;
use stats::{MIN_ROUNDS, t_critical};

use super::slope::{Round, round};

/// Confidence with which corrected times must follow the slowness to be off.
const CLEAR: f64 = 0.99;

/// How far corrected times still follow the slowness of their processes: 0 if they are right, whatever their slices
/// say of each other, and with no need for quiet ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Follows {
    /// Slope of the logarithm of a corrected time over the process's mean slowness.
    pub(crate) slope: f64,
    /// Its standard error: the processes of a round may err together.
    pub(crate) error: f64,
    pub(crate) rounds: usize,
}

impl Follows {
    /// Least squares over all processes, by the slowness and the logarithm of the corrected time of each, beside its row's
    /// mean in its session; `None` if the speed was always alike.
    pub(super) fn of<'a>(processes: impl Iterator<Item = (&'a Record, [f64; 2])>) -> Option<Self> {
        let mut rows: BTreeMap<_, Vec<(Round, [f64; 2])>> = BTreeMap::new();
        for (record, both) in processes {
            let own = rows.entry((&record.row().place, record.session())).or_default();
            own.push((round(record), both));
        }
        let mut rounds: BTreeMap<Round, [f64; 2]> = BTreeMap::new();
        for own in rows.values() {
            let mean =
                |of: usize| own.iter().map(|(_, both)| both[of]).sum::<f64>() / own.len() as f64;
            let means = [mean(0), mean(1)];
            for (round, [slowness, log]) in own {
                let [squares, products] = rounds.entry(*round).or_default();
                *squares += (slowness - means[0]).powi(2);
                *products += (slowness - means[0]) * (log - means[1]);
            }
        }
        let sum = |of: usize| rounds.values().map(|sums| sums[of]).sum::<f64>();
        let (squares, slope) = (sum(0), sum(1) / sum(0));
        if squares < 1e-9 || rounds.len() < MIN_ROUNDS {
            return None;
        }
        let rest = |[squares, products]: &[f64; 2]| (products - slope * squares).powi(2);
        let error = rounds.values().map(rest).sum::<f64>().sqrt() / squares;
        Some(Follows { slope, error, rounds: rounds.len() })
    }

    /// True if it is hardly chance.
    pub(super) fn is_clear(&self) -> bool {
        let t = t_critical(CLEAR, self.rounds as f64 - 1.0);
        t.is_some_and(|t| self.slope.abs() > t * self.error)
    }
}

impl fmt::Display for Follows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a corrected time follows the slowness of its process by {:+.2} ± {:.2} (0 if it is right, about 0.9 as \
             measured)",
            self.slope, self.error
        )
    }
}
