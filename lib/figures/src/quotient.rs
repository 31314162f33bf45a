//! What has changed from one side to the other, row by row. A side is a build, a setting or a file.
//!
//! The intervals of a comparison are joint (Bonferroni), and so are the twins'. A verdict says what its interval says.

use record::{Place, Quantity, Side, Why};
use serde::Serialize;
use stats::Interval;

use super::doubt::Doubt;
use super::value::Value;
use super::verdict::Verdict;

mod measured;

pub(crate) use measured::Pair;
pub use measured::{Kind, Measured};

/// A row on both sides.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compared {
    /// Where it stands, on the first side.
    #[serde(flatten)]
    pub place: Place,
    /// Name, with its column.
    pub name: String,
    /// Which of its figures it is about.
    #[serde(skip)]
    pub kind: Kind,
    /// What the figures of a duel are for each of: `hop`, `task` or `iteration`.
    pub unit: &'static str,
    /// Doubts about its times.
    pub doubts: Vec<Doubt>,
    /// Reason why there are no more pairs, or no figures.
    pub fault: Option<Why>,
    /// The side that lacks the row, if one does.
    #[serde(skip)]
    pub missing_on: Option<Side>,
    /// Pairs of both sides, if they took turns.
    pub pairs: usize,
    /// Its figures on both sides; none if it has no pair or a fault.
    pub quotients: Vec<Quotient>,
}

impl Compared {
    /// Its figure of this kind.
    pub fn quotient(&self, kind: Kind) -> Option<&Quotient> {
        self.quotients.iter().find(|quotient| quotient.measured.kind == kind)
    }

    /// True if a trial failed, or the second side lacks the row.
    pub fn has_failed(&self) -> bool {
        matches!(self.fault, Some(Why::Failed(_)))
    }

    /// Shares of the error that its figures have, to be divided by the sum of all: equal ones, but of the runs of a command
    /// the time has as much as all others together. A figure without a change needs none.
    fn weights(&self) -> impl Iterator<Item = f64> {
        let others = self
            .quotients
            .iter()
            .filter(|of| of.measured.change.is_some())
            .count()
            .saturating_sub(1);
        self.quotients.iter().map(move |Quotient { measured, .. }| match measured.change {
            None => 0.0,
            Some(_) if measured.is_of_runs && measured.kind == self.kind => others.max(1) as f64,
            Some(_) => 1.0,
        })
    }

    pub(crate) fn is_left_out(&self) -> bool {
        matches!(self.fault, Some(Why::LeftOut(_)))
    }
}

/// A figure of the second side beside the first, and whether it differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Quotient {
    #[serde(flatten)]
    pub measured: Measured,
    /// What can be said.
    pub verdict: Verdict,
    /// Change from the first side to the second with its joint interval: as a share of the first
    /// (0.02 is 2 % more), or as a difference for each hop or task if a figure of some process is zero.
    pub change: Option<Interval>,
    pub twin: Option<Interval>,
}

/// Judges the figures of rows. Of all comparisons of equal sides, a share of at most `error` may call any row
/// different. `margin` is the largest change that counts as none, as a share; `early` is the share of the error that
/// was set apart for a figure, if it was decided before the end.
pub fn judge(
    rows: &mut [Compared],
    error: f64,
    margin: f64,
    early: impl Fn(&Compared, &Measured) -> Option<f64>,
) {
    // Steps of Holm's method would give narrower intervals, which do not hold together.
    let whole: f64 = rows.iter().map(|row| row.weights().sum::<f64>()).sum();
    for row in rows {
        let judged =
            row.quotients.iter().zip(row.weights()).map(|(Quotient { measured, .. }, weight)| {
                let level = error * weight.max(1.0) / whole;
                measured.clone().judged(level, early(row, measured).unwrap_or(level), margin)
            });
        row.quotients = judged.collect();
    }
}

impl Quotient {
    /// The verdict in a word: more CPU time is not slower.
    pub fn word(&self) -> &'static str {
        let quantity = match self.measured.kind {
            Kind::Cpu => Quantity::Bytes,
            _ => self.measured.quantity,
        };
        self.verdict.word(quantity)
    }

    /// The direction of a change within the margin, in a word, if its whole interval lies on one side of zero.
    pub fn word_within(&self) -> Option<&'static str> {
        let change = self.change.filter(|change| !change.contains(0.0))?;
        let verdict = if change.low > 0.0 { Verdict::More } else { Verdict::Less };
        let is_within = matches!(self.verdict, Verdict::Within(reach) if reach > 0.0);
        is_within.then(|| Quotient { verdict, ..self.clone() }.word())
    }

    /// The second side divided by the first one, if the change is a share.
    pub fn ratio(&self) -> Option<Value> {
        let change = self.change.filter(|_| self.measured.is_share)?;
        Some(Value::estimated(change.map(|share| 1.0 + share).into(), None, self.measured.grade))
    }
}

/// Not judged yet.
impl From<Measured> for Quotient {
    fn from(measured: Measured) -> Self {
        let verdict = Verdict::Inconclusive(measured.lack);
        Quotient { measured, verdict, change: None, twin: None }
    }
}

#[cfg(test)]
mod tests {
    use stats::Contrast;

    use super::*;
    use crate::verdict::Reason;

    /// Four switches and four and a thousandth are the same, one and a thousandth more than one are not.
    #[test]
    fn what_is_nothing_depends_on_how_many_there_are() {
        for (count, is_nothing) in [(4.0, true), (1.0, false)] {
            let mut measured = Measured::new(Kind::Switches, Quantity::Count);
            (measured.figures, measured.is_share) = (Some([count; 2]), false);
            let change = stats::t_interval(&[0.001; 8], 0.99).unwrap();
            assert_eq!(measured.is_nothing(&change), is_nothing, "{count}");
        }
    }

    /// A change beside the machine's own, between figures of 100 and of so much.
    #[test]
    fn two_files_are_judged_by_their_change_and_by_what_they_show() {
        use Verdict::{Inconclusive, Less, More, Open, Within};
        for (change, slack, new, verdict) in [
            (0.3, 0.0, 130.0, More),
            (-0.3, 0.0, 70.0, Less),
            (0.3, 0.4, 130.0, Open(1.0)),
            (-0.3, 0.4, 70.0, Open(1.0)),
            (0.3, 0.0, 90.0, Inconclusive(Reason::Machine)),
            (-0.3, 0.0, 110.0, Inconclusive(Reason::Machine)),
            (0.0, 0.0, 100.0, Within(0.0)),
            (0.0, 0.0, 120.0, Inconclusive(Reason::Machine)),
        ] {
            let change = Contrast::mean(&[change - 0.001, change, change + 0.001]);
            let change = change.ok_or(Reason::FewRounds);
            let values = [100.0, new].map(|value| Value::exact(value, Some(Quantity::Time)));
            let measured = Measured::of_values(Quantity::Time, values.each_ref(), change, slack);
            let mut rows = [Compared { quotients: vec![measured.into()], ..Compared::default() }];
            judge(&mut rows, 0.05, 0.05, |_, _| None);
            let found = rows[0].quotients[0].verdict;
            let is_alike = std::mem::discriminant(&found) == std::mem::discriminant(&verdict);
            assert!(is_alike, "{found:?} {verdict:?}");
        }
        let values = [100.0, 120.0].map(|value| Value::exact(value, Some(Quantity::Time)));
        let two =
            Measured::of_values(Quantity::Time, values.each_ref(), Err(Reason::TwoModes), 0.0);
        let two = Quotient::from(two);
        assert_eq!((two.measured.figures, two.verdict), (None, Inconclusive(Reason::TwoModes)));
    }
}
