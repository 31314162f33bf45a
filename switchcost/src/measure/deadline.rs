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

/// When a run ends that has a limited time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline {
    /// No group begins any more.
    pub groups: Option<Instant>,
    /// No turn begins any more: the last group may exceed the time by what an answer may take.
    pub turns: Option<Instant>,
}

impl Deadline {
    /// True if no group begins any more; `has_lost` if a program took longer than it may.
    pub fn is_past_groups(self, has_lost: bool) -> bool {
        is_past(self.groups) || has_lost && self.is_past_turns()
    }

    /// True if no turn begins any more.
    pub fn is_past_turns(self) -> bool {
        is_past(self.turns)
    }
}

fn is_past(end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end)
}
