//! Whether the second side is worse by more than a limit, or may be: what a gate asks of a comparison.

use record::{Quantity, Yardstick};
use stats::modes;

use super::known;
use super::quotient::{Compared, Kind, Measured, Quotient};
use super::verdict::Verdict;

impl Compared {
    /// True if one of its figures is worse by more than this share of the first side. A count must also have grown by so
    /// much, as its whole interval says, that this could cost more than the share of the row's time: at the highest price
    /// of known machines.
    pub fn is_worse(&self, figure: &Quotient, share: f64) -> bool {
        figure.is_worse_than(share) && self.growth(figure).is_none_or(|[low, _]| low[1] > share)
    }

    /// True if one of its figures may be worse by more than this share, and a count by so much that this would cost more
    /// than the share even at the lowest price.
    pub fn may_be_worse(&self, figure: &Quotient, share: f64) -> bool {
        figure.may_be_worse_than(share)
            && self.growth(figure).is_none_or(|[_, high]| high[0] > share)
    }

    /// What the ends of a count's change cost at the lowest and at the highest price, as shares of the row's time; `None`
    /// if it is no count, or nothing tells.
    fn growth(&self, count: &Quotient) -> Option<[[f64; 2]; 2]> {
        let prices = match count.measured.kind {
            Kind::Switches => known::prices(Yardstick::Futex),
            Kind::Faults => known::prices(Yardstick::PageFault),
            _ => return None,
        };
        let [time, _] = self.quotient(Kind::Time)?.measured.figures?;
        let (change, [first, _]) = (count.change?, count.measured.figures?);
        let unit = if count.measured.is_share { first } else { 1.0 };
        Some([change.low, change.high].map(|end| prices.map(|price| end * unit * price / time)))
    }
}

impl Quotient {
    /// True if the second side is worse by more than this share of the first, as its whole interval says: of a
    /// rate, by so much more time for each. Any more than nothing is more than any share of it.
    pub fn is_worse_than(&self, share: f64) -> bool {
        let is_said = match self.verdict {
            Verdict::Within(reach) => reach > share,
            verdict => !verdict.is_open(),
        };
        is_said && self.worse().is_some_and(|[low, _]| low > self.limit(share))
    }

    /// True if the second side may be worse by more than this share of the first, and nothing is known against it: its
    /// interval reaches above it, or a mode that the first side lacks. Means do not count: a few pauses widen them.
    pub fn may_be_worse_than(&self, share: f64) -> bool {
        if self.is_for_better_or_worse() || self.measured.kind == Kind::Mean {
            return false;
        }
        let reaches = match (self.verdict, self.worse()) {
            (Verdict::Within(_), _) => false,
            (_, Some([_, high])) => high > self.limit(share),
            (verdict, None) => verdict.is_open(),
        };
        reaches || self.measured.mode_of_second().is_some_and(|worse| worse > share)
    }

    /// The ends of the change for the worse: of a rate, of the time for each.
    fn worse(&self) -> Option<[f64; 2]> {
        let change = self.change.filter(|_| !self.is_for_better_or_worse())?;
        Some(match self.measured.quantity {
            Quantity::Rate | Quantity::Throughput => {
                [change.high, change.low].map(|end| 1.0 / (1.0 + end) - 1.0)
            }
            _ => [change.low, change.high],
        })
    }

    /// Of counts and shares of a plan's rows, more is neither.
    fn is_for_better_or_worse(&self) -> bool {
        self.measured.kind == Kind::Figure
            && matches!(self.measured.quantity, Quantity::Count | Quantity::Share)
    }

    /// A share of the first side in the unit of the change.
    fn limit(&self, share: f64) -> f64 {
        let first = self.measured.figures.map_or(0.0, |[first, _]| first);
        if self.measured.is_share { share } else { share * first }
    }
}

impl Measured {
    /// By how much the second side is worse in its worse mode, as a share, if the first side has none.
    fn mode_of_second(&self) -> Option<f64> {
        let [_, worse] = self.modes()?;
        let first = self.pairs.iter().map(|pair| pair.figures[0]);
        let first = first.chain(self.twins.iter().map(|pair| pair.figures[1]));
        modes(&first.collect::<Vec<f64>>()).is_none().then_some(worse.centre - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a limit of zero, a change counts from where it would be shown.
    #[test]
    fn next_to_nothing_is_not_worse() {
        let mut quotient = Quotient::from(Measured::new(Kind::Switches, Quantity::Count));
        quotient.change = stats::t_interval(&[0.0002; 8], 0.99);
        for (verdict, is_worse) in [(Verdict::Within(0.0), false), (Verdict::Within(0.0002), true)]
        {
            quotient.verdict = verdict;
            assert_eq!(quotient.is_worse_than(0.0), is_worse, "{verdict:?}");
        }
    }
}
