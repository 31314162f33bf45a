//! Commands that raise a limit, how long the new value lasts, and the setting that makes it last.

use std::fmt;

use serde::Serialize;

use super::LimitStatus;
use super::maker;
use crate::machine::os_release;
use crate::source::Source;

/// Largest thread number of a 64-bit Linux (PID_MAX_LIMIT, include/linux/threads.h).
pub(super) const MOST_PIDS: u64 = 4_194_304;

/// Means of raising a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Means {
    /// A kernel parameter, which takes at most `most`.
    Sysctl { key: &'static str, most: u64 },
    /// A resource limit, which programs inherit.
    Rlimit(Rlimit),
    /// A number in the file of a control group; `none` lifts the limit.
    Group { most: u64, none: &'static str },
    /// A kernel parameter that lifts the limit at one of its values.
    Switch { key: &'static str, value: &'static str },
    /// No command.
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
    /// Value not to be passed without need.
    pub(super) prefer_below: u64,
    /// Largest value that the kernel takes.
    pub(super) most: u64,
}

/// Command that raises a limit, or the reason why none does. Displays as one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// Command for a shell; absent where none helps. Commands act on the shell that runs them.
    pub command: Option<String>,
    /// Reason why no command helps.
    pub advice: Option<String>,
    /// The command takes root.
    pub needs_root: bool,
    /// Life of the new value.
    pub lasts: Option<Lasting>,
    /// Command or setting that makes it last.
    pub to_last: Option<String>,
    /// Reason why the command will be refused on this system.
    pub refusal: Option<String>,
}

/// Life of a raised limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lasting {
    /// In the shell that ran the command and in what it starts.
    Shell,
    /// Until the machine starts again.
    Reboot,
    /// As long as the control group exists.
    Group,
}

impl fmt::Display for Lasting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lasting::Shell => "in this shell",
            Lasting::Reboot => "until the next boot",
            Lasting::Group => "as long as the control group exists",
        })
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.command, &self.advice) {
            (Some(command), _) => f.write_str(command)?,
            (None, Some(advice)) => write!(f, "no command helps: {advice}")?,
            (None, None) => f.write_str("no command helps")?,
        }
        if let Some(lasts) = self.lasts {
            write!(f, " ({lasts})")?;
        }
        match &self.refusal {
            Some(why) => write!(f, "; it will be refused: {why}"),
            None => Ok(()),
        }
    }
}

/// Distribution and user for whom remedies are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Setting {
    family: Family,
    is_root: bool,
}

/// Distributions that differ in how settings are made to last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// sudo, /etc/sysctl.d and pam_limits(8).
    Common,
    /// doas, no PAM.
    Alpine,
    /// One file of settings for all.
    NixOs,
}

const SYSCTL_FILE: &str = "/etc/sysctl.d/90-limits.conf";
const LIMITS_FILE: &str = "/etc/security/limits.d/90-limits.conf";

impl Setting {
    pub(super) fn read(source: &Source, is_root: bool) -> Self {
        let family = match os_release(source, "ID=").as_deref() {
            Some("alpine") => Family::Alpine,
            Some("nixos") => Family::NixOs,
            _ => Family::Common,
        };
        Setting { family, is_root }
    }

    /// Prefix of commands that take root: a container often has none of them, and root needs none.
    fn sudo(self) -> &'static str {
        match (self.is_root, self.family) {
            (true, _) => "",
            (false, Family::Alpine) => "doas ",
            (false, _) => "sudo ",
        }
    }

    /// Remedy that raises a limit to the needed value.
    pub(super) fn remedy(self, limit: &LimitStatus, needed: u64) -> Remedy {
        let target = limit.means.target(needed);
        let mut remedy = match (&limit.means, target) {
            (Means::Sysctl { key, .. }, Some(value)) => self.sysctl(key, &value.to_string()),
            (Means::Sysctl { key, most }, None) => {
                Remedy::none(format!("{key} goes to {most} and no further"))
            }
            (Means::Rlimit(rlimit), Some(value)) => self.rlimit(rlimit, value),
            (Means::Rlimit(Rlimit { option, most, .. }), None) => {
                Remedy::none(format!("{option} goes to {most} and no further"))
            }
            (Means::Group { none, .. }, target) => self.group(&limit.source, none, target),
            (Means::Switch { key, value }, _) => self.sysctl(key, value),
            (Means::Nothing(why), _) => Remedy::none((*why).to_owned()),
        };
        remedy.refusal = limit.refusal.filter(|_| remedy.needs_root).map(str::to_owned);
        remedy
    }

    fn sysctl(self, key: &str, value: &str) -> Remedy {
        let sudo = self.sudo();
        let to_last = match self.family {
            Family::NixOs => format!("boot.kernel.sysctl.\"{key}\" = {value};"),
            _ => format!("echo '{key} = {value}' | {sudo}tee -a {SYSCTL_FILE}"),
        };
        let command = format!("{sudo}sysctl -w {key}={value}");
        Remedy::new(command, Lasting::Reboot, to_last)
    }

    fn rlimit(self, limit: &Rlimit, target: u64) -> Remedy {
        let Rlimit { option, flag, .. } = limit;
        let sudo = self.sudo();
        let in_units = target.div_ceil(limit.unit);
        let within = target <= limit.hard;
        let command = match within {
            true => format!("ulimit -S -{flag} {in_units}"),
            false => format!("{sudo}prlimit --pid $$ --{option}={target}:{target}"),
        };
        // In limits.conf(5) the asterisk stands for everyone but root.
        let who = if self.is_root { "root" } else { "*" };
        let service = option.to_uppercase();
        let to_last = match self.family {
            Family::Common => format!(
                "echo '{who} - {option} {in_units}' | {sudo}tee -a {LIMITS_FILE} \
                 (for logins; in a systemd unit: Limit{service}={target})"
            ),
            Family::Alpine => {
                format!("rc_ulimit=\"-{flag} {in_units}\" in /etc/rc.conf (services)")
            }
            Family::NixOs => format!("{option} {in_units} in security.pam.loginLimits"),
        };
        Remedy { needs_root: !within, ..Remedy::new(command, Lasting::Shell, to_last) }
    }

    fn group(self, file: &str, none: &str, target: Option<u64>) -> Remedy {
        let sudo = self.sudo();
        let value = target.map_or_else(|| none.to_owned(), |value| value.to_string());
        let command = format!("echo {value} | {sudo}tee {}", quoted(file));
        Remedy::new(command, Lasting::Group, maker::setting(file, target, sudo))
    }
}

