//! The value of a figure, and the difference or quotient of two values: what every table, curve, answer and document
//! shows.
//!
//! Two values are put together in each session that has both: round by round, or, for sizes, slope by slope. If there
//! are several sessions, each is a sample.

use std::collections::BTreeMap;

use record::Quantity;
use serde::{Deserialize, Serialize};
use stats::{Contrast, Estimate};

use super::grade::{Grade, Range};
use super::number::{digits_like, number, percent, short, thousands};
use super::session_spread::SessionSpread;
use super::sessions;
use super::speed::Round;
use super::verdict::{Reason, Verdict};

mod session;
#[cfg(test)]
mod tests;

pub(crate) use session::Session;
use session::{NO_DIFFERENCE, NOTHING_IN_COMMON, log, mean, paired};

/// A figure, a difference or a quotient, with the samples from which further ones are formed.
#[derive(Clone, Debug, Serialize)]
pub struct Value {
    /// Kind of its unit; `None` for a ratio.
    #[serde(skip)]
    pub quantity: Option<Quantity>,
    /// The estimate, with its interval if there are enough rounds.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Centres of two clusters of processes, if no mean describes both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<[f64; 2]>,
    /// Worst grade of the figures that it is made of.
    pub grade: Grade,
    /// Its sessions; without any, nothing can be paired with it.
    #[serde(skip)]
    pub(crate) sessions: Vec<Session>,
}

/// What is shown of a value, with two significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    Value,
    Interval,
    /// The estimate as a number of things, such as `13,000`.
    Count,
    /// A share, with its interval, in per cent.
    Percent,
    /// A ratio's excess over 1, with its interval, in per cent.
    More,
}

impl Value {
    /// A number without a known error, since it is made of no rounds: a count, or a number that somebody wrote.
    pub fn exact(number: f64, quantity: Option<Quantity>) -> Self {
        let estimate = Estimate { value: number, n: 0, interval: None };
        Value::estimated(estimate, quantity, Grade::Sure)
    }

    fn is_exact(&self) -> bool {
        self.estimate.n == 0
    }

    /// A count without an error.
    pub fn count(number: f64) -> Self {
        Value::exact(number, Some(Quantity::Count))
    }

    /// An estimate with which nothing can be paired.
    pub fn estimated(estimate: Estimate, quantity: Option<Quantity>, grade: Grade) -> Self {
        Value { quantity, estimate, modes: None, grade, sessions: Vec::new() }
    }

    /// An estimate that is made of these sessions.
    pub(crate) fn made_of(
        sessions: Vec<Session>,
        estimate: Estimate,
        quantity: Quantity,
        grade: Grade,
    ) -> Self {
        let sessions = sessions.into_iter().flat_map(Session::split).collect();
        Value { sessions, ..Value::estimated(estimate, Some(quantity), grade) }
    }

    /// This divided by another one, in each round that has both.
    ///
    /// # Errors
    /// Why they cannot be divided.
    pub fn divided_by(&self, divisor: &Value) -> Result<Value, String> {
        let quantity = match (self.quantity, divisor.quantity) {
            (quantity, None) => quantity,
            (dividend, divisor) if dividend == divisor => None,
            _ => return Err("their units differ".to_owned()),
        };
        let quotient = match (self.is_exact(), divisor.is_exact()) {
            (true, _) | (_, true) if divisor.ends().iter().any(|end| *end <= 0.0) => {
                return Err("the divisor may be zero".to_owned());
            }
            (_, true) => {
                let number = divisor.estimate.value;
                self.mapped(|value| value / number, |_| 1.0 / number)
            }
            (true, _) => {
                let number = self.estimate.value;
                divisor.mapped(|value| number / value, |v| -number / (v * v))
            }
            (false, false) => {
                let sessions = paired(&self.sessions, &divisor.sessions, Session::divided_by)?;
                let is_positive = sessions.iter().all(Session::is_positive);
                let mean = if is_positive { Estimate::geometric_mean } else { Estimate::mean };
                Value::of_sessions(sessions, mean)?
            }
        };
        let grade = quotient.grade.max(self.grade).max(divisor.grade);
        Ok(Value { quantity, grade, ..quotient })
    }

