//! Commands that raise a limit.

use std::fmt;

use serde::Serialize;

use crate::status::{LimitStatus, RaiseMethod, Resource};

/// Command that raises a limit, or what else helps. Displays as one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// Command for a shell; absent if none helps. It raises limits of a process for the shell that runs it.
    pub command: Option<String>,
    /// What helps in place of a command.
    pub advice: Option<String>,
    /// The command takes root.
    pub needs_root: bool,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command.as_ref().or(self.advice.as_ref()).map_or("", String::as_str))
    }
}

impl Remedy {
    /// Remedy that raises a limit to the needed value, for root or for another user.
    pub(crate) fn new(limit: &LimitStatus, needed: u64, is_root: bool) -> Self {
        // A container often has no sudo, and root needs none.
        let sudo = if is_root { "" } else { "sudo " };
        let command = match limit.raise {
            RaiseMethod::Nothing(advice) => return Remedy::advice(advice.to_owned()),
            RaiseMethod::Sysctl { key, most } if needed > most => {
                return Remedy::advice(format!("{key} goes to {most} and no further"));
            }
            RaiseMethod::Sysctl { key, most } => {
                format!("{sudo}sysctl -w {key}={}", rounded(needed).min(most))
            }
            RaiseMethod::Rlimit { flag, unit, hard, .. } if needed <= hard => {
                let target = rounded(needed).min(hard);
                let command = format!("ulimit -S -{flag} {}", target.div_ceil(unit));
                return Remedy { command: Some(command), advice: None, needs_root: false };
            }
            RaiseMethod::Rlimit { option, .. } => {
                // Nobody else uses its descriptors, and fs.nr_open may allow no more than these.
                let is_exact = limit.resource == Resource::Descriptors;
                let target = if is_exact { needed } else { rounded(needed) };
                format!("{sudo}prlimit --pid $$ --{option}={target}:{target}")
            }
            RaiseMethod::Group => {
                let file = limit.source.replace('\'', r"'\''");
                format!("echo {} | {sudo}tee '{file}'", rounded(needed))
            }
        };
        Remedy { command: Some(command), advice: None, needs_root: true }
    }

    fn advice(advice: String) -> Self {
        Remedy { command: None, advice: Some(advice), needs_root: false }
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
