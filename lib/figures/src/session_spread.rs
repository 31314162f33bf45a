//! How far sessions of one machine differ beyond what the intervals within each of them tell: by where the host puts
//! virtual CPUs, what its neighbours do, and the clock speed. What disturbs the rounds of a session differs more from
//! session to session, so a part of it grows with the error that the session itself shows; the rest no session shows. Both
//! come from the committed machines with several sessions (docs/METHODOLOGY.md has the command), and widen each interval of
//! one session.
//!
//! Two times of a session share a part of that rest, their common speed, which cancels out of their ratio; the other part is
//! each one's own.

use std::fmt;

use record::Quantity;
use stats::{Estimate, Interval};

use super::number::{number, percent};

/// What sessions of the committed machines differ by, as logarithms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// Standard deviation of a ratio of two times that no session shows, of unpinned and of pinned rows.
    pub ratios: [f64; 2],
    pub times: [f64; 2],
    /// The standard deviation that a session shows, as a multiple of its own standard error.
    pub shown: f64,
    pub machines: usize,
}

/// What the committed records tell. A test holds it to them.
pub const SPREAD: Spread =
    Spread { ratios: [0.024, 0.006], times: [0.047, 0.041], shown: 1.0, machines: 6 };

impl Spread {
    /// Standard error that widens an estimate of one session to one for all sessions of its machine. `deviation` is what no
    /// session shows, `error` the estimate's own standard error, and `hidden` what that lacks.
    pub(crate) fn further(&self, deviation: f64, error: f64, hidden: f64) -> f64 {
        deviation.hypot(hidden).hypot(self.shown * error.hypot(hidden))
    }

    /// Degrees of freedom of these.
    pub(crate) fn freedom(&self) -> f64 {
        self.machines.saturating_sub(1) as f64
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([a, b], [c, d]) = (self.ratios.map(percent), self.times.map(percent));
        let Spread { shown, machines, .. } = self;
        write!(
            f,
            "{} times the own error, and {b} pinned and {a} unpinned for ratios of ",
            number(*shown)
        )?;
        write!(f, "times, {d} and {c} for times, as on {machines} machines")
    }
}

/// Standard deviation of an estimate between sessions, in its unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SessionSpread {
    of_figure: f64,
    /// Of the common speed; negative if it falls where times rise.
    common: f64,
    /// Standard error of the correction that no round shows.
    pub(crate) hidden: f64,
}

impl SessionSpread {
    /// That of a figure with this estimate: none, unless it is made of time. `hidden` is a share of the time.
    pub(crate) fn of(quantity: Quantity, is_pinned: bool, estimate: f64, hidden: f64) -> Self {
        let sign = match quantity {
            Quantity::Time => 1.0,
            Quantity::Rate | Quantity::Throughput => -1.0,
            _ => return SessionSpread::default(),
        };
        let [ratio, time] =
            [SPREAD.ratios, SPREAD.times].map(|spreads| spreads[usize::from(is_pinned)]);
        // The variances of two such times add up to the variance of their ratio.
        let of_figure = ratio / 2f64.sqrt();
        let common = (time * time - of_figure * of_figure).sqrt();
        let [of_figure, common, hidden] =
            [of_figure, sign * common, hidden].map(|share| share * estimate);
        SessionSpread { of_figure, common, hidden }
    }

    /// That of the quotient of two estimates.
    pub(crate) fn divided_by(self, dividend: f64, divisor: SessionSpread, value: f64) -> Self {
        let quotient = dividend / value;
        let [of_figure, hidden] =
            [[self.of_figure, divisor.of_figure], [self.hidden, divisor.hidden]].map(
                |[of_dividend, of_divisor]| {
                    (of_dividend / value).hypot(quotient * of_divisor / value)
                },
            );
        SessionSpread {
            of_figure,
            common: self.common / value - quotient * divisor.common / value,
            hidden,
        }
    }

    /// That of the difference of two estimates.
    pub(crate) fn less(self, other: SessionSpread) -> Self {
        SessionSpread {
            of_figure: self.of_figure.hypot(other.of_figure),
            common: self.common - other.common,
            hidden: self.hidden.hypot(other.hidden),
        }
    }

    /// That of an estimate multiplied by a number.
    pub(crate) fn times(self, factor: f64) -> Self {
        SessionSpread {
            of_figure: self.of_figure * factor.abs(),
            common: self.common * factor,
            hidden: self.hidden * factor.abs(),
        }
    }

    /// Standard error that widens an estimate with this error to one for all sessions; none, if it is not made of time.
    pub(crate) fn further(self, error: f64) -> f64 {
        let deviation = self.of_figure.hypot(self.common);
        if deviation == 0.0 { 0.0 } else { SPREAD.further(deviation, error, self.hidden) }
    }

    /// The estimate of one session as one for all sessions of its machine.
    pub(crate) fn widen(self, estimate: Estimate) -> Estimate {
        estimate.widened(SPREAD.freedom(), |error| self.further(error))
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
