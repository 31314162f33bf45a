//! Whether a time changed by more than the machine did.
//!
//! In each round the time is divided by that of a yardstick, which ran within the same seconds. What moves
//! both, such as a neighbour on the host, cancels. A change counts that is told beside each of the yardsticks
//! (an intersection-union test: R. L. Berger, Technometrics 24, 1982): it lies outside the range by which
//! they moved.

use record::Quantity;
use serde::Serialize;
use stats::{Contrast, Estimate};

use super::{Comparison, Judged, Line};
use crate::figures::CONFIDENCE;
use crate::figures::cases::{Cases, Key, Runs};

/// Range of the yardsticks' changes, as ratios with their intervals; `None` where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Moved {
    /// Of those that are pinned.
    pub pinned: Option<(f64, f64)>,
    /// Of all.
    pub all: Option<(f64, f64)>,
}

impl Comparison {
    /// Sets each time beside the yardsticks: those that are pinned, if it is pinned itself.
    pub(super) fn set_beside(&mut self, cases: &[Cases<'_>]) {
        let (Some(old), files) = (cases.first(), 0..self.files.len() - 1) else {
            return;
        };
        self.moved = files.map(|file| self.moved(file)).collect();
        let yardsticks: Vec<(Key, bool)> = self
            .yardsticks()
            .filter(|line| line.metric.quantity() == Quantity::Time)
            .map(|line| (line.key.clone(), line.is_pinned))
            .collect();
        let lines = self.sections.iter_mut().flat_map(|section| &mut section.lines);
        for line in lines.filter(|line| !line.is_yardstick) {
            let quantity = line.metric.quantity();
            if !matches!(quantity, Quantity::Time | Quantity::Rate | Quantity::Throughput) {
                continue;
            }
            for (new, change) in cases[1..].iter().zip(&mut line.changes) {
                let both = |key: &Key| old.get(key).zip(new.get(key));
                let of_its_kind =
                    yardsticks.iter().filter(|(_, pinned)| !line.is_pinned || *pinned);
                if let (Some(own), Some(change)) = (both(&line.key), change)
                    && let (Some(_), Some(measured)) = (change.p, change.ratio)
                {
                    let yardsticks = of_its_kind.filter_map(|(key, _)| both(key));
                    let judged = beside(own, yardsticks, &measured);
                    change.judged = judged.or(change.judged.take());
                }
            }
        }
    }

    fn yardsticks(&self) -> impl Iterator<Item = &Line> {
        let lines = self.sections.iter().flat_map(|section| &section.lines);
        lines.filter(|line| line.is_yardstick)
    }

    /// Range of the yardsticks' changes in the further file of that index.
    fn moved(&self, file: usize) -> Moved {
        let mut moved = Moved::default();
        for line in self.yardsticks() {
            let change = line.changes.get(file).and_then(Option::as_ref);
            let Some(interval) = change.and_then(|c| c.ratio?.interval) else {
                continue;
            };
            let widen = |range: &mut Option<(f64, f64)>| {
                let (low, high) = range.unwrap_or((1.0, 1.0));
                *range = Some((low.min(interval.low), high.max(interval.high)));
            };
            widen(&mut moved.all);
            if line.is_pinned {
                widen(&mut moved.pinned);
            }
        }
        moved
    }
}

/// A case in the old file and in the new one.
type Pair<'a> = (&'a Runs<'a>, &'a Runs<'a>);

/// Sets a case beside the yardsticks; `None` where none of them shares enough rounds with it.
fn beside<'a>(
    own: Pair<'_>,
    yardsticks: impl Iterator<Item = Pair<'a>>,
    measured: &Estimate,
) -> Option<Judged> {
    let changes = yardsticks.filter_map(|yardstick| {
        let old = own.0.beside(yardstick.0);
        let new = own.1.beside(yardstick.1);
        let ratio = Estimate::unpaired_ratio(&new, &old, CONFIDENCE)?;
        ratio.interval?;
        Some((ratio, Contrast::log_ratio(&new, &old)?))
    });
    Judged::of(&changes.collect::<Vec<_>>(), measured, true)
}
