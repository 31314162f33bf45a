//! Commands that raise a limit, how long the new value lasts, and the setting that makes it last.

use std::fmt;

use serde::Serialize;

use super::LimitStatus;

const SYSCTL_FILE: &str = "/etc/sysctl.d/90-limits.conf";
const LIMITS_FILE: &str = "/etc/security/limits.d/90-limits.conf";

/// Method of raising a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RaiseMethod {
    /// A kernel parameter, which takes at most `most`.
    Sysctl { key: &'static str, most: u64 },
    /// A resource limit, which programs inherit.
    Rlimit(Rlimit),
    /// A number in the file of a control group.
    Group,
    /// No command; what else helps.
    Nothing(&'static str),
}

/// A resource limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rlimit {
    /// Option of prlimit(1), and name in limits.conf(5).
    pub(super) option: &'static str,
    /// Letter of the shell's ulimit.
    pub(super) flag: char,
    /// Unit of that ulimit, and of limits.conf(5).
    pub(super) unit: u64,
    /// Hard limit, up to which no privilege is needed.
    pub(super) hard: u64,
    /// Value that the kernel takes before another limit is raised.
    pub(super) most: u64,
}

/// Command that raises a limit, or what else helps. Displays as one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// Command for a shell; absent if none helps. Commands act on the shell that runs them.
    pub command: Option<String>,
    /// What helps in place of a command.
    pub advice: Option<String>,
    /// The command takes root.
    pub needs_root: bool,
    /// Life of the new value.
    pub lasts: Option<&'static str>,
    /// Command or setting that makes it last.
    pub to_last: Option<String>,
    /// Reason why the command will be refused on this system.
    pub refusal: Option<&'static str>,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.command.as_ref().or(self.advice.as_ref()).map_or("", String::as_str))
    }
}

impl Remedy {
    /// Remedy that raises a limit to the needed value, for root or for another user.
    pub(super) fn new(limit: &LimitStatus, needed: u64, is_root: bool) -> Self {
        // A container often has no sudo, and root needs none.
        let sudo = if is_root { "" } else { "sudo " };
        let mut remedy = match &limit.method {
            RaiseMethod::Nothing(advice) => Remedy::advice((*advice).to_owned()),
            RaiseMethod::Sysctl { key, most } if needed > *most => {
                Remedy::advice(format!("{key} goes to {most} and no further"))
            }
            RaiseMethod::Sysctl { key, most } => {
                let setting = format!("{key}={}", rounded(needed).min(*most));
                let to_last = format!("echo '{setting}' | {sudo}tee -a {SYSCTL_FILE}");
                let command = format!("{sudo}sysctl -w {setting}");
                Remedy::command(command, "until the next boot", to_last)
            }
            RaiseMethod::Rlimit(rlimit) => rlimit.remedy(needed, sudo),
            RaiseMethod::Group => {
                let (file, target) = (&limit.source, rounded(needed));
                let command = format!("echo {target} | {sudo}tee {}", quoted(file));
                let to_last = group_setting(file, target, sudo);
                Remedy::command(command, "as long as the control group exists", to_last)
            }
        };
        remedy.refusal = limit.refusal.filter(|_| remedy.needs_root);
        remedy
    }

    /// A command for root.
    fn command(command: String, lasts: &'static str, to_last: String) -> Self {
        Remedy {
            command: Some(command),
            needs_root: true,
            lasts: Some(lasts),
            to_last: Some(to_last),
            ..Remedy::default()
        }
    }

    fn advice(advice: String) -> Self {
        Remedy { advice: Some(advice), ..Remedy::default() }
    }
}

impl Rlimit {
    fn remedy(&self, needed: u64, sudo: &str) -> Remedy {
        let Rlimit { option, flag, .. } = self;
        let target = self.target(needed);
        let in_units = target.div_ceil(self.unit);
        let needs_root = target > self.hard;
        let command = if needs_root {
            format!("{sudo}prlimit --pid $$ --{option}={target}:{target}")
        } else {
            format!("ulimit -S -{flag} {in_units}")
        };
        // In limits.conf(5) the asterisk stands for everyone but root.
        let who = if sudo.is_empty() { "root" } else { "*" };
        let service = option.to_uppercase();
        let to_last = format!(
            "echo '{who} - {option} {in_units}' | {sudo}tee -a {LIMITS_FILE} \
             (for logins; in a systemd unit: Limit{service}={target})"
        );
        Remedy { needs_root, ..Remedy::command(command, "in this shell", to_last) }
    }

    /// Value to set: slack must not turn one that the system takes into one that it refuses.
    fn target(&self, needed: u64) -> u64 {
        let bounds = [self.hard, self.most].into_iter().filter(|bound| *bound >= needed);
        bounds.fold(rounded(needed), u64::min)
    }
}

/// Setting that gives the limit in a control group's `file` this value for good: whoever makes the
/// group sets it.
fn group_setting(file: &str, value: u64, sudo: &str) -> String {
    let (group, name) = file.rsplit_once('/').unwrap_or(("", file));
    let unit = group.rsplit('/').next().unwrap_or_default();
    let (property, option, pod) = match name {
        "pids.max" => ("TasksMax", "--pids-limit", "podPidsLimit"),
        "memory.high" => ("MemoryHigh", "--memory", "resources.limits.memory"),
        _ => ("MemoryMax", "--memory", "resources.limits.memory"),
    };
    if [".slice", ".service", ".scope"].iter().any(|end| unit.ends_with(end)) {
        format!("{sudo}systemctl set-property {} {property}={value}", quoted(unit))
    } else {
        format!("start the container with {option} {value} ({pod} in Kubernetes)")
    }
}

/// A path or name as a shell takes it.
fn quoted(name: &str) -> String {
    format!("'{}'", name.replace('\'', r"'\''"))
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
    fn slack_passes_no_bound_and_never_overflows() {
        for (needed, expected) in [(0, 0), (250_000, 262_144), (u64::MAX, u64::MAX)] {
            assert_eq!(rounded(needed), expected);
        }
        for (hard, most, needed, expected) in [
            (5000, u64::MAX, 4990, 5000),
            (5000, u64::MAX, 5001, 5632),
            (100, 5100, 5001, 5100),
            (100, 5100, 5101, 5632),
        ] {
            let limit = Rlimit { option: "nofile", flag: 'n', unit: 1, hard, most };
            assert_eq!(limit.target(needed), expected);
        }
    }
}
