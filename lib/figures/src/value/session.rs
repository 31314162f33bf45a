//! What one session says of a value, and how it is put together with what it says of another.

use std::collections::BTreeMap;

use stats::{CONFIDENCE, Contrast, Estimate, Line, MIN_ROUNDS};

use crate::basis::joined;
use crate::between::{Between, SPREAD};
use crate::grade::Grade;
use crate::speed::Round;
use crate::verdict::Reason;

pub(super) const NOTHING_IN_COMMON: &str = "these two have nothing in common";
pub(super) const NO_DIFFERENCE: &str = "only figures of rounds have a difference";

/// What one session says of a value.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// Start and seed of its run.
    pub(crate) run: (u64, u64),
    pub(crate) estimate: Estimate,
    /// How far it differs from other sessions; the interval contains it.
    pub(crate) between: Between,
    pub(crate) grade: Grade,
    pub(crate) samples: Samples,
}

/// What the estimate of a session is made of.
#[derive(Clone, Debug)]
pub(crate) enum Samples {
    /// A figure of each round; without any, nothing can be paired with it.
    Rounds(BTreeMap<Round, f64>),
    /// A size, and the same without the kernel's share.
    Size {
        lines: Box<[Line; 2]>,
        /// True if the kernel's share cannot be told.
        lacks_kernel: bool,
    },
}

impl Session {
    /// Rounds of several runs, a session for each.
    pub(super) fn split(self) -> Vec<Session> {
        let Samples::Rounds(rounds) = &self.samples else { return vec![self] };
        let mut runs: BTreeMap<(u64, u64), BTreeMap<Round, f64>> = BTreeMap::new();
        for (round, value) in rounds {
            runs.entry((round.0, round.1)).or_default().insert(*round, *value);
        }
        if runs.len() < 2 {
            return vec![Session { run: runs.into_keys().next().unwrap_or(self.run), ..self }];
        }
        let session = |(run, rounds)| {
            let samples = Samples::Rounds(rounds);
            let mean = samples.mean()?.value;
            let between = self.between.times(mean / self.estimate.value);
            let estimate = samples.widened(between)?;
            Some(Session { run, estimate, between, grade: self.grade, samples })
        };
        runs.into_iter().filter_map(session).collect()
    }

    pub(super) fn over(&self, divisor: &Session) -> Result<Self, &'static str> {
        let between =
            self.between.over(self.estimate.value, divisor.between, divisor.estimate.value);
        let (samples, estimate) = match (&self.samples, &divisor.samples) {
            (Samples::Rounds(own), Samples::Rounds(others)) => {
                if !divisor.samples.are_positive() {
                    return Err("the divisor is not above zero in every round");
                }
                let both = Samples::Rounds(joined(own, others, |own, other| own / other));
                let estimate = both.widened(between).ok_or(NOTHING_IN_COMMON)?;
                (both, estimate)
            }
            (
                Samples::Size { lines: own, lacks_kernel },
                Samples::Size { lines: others, lacks_kernel: other_lacks },
            ) => {
                let which = usize::from(*lacks_kernel || *other_lacks);
                let logs = [own, others].map(|lines| Contrast::log_slope(&lines[which]));
                let [own, other] = logs;
                let ratio = own.zip(other).and_then(|(own, other)| own.less(other));
                let ratio = ratio.and_then(|ratio| ratio.ratio(CONFIDENCE));
                (
                    Samples::Rounds(BTreeMap::new()),
                    ratio.ok_or("one of the two sizes may be zero")?.into(),
                )
            }
            _ => return Err(NOTHING_IN_COMMON),
        };
        let grade = self.grade.max(divisor.grade);
        Ok(Session { run: self.run, estimate, between, grade, samples })
    }

    pub(super) fn less(&self, other: &Session) -> Result<Self, &'static str> {
        let (Samples::Rounds(own), Samples::Rounds(others)) = (&self.samples, &other.samples)
        else {
            return Err(NO_DIFFERENCE);
        };
        let samples = Samples::Rounds(joined(own, others, |own, other| own - other));
        let less = samples.rounds().collect::<Vec<f64>>();
        let between = self.between.less(other.between);
        let estimate = Estimate::mean(&less).ok_or(NOTHING_IN_COMMON)?;
        let (estimate, grade) = (between.widen(estimate), self.grade.max(other.grade));
        Ok(Session { run: self.run, estimate, between, grade, samples })
    }
}

impl Samples {
    pub(crate) fn rounds(&self) -> impl Iterator<Item = f64> + '_ {
        let rounds = if let Samples::Rounds(rounds) = self { Some(rounds) } else { None };
        rounds.into_iter().flat_map(|rounds| rounds.values().copied())
    }

    /// Mean of rounds: geometric if they are positive.
    pub(super) fn mean(&self) -> Option<Estimate> {
        let values: Vec<f64> = self.rounds().collect();
        let mean = if self.are_positive() { Estimate::geometric_mean } else { Estimate::mean };
        mean(&values)
    }

    /// The same for all sessions of the machine.
    fn widened(&self, between: Between) -> Option<Estimate> {
        let widen = if self.are_positive() { Between::widen_share } else { Between::widen };
        Some(widen(between, self.mean()?))
    }

    /// True if each round is above zero.
    pub(super) fn are_positive(&self) -> bool {
        self.rounds().all(|value| value > 0.0)
    }

    pub(super) fn mapped(&self, f: impl Fn(f64) -> f64) -> Self {
        match self {
            Samples::Rounds(rounds) => {
                Samples::Rounds(rounds.iter().map(|(round, value)| (*round, f(*value))).collect())
            }
            Samples::Size { .. } => Samples::Rounds(BTreeMap::new()),
        }
    }
}

/// Two values put together in each session that has both, if that works in more than half of these.
pub(super) fn paired(
    own: &[Session],
    others: &[Session],
    together: fn(&Session, &Session) -> Result<Session, &'static str>,
) -> Result<Vec<Session>, &'static str> {
    let tried = own
        .iter()
        .filter_map(|own| Some(together(own, others.iter().find(|other| other.run == own.run)?)));
    let (both, failed): (Vec<_>, Vec<_>) = tried.partition(Result::is_ok);
    if both.len() <= failed.len() {
        let why = failed.into_iter().find_map(Result::err);
        return Err(why.unwrap_or(NOTHING_IN_COMMON));
    }
    both.into_iter().collect()
}

/// Logarithm of what sessions say together. From [`MIN_ROUNDS`] on, each is a sample; of fewer, each has the error of its
/// rounds or of its slope, and how far it differs from other sessions.
pub(super) fn log(sessions: &[Session]) -> Result<Contrast, Reason> {
    if sessions.len() >= MIN_ROUNDS {
        let logs = sessions.iter().map(|session| session.estimate.value.ln());
        return Contrast::mean(&logs.collect::<Vec<f64>>()).ok_or(Reason::NoSize);
    }
    let log = |session: &Session| {
        let within = match &session.samples {
            Samples::Size { lines, .. } => Contrast::log_slope(&lines[0]),
            samples => {
                let logs: Vec<f64> = samples.rounds().map(f64::ln).collect();
                if logs.len() < MIN_ROUNDS {
                    return Err(Reason::FewRounds);
                }
                Contrast::mean(&logs)
            }
        };
        let between = session.between.deviation() / session.estimate.value;
        let all = within.and_then(|within| within.with_error(between, SPREAD.freedom));
        all.ok_or(Reason::NoSize)
    };
    let logs: Vec<Contrast> = sessions.iter().map(log).collect::<Result<_, _>>()?;
    Contrast::average(&logs, logs.len() as f64).ok_or(Reason::FewRounds)
}
