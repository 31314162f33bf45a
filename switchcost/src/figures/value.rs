//! A figure by itself, or the difference or quotient of two figures, formed in each round that has both. Every figure in
//! a document is such a value.

use std::collections::BTreeMap;

use facts::Quantity;
use stats::{Estimate, Interval, Line};

use super::basis::CONFIDENCE;
use super::cube::Figures;
use super::figure::{Figure, Outcome};
use super::grade::Grade;
use super::number::{number, percent, short, shown_like, thousands};
use super::sessions;
use super::speed::Round;

#[cfg(test)]
mod tests;

/// A figure, a difference or a quotient, with what further ones can be made of.
#[derive(Clone, Debug)]
pub struct Value {
    /// Kind of its unit; `None` for a ratio.
    pub quantity: Option<Quantity>,
    /// The estimate, with its interval if there are enough rounds.
    pub estimate: Estimate,
    /// Centres of two clusters of processes, if no mean describes both.
    modes: Option<[f64; 2]>,
    /// Worst grade of the figures that it is made of.
    pub grade: Grade,
    basis: Basis,
}

/// What an estimate is made of.
#[derive(Clone, Debug)]
enum Basis {
    /// Nothing: the number has no error.
    Exact,
    /// A sample for each round of each session.
    Rounds(Vec<Session>),
    /// A line over the number of tasks, whose slope it is.
    Line(Line),
    /// Something else, in which no rounds are left.
    Estimate,
}

/// Samples of one session, and their grade.
#[derive(Clone, Debug)]
struct Session {
    rounds: BTreeMap<Round, f64>,
    grade: Grade,
}

/// What is shown of a value, with two significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The estimate.
    Value,
    /// The estimate and its interval.
    Interval,
    /// The estimate as a number of things, such as `13,000`.
    Count,
    /// A share, with its interval, in per cent.
    Percent,
    /// What a ratio exceeds 1 by, with its interval, in per cent.
    More,
}

impl Value {
    /// A number without an error.
    pub fn exact(number: f64, quantity: Option<Quantity>) -> Self {
        let estimate = Estimate { value: number, n: 0, interval: None };
        Value { quantity, estimate, modes: None, grade: Grade::Sure, basis: Basis::Exact }
    }

    /// A count without an error.
    pub fn count(number: f64) -> Self {
        Value::exact(number, Some(Quantity::Count))
    }

    /// An estimate that was not made of rounds.
    pub fn estimated(estimate: Estimate, quantity: Option<Quantity>, grade: Grade) -> Self {
        Value { quantity, estimate, modes: None, grade, basis: Basis::Estimate }
    }

    fn of_line(line: Line, grade: Grade) -> Self {
        let (estimate, quantity) = (Estimate::from(line.slope), Some(Quantity::Bytes));
        Value { quantity, estimate, modes: None, grade, basis: Basis::Line(line) }
    }

