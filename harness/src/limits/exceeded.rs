//! Limits that are too low, as an error for a person and as commands for a shell.

use std::fmt;
use std::io::{self, Write};

use serde::Serialize;

use super::{Lasting, Resource};

/// A limit that is too low for what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shortage {
    /// The limit's name as people know it.
    pub name: String,
    /// The file that it was read from.
    pub source: String,
    /// What it bounds; says whether the amounts are counts or bytes.
    pub resource: Resource,
    /// What is needed in all: what is in use already, and what was asked for.
    pub needed: u64,
    /// What was in use before.
    pub in_use: u64,
    /// What the limit allows.
    pub allowed: u64,
    /// The command that raises it; a shell comment where none does.
    pub remedy: String,
    /// Whether that command takes root.
    pub needs_root: bool,
    /// How long what it raises stays raised; null where there is no command.
    pub lasts: Option<Lasting>,
    /// What makes it last for good.
    pub to_last: Option<String>,
    /// Why the command may be refused on this system, if that is known.
    pub note: Option<&'static str>,
}

impl Shortage {
    /// Whether the remedy is a command, rather than a comment that none helps.
    pub fn is_command(&self) -> bool {
        !self.remedy.starts_with('#')
    }

    /// `needs 200009, allows 20000`.
    fn amounts(&self) -> String {
        let needed = Amount::at_least(self.needed, self.resource);
        let allowed = Amount::at_most(self.allowed, self.resource);
        format!("needs {needed}, allows {allowed}")
    }
}

impl fmt::Display for Shortage {
    /// The limit on one line, and below it, indented, the command.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amounts = self.amounts();
        writeln!(f, "  {}: {amounts} ({})", self.name, self.source)?;
        write!(f, "      {}", self.remedy.trim_start_matches("# "))?;
        match self.note {
            Some(note) => write!(f, "\n      ({note})"),
            None => Ok(()),
        }
    }
}

/// More tasks were asked for than the limits allow.
///
/// Its `Display` is for a person; [`Exceeded::write_commands`] is for a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exceeded {
    /// How many tasks were asked for.
    pub tasks: u64,
    /// How many fit within every limit that could be read.
    pub largest: u64,
    /// Every limit that is too low, in the order in which to raise them.
    pub shortages: Vec<Shortage>,
    /// Where not even one fits: the flags that ask for most of it.
    pub flags: Vec<&'static str>,
}

/// What is left to those whose links are more than may be open.
const WAY_ON: &str = "async-mem-brigade and thread-mem-brigade need no descriptors: their links \
    are in memory";

impl Exceeded {
    /// Writes what raises the limits as shell text: for each a comment with
    /// the limit, what is needed and where it was read, then the command.
    ///
    /// The text acts on the shell that runs it (`$$`), so it is to be sourced
    /// or pasted, not run as a script of its own.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_commands(&self, out: &mut impl Write) -> io::Result<()> {
        for shortage in &self.shortages {
            let (name, amounts) = (&shortage.name, shortage.amounts());
            writeln!(out, "# {name}: {amounts} ({})", shortage.source)?;
            if let Some(note) = shortage.note {
                writeln!(out, "# {note}")?;
            }
            writeln!(out, "{}", shortage.remedy)?;
        }
        for flag in &self.flags {
            writeln!(out, "# or lower {flag}")?;
        }
        match self.is_of_links() {
            true => writeln!(out, "# {WAY_ON}"),
            false => Ok(()),
        }
    }

    /// Whether links in memory would not meet these limits. (Where not even one task fits it is what
    /// every program needs that is missing.)
    fn is_of_links(&self) -> bool {
        let of_links = |short: &Shortage| short.resource.is_of_links();
        self.largest > 0 && self.shortages.iter().any(of_links)
    }
}

impl fmt::Display for Exceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = match self.tasks {
            1 => "1 task is".to_owned(),
            tasks => format!("{tasks} tasks are"),
        };
        let most = match self.largest {
            0 => "not even one fits".to_owned(),
            largest => format!("at most {largest}"),
        };
        writeln!(f, "{tasks} more than this system allows ({most}):")?;
        for shortage in &self.shortages {
            writeln!(f, "{shortage}")?;
        }
        let raisable = self.shortages.iter().all(Shortage::is_command);
        let lower = match (self.largest, &self.flags[..]) {
            (0, []) => None,
            (0, flags) => Some(format!("lower {}", flags.join(" and "))),
            (largest, _) => Some(format!("lower --tasks to {largest}")),
        };
        match (lower, raisable) {
            (None, true) => write!(f, "raise the limits above"),
            (None, false) => write!(f, "this system is too small for it"),
            (Some(lower), true) => write!(f, "{lower}, or raise the limits above"),
            (Some(lower), false) => write!(f, "{lower}"),
        }?;
        match self.is_of_links() {
            true => write!(f, "\n{WAY_ON}"),
            false => Ok(()),
        }
    }
}

