//! Change of one case, and its verdict.

use serde::Serialize;
use stats::{Contrast, Estimate, Interval};

use super::Side;
use crate::figures::CONFIDENCE;
use crate::figures::verdict::{Reason, Verdict};

/// Change of a case.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// What can be said of it.
    pub verdict: Verdict,
    /// New divided by old as measured, with the 95 % interval of this case alone.
    pub measured: Option<Estimate>,
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
    #[serde(skip)]
    contrasts: Vec<Contrast>,
}

impl Change {
    /// The change as measured; `None` if neither file has the case.
    pub(super) fn of(sides: &[Side<'_>; 2]) -> Option<Self> {
        let bare = |verdict| Some(Change { verdict, measured: None, judged: None });
        let (ratio, contrast) = match sides {
            [Side::Absent, Side::Absent] => return None,
            [Side::Failed(_), _] | [_, Side::Failed(_)] => return bare(Verdict::Failed),
            [_, Side::Absent] => return bare(Verdict::OnlyInOld),
            [Side::Absent, _] => return bare(Verdict::OnlyInNew),
            [Side::Figure(old), Side::Figure(new)] => {
                let (old, new) = (old.reading()?, new.reading()?);
                if old.modes.is_some() || new.modes.is_some() {
                    return bare(Verdict::Inconclusive(Reason::TwoModes));
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
        let Some(ratio) = ratio else { return bare(Verdict::Inconclusive(Reason::NoSize)) };
        // Too few rounds for an interval are too few for a p.
        let contrast = ratio.interval.and(contrast);
        let judged = contrast.and_then(|contrast| Judged::of(&[(ratio, contrast)], false));
        let verdict = Verdict::Inconclusive(Reason::FewRounds);
        Some(Change { verdict, measured: Some(ratio), judged })
    }

    /// The change to show: the one that is judged, if there is one.
    pub fn shown(&self) -> Option<&Estimate> {
        self.judged.as_ref().map(|judged| &judged.ratio).or(self.measured.as_ref())
    }

    /// Decides by the interval at this level.
    pub(super) fn judge(&mut self, level: f64, margin: f64) {
        let Some((judged, measured)) = self.judged.as_mut().zip(self.measured) else {
            return;
        };
        judged.ratio.interval = judged.interval(&measured, 1.0 - level);
        let Some(interval) = judged.ratio.interval else { return };
        let verdict = |low, high| Verdict::of([low - 1.0, high - 1.0], margin);
        self.verdict = verdict(interval.low, interval.high);
        let is_small = |verdict| matches!(verdict, Verdict::Within(_));
        // The two figures would contradict the word.
        if is_small(self.verdict) && !is_small(verdict(measured.value, measured.value)) {
            self.verdict = Verdict::Inconclusive(Reason::Machine);
        }
    }
}

impl Judged {
    /// A change as measured, or beside each yardstick.
    pub(super) fn of(changes: &[(Estimate, Contrast)], is_beside: bool) -> Option<Self> {
        let size = |ratio: &Estimate| ratio.value.ln().abs();
        let &(ratio, _) = changes.iter().min_by(|a, b| size(&a.0).total_cmp(&size(&b.0)))?;
        let contrasts: Vec<Contrast> = changes.iter().map(|&(_, contrast)| contrast).collect();
        Some(Judged { is_beside, ratio, contrasts })
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
