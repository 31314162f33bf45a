//! A limit: its value, the amount in use, and whether it binds.

use contract::message::{Need, Needs};
use serde::Serialize;

use super::remedy::RaiseMethod;

/// A value from here on is no limit: version 1 of control groups and fs.file-max show LONG_MAX or
/// little less.
const NO_LIMIT: u64 = 1 << 62;

/// A number that was read, or why it was not.
pub(super) type Found = Result<u64, String>;

/// Resource that a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Open file descriptors.
    Descriptors,
    /// Threads and processes: the kernel counts them alike.
    Threads,
    /// Memory maps.
    Maps,
    /// Resident memory, in bytes.
    Memory,
    /// Reserved memory, in bytes: at least the resident memory.
    AddressSpace,
}

impl Resource {
    /// Amounts are bytes; otherwise they are counts.
    pub fn is_bytes(self) -> bool {
        matches!(self, Resource::Memory | Resource::AddressSpace)
    }

    fn need(self, needs: &Needs) -> Need {
        match self {
            Resource::Descriptors => needs.descriptors,
            // The first thread is in no program's needs.
            Resource::Threads => needs.threads + Need::new(1, 0),
            Resource::Maps => needs.maps,
            Resource::Memory => needs.bytes,
            Resource::AddressSpace => needs.bytes + needs.space,
        }
    }
}

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
    /// Amount in use; absent if the kernel does not show it, or it does not matter.
    pub in_use: Option<u64>,
    /// Amount that is left; absent if the limit does not bind.
    pub room: Option<u64>,
    /// Reason why it does not bind or is not known.
    pub remark: Option<String>,
    #[serde(skip)]
    pub(super) method: RaiseMethod,
    /// Reason why the command of a remedy would be refused.
    #[serde(skip)]
    pub(super) refusal: Option<&'static str>,
}

impl LimitStatus {
    /// A limit with its value and the amount in use, or the reason why one of them is unknown.
    pub(super) fn new(
        name: &str,
        source: &str,
        resource: Resource,
        (value, in_use): (Found, Result<Option<u64>, String>),
        method: RaiseMethod,
    ) -> Self {
        let (state, value, in_use, remark) = match (value, in_use) {
            (Err(why), _) | (_, Err(why)) => (LimitState::Unknown, None, None, Some(why)),
            (Ok(NO_LIMIT..), _) => (LimitState::Free, None, None, Some("none is set".to_owned())),
            (Ok(value), Ok(in_use)) => (LimitState::Binds, Some(value), in_use, None),
        };
        LimitStatus {
            name: name.to_owned(),
            source: source.to_owned(),
            resource,
            state,
            value,
            in_use,
            room: value.map(|value| value.saturating_sub(in_use.unwrap_or(0))),
            remark,
            method,
            refusal: None,
        }
    }

    /// The same limit, which this process may pass.
    pub(super) fn passed(mut self, why: &str) -> Self {
        if self.state == LimitState::Binds {
            (self.state, self.in_use, self.room) = (LimitState::Free, None, None);
            self.remark = Some(why.to_owned());
        }
        self
    }

    pub(super) fn refused(self, refusal: Option<&'static str>) -> Self {
        LimitStatus { refusal, ..self }
    }

    /// Most tasks that it allows: `None` if it bounds none.
    pub fn most_tasks(&self, needs: &Needs) -> Option<u64> {
        let need = self.resource.need(needs);
        let room = self.room?;
        if need.fixed > room { Some(0) } else { need.most(room) }
    }

    /// Value that N tasks need, what is in use included; `None` if they fit.
    pub(super) fn needed(&self, needs: &Needs, tasks: u64) -> Option<u64> {
        let need = self.resource.need(needs).of(tasks);
        let is_short = need > self.room?;
        is_short.then(|| need.saturating_add(self.in_use.unwrap_or(0)))
    }
}
