//! What raises a limit, how long that lasts, and what makes it last.

use serde::Serialize;

use super::limit::{Limit, Raise, Rlimit};
use super::units::unit_of;

/// What raises a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remedy {
    /// The command; a shell comment where none does.
    pub(super) command: String,
    pub(super) needs_root: bool,
    /// How long it holds; `None` where there is no command.
    pub(super) lasts: Option<Lasting>,
    /// What makes it hold for good.
    pub(super) to_last: Option<String>,
}

/// How long what a command has raised stays raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lasting {
    /// For the shell that ran it and what is started from there.
    Shell,
    /// Until the machine starts again.
    Reboot,
    /// Until the control group is made anew.
    Group,
}

/// Where settings of the kernel are kept for good.
const SYSCTL_FILE: &str = "/etc/sysctl.d/90-switchcost.conf";

/// Where limits of a login session are kept for good; pam_limits(8) reads it.
const LIMITS_FILE: &str = "/etc/security/limits.d/90-switchcost.conf";

impl Remedy {
    fn none(why: impl std::fmt::Display) -> Remedy {
        Remedy {
            command: format!("# no command helps: {why}"),
            needs_root: false,
            lasts: None,
            to_last: None,
        }
    }
}

impl Limit {
    /// The value to set, in the units of what is set, that makes room for `needed` in all;
    /// `None` where nothing can be set so high.
    pub(super) fn target(&self, needed: u64) -> Option<u64> {
        match &self.raise {
            Raise::Sysctl { most, each, .. } => {
                let needed = needed.saturating_mul(*each);
                (needed <= *most).then(|| rounded(needed).min(*most))
            }
            Raise::Rlimit(limit) => limit.target(needed),
            Raise::Write { most, .. } => Some(rounded(needed)).filter(|target| target <= most),
            Raise::Switch(_) | Raise::Never(_) => None,
        }
    }

    /// What makes room for `needed` in all.
    pub(super) fn remedy(&self, needed: u64) -> Remedy {
        let sudo = if self.as_root { "" } else { "sudo " };
        let target = self.target(needed);
        match (&self.raise, target) {
            (Raise::Sysctl { key, .. }, Some(value)) => sysctl(sudo, key, &value.to_string()),
            (Raise::Sysctl { key, most, .. }, None) => {
                Remedy::none(format_args!("{key} goes to {most} and no further"))
            }
            (Raise::Rlimit(limit), Some(value)) => limit.remedy(value, sudo),
            (Raise::Rlimit(Rlimit { option, most, .. }), None) => {
                Remedy::none(format_args!("{option} goes to {most} and no further"))
            }
            (Raise::Write { none, .. }, target) => self.write(sudo, none, target),
            (Raise::Switch((key, value)), _) => sysctl(sudo, key, value),
            (Raise::Never(why), _) => Remedy::none(why),
        }
    }

    fn write(&self, sudo: &str, none: &str, target: Option<u64>) -> Remedy {
        let value = target.map_or_else(|| none.to_owned(), |value| value.to_string());
        let file = quoted(&self.source);
        Remedy {
            command: format!("echo {value} | {sudo}tee {file}"),
            needs_root: true,
            lasts: Some(Lasting::Group),
            to_last: Some(unit_of(&self.source, target).advice(sudo)),
        }
    }
}

fn sysctl(sudo: &str, key: &str, value: &str) -> Remedy {
    Remedy {
        command: format!("{sudo}sysctl -w {key}={value}"),
        needs_root: true,
        lasts: Some(Lasting::Reboot),
        to_last: Some(format!(
            "echo '{key} = {value}' | {sudo}tee -a {SYSCTL_FILE}"
        )),
    }
}

impl Rlimit {
    fn target(&self, needed: u64) -> Option<u64> {
        // Slack must not turn a value that the system takes into one it refuses.
        let bounds = [self.hard, self.prefer_below, self.most];
        let within = bounds.into_iter().filter(|bound| *bound >= needed);
        (needed <= self.most).then(|| within.fold(rounded(needed), u64::min))
    }

    fn remedy(&self, target: u64, sudo: &str) -> Remedy {
        let Rlimit { option, flag, .. } = self;
        // Rounded up: ulimit counts memory in KiB, as limits.conf(5) does.
        let in_units = target.div_ceil(self.unit);
        let within = target <= self.hard;
        let command = match within {
            true => format!("ulimit -S -{flag} {in_units}"),
            false => format!("{sudo}prlimit --pid $$ --{option}={target}:{target}"),
        };
        // In limits.conf(5) the asterisk stands for everyone but root.
        let who = if self.is_root { "root" } else { "*" };
        let service = option.to_uppercase();
        Remedy {
            command,
            needs_root: !within,
            lasts: Some(Lasting::Shell),
            to_last: Some(format!(
                "echo '{who} - {option} {in_units}' | {sudo}tee -a {LIMITS_FILE}\n\
                 (for logins; in a systemd unit: Limit{service}={target})"
            )),
        }
    }
}

/// `needed` with a few per cent of slack, rounded up to a value with few binary
/// digits: what others use moves between one run and the next.
fn rounded(needed: u64) -> u64 {
    let with_slack = needed.saturating_add(needed / 32);
    let step = with_slack
        .checked_next_power_of_two()
        .map_or(1 << 59, |power| power / 16)
        .max(1);
    with_slack.div_ceil(step).saturating_mul(step)
}

