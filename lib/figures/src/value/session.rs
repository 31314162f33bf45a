//! What one session says of a value, and how it is put together with what it says of another.

use std::collections::BTreeMap;

use stats::{CONFIDENCE, Contrast, Estimate, Line, MIN_ROUNDS};

use crate::basis::joined;
use crate::grade::Grade;
use crate::session_spread::{SPREAD, SessionSpread};
use crate::speed::Round;
use crate::verdict::Reason;

pub(super) const NOTHING_IN_COMMON: &str = "these two have nothing in common";
pub(super) const NO_DIFFERENCE: &str = "only figures of rounds have a difference";

/// What one session says of a value.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) run: (u64, u64),
    pub(crate) estimate: Estimate,
    /// How far it differs from other sessions; the interval contains it.
    pub(crate) between: SessionSpread,
    pub(crate) grade: Grade,
    /// A figure of each round. Without any, nothing can be paired with it, unless it has lines.
    pub(crate) rounds: BTreeMap<Round, f64>,
    /// Of a size: its line, and the line of the same without the kernel's share.
    pub(crate) lines: Option<Box<[Line; 2]>>,
    /// True if the kernel's share of a size cannot be told.
    pub(crate) lacks_kernel: bool,
}

impl Session {
    /// An estimate that is made of these rounds.
    pub(crate) fn of(
        run: (u64, u64),
        estimate: Estimate,
        between: SessionSpread,
        rounds: BTreeMap<Round, f64>,
        grade: Grade,
    ) -> Self {
        Session { run, estimate, between, grade, rounds, lines: None, lacks_kernel: false }
    }

    /// Rounds of several runs, a session for each.
    pub(super) fn split(self) -> Vec<Session> {
        let mut runs: BTreeMap<(u64, u64), BTreeMap<Round, f64>> = BTreeMap::new();
        for (round, value) in &self.rounds {
            runs.entry((round.0, round.1)).or_default().insert(*round, *value);
        }
        if runs.len() < 2 {
            return vec![Session { run: runs.into_keys().next().unwrap_or(self.run), ..self }];
        }
        let sessions = runs.into_iter().filter_map(|(run, rounds)| {
            let mean = mean(&rounds)?.value;
            let between = self.between.times(mean / self.estimate.value);
            Some(Session::of(run, widened(&rounds, between)?, between, rounds, self.grade))
        });
        sessions.collect()
    }

    pub(super) fn divided_by(&self, divisor: &Session) -> Result<Self, &'static str> {
        let grade = self.grade.max(divisor.grade);
        let between =
            self.between.divided_by(self.estimate.value, divisor.between, divisor.estimate.value);
        let (estimate, rounds) = match (&self.lines, &divisor.lines) {
            (Some(own), Some(others)) => {
                let which = usize::from(self.lacks_kernel || divisor.lacks_kernel);
                let [own, other] = [own, others].map(|lines| Contrast::log_slope(&lines[which]));
                let ratio = own.zip(other).and_then(|(own, other)| own.less(other));
                let ratio = ratio.and_then(|ratio| ratio.ratio(CONFIDENCE));
                (ratio.ok_or("one of the two sizes may be zero")?.into(), BTreeMap::new())
            }
            _ if !divisor.is_positive() => {
                return Err("the divisor is not above zero in every round");
            }
            _ => {
                let rounds = joined(&self.rounds, &divisor.rounds, |own, other| own / other);
                (widened(&rounds, between).ok_or(NOTHING_IN_COMMON)?, rounds)
            }
        };
        Ok(Session::of(self.run, estimate, between, rounds, grade))
    }

    pub(super) fn less(&self, other: &Session) -> Result<Self, &'static str> {
        if self.lines.is_some() {
            return Err(NO_DIFFERENCE);
        }
        let grade = self.grade.max(other.grade);
        let between = self.between.less(other.between);
        let rounds = joined(&self.rounds, &other.rounds, |value, subtracted| value - subtracted);
        let differences: Vec<f64> = rounds.values().copied().collect();
        let estimate = between.widen(Estimate::mean(&differences).ok_or(NOTHING_IN_COMMON)?);
        Ok(Session::of(self.run, estimate, between, rounds, grade))
    }

    /// True if each round is above zero.
    pub(super) fn is_positive(&self) -> bool {
        are_positive(&self.rounds)
    }
}

/// Mean of rounds: geometric if they are positive.
pub(super) fn mean(rounds: &BTreeMap<Round, f64>) -> Option<Estimate> {
    let values: Vec<f64> = rounds.values().copied().collect();
    let mean = if are_positive(rounds) { Estimate::geometric_mean } else { Estimate::mean };
    mean(&values)
}

/// The same for all sessions of the machine.
fn widened(rounds: &BTreeMap<Round, f64>, between: SessionSpread) -> Option<Estimate> {
    let widen =
        if are_positive(rounds) { SessionSpread::widen_share } else { SessionSpread::widen };
    Some(widen(between, mean(rounds)?))
}

fn are_positive(rounds: &BTreeMap<Round, f64>) -> bool {
    rounds.values().all(|value| *value > 0.0)
}

/// Two values put together in each session that has both, if that works in more than half of these.
pub(super) fn paired(
    first: &[Session],
    second: &[Session],
    together: fn(&Session, &Session) -> Result<Session, &'static str>,
) -> Result<Vec<Session>, &'static str> {
    let tried =
        first.iter().filter_map(|a| Some(together(a, second.iter().find(|b| b.run == a.run)?)));
    let (paired, failed): (Vec<_>, Vec<_>) = tried.partition(Result::is_ok);
    if paired.len() <= failed.len() {
        let why = failed.into_iter().find_map(Result::err);
        return Err(why.unwrap_or(NOTHING_IN_COMMON));
    }
    paired.into_iter().collect()
}

/// Logarithm of what sessions say together. From [`MIN_ROUNDS`] on, each is a sample; of fewer, each has the error of its
/// rounds or of its slope, and how far it differs from other sessions.
pub(super) fn log(sessions: &[Session]) -> Result<Contrast, Reason> {
    if sessions.len() >= MIN_ROUNDS {
        let logs = sessions.iter().map(|session| session.estimate.value.ln());
        return Contrast::mean(&logs.collect::<Vec<f64>>()).ok_or(Reason::NoSize);
    }
    let logs: Vec<Contrast> = sessions.iter().map(log_of).collect::<Result<_, _>>()?;
    Contrast::average(&logs, logs.len() as f64).ok_or(Reason::FewRounds)
}

/// Logarithm of a session's figure, with the error that the session does not show.
fn log_of(session: &Session) -> Result<Contrast, Reason> {
    let within = match &session.lines {
        Some(lines) => Contrast::log_slope(&lines[0]),
        None => {
            let logs: Vec<f64> = session.rounds.values().map(|value| value.ln()).collect();
            if logs.len() < MIN_ROUNDS {
                return Err(Reason::FewRounds);
            }
            Contrast::mean(&logs)
        }
    };
    let within = within.ok_or(Reason::NoSize)?;
    let between = session.between.times(1.0 / session.estimate.value);
    let further = between.further(within.error);
    within.with_error(further, SPREAD.freedom()).ok_or(Reason::NoSize)
}