impl Remedy {
    /// A command for root.
    fn new(command: String, lasts: Lasting, to_last: String) -> Self {
        Remedy {
            command: Some(command),
            needs_root: true,
            lasts: Some(lasts),
            to_last: Some(to_last),
            ..Remedy::default()
        }
    }

    fn none(advice: String) -> Self {
        Remedy { advice: Some(advice), ..Remedy::default() }
    }
}

impl Means {
    /// Value to set for what is needed; `None` where none so high can be set.
    pub(super) fn target(&self, needed: u64) -> Option<u64> {
        match self {
            Means::Sysctl { most, .. } => (needed <= *most).then(|| rounded(needed).min(*most)),
            Means::Rlimit(limit) => {
                // Slack must not turn a value that the system takes into one that it refuses.
                let bounds = [limit.hard, limit.prefer_below, limit.most];
                let within = bounds.into_iter().filter(|bound| *bound >= needed);
                (needed <= limit.most).then(|| within.fold(rounded(needed), u64::min))
            }
            Means::Group { most, .. } => Some(rounded(needed)).filter(|target| target <= most),
            Means::Switch { .. } | Means::Nothing(_) => None,
        }
    }
}

/// Needed value with 3 to 9 % of slack, rounded up to few binary digits: the use by others changes.
fn rounded(needed: u64) -> u64 {
    let with_slack = needed.saturating_add(needed / 32);
    let step = with_slack.checked_next_power_of_two().map_or(1 << 59, |power| power / 16).max(1);
    with_slack.div_ceil(step).saturating_mul(step)
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-@:+".contains(c);
    match path.chars().all(plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_leaves_slack_and_never_overflows() {
        assert_eq!(rounded(0), 0);
        assert_eq!(rounded(250_000), 262_144);
        assert_eq!(rounded(400_300), 425_984);
        assert_eq!(rounded(u64::MAX), u64::MAX);
        for needed in [1, 7, 100, 65_530, 1 << 40, u64::MAX - 1] {
            assert!(rounded(needed) >= needed, "{needed}");
        }
    }

    #[test]
    fn slack_does_not_pass_a_bound_of_another_limit() {
        let target = |hard, prefer_below, needed| {
            let limit =
                Rlimit { option: "nproc", flag: 'u', unit: 1, hard, prefer_below, most: 1 << 22 };
            Means::Rlimit(limit).target(needed)
        };
        assert_eq!(target(5000, u64::MAX, 4990), Some(5000));
        assert_eq!(target(5000, u64::MAX, 5001), Some(5632));
        assert_eq!(target(100, 5100, 5001), Some(5100));
        assert_eq!(target(100, 5100, 1 << 23), None);
    }

    #[test]
    fn paths_are_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("/sys/fs/cgroup/a-1.scope"), "/sys/fs/cgroup/a-1.scope");
        assert_eq!(quoted("/it's"), r"'/it'\''s'");
    }

    #[test]
    fn each_distribution_has_its_own_way() {
        let setting = |family| Setting { family, is_root: false };
        let sysctl = |family| setting(family).sysctl("vm.max_map_count", "1152");
        assert_eq!(
            sysctl(Family::Common).to_string(),
            "sudo sysctl -w vm.max_map_count=1152 (until the next boot)"
        );
        assert!(sysctl(Family::Alpine).command.unwrap().starts_with("doas "));
        let nix = sysctl(Family::NixOs).to_last.unwrap();
        assert!(nix.starts_with("boot.kernel.sysctl.\"vm.max_map_count\" = 1152;"));
    }
}
