//! A limit: its value, the amount in use, whether it binds, and what raises it.

use std::fmt;

use serde::Serialize;

use crate::needs::{Need, Needs};

/// A value from here on is no limit: version 1 of control groups and fs.file-max show LONG_MAX or
/// little less.
pub(crate) const NO_LIMIT: u64 = 1 << 62;

/// Resource that a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    Descriptors,
    /// Threads and processes: the kernel counts them alike.
    Threads,
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

/// Method of raising a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RaiseMethod {
    /// A kernel parameter, which takes at most so much.
    Sysctl(u64),
    /// A resource limit, which programs inherit: option of prlimit(1), letter of the shell's ulimit, its unit, and
    /// the hard limit, up to which no privilege is needed.
    Rlimit { option: &'static str, flag: char, unit: u64, hard: u64 },
    /// A number in the file of a control group.
    Group,
    /// No command; what else helps.
    Nothing(&'static str),
}

/// One limit.
#[derive(Debug, Clone, Serialize)]
pub struct LimitStatus {
    pub name: String,
    /// File that it is read from.
    pub source: String,
    pub resource: Resource,
    /// Value, as a count or in bytes.
    pub value: Option<u64>,
    /// Amount in use; absent if the kernel does not show it, or it does not matter.
    pub in_use: Option<u64>,
    /// Amount that is left; absent if none is set, this process may pass it, or it cannot be read.
    pub room: Option<u64>,
    /// Reason why it does not bind or is not known.
    pub remark: Option<String>,
    #[serde(skip)]
    pub(crate) raise: RaiseMethod,
}

impl LimitStatus {
    /// A limit with its value and the amount in use, or the reason why one of them is unknown.
    pub(crate) fn new(
        name: &str,
        source: &str,
        resource: Resource,
        (value, in_use): (Result<u64, String>, Result<Option<u64>, String>),
        raise: RaiseMethod,
    ) -> Self {
        let (value, in_use, remark) = match (value, in_use) {
            (Err(why), _) | (_, Err(why)) => (None, None, Some(why)),
            (Ok(NO_LIMIT..), _) => (None, None, Some("not set".to_owned())),
            (Ok(value), Ok(in_use)) => (Some(value), in_use, None),
        };
        let room = value.map(|value| value.saturating_sub(in_use.unwrap_or(0)));
        let (name, source) = (name.to_owned(), source.to_owned());
        LimitStatus { name, source, resource, value, in_use, room, remark, raise }
    }

    /// The same limit, which a privileged process may exceed.
    pub(crate) fn passed_if(mut self, passes: bool) -> Self {
        if passes && self.room.take().is_some() {
            self.remark = Some("this process may exceed it".to_owned());
        }
        self
    }

    /// Most tasks that it allows; `None` if it bounds none.
    pub fn most_tasks(&self, needs: &Needs) -> Option<u64> {
        let need = self.resource.need(needs);
        let room = self.room?;
        if need.fixed > room { Some(0) } else { need.fitting(room) }
    }

    /// Value of the limit that N tasks need, what is in use included; `None` if they fit.
    pub fn needed(&self, needs: &Needs, tasks: u64) -> Option<u64> {
        let need = self.resource.need(needs).of_tasks(tasks);
        (need > self.room?).then(|| need.saturating_add(self.in_use.unwrap_or(0)))
    }

    /// True if it is a limit of a control group; several of these may have the same name.
    pub fn is_of_group(&self) -> bool {
        self.raise == RaiseMethod::Group
    }

    /// Command for a shell that raises it to the needed value, as root or as another user, or what else helps. Limits
    /// of a process are raised for the shell that runs it.
    pub fn remedy(&self, needed: u64, is_root: bool) -> String {
        // A container often has no sudo, and root needs none.
        let sudo = if is_root { "" } else { "sudo " };
        let name = &self.name;
        match self.raise {
            RaiseMethod::Nothing(help) => help.to_owned(),
            RaiseMethod::Sysctl(most) if needed > most => {
                format!("{name} cannot be more than {most}")
            }
            RaiseMethod::Sysctl(most) => {
                format!("{sudo}sysctl -w {name}={}", rounded(needed).min(most))
            }
            RaiseMethod::Rlimit { flag, unit, hard, .. } if needed <= hard => {
                let target = rounded(needed).min(hard);
                format!("ulimit -S -{flag} {}", target.div_ceil(unit))
            }
            RaiseMethod::Rlimit { option, .. } => {
                // Nobody else uses its descriptors, and fs.nr_open may allow no more than these.
                let is_exact = self.resource == Resource::Descriptors;
                let target = if is_exact { needed } else { rounded(needed) };
                format!("{sudo}prlimit --pid $$ --{option}={target}:{target}")
            }
            RaiseMethod::Group => {
                let file = self.source.replace('\'', r"'\''");
                format!("echo {} | {sudo}tee '{file}'", rounded(needed))
            }
        }
    }
}

/// A unique name: for a group it is the whole path, since all groups have files of the same name.
impl fmt::Display for LimitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_of_group() { &self.source } else { &self.name })
    }
}

/// Needed value with 3 to 9 % of slack, rounded up to few binary digits: the use by others changes.
fn rounded(needed: u64) -> u64 {
    let with_slack = needed.saturating_add(needed / 32);
    let step = with_slack.checked_next_power_of_two().map_or(1 << 59, |power| power / 16).max(1);
    with_slack.div_ceil(step).saturating_mul(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_never_overflows() {
        for (needed, expected) in [(0, 0), (250_000, 262_144), (u64::MAX, u64::MAX)] {
            assert_eq!(rounded(needed), expected);
        }
    }
}
