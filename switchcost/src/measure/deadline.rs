//! How much time a run has, and when it is over.

use std::time::{Duration, Instant};

use crate::plan::Plan;

/// Time of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// As much as its rounds take.
    Unlimited,
    /// Rounds go on for about so long.
    Budget(Duration),
    /// After so long no group of programs begins but the first: sizes of unknown cost start with the smallest.
    Limit(Duration),
}

impl Time {
    /// That of a plan.
    pub fn of(plan: &Plan) -> Self {
        plan.budget.map_or(Time::Unlimited, Time::Budget)
    }

    /// The time that rounds fill.
    pub fn budget(self) -> Option<Duration> {
        if let Time::Budget(budget) = self { Some(budget) } else { None }
    }

    /// Its length, if it has one.
    pub fn length(self) -> Option<Duration> {
        match self {
            Time::Budget(length) | Time::Limit(length) => Some(length),
            Time::Unlimited => None,
        }
    }
}

/// True if this end has come.
pub(super) fn is_past(end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end)
}
