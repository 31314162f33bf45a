//! Change of one case, and its verdict.

use std::fmt;

use facts::Quantity;
use serde::Serialize;
use stats::{Contrast, Estimate, Interval, MIN_ROUNDS};

use super::Side;
use crate::figures::CONFIDENCE;

/// Change of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// In a word.
    pub verdict: Verdict,
    /// New divided by old as measured, with the 95 % interval of this case alone.
    pub measured: Option<Estimate>,
    /// How often equal runs lie this far apart, as measured.
    pub(super) p: Option<f64>,
    /// The change that is judged.
    pub judged: Option<Judged>,
}

/// Change that is judged.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// True if it is one beside those of the yardsticks.
    is_beside: bool,
    /// New divided by old; beside yardsticks, beside the one that leaves least of it. The interval is at the
    /// level of the verdict, beside all yardsticks together: it excludes 1 exactly if that is a difference.
    pub(crate) ratio: Estimate,
    /// How often equal runs lie this far apart: the largest p of all yardsticks, or 1 if the time is longer
    /// beside one of them, or as measured, and shorter beside another.
    pub p: f64,
    /// The same, corrected for the number of changes.
    pub adjusted_p: f64,
    #[serde(skip)]
    contrasts: Vec<Contrast>,
}

/// Change of a case, in a word.
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
    /// The process means of either file fall into two clusters: no mean describes both.
    TwoModes,
    /// There are too few processes for an interval.
    TooFewRounds,
    /// A slope that may be zero, or a figure that is, cannot be divided by.
    Unclear,
    /// The new file does not have it.
    OnlyInOld,
    /// The old file does not have it.
    OnlyInNew,
    /// Either file has it not measured.
    Failed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Smaller => "smaller",
            Verdict::Larger => "larger",
            Verdict::Lower => "lower",
            Verdict::Higher => "higher",
            Verdict::NoDifference => "within noise",
            Verdict::Inconclusive => "inconclusive",
            Verdict::TwoModes => "two modes",
            Verdict::TooFewRounds => return write!(f, "under {MIN_ROUNDS} rounds: no verdict"),
            Verdict::Unclear => "no verdict: a size that may be zero",
            Verdict::OnlyInOld => "only in old",
            Verdict::OnlyInNew => "only in new",
            Verdict::Failed => "failed",
        })
    }
}

impl Verdict {
    /// True for the worse, beyond doubt.
    pub fn is_worse(self) -> bool {
        matches!(self, Verdict::Slower | Verdict::Larger)
    }
}

impl Change {
    /// The change as measured; `None` if neither file has the case.
    pub(super) fn of(sides: &[Side<'_>; 2]) -> Option<Self> {
        let bare = |verdict| Some(Change { verdict, measured: None, p: None, judged: None });
        let (ratio, contrast) = match sides {
            [Side::Absent, Side::Absent] => return None,
            [Side::Failed(_), _] | [_, Side::Failed(_)] => return bare(Verdict::Failed),
            [_, Side::Absent] => return bare(Verdict::OnlyInOld),
            [Side::Absent, _] => return bare(Verdict::OnlyInNew),
            [Side::Figure(old), Side::Figure(new)] => {
                let (old, new) = (old.reading()?, new.reading()?);
                if old.modes.is_some() || new.modes.is_some() {
                    return bare(Verdict::TwoModes);
                }
                let ratio = Estimate::unpaired_ratio(&new.samples, &old.samples, CONFIDENCE);
                (ratio, Contrast::log_ratio(&new.samples, &old.samples))
            }
            [Side::Slope(old), Side::Slope(new)] => {
                let contrast = stats::log_slope_ratio(new, old);
                let ratio = contrast.and_then(|contrast| contrast.ratio(CONFIDENCE));
                let whole = |i: Interval| Estimate { value: i.estimate, n: i.n, interval: Some(i) };
                (ratio.map(whole), contrast)
            }
            // The same name for a time and a size: two plans that have nothing to do with each other.
            _ => return bare(Verdict::Failed),
        };
        let Some(ratio) = ratio else { return bare(Verdict::Unclear) };
        // Too few rounds for an interval are too few for a p.
        let contrast = ratio.interval.and(contrast);
        let judged = contrast.and_then(|contrast| Judged::of(&[(ratio, contrast)], &ratio, false));
        let p = judged.as_ref().map(|judged| judged.p);
        Some(Change { verdict: Verdict::TooFewRounds, measured: Some(ratio), p, judged })
    }

    /// The change to show: the one that is judged, if there is one.
    pub fn shown(&self) -> Option<&Estimate> {
        self.judged.as_ref().map(|judged| &judged.ratio).or(self.measured.as_ref())
    }

    /// Decides at the level of this change's step in Holm's method.
    pub(super) fn judge(&mut self, quantity: Quantity, level: f64, adjusted_p: f64) {
        use Quantity::{Bytes, Count, Rate, Share, Throughput, Time};
        let Some((judged, measured)) = self.judged.as_mut().zip(self.measured) else {
            return;
        };
        judged.adjusted_p = adjusted_p;
        judged.ratio.interval = judged.interval(&measured, 1.0 - level);
        let may_be_none = judged.ratio.interval.is_none_or(|interval| interval.contains(1.0));
        let differs_as_measured = self.p.is_some_and(|p| p <= level);
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
        let size = |ratio: &Estimate| ratio.value.ln().abs();
        let &(ratio, _) = changes.iter().min_by(|a, b| size(&a.0).total_cmp(&size(&b.0)))?;
        let contrasts: Vec<Contrast> = changes.iter().map(|&(_, contrast)| contrast).collect();
        let p = changes.iter().try_fold(0.0_f64, |p, (_, contrast)| Some(p.max(contrast.p()?)))?;
        let agree = changes.iter().all(|(other, _)| is_same_way(other, measured));
        let p = if agree { p } else { 1.0 };
        Some(Judged { is_beside, ratio, p, adjusted_p: 1.0, contrasts })
    }

    /// Interval that spans those beside each yardstick: it excludes 1 if all of them do, on one side. It
    /// reaches to the change as measured if that goes the other way.
    fn interval(&self, measured: &Estimate, confidence: f64) -> Option<Interval> {
        let intervals = self.contrasts.iter().map(|contrast| contrast.ratio(confidence));
        let intervals: Vec<Interval> = intervals.collect::<Option<_>>()?;
        let other_way = (!is_same_way(&self.ratio, measured)).then_some(measured.value);
        Some(Interval {
            estimate: self.ratio.value,
            low: intervals.iter().map(|i| i.low).chain(other_way).reduce(f64::min)?,
            high: intervals.iter().map(|i| i.high).chain(other_way).reduce(f64::max)?,
            ..*intervals.first()?
        })
    }
}

/// True if both are longer, both shorter or both as before.
fn is_same_way(one: &Estimate, other: &Estimate) -> bool {
    one.value.total_cmp(&1.0) == other.value.total_cmp(&1.0)
}
