//! One limit: its value, what is in use of it, and whether it binds.

use contract::message::Needs;
use serde::Serialize;

use super::Resource;
use super::remedy::Means;

/// A number that was read, or why it was not.
pub(super) type Found = Result<u64, String>;

/// Effect of a limit on this process and on those that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitState {
    /// No more than its value may be in use.
    Binds,
    /// None is set, or this process may pass it.
    Free,
    /// It cannot be read.
    Unknown,
}

/// One limit.
#[derive(Debug, Clone, Serialize)]
pub struct LimitStatus {
    /// Common name.
    pub name: String,
    /// File that it is read from.
    pub source: String,
    /// Resource that it bounds.
    pub resource: Resource,
    /// Effect.
    pub state: LimitState,
    /// Value, as a count or in bytes.
    pub value: Option<u64>,
    /// Amount in use; absent where the kernel does not show it, or it does not matter.
    pub in_use: Option<u64>,
    /// Amount that is left; absent where the limit does not bind.
    pub room: Option<u64>,
    /// Reason why it does not bind or is not known, or what else matters.
    pub remark: Option<String>,
    #[serde(skip)]
    pub(super) means: Means,
    /// Reason why the command of a remedy would be refused.
    #[serde(skip)]
    pub(super) refusal: Option<&'static str>,
}

impl LimitStatus {
    /// Most tasks that it allows: `None` where it bounds none.
    pub fn most_tasks(&self, needs: &Needs) -> Option<u64> {
        let need = self.resource.need(needs);
        let room = self.room?;
        match need.fixed > room {
            true => Some(0),
            false => need.most(room),
        }
    }

    /// Value that N tasks need, what is in use included; `None` where they fit.
    pub(super) fn needed(&self, needs: &Needs, tasks: u64) -> Option<u64> {
        let need = self.resource.need(needs).of(tasks);
        let short = need > self.room?;
        short.then(|| need.saturating_add(self.in_use.unwrap_or(0)))
    }

    /// A limit that binds, or the reason why nothing is known of it.
    pub(super) fn new(
        name: &str,
        source: &str,
        resource: Resource,
        (value, in_use): (Found, Result<Option<u64>, String>),
        means: Means,
    ) -> Self {
        let found = value.and_then(|value| Ok((value, in_use?)));
        match found {
            Ok((value, in_use)) => LimitStatus {
                name: name.to_owned(),
                source: source.to_owned(),
                resource,
                state: LimitState::Binds,
                value: Some(value),
                in_use,
                room: Some(value.saturating_sub(in_use.unwrap_or(0))),
                remark: None,
                means,
                refusal: None,
            },
            Err(why) => LimitStatus::unknown(name, source, resource, why),
        }
    }

    /// A limit that does not bind, with its value where one is set.
    pub(super) fn free(
        name: &str,
        source: &str,
        resource: Resource,
        value: Option<u64>,
        why: &str,
    ) -> Self {
        LimitStatus {
            state: LimitState::Free,
            value,
            ..LimitStatus::unknown(name, source, resource, why.to_owned())
        }
    }

    pub(super) fn unknown(name: &str, source: &str, resource: Resource, why: String) -> Self {
        LimitStatus {
            name: name.to_owned(),
            source: source.to_owned(),
            resource,
            state: LimitState::Unknown,
            value: None,
            in_use: None,
            room: None,
            remark: Some(why),
            means: Means::Nothing("it does not bind"),
            refusal: None,
        }
    }

    /// The same as one that this process may pass.
    pub(super) fn passed(self, why: &str) -> Self {
        match self.state {
            LimitState::Binds => {
                LimitStatus::free(&self.name, &self.source, self.resource, self.value, why)
            }
            _ => self,
        }
    }

    pub(super) fn refused(mut self, why: Option<&'static str>) -> Self {
        self.refusal = why;
        self
    }

    pub(super) fn remarked(mut self, remark: &str) -> Self {
        self.remark.get_or_insert_with(|| remark.to_owned());
        self
    }
}