    /// A figure: of a slope its size, the kernel's share included.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(figures: &Figures<'_>, figure: &Figure<'_>) -> Result<Self, String> {
        let reading = match &figure.outcome {
            Outcome::Slope(slopes) => {
                return Ok(Value::of_line(slopes.headline().line, figure.grade));
            }
            Outcome::Measured(reading) => reading,
            outcome => return Err(outcome.reason().unwrap_or("the records lack it").to_owned()),
        };
        Ok(Value {
            quantity: Some(figure.quantity()),
            estimate: reading.mean,
            modes: reading.modes.map(|modes| modes.map(|mode| mode.centre)),
            grade: figure.grade,
            basis: Basis::Rounds(
                figures.in_sessions(figure).into_iter().map(Session::of).collect(),
            ),
        })
    }

    /// A part of a slope (`user`, `kernel`, `stacks`), or what the kernel counted per hop: switches that were `voluntary`
    /// or `preempted`, or all `switches`; interrupts between CPUs (`wakeups`); `hops per wait` of an event loop. `None` if
    /// the count is unknown.
    ///
    /// # Errors
    /// The figure has no such part.
    pub fn part(figure: &Figure<'_>, name: &str) -> Result<Option<Self>, String> {
        let none = || format!("no column, value or part of it is '{name}'");
        if let Some(slopes) = figure.slopes() {
            let fit = match name {
                "user" => Some(&slopes.user),
                "kernel" => slopes.kernel.as_ref(),
                "stacks" => slopes.parts.stacks.as_ref(),
                _ => None,
            };
            return Ok(Some(Value::of_line(fit.ok_or_else(none)?.line, figure.grade)));
        }
        let evidence = figure.reading().and_then(|reading| reading.evidence.as_ref());
        let evidence = evidence.ok_or_else(none)?;
        let count = match name {
            "voluntary" => Some(evidence.switches),
            "preempted" => Some(evidence.preemptions),
            "switches" => Some(evidence.switches + evidence.preemptions),
            "wakeups" => evidence.wakeups,
            "hops per wait" => evidence.hops_per_wait,
            _ => return Err(none()),
        };
        Ok(count.map(|count| Value { grade: figure.grade, ..Value::count(count) }))
    }

    /// This divided by another one, in each round that has both.
    ///
    /// # Errors
    /// Why they cannot be divided.
    pub fn over(&self, by: &Value) -> Result<Self, String> {
        let quantity = match (self.quantity, by.quantity) {
            (quantity, None) => quantity,
            (own, other) if own == other => None,
            _ => return Err("their units differ".to_owned()),
        };
        let grade = self.grade.max(by.grade);
        let quotient = match (&self.basis, &by.basis) {
            (_, Basis::Exact) => self.mapped(|value| value / by.estimate.value),
            (Basis::Exact, _) => {
                let own = self.estimate.value;
                let estimate = mapped(&by.estimate.inverse(), |value| own * value);
                Value { estimate, ..by.mapped(|value| own / value) }
            }
            (Basis::Line(own), Basis::Line(other)) => {
                let ratio = stats::log_slope_ratio(own, other);
                let ratio = ratio.and_then(|change| change.ratio(CONFIDENCE));
                let ratio = ratio.ok_or("one of the two sizes may be zero")?;
                Value::estimated(ratio.into(), None, grade)
            }
            (Basis::Rounds(own), Basis::Rounds(other)) => {
                match joined(own, other, |own, other| own / other) {
                    both if both.is_empty() => {
                        let [own, other] = [own, other].map(|sessions| pooled(sessions));
                        let ratio = Estimate::unpaired_ratio(&own, &other, CONFIDENCE);
                        let ratio = ratio.ok_or("one of the two is not above zero")?;
                        Value::estimated(ratio, None, grade)
                    }
                    _ if pooled(other).iter().any(|&value| value <= 0.0) => {
                        return Err("the divisor is not above zero in every round".to_owned());
                    }
                    both => Value::of_sessions(both)?,
                }
            }
            _ => return Err("these two have no rounds in common".to_owned()),
        };
        Ok(Value { quantity, ..quotient })
    }

    /// This less another one, in each round that has both.
    ///
    /// # Errors
    /// Why they cannot be subtracted.
    pub fn less(&self, other: &Value) -> Result<Self, String> {
        if self.quantity != other.quantity {
            return Err("their units differ".to_owned());
        }
        match (&self.basis, &other.basis) {
            (_, Basis::Exact) => Ok(self.mapped(|value| value - other.estimate.value)),
            (Basis::Rounds(own), Basis::Rounds(others)) => {
                let both = joined(own, others, |own, other| own - other);
                let estimate = across(&both, Estimate::mean, sessions::over_sums);
                let difference = Value::of_sessions(both)?;
                let estimate = estimate.unwrap_or(difference.estimate);
                Ok(Value { quantity: self.quantity, estimate, ..difference })
            }
            _ => Err("these two have no rounds in common".to_owned()),
        }
    }

    /// So many times as much.
    ///
    /// # Errors
    /// The factor was measured.
    pub fn times(&self, factor: &Value) -> Result<Self, String> {
        match factor.basis {
            Basis::Exact => Ok(self.mapped(|value| value * factor.estimate.value)),
            _ => Err("a factor is a number".to_owned()),
        }
    }

    /// True if it has no interval, since there are too few rounds for one.
    pub fn has_few_rounds(&self) -> bool {
        self.estimate.interval.is_none() && !matches!(self.basis, Basis::Exact)
    }

    /// Estimate and ends of the interval, which are the estimate if it has none.
    pub fn ends(&self) -> [f64; 3] {
        let value = self.estimate.value;
        self.estimate.interval.map_or([value; 3], |interval| [value, interval.low, interval.high])
    }

    /// The value as people read it, with the mark of its grade.
    pub fn show(&self, form: Form) -> String {
        let [value, low, high] = self.ends();
        let quantity = self.quantity;
        let is_exact = quantity.is_none() && matches!(self.basis, Basis::Exact);
        let is_count = quantity == Some(Quantity::Count) || is_exact;
        let is_whole = match form {
            Form::Count => is_count,
            _ => form == Form::Interval && is_count && (value >= 100.0 || value.fract() == 0.0),
        };
        let text = match (form, self.modes) {
            (Form::Percent, _) => in_percent([value, low, high]),
            (Form::More, _) => in_percent([value, low, high].map(|ratio| ratio - 1.0)),
            (Form::Count, _) if !is_count => thousands(&number(value)),
            (Form::Value | Form::Interval, Some(modes)) => {
                modes.map(|mode| plain(quantity, mode)).join(" or ")
            }
            (Form::Interval, None) if low != high => {
                let ends = [low, high].map(|end| match quantity {
                    Some(quantity) => shown_like(quantity, end, value).number,
                    None => number(end),
                });
                format!("{} [{}]", plain(quantity, value), ends.join(", "))
            }
            _ if is_whole => thousands(&format!("{value:.0}")),
            _ => plain(quantity, value),
        };
        self.grade.mark(&text)
    }

    /// Each sample and the estimate, changed by a function that keeps or turns their order.
    fn mapped(&self, f: impl Fn(f64) -> f64 + Copy) -> Self {
        let basis = match &self.basis {
            Basis::Exact => Basis::Exact,
            Basis::Rounds(sessions) => {
                Basis::Rounds(sessions.iter().map(|s| s.mapped(f)).collect())
            }
            Basis::Line(_) | Basis::Estimate => Basis::Estimate,
        };
        let modes = self.modes.map(|modes| modes.map(f));
        Value { estimate: mapped(&self.estimate, f), modes, basis, ..self.clone() }
    }

    /// The mean of samples: geometric if all are above zero.
    fn of_sessions(sessions: Vec<Session>) -> Result<Self, String> {
        let estimate = if pooled(&sessions).iter().all(|&value| value > 0.0) {
            across(&sessions, Estimate::geometric_mean, sessions::over)
        } else {
            across(&sessions, Estimate::mean, sessions::over_sums)
        };
        let estimate = estimate.ok_or("no round has both")?;
        let grade = sessions::grade(sessions.iter().map(|session| session.grade));
        Ok(Value { quantity: None, estimate, modes: None, grade, basis: Basis::Rounds(sessions) })
    }
}