/// A path as a shell takes it: quoted if it holds more than plain characters.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-@:+".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Resource;
    use crate::limits::limit::MOST_PIDS;

    fn limit(raise: Raise) -> Limit {
        Limit {
            name: "a limit".to_owned(),
            source: "/sys/fs/cgroup/it's/pids.max".to_owned(),
            resource: Resource::Threads,
            value: 100,
            in_use: 40,
            raise,
            note: None,
            as_root: false,
            hidden: false,
        }
    }

    fn rlimit(hard: u64, prefer_below: u64) -> Raise {
        Raise::Rlimit(Rlimit {
            option: "nproc",
            is_root: false,
            flag: 'u',
            unit: 1,
            hard,
            prefer_below,
            most: 1 << 22,
        })
    }

    /// The command and whether it takes root.
    fn command(limit: &Limit, needed: u64) -> (String, bool) {
        let remedy = limit.remedy(needed);
        (remedy.command, remedy.needs_root)
    }

    #[test]
    fn rounding_leaves_slack_and_never_overflows() {
        assert_eq!(rounded(0), 0);
        assert_eq!(rounded(5), 5);
        assert_eq!(rounded(250_000), 262_144);
        assert_eq!(rounded(400_300), 425_984);
        assert_eq!(rounded(u64::MAX), u64::MAX);
        for needed in [1, 7, 100, 65_530, 1 << 40, u64::MAX - 1] {
            assert!(rounded(needed) >= needed, "{needed}");
        }
    }

    #[test]
    fn what_fits_is_no_shortage() {
        let limit = limit(Raise::Never("why"));
        assert!(limit.shortage(60).is_none());
        assert!(limit.shortage(61).is_some());
        // Already over, but nothing asked for.
        assert!(
            Limit {
                in_use: 200,
                ..limit
            }
            .shortage(0)
            .is_none()
        );
    }

    #[test]
    fn sysctl_stops_at_its_ceiling() {
        let raise = Raise::Sysctl {
            key: "kernel.pid_max",
            most: MOST_PIDS,
            each: 1,
        };
        let limit = limit(raise);
        assert_eq!(
            command(&limit, 4_190_000),
            ("sudo sysctl -w kernel.pid_max=4194304".to_owned(), true)
        );
        let (text, needs_root) = command(&limit, MOST_PIDS + 1);
        assert!(text.starts_with("# no command helps"), "{text}");
        assert!(!needs_root);
    }

    #[test]
    fn up_to_the_hard_limit_no_root_is_needed() {
        let within = limit(rlimit(5000, u64::MAX));
        assert_eq!(
            command(&within, 4990),
            ("ulimit -S -u 5000".to_owned(), false)
        );
        let beyond = limit(rlimit(5000, u64::MAX));
        assert_eq!(
            command(&beyond, 5001),
            ("sudo prlimit --pid $$ --nproc=5632:5632".to_owned(), true)
        );
    }

    #[test]
    fn slack_does_not_pass_the_bound_that_another_limit_sets() {
        let limit = limit(rlimit(100, 5100));
        assert!(command(&limit, 5001).0.ends_with("=5100:5100"));
        assert!(command(&limit, 5101).0.ends_with("=5632:5632"));
    }

    #[test]
    fn root_is_not_told_to_use_sudo() {
        let limit = Limit {
            as_root: true,
            ..limit(Raise::Switch(("vm.overcommit_memory", "0")))
        };
        assert_eq!(command(&limit, 1).0, "sysctl -w vm.overcommit_memory=0");
    }

    #[test]
    fn each_command_says_how_long_it_lasts() {
        let sysctl = limit(Raise::Sysctl {
            key: "vm.max_map_count",
            most: 1 << 20,
            each: 1,
        });
        let remedy = sysctl.remedy(1000);
        assert_eq!(remedy.lasts, Some(Lasting::Reboot));
        assert_eq!(
            remedy.to_last.unwrap(),
            "echo 'vm.max_map_count = 1152' | sudo tee -a /etc/sysctl.d/90-switchcost.conf"
        );
        let remedy = limit(rlimit(100, u64::MAX)).remedy(1000);
        assert_eq!(remedy.lasts, Some(Lasting::Shell));
        let to_last = remedy.to_last.unwrap();
        assert!(to_last.starts_with("echo '* - nproc 1152' | sudo tee -a /etc/security/"));
        assert!(to_last.ends_with("LimitNPROC=1152)"), "{to_last}");
        let remedy = limit(Raise::Never("why")).remedy(1000);
        assert_eq!((remedy.lasts, remedy.to_last), (None, None));
    }

    #[test]
    fn a_limit_in_pages_is_raised_in_pages() {
        let pages = limit(Raise::Sysctl {
            key: "fs.pipe-user-pages-soft",
            most: u64::from(u32::MAX),
            each: 16,
        });
        let (text, _) = command(&pages, 2000);
        assert_eq!(text, "sudo sysctl -w fs.pipe-user-pages-soft=36864");
    }

    #[test]
    fn files_are_written_with_their_path_quoted() {
        let raise = Raise::Write {
            most: 1000,
            none: "max",
        };
        let limit = limit(raise);
        assert_eq!(
            command(&limit, 500).0,
            r"echo 576 | sudo tee '/sys/fs/cgroup/it'\''s/pids.max'"
        );
        assert!(command(&limit, 1001).0.starts_with("echo max |"));
    }
}