    /// This less another one, in each round that has both.
    ///
    /// # Errors
    /// Why they cannot be subtracted.
    pub fn less(&self, other: &Value) -> Result<Value, String> {
        if self.quantity != other.quantity {
            return Err("their units differ".to_owned());
        }
        let difference = match (self.is_exact(), other.is_exact()) {
            (_, true) => self.mapped(|value| value - other.estimate.value, |_| 1.0),
            (true, false) => return Err(NO_DIFFERENCE.to_owned()),
            (false, false) => {
                let sessions = paired(&self.sessions, &other.sessions, Session::less)?;
                Value::of_sessions(sessions, Estimate::mean)?
            }
        };
        let grade = difference.grade.max(self.grade).max(other.grade);
        Ok(Value { quantity: self.quantity, grade, ..difference })
    }

    /// This beside the machine's own time: a time divided by it, a rate multiplied by it.
    ///
    /// # Errors
    /// They have no rounds in common.
    pub fn beside(&self, machine: &Value) -> Result<Value, String> {
        match self.quantity {
            Some(Quantity::Rate | Quantity::Throughput) => self.product(machine),
            _ => self.divided_by(machine),
        }
    }

    /// The geometric mean of times, in each round that all of them have; without a unit, as a factor.
    ///
    /// # Errors
    /// They have no rounds in common.
    pub fn mean_of(times: &[Value]) -> Result<Value, String> {
        let mut factors = times.iter().map(|time| Value { quantity: None, ..time.clone() });
        let first = factors.next().ok_or(NOTHING_IN_COMMON)?;
        let product = factors.try_fold(first, |all, time| all.product(&time))?;
        let share = 1.0 / times.len() as f64;
        Ok(product.mapped(|value| value.powf(share), |value| share * value.powf(share) / value))
    }

    /// This multiplied by a factor: divided by its inverse.
    fn product(&self, factor: &Value) -> Result<Value, String> {
        let inverse = factor.mapped(|value| 1.0 / value, |value| -1.0 / (value * value));
        self.divided_by(&inverse)
    }

    /// The change to another value that shares no round with this one, of another file: a logarithm. Its error contains
    /// how far sessions differ.
    ///
    /// # Errors
    /// Why there is none.
    pub fn change_to(&self, new: &Value) -> Result<Contrast, Reason> {
        if self.modes.is_some() || new.modes.is_some() {
            return Err(Reason::TwoModes);
        }
        log(&new.sessions)?.less(log(&self.sessions)?).ok_or(Reason::NoSize)
    }

    /// This multiplied by a number.
    ///
    /// # Errors
    /// The factor is no plain number.
    pub fn times(&self, factor: &Value) -> Result<Value, String> {
        if !factor.is_exact() || factor.quantity.is_some() {
            return Err("a factor is a number without a unit".to_owned());
        }
        let factor = factor.estimate.value;
        Ok(self.mapped(|value| value * factor, |_| factor))
    }

    /// Whether a ratio is less or more than one.
    pub(crate) fn verdict(&self) -> Verdict {
        let verdict = match self.estimate.interval {
            Some(ends) => Verdict::of([ends.low - 1.0, ends.high - 1.0], 0.0),
            None => Verdict::Inconclusive(Reason::FewRounds),
        };
        Reason::of(self.grade).map_or(verdict, Verdict::Inconclusive)
    }

    /// True if it has no interval, since there are too few rounds for one.
    pub fn has_few_rounds(&self) -> bool {
        self.estimate.interval.is_none() && !self.is_exact()
    }

    /// True if every round is above zero.
    pub(crate) fn is_above(&self) -> bool {
        self.sessions.iter().all(Session::is_positive)
    }

