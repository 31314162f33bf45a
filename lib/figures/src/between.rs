//! How far sessions of one machine differ beyond what the intervals within each of them tell: by where the host puts
//! virtual CPUs, what its neighbours do, and the clock speed. One session cannot see it, so it comes from the committed
//! machines with several sessions (docs/METHODOLOGY.md has the command), and widens each interval of one session.
//!
//! Two times of a session share a part of it, their common speed, which cancels out of their ratio; the rest is each
//! one's own.

use std::fmt;

use record::Quantity;
use stats::{CONFIDENCE, Estimate, Interval};

use super::number::percent;

/// Standard deviations between sessions, as logarithms, of unpinned and of pinned rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Of a ratio of two times.
    pub ratios: [f64; 2],
    /// Of a time.
    pub times: [f64; 2],
    /// Degrees of freedom of these.
    pub freedom: f64,
    /// Machines with several sessions.
    pub machines: usize,
}

/// What the committed records tell, to three decimals. A test holds it to them.
pub const SPREAD: Spread =
    Spread { ratios: [0.029, 0.034], times: [0.078, 0.094], freedom: 12.5, machines: 5 };

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([a, b], [c, d]) = (self.ratios.map(percent), self.times.map(percent));
        write!(f, "{b} pinned and {a} unpinned for ratios of times, {d} and {c} for times, ")?;
        write!(f, "as on {} machines", self.machines)
    }
}

/// Standard deviation of an estimate between sessions, in its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Between {
    own: f64,
    /// Of the common speed; negative if it falls where times rise.
    common: f64,
}

impl Between {
    /// That of a figure with this estimate: none, unless it is made of time.
    pub(crate) fn of(quantity: Quantity, is_pinned: bool, estimate: f64) -> Self {
        let sign = match quantity {
            Quantity::Time => 1.0,
            Quantity::Rate | Quantity::Throughput => -1.0,
            _ => return Between::default(),
        };
        let [ratio, time] = [SPREAD.ratios, SPREAD.times].map(|of| of[usize::from(is_pinned)]);
        // The variances of two such times add up to the variance of their ratio.
        let own = ratio / 2f64.sqrt();
        let common = (time * time - own * own).sqrt();
        Between { own: own * estimate, common: sign * common * estimate }
    }

    /// That of the quotient of two estimates.
    pub(crate) fn over(self, own: f64, divisor: Between, value: f64) -> Self {
        let quotient = own / value;
        Between {
            own: (self.own / value).hypot(quotient * divisor.own / value),
            common: self.common / value - quotient * divisor.common / value,
        }
    }

    /// That of the difference of two estimates.
    pub(crate) fn less(self, other: Between) -> Self {
        Between { own: self.own.hypot(other.own), common: self.common - other.common }
    }

    /// That of an estimate multiplied by a number.
    pub(crate) fn times(self, factor: f64) -> Self {
        Between { own: self.own * factor.abs(), common: self.common * factor }
    }

    /// The standard deviation.
    pub(crate) fn deviation(self) -> f64 {
        self.own.hypot(self.common)
    }

    /// The estimate of one session as one for all sessions of its machine.
    pub(crate) fn widen(self, estimate: Estimate) -> Estimate {
        let reach = stats::t_critical(CONFIDENCE, SPREAD.freedom);
        estimate.widened(reach.unwrap_or(0.0) * self.deviation())
    }

    /// The same of what is positive, in logarithms.
    pub(crate) fn widen_share(self, estimate: Estimate) -> Estimate {
        let share = self.times(1.0 / estimate.value);
        let widened = share.widen(estimate.map(f64::ln)).map(f64::exp).interval;
        // The estimate does not pass through its logarithm, to stay as it is in every digit.
        let interval = widened.map(|ends| Interval { estimate: estimate.value, ..ends });
        Estimate { interval, ..estimate }
    }
}
