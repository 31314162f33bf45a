//! Change of one case.

use record::Quantity;
use serde::Serialize;
use stats::{Estimate, Line as Fit};

use super::{Beside, Figure, LEVEL};
use crate::CONFIDENCE;
use crate::cases::Reading;

/// Change of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// In one word.
    pub verdict: Verdict,
    /// New divided by old, with the 95 % interval of this case alone.
    pub ratio: Option<Estimate>,
    /// How often equal runs lie this far apart.
    pub p: Option<f64>,
    /// The same, corrected for how many cases are judged.
    pub adjusted_p: Option<f64>,
    /// The change beside those of the yardsticks; `None` where there are none.
    pub beside: Option<Beside>,
}

/// Change of a case, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It takes less time, or does more in it.
    Faster,
    /// It takes more time, or does less in it.
    Slower,
    /// It takes less memory.
    Smaller,
    /// It takes more memory.
    Larger,
    /// A number of things, or of busy CPUs, that is lower, for better or worse.
    Lower,
    /// One that is higher.
    Higher,
    /// Nothing that could not be chance.
    NoDifference,
    /// Different, but by no more than the machine itself may have changed.
    Inconclusive,
    /// The process means of either file fall into two clusters: no mean tells of both.
    TwoModes,
    /// There are too few processes for an interval.
    TooFewRounds,
    /// A slope that may be zero, or a figure that is, cannot be divided by.
    Unclear,
    /// The new file does not have it.
    OnlyInOld,
    /// The old file does not have it.
    OnlyInNew,
    /// Either file holds nothing but failures.
    Failed,
}

impl Verdict {
    /// For the worse, beyond doubt.
    pub fn is_worse(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Larger)
    }

    /// Another than before, beyond doubt.
    pub fn is_different(self) -> bool {
        use Verdict::*;
        self.is_worse() || matches!(self, Faster | Smaller | Lower | Higher)
    }

    /// Neither the same nor different: nothing is known.
    pub fn is_open(self) -> bool {
        matches!(
            self,
            Verdict::TwoModes
                | Verdict::TooFewRounds
                | Verdict::Unclear
                | Verdict::Failed
                | Verdict::Inconclusive
        )
    }
}

impl Change {
    /// A first view; [`Change::verdict`] decides where there is a p.
    pub(super) fn of(old: &Figure, new: &Figure) -> Option<Self> {
        use Verdict::*;
        Some(match (old, new) {
            (Figure::Absent, Figure::Absent) => return None,
            (Figure::Failed(_), _) | (_, Figure::Failed(_)) => Change::bare(Failed),
            (_, Figure::Absent) => Change::bare(OnlyInOld),
            (Figure::Absent, _) => Change::bare(OnlyInNew),
            (Figure::Reading(old), Figure::Reading(new)) => Change::of_times(old, new),
            (Figure::Slope(old), Figure::Slope(new)) => Change::of_slopes(old, new),
            // The same name for a time and a size: two plans that have nothing to do with each
            // other.
            _ => Change::bare(Failed),
        })
    }

    fn bare(verdict: Verdict) -> Self {
        Change { verdict, ratio: None, p: None, adjusted_p: None, beside: None }
    }

    fn of_times(old: &Reading, new: &Reading) -> Self {
        if old.modes.is_some() || new.modes.is_some() {
            return Change::bare(Verdict::TwoModes);
        }
        let Some(ratio) = Estimate::unpaired_ratio(&new.means, &old.means, CONFIDENCE) else {
            return Change::bare(Verdict::Unclear);
        };
        Change {
            ratio: Some(ratio),
            // Where there are too few rounds for an interval, there are for a p.
            p: ratio.interval.and_then(|_| stats::welch_ratio_p(&new.means, &old.means)),
            ..Change::bare(Verdict::TooFewRounds)
        }
    }

    fn of_slopes(old: &Fit, new: &Fit) -> Self {
        let Some(interval) = stats::slope_ratio(new, old, CONFIDENCE) else {
            return Change::bare(Verdict::Unclear);
        };
        Change {
            ratio: Some(Estimate {
                value: interval.estimate,
                n: interval.n,
                interval: Some(interval),
            }),
            p: stats::slope_ratio_p(new, old),
            ..Change::bare(Verdict::Unclear)
        }
    }

    /// The final verdict, once each p is corrected. A time is slower or faster that is so beside each
    /// yardstick as well as by itself.
    pub(super) fn verdict(&self, quantity: Quantity) -> Verdict {
        let alone = self.alone(quantity);
        let Some((beside, ratio)) = self.beside.as_ref().zip(self.ratio) else {
            return alone;
        };
        let is_rate = matches!(quantity, Quantity::Rate | Quantity::Throughput);
        let is_slower = (ratio.value > 1.0) != is_rate;
        let is_told = beside.adjusted_p.is_some_and(|p| p < LEVEL);
        match (is_told && (beside.ratio.value > 1.0) == is_slower, is_slower) {
            (true, true) => Verdict::Slower,
            (true, false) => Verdict::Faster,
            (false, _) if matches!(alone, Verdict::Slower | Verdict::Faster) => {
                Verdict::Inconclusive
            }
            (false, _) => alone,
        }
    }

    /// The verdict on the change by itself, whatever the machine did meanwhile.
    fn alone(&self, quantity: Quantity) -> Verdict {
        let Some((ratio, adjusted_p)) = self.ratio.zip(self.adjusted_p) else {
            return self.verdict;
        };
        if ratio.interval.is_none_or(|i| i.contains(1.0)) {
            return Verdict::NoDifference;
        }
        use Quantity::*;
        match (quantity, ratio.value < 1.0) {
            _ if adjusted_p >= LEVEL => Verdict::NoDifference,
            (Bytes, true) => Verdict::Smaller,
            (Bytes, false) => Verdict::Larger,
            (Time, true) | (Rate | Throughput, false) => Verdict::Faster,
            (Time, false) | (Rate | Throughput, true) => Verdict::Slower,
            (Count | Share, true) => Verdict::Lower,
            (Count | Share, false) => Verdict::Higher,
        }
    }
}