impl std::error::Error for Exceeded {}

/// A count, or bytes in whole MiB.
pub(super) struct Amount {
    value: u64,
    unit: &'static str,
}

impl Amount {
    /// Rounded up, so that what is needed never reads as what is allowed.
    pub(super) fn at_least(value: u64, resource: Resource) -> Amount {
        Amount::new(value, resource, |bytes| bytes.div_ceil(1 << 20))
    }

    /// Rounded down.
    pub(super) fn at_most(value: u64, resource: Resource) -> Amount {
        Amount::new(value, resource, |bytes| bytes >> 20)
    }

    fn new(value: u64, resource: Resource, mebibytes: fn(u64) -> u64) -> Amount {
        if resource.is_bytes() {
            let value = mebibytes(value);
            Amount {
                value,
                unit: " MiB",
            }
        } else {
            Amount { value, unit: "" }
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.value, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Shortage {
        Shortage {
            name: "open files (hard limit, ulimit -Hn)".to_owned(),
            source: "/proc/self/limits".to_owned(),
            resource: Resource::Descriptors,
            needed: 200_009,
            in_use: 9,
            allowed: 20_000,
            remedy: "sudo prlimit --pid $$ --nofile=212992:212992".to_owned(),
            needs_root: true,
            lasts: Some(Lasting::Shell),
            to_last: None,
            note: None,
        }
    }

    fn memory() -> Shortage {
        Shortage {
            name: "MemAvailable".to_owned(),
            source: "/proc/meminfo".to_owned(),
            resource: Resource::Memory,
            needed: (24 << 30) + 1,
            in_use: 0,
            allowed: (24 << 30) - 1,
            remedy: "# no command helps: use a larger machine".to_owned(),
            needs_root: false,
            lasts: None,
            to_last: None,
            note: None,
        }
    }

    #[test]
    fn a_person_reads_what_to_do() {
        let exceeded = Exceeded {
            tasks: 100_000,
            largest: 9990,
            shortages: vec![files()],
            flags: vec![],
        };
        assert_eq!(
            exceeded.to_string(),
            "100000 tasks are more than this system allows (at most 9990):\n\
             \x20 open files (hard limit, ulimit -Hn): needs 200009, allows 20000 (/proc/self/limits)\n\
             \x20     sudo prlimit --pid $$ --nofile=212992:212992\n\
             lower --tasks to 9990, or raise the limits above\n\
             async-mem-brigade and thread-mem-brigade need no descriptors: their links are in memory"
        );
    }

    #[test]
    fn memory_is_in_whole_mebibytes_and_never_looks_equal() {
        let exceeded = Exceeded {
            tasks: 1,
            largest: 0,
            shortages: vec![memory()],
            flags: vec![],
        };
        assert_eq!(
            exceeded.to_string(),
            "1 task is more than this system allows (not even one fits):\n\
             \x20 MemAvailable: needs 24577 MiB, allows 24575 MiB (/proc/meminfo)\n\
             \x20     no command helps: use a larger machine\n\
             this system is too small for it"
        );
    }

    #[test]
    fn a_shell_reads_comments_and_commands() {
        let noted = Shortage {
            note: Some("refused here"),
            ..files()
        };
        let exceeded = Exceeded {
            tasks: 100_000,
            largest: 9990,
            shortages: vec![noted, memory()],
            flags: vec![],
        };
        let mut text = Vec::new();
        exceeded.write_commands(&mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "# open files (hard limit, ulimit -Hn): needs 200009, allows 20000 (/proc/self/limits)\n\
             # refused here\n\
             sudo prlimit --pid $$ --nofile=212992:212992\n\
             # MemAvailable: needs 24577 MiB, allows 24575 MiB (/proc/meminfo)\n\
             # no command helps: use a larger machine\n\
             # async-mem-brigade and thread-mem-brigade need no descriptors: their links are in memory\n"
        );
    }
}