impl Session {
    fn of(figure: &Figure<'_>) -> Self {
        Session { rounds: figure.runs.with_errors(), grade: figure.grade }
    }

    fn mapped(&self, f: impl Fn(f64) -> f64) -> Self {
        let rounds = self.rounds.iter().map(|(round, value)| (*round, f(*value))).collect();
        Session { rounds, ..*self }
    }
}

/// Samples of two figures put together in each round that has both.
fn joined(own: &[Session], other: &[Session], f: fn(f64, f64) -> f64) -> Vec<Session> {
    let both = own.iter().flat_map(|own| other.iter().map(move |other| (own, other)));
    let joined = both.map(|(own, other)| {
        let rounds = own.rounds.iter();
        let rounds = rounds.filter_map(|(k, own)| Some((*k, f(*own, *other.rounds.get(k)?))));
        Session { rounds: rounds.collect(), grade: own.grade.max(other.grade) }
    });
    joined.filter(|session| !session.rounds.is_empty()).collect()
}

fn pooled(sessions: &[Session]) -> Vec<f64> {
    sessions.iter().flat_map(|session| session.rounds.values().copied()).collect()
}

/// The mean of one session's rounds; of several sessions the mean of theirs.
fn across(
    sessions: &[Session],
    within: fn(&[f64], f64) -> Option<Estimate>,
    over: fn(&[Estimate]) -> Option<Estimate>,
) -> Option<Estimate> {
    let mean = |session: &Session| {
        within(&session.rounds.values().copied().collect::<Vec<_>>(), CONFIDENCE)
    };
    match sessions {
        [session] => mean(session),
        sessions => over(&sessions.iter().filter_map(mean).collect::<Vec<_>>()),
    }
}

/// An estimate and its ends, changed by a function that keeps their order.
fn mapped(estimate: &Estimate, f: impl Fn(f64) -> f64) -> Estimate {
    let interval = estimate.interval.map(|own| Interval {
        estimate: f(own.estimate),
        low: f(own.low),
        high: f(own.high),
        ..own
    });
    Estimate { value: f(estimate.value), interval, ..*estimate }
}

fn plain(quantity: Option<Quantity>, value: f64) -> String {
    quantity.map_or_else(|| number(value), |quantity| short(quantity, value))
}

fn in_percent([value, low, high]: [f64; 3]) -> String {
    let [low, high] = [low, high].map(|end| number(end * 100.0));
    format!("{} [{low}, {high}]", percent(value))
}
