//! A figure by itself, or the difference or quotient of two figures, formed in each round that has both. Every figure
//! in a document is such a value.

use std::collections::BTreeMap;

use record::Quantity;
use stats::{Estimate, Line};

use super::basis::CONFIDENCE;
use super::cube::Figures;
use super::figure::{Figure, Outcome};
use super::grade::Grade;
use super::memory::{self, Slopes};
use super::number::{number, percent, short, shown_like, thousands};
use super::runs::joined;
use super::sessions;
use super::speed::Round;

#[cfg(test)]
mod tests;

/// A figure, a difference or a quotient, with the samples from which further ones are formed.
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
    /// A number whose error is not known: one that somebody wrote, or a count.
    Exact,
    /// A sample for each round of each session.
    Rounds(Vec<Session>),
    /// A size, the slopes of memory over the number of tasks.
    Size(Box<Slopes>),
    /// A part of a size.
    Part(Line),
    /// An estimate whose rounds are gone: nothing can be paired with it.
    NoRounds,
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
    /// A ratio's excess over 1, with its interval, in per cent.
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
        Value { quantity, estimate, modes: None, grade, basis: Basis::NoRounds }
    }

    /// The value of a figure. A slope of memory gives bytes per task, with the kernel's share if it can be told.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(figures: &Figures<'_>, figure: &Figure<'_>) -> Result<Self, String> {
        let reading = match &figure.outcome {
            Outcome::Slope(slopes) => {
                let size = Value::of_slope(&slopes.headline().line, figure.grade);
                return Ok(Value { basis: Basis::Size(slopes.clone()), ..size });
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

    fn of_slope(line: &Line, grade: Grade) -> Self {
        let (estimate, quantity) = (Estimate::from(line.slope), Some(Quantity::Bytes));
        Value { quantity, estimate, modes: None, grade, basis: Basis::Part(*line) }
    }

    /// A part of a size (`user`, `kernel`, `stacks`), or what the kernel counted per hop: `cpu` time; switches that were
    /// `voluntary` or `preempted`, or all `switches`; interrupts between CPUs (`wakeups`); `hops per wait` of an event
    /// loop. `None` if it is unknown.
    ///
    /// # Errors
    /// The figure has no such part.
    pub fn part(
        figures: &Figures<'_>,
        figure: &Figure<'_>,
        name: &str,
    ) -> Result<Option<Self>, String> {
        let none = || format!("no column, value or part of it is '{name}'");
        if let Some(slopes) = figure.slopes() {
            let fit = match name {
                "user" => Some(&slopes.user),
                "kernel" => slopes.kernel.as_ref(),
                "stacks" => slopes.parts.stacks.as_ref(),
                _ => None,
            };
            return Ok(Some(Value::of_slope(&fit.ok_or_else(none)?.line, figure.grade)));
        }
        if name == "cpu" {
            return Ok(Value::cpu_time(figures, figure));
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

    /// CPU time per hop, or per what else its time is divided by. As with its time, each of several sessions is a sample.
    fn cpu_time(figures: &Figures<'_>, figure: &Figure<'_>) -> Option<Self> {
        let own = figures.in_sessions(figure);
        let means = own.iter().map(|figure| figure.cpu_time());
        let means: Vec<Estimate> = means.collect::<Option<_>>()?;
        let estimate = if let [mean] = means[..] { mean } else { sessions::over(&means)? };
        let session = |figure: &&Figure<'_>| {
            let times = figure.runs.cpu_times().into_iter();
            Session {
                rounds: times.map(|(round, _, ns)| (round, ns)).collect(),
                grade: figure.grade,
            }
        };
        let basis = Basis::Rounds(own.iter().map(session).collect());
        let quantity = Some(Quantity::Time);
        Some(Value { quantity, estimate, modes: None, grade: figure.grade, basis })
    }

    /// This divided by another one, in each round that has both.
    ///
    /// # Errors
    /// Why they cannot be divided.
    pub fn over(&self, divisor: &Value) -> Result<Self, String> {
        let quantity = match (self.quantity, divisor.quantity) {
            (quantity, None) => quantity,
            (one, other) if one == other => None,
            _ => return Err("their units differ".to_owned()),
        };
        if divisor.ends().iter().any(|end| *end <= 0.0) {
            return Err("the divisor may be zero".to_owned());
        }
        let grade = self.grade.max(divisor.grade);
        let quotient = match (&self.basis, &divisor.basis) {
            (_, Basis::Exact) => {
                Value { grade, ..self.mapped(|value| value / divisor.estimate.value) }
            }
            (Basis::Exact, _) => {
                let number = self.estimate.value;
                let estimate = divisor.estimate.inverse().map(|inverse| number * inverse);
                Value { grade, estimate, ..divisor.mapped(|value| number / value) }
            }
            (Basis::Size(one), Basis::Size(other)) => {
                let (ratio, _) = memory::quotient(one, other);
                let ratio = ratio.ok_or("one of the two sizes may be zero")?;
                Value::estimated(ratio.into(), None, grade)
            }
            (Basis::Part(one), Basis::Part(other)) => {
                let ratio = stats::log_slope_ratio(one, other);
                let ratio = ratio.and_then(|change| change.ratio(CONFIDENCE));
                let ratio = ratio.ok_or("one of the two sizes may be zero")?;
                Value::estimated(ratio.into(), None, grade)
            }
            (Basis::Rounds(one), Basis::Rounds(other)) => {
                let is_positive = |session: &Session| session.rounds.values().all(|v| *v > 0.0);
                if !other.iter().all(is_positive) {
                    return Err("the divisor is not above zero in every round".to_owned());
                }
                let both = paired(one, other, |one, other| one / other);
                if both.iter().all(is_positive) {
                    Value::of_sessions(both, Estimate::geometric_mean, sessions::over)?
                } else {
                    Value::of_sessions(both, Estimate::mean, sessions::over_sums)?
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
        let difference = match (&self.basis, &other.basis) {
            (_, Basis::Exact) => Value {
                grade: self.grade.max(other.grade),
                ..self.mapped(|value| value - other.estimate.value)
            },
            (Basis::Rounds(one), Basis::Rounds(other)) => {
                let both = paired(one, other, |one, other| one - other);
                Value::of_sessions(both, Estimate::mean, sessions::over_sums)?
            }
            _ => return Err("only figures of rounds have a difference".to_owned()),
        };
        Ok(Value { quantity: self.quantity, ..difference })
    }

    /// This multiplied by a number.
    ///
    /// # Errors
    /// The factor is no plain number.
    pub fn times(&self, factor: &Value) -> Result<Self, String> {
        match (&factor.basis, factor.quantity) {
            (Basis::Exact, None) => Ok(self.mapped(|value| value * factor.estimate.value)),
            _ => Err("a factor is a number without a unit".to_owned()),
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
    ///
    /// # Errors
    /// It cannot be shown in this form.
    pub fn show(&self, form: Form) -> Result<String, String> {
        let ([value, low, high], quantity) = (self.ends(), self.quantity);
        let is_exact = quantity.is_none() && matches!(self.basis, Basis::Exact);
        let is_count = quantity == Some(Quantity::Count) || is_exact;
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
                Some(quantity) => shown_like(quantity, end, value).number,
                None => number(end),
            }),
            (Form::Value, _) => plain(quantity, value),
        };
        Ok(self.grade.mark(&text))
    }

    /// Each sample and the estimate, changed by a function that keeps or turns their order.
    fn mapped(&self, f: impl Fn(f64) -> f64 + Copy) -> Self {
        let basis = match &self.basis {
            Basis::Exact => Basis::Exact,
            Basis::Rounds(sessions) => {
                Basis::Rounds(sessions.iter().map(|s| s.mapped(f)).collect())
            }
            Basis::Size(_) | Basis::Part(_) | Basis::NoRounds => Basis::NoRounds,
        };
        let modes = self.modes.map(|modes| modes.map(f));
        Value { estimate: self.estimate.map(f), modes, basis, ..self.clone() }
    }

    /// The mean of one session's rounds; of several sessions the mean of theirs.
    fn of_sessions(
        sessions: Vec<Session>,
        within: fn(&[f64], f64) -> Option<Estimate>,
        over: fn(&[Estimate]) -> Option<Estimate>,
    ) -> Result<Self, String> {
        let mean = |session: &Session| {
            within(&session.rounds.values().copied().collect::<Vec<_>>(), CONFIDENCE)
        };
        let estimate = match &sessions[..] {
            [session] => mean(session),
            sessions => over(&sessions.iter().filter_map(mean).collect::<Vec<_>>()),
        };
        let estimate = estimate.ok_or("these two have no rounds in common")?;
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
fn paired(one: &[Session], other: &[Session], f: fn(f64, f64) -> f64) -> Vec<Session> {
    let both = one.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
    let paired = both.map(|(one, other)| Session {
        rounds: joined(&one.rounds, &other.rounds, f),
        grade: one.grade.max(other.grade),
    });
    paired.filter(|session| !session.rounds.is_empty()).collect()
}

fn plain(quantity: Option<Quantity>, value: f64) -> String {
    quantity.map_or_else(|| number(value), |quantity| short(quantity, value))
}
