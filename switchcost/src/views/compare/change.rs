//! Change of one case.

use record::Quantity;
use serde::Serialize;
use stats::{Contrast, Estimate, Interval, Line as Fit};

use super::Figure;
use crate::figures::CONFIDENCE;
use crate::figures::cases::Reading;

/// Change of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// In one word.
    pub verdict: Verdict,
    /// New divided by old, as measured, with the 95 % interval of this case alone.
    pub ratio: Option<Estimate>,
    /// How often equal runs lie this far apart.
    pub p: Option<f64>,
    /// The change that the verdict is about; `None` if there is nothing to judge.
    pub judged: Option<Judged>,
}

/// Change that is judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// True if it is a change beside those of the yardsticks, false if it is as measured.
    pub is_beside: bool,
    /// New divided by old; beside yardsticks, beside the one that leaves least of it. The interval is
    /// at the level of the verdict, beside all yardsticks together: it excludes 1 exactly if the
    /// verdict is a difference.
    pub ratio: Estimate,
    /// How often equal runs lie this far apart: the largest p of all yardsticks, or 1 if the time is
    /// longer beside one of them, or as measured, and shorter beside another.
    pub p: f64,
    /// The same, corrected for how many changes are judged.
    pub adjusted_p: f64,
    #[serde(skip)]
    contrasts: Vec<Contrast>,
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
        Change { verdict, ratio: None, p: None, judged: None }
    }

    fn of_times(old: &Reading, new: &Reading) -> Self {
        if old.modes.is_some() || new.modes.is_some() {
            return Change::bare(Verdict::TwoModes);
        }
        let Some(ratio) = Estimate::unpaired_ratio(&new.means, &old.means, CONFIDENCE) else {
            return Change::bare(Verdict::Unclear);
        };
        // Where there are too few rounds for an interval, there are for a p.
        let contrast = ratio.interval.and_then(|_| Contrast::log_ratio(&new.means, &old.means));
        Change::as_measured(ratio, contrast)
    }

    fn of_slopes(old: &Fit, new: &Fit) -> Self {
        let contrast = stats::log_slope_ratio(new, old);
        let Some(interval) = contrast.and_then(|contrast| contrast.ratio(CONFIDENCE)) else {
            return Change::bare(Verdict::Unclear);
        };
        let (value, n) = (interval.estimate, interval.n);
        Change::as_measured(Estimate { value, n, interval: Some(interval) }, contrast)
    }

    fn as_measured(ratio: Estimate, contrast: Option<Contrast>) -> Self {
        let judged = contrast.and_then(|contrast| Judged::of(&[(ratio, contrast)], &ratio, false));
        Change {
            ratio: Some(ratio),
            p: judged.as_ref().map(|judged| judged.p),
            judged,
            ..Change::bare(Verdict::TooFewRounds)
        }
    }

    /// The change to show: the one that is judged, if there is one.
    pub fn shown(&self) -> Option<&Estimate> {
        self.judged.as_ref().map(|judged| &judged.ratio).or(self.ratio.as_ref())
    }

    /// Decides at the level of this change's step in Holm's method.
    pub(super) fn judge(&mut self, quantity: Quantity, level: f64, adjusted_p: f64) {
        let Some((judged, measured)) = self.judged.as_mut().zip(self.ratio) else {
            return;
        };
        judged.adjusted_p = adjusted_p;
        judged.ratio.interval = judged.interval(&measured, 1.0 - level);
        let may_be_none = judged.ratio.interval.is_none_or(|interval| interval.contains(1.0));
        let differs_as_measured = self.p.is_some_and(|p| p <= level);
        use Quantity::*;
        self.verdict = match (quantity, judged.ratio.value < 1.0) {
            _ if may_be_none && judged.is_beside && differs_as_measured => Verdict::Inconclusive,
            _ if may_be_none => Verdict::NoDifference,
            (Bytes, true) => Verdict::Smaller,
            (Bytes, false) => Verdict::Larger,
            (Time, true) | (Rate | Throughput, false) => Verdict::Faster,
            (Time, false) | (Rate | Throughput, true) => Verdict::Slower,
            (Count | Share, true) => Verdict::Lower,
            (Count | Share, false) => Verdict::Higher,
        };
    }
}

impl Judged {
    /// A change as measured, or beside each yardstick.
    pub(super) fn of(
        changes: &[(Estimate, Contrast)],
        measured: &Estimate,
        is_beside: bool,
    ) -> Option<Self> {
        let far = |ratio: &Estimate| ratio.value.ln().abs();
        let &(ratio, _) = changes.iter().min_by(|a, b| far(&a.0).total_cmp(&far(&b.0)))?;
        let contrasts: Vec<Contrast> = changes.iter().map(|&(_, contrast)| contrast).collect();
        let p: Vec<f64> = contrasts.iter().map(|contrast| contrast.p()).collect::<Option<_>>()?;
        let agree = changes.iter().all(|(other, _)| same_way(other, measured));
        let p = if agree { p.into_iter().fold(0.0, f64::max) } else { 1.0 };
        Some(Judged { is_beside, ratio, p, adjusted_p: 1.0, contrasts })
    }

    /// Interval that spans those beside each yardstick: it excludes 1 if all of them do, on one side.
    /// It reaches to the change as measured if that goes the other way.
    fn interval(&self, measured: &Estimate, confidence: f64) -> Option<Interval> {
        let intervals = self.contrasts.iter().map(|contrast| contrast.ratio(confidence));
        let intervals: Vec<Interval> = intervals.collect::<Option<_>>()?;
        let other_way = (!same_way(&self.ratio, measured)).then_some(measured.value);
        Some(Interval {
            estimate: self.ratio.value,
            low: intervals.iter().map(|i| i.low).chain(other_way).reduce(f64::min)?,
            high: intervals.iter().map(|i| i.high).chain(other_way).reduce(f64::max)?,
            ..*intervals.first()?
        })
    }
}

/// True if both are longer, both shorter or both as before.
fn same_way(one: &Estimate, other: &Estimate) -> bool {
    one.value.total_cmp(&1.0) == other.value.total_cmp(&1.0)
}