    /// Its rounds in all sessions.
    pub fn rounds(&self) -> impl Iterator<Item = f64> + '_ {
        self.sessions.iter().flat_map(|session| session.rounds.values().copied())
    }

    /// The estimate as a range: from one mode to the other, if no mean describes both.
    pub fn range(&self) -> Range {
        Range { ends: self.modes.unwrap_or([self.estimate.value; 2]), grade: self.grade }
    }

    /// The same, and not sure.
    #[must_use]
    pub fn disturbed(self) -> Self {
        Value { grade: self.grade.max(Grade::Disturbed), ..self }
    }

    /// Estimate and ends of the interval, which are the estimate if it has none.
    pub fn ends(&self) -> [f64; 3] {
        let value = self.estimate.value;
        self.estimate.interval.map_or([value; 3], |interval| [value, interval.low, interval.high])
    }

    /// The value as people read it, with the mark of its grade.
    ///
    /// # Errors
    /// It cannot be shown in this form.
    pub fn show(&self, form: Form) -> Result<String, String> {
        let ([value, low, high], quantity) = (self.ends(), self.quantity);
        let is_count = quantity == Some(Quantity::Count) || (quantity.is_none() && self.is_exact());
        let is_share = matches!(quantity, None | Some(Quantity::Share));
        let with_ends = |value: String, show: &dyn Fn(f64) -> String| {
            if low == high { value } else { format!("{value} [{}, {}]", show(low), show(high)) }
        };
        let text = match (form, self.modes) {
            (Form::Value | Form::Interval, Some(modes)) => {
                modes.map(|mode| plain(quantity, mode)).join(" or ")
            }
            (_, Some(_)) => return Err("it has two modes, which only a value shows".to_owned()),
            (Form::Percent, _) if is_share => with_ends(percent(value), &|end| number(end * 100.0)),
            (Form::More, _) if is_share => {
                with_ends(percent(value - 1.0), &|end| number((end - 1.0) * 100.0))
            }
            (Form::Count, _) if is_count => thousands(&format!("{value:.0}")),
            (Form::Count, _) if quantity.is_none() => thousands(&number(value)),
            (Form::Count | Form::Percent | Form::More, _) => {
                return Err("a figure with a unit is neither a count nor a share".to_owned());
            }
            (Form::Interval, _)
                if is_count && low == high && (value >= 100.0 || value.fract() == 0.0) =>
            {
                thousands(&format!("{value:.0}"))
            }
            (Form::Interval, _) => with_ends(plain(quantity, value), &|end| match quantity {
                Some(quantity) => digits_like(quantity, end, value),
                None => number(end),
            }),
            (Form::Value, _) => plain(quantity, value),
        };
        Ok(self.grade.mark(&text))
    }

    /// Each sample and the estimate, changed by a function that keeps or turns their order, and has this slope.
    fn mapped(&self, f: impl Fn(f64) -> f64 + Copy, slope: impl Fn(f64) -> f64) -> Self {
        let sessions = self.sessions.iter().map(|session| {
            let between = session.between.times(slope(session.estimate.value));
            let rounds = session.rounds.iter().map(|(round, value)| (*round, f(*value))).collect();
            Session::of(session.run, session.estimate.map(f), between, rounds, session.grade)
        });
        let sessions = sessions.collect();
        let modes = self.modes.map(|modes| modes.map(f));
        Value { estimate: self.estimate.map(f), modes, sessions, ..self.clone() }
    }

    /// The mean of rounds, without regard to the sessions that they are of.
    pub(crate) fn of_rounds(rounds: BTreeMap<Round, f64>, grade: Grade) -> Result<Value, String> {
        let estimate = mean(&rounds).ok_or(NOTHING_IN_COMMON)?;
        let session = Session::of((0, 0), estimate, SessionSpread::default(), rounds, grade);
        Value::of_sessions(vec![session], Estimate::mean)
    }

    /// The estimate of one session; of several, the mean of theirs.
    pub(crate) fn of_sessions(
        sessions: Vec<Session>,
        mean: fn(&[f64]) -> Option<Estimate>,
    ) -> Result<Value, String> {
        let estimates: Vec<Estimate> = sessions.iter().map(|session| session.estimate).collect();
        let estimate = match &estimates[..] {
            [estimate] => *estimate,
            several => sessions::across(several, mean).ok_or(NOTHING_IN_COMMON)?,
        };
        let grade = sessions::grade(sessions.iter().map(|session| session.grade));
        Ok(Value { sessions, ..Value::estimated(estimate, None, grade) })
    }
}

fn plain(quantity: Option<Quantity>, value: f64) -> String {
    quantity.map_or_else(|| number(value), |quantity| short(quantity, value))
}
