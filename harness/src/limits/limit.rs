//! One limit, and what raises it.

use serde::Serialize;

use super::Resource;
use super::exceeded::Shortage;

/// The largest thread number of a 64-bit Linux (`PID_MAX_LIMIT`, include/linux/threads.h).
pub(super) const MOST_PIDS: u64 = 4_194_304;

/// One limit that binds this process.
#[derive(Debug, Clone, Serialize)]
pub struct Limit {
    /// Its name as people know it.
    pub name: String,
    /// The file that it was read from.
    pub source: String,
    /// What it bounds.
    pub resource: Resource,
    /// The most that may be in use, in counts or in bytes.
    pub value: u64,
    /// What is in use already.
    pub in_use: u64,
    #[serde(skip)]
    pub(super) raise: Raise,
    /// Why the command may be refused here, if that is known.
    #[serde(skip)]
    pub(super) note: Option<&'static str>,
    /// Root needs no sudo, and a container often has none.
    #[serde(skip)]
    pub(super) as_root: bool,
}

/// How a limit is raised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Raise {
    /// A kernel parameter, which takes at most `most`.
    Sysctl { key: &'static str, most: u64 },
    /// A resource limit of the calling shell, which programs inherit.
    Rlimit(Rlimit),
    /// Writing a number to the file that it was read from; `none` lifts it.
    Write { most: u64, none: &'static str },
    /// Switching a kernel parameter to a value that lifts the limit.
    Switch(&'static str),
    /// No command does.
    Never(&'static str),
}

/// What it takes to write a resource limit's command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rlimit {
    /// The name of prlimit's option.
    pub(super) option: &'static str,
    /// The letter of the shell's ulimit.
    pub(super) flag: char,
    /// How much one unit of that ulimit is.
    pub(super) unit: u64,
    /// The hard limit, up to which no privilege is needed.
    pub(super) hard: u64,
    /// A value that must not be passed without need.
    pub(super) prefer_below: u64,
    /// The largest value that the kernel takes.
    pub(super) most: u64,
}

impl Limit {
    /// How much more may be used.
    pub fn room(&self) -> u64 {
        self.value.saturating_sub(self.in_use)
    }

    /// What is missing when `more` is needed beyond what is in use; `None`
    /// when it fits, or when nothing is needed.
    pub fn shortage(&self, more: u64) -> Option<Shortage> {
        let needed = self.in_use.saturating_add(more);
        if more == 0 || needed <= self.value {
            return None;
        }
        Some(self.shortage_of(needed))
    }

    /// The shortage that asks for `needed` in all, what is in use included.
    pub(super) fn shortage_of(&self, needed: u64) -> Shortage {
        let (remedy, needs_root) = self.remedy(needed);
        let is_command = !remedy.starts_with('#');
        Shortage {
            name: self.name.clone(),
            source: self.source.clone(),
            resource: self.resource,
            needed,
            in_use: self.in_use,
            allowed: self.value,
            remedy,
            needs_root,
            note: self.note.filter(|_| is_command && needs_root),
        }
    }

    /// The command that makes room for `needed` in all, and whether it takes
    /// root. Where no command does, a shell comment that says so.
    fn remedy(&self, needed: u64) -> (String, bool) {
        let sudo = if self.as_root { "" } else { "sudo " };
        match &self.raise {
            Raise::Sysctl { key, most } if needed <= *most => {
                let value = rounded(needed).min(*most);
                (format!("{sudo}sysctl -w {key}={value}"), true)
            }
            Raise::Sysctl { key, most } => (
                format!("# no command helps: {key} goes to {most} and no further"),
                false,
            ),
            Raise::Rlimit(limit) => limit.remedy(needed, sudo),
            Raise::Write { most, none } => {
                let target = rounded(needed);
                let value = if target > *most {
                    (*none).to_owned()
                } else {
                    target.to_string()
                };
                let file = quoted(&self.source);
                (format!("echo {value} | {sudo}tee {file}"), true)
            }
            Raise::Switch(setting) => (format!("{sudo}sysctl -w {setting}"), true),
            Raise::Never(why) => (format!("# no command helps: {why}"), false),
        }
    }
}

impl Rlimit {
    fn remedy(&self, needed: u64, sudo: &str) -> (String, bool) {
        if needed > self.most {
            let (option, most) = (self.option, self.most);
            return (
                format!("# no command helps: {option} goes to {most} and no further"),
                false,
            );
        }
        // Slack must not turn a value that the system takes into one it refuses.
        let target = [self.hard, self.prefer_below, self.most]
            .into_iter()
            .filter(|bound| *bound >= needed)
            .fold(rounded(needed), u64::min);
        if target <= self.hard {
            // Rounded up: ulimit counts memory in KiB.
            let value = target.div_ceil(self.unit);
            return (format!("ulimit -S -{} {value}", self.flag), false);
        }
        let option = self.option;
        (
            format!("{sudo}prlimit --pid $$ --{option}={target}:{target}"),
            true,
        )
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
        }
    }

    fn rlimit(hard: u64, prefer_below: u64) -> Raise {
        Raise::Rlimit(Rlimit {
            option: "nproc",
            flag: 'u',
            unit: 1,
            hard,
            prefer_below,
            most: 1 << 22,
        })
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
        };
        let limit = limit(raise);
        assert_eq!(
            limit.remedy(4_190_000),
            ("sudo sysctl -w kernel.pid_max=4194304".to_owned(), true)
        );
        let (text, needs_root) = limit.remedy(MOST_PIDS + 1);
        assert!(text.starts_with("# no command helps"), "{text}");
        assert!(!needs_root);
    }

    #[test]
    fn up_to_the_hard_limit_no_root_is_needed() {
        let within = limit(rlimit(5000, u64::MAX));
        assert_eq!(within.remedy(4990), ("ulimit -S -u 5000".to_owned(), false));
        let beyond = limit(rlimit(5000, u64::MAX));
        assert_eq!(
            beyond.remedy(5001),
            ("sudo prlimit --pid $$ --nproc=5632:5632".to_owned(), true)
        );
    }

    #[test]
    fn slack_does_not_pass_the_bound_that_another_limit_sets() {
        let limit = limit(rlimit(100, 5100));
        assert!(limit.remedy(5001).0.ends_with("=5100:5100"));
        assert!(limit.remedy(5101).0.ends_with("=5632:5632"));
    }

    #[test]
    fn root_is_not_told_to_use_sudo() {
        let limit = Limit {
            as_root: true,
            ..limit(Raise::Switch("vm.overcommit_memory=0"))
        };
        assert_eq!(limit.remedy(1).0, "sysctl -w vm.overcommit_memory=0");
    }

    #[test]
    fn files_are_written_with_their_path_quoted() {
        let raise = Raise::Write {
            most: 1000,
            none: "max",
        };
        let limit = limit(raise);
        assert_eq!(
            limit.remedy(500).0,
            r"echo 576 | sudo tee '/sys/fs/cgroup/it'\''s/pids.max'"
        );
        assert!(limit.remedy(1001).0.starts_with("echo max |"));
    }
}
