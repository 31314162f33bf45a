//! A row: one command of a run, the address of what it measures, and what its figures are compared with.

use serde::{Deserialize, Serialize};

use crate::{Metric, Setting};

/// Address of a measurement. Figures of several sessions that have equal places are one figure. Trials of one place
/// differ further by session and round.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    pub section: String,
    pub row: String,
    /// The one of several changes of a duel's second side that its rows are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Column of the table; empty if there is only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub column: String,
    pub metric: Metric,
    /// Value of the flag that a curve or a slope runs over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<u64>,
    /// Side of a duel, or twin.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub side: Side,
}

/// Which of the programs that a round runs for one row.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The first side of a duel, or the only one.
    #[default]
    A,
    /// The second side of a duel.
    B,
    /// The first side once more: the two differ by noise alone.
    Twin,
}

impl Place {
    /// Name of its cell for people: the row with its setting, and the column if there are several.
    pub fn name(&self) -> String {
        match &self.setting {
            Some(setting) => self.named(&format!("{}: {setting}", self.row)),
            None => self.named(&self.row),
        }
    }

    /// The same with another name of the row, such as the name that it has in the answer.
    pub fn named(&self, row: &str) -> String {
        if self.column.is_empty() { row.to_owned() } else { format!("{row}, {}", self.column) }
    }

    /// The place without the swept value and without the side: the cell of a table.
    #[must_use]
    pub fn cell(&self) -> Place {
        Place { x: None, side: Side::A, ..self.clone() }
    }

    /// The same place on another side.
    #[must_use]
    pub fn on(&self, side: Side) -> Place {
        Place { side, ..self.clone() }
    }
}

/// One command of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Where its own figure stands.
    #[serde(flatten)]
    pub place: Place,
    /// Further figures of the same trials, each in a column of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// What it is a point of, if its section is a curve.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<Swept>,
    pub command: Command,
    /// How much is measured.
    #[serde(default)]
    pub effort: Effort,
    /// What its own figure is compared with.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub ties: Ties,
}

/// Another metric of the same trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Also {
    pub name: String,
    pub metric: Metric,
}

impl Also {
    /// Its heading beside the column that it belongs to.
    pub fn heading(&self, column: &str) -> String {
        if column.is_empty() { self.name.clone() } else { format!("{column}: {}", self.name) }
    }
}

/// A flag that a curve runs over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// The flag, with its dashes.
    pub flag: String,
}

/// A program, and where and how it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub program: String,
    /// Its flags, without those that the runner sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Its CPUs, policy and environment.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub setting: Setting,
}

/// How much is measured. What a results file does not tell is 0, empty or false.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Effort {
    pub iters: u64,
    /// Untimed iterations before them.
    pub warmup: u64,
    /// Hops in all iterations of a trial, about. If it is set, the runner computes `iters` from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops: Option<u64>,
    /// Further passes of the program that are run once, each a distribution of that name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<String>,
    /// Number of rounds; if there is none, as many as the time allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// True if events are counted in a further, untimed run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counters: bool,
    /// True if its tasks are not held while their memory is read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skip_hold: bool,
    /// True if it takes no turns: it may take most of the machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Pause at the beginning of its turns, in ms, in place of the untimed iterations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_ms: Option<u64>,
}

impl Effort {
    /// Most rounds.
    pub fn most_rounds(&self) -> u32 {
        self.rounds.unwrap_or(u32::MAX)
    }
}

/// What a row's own figure is compared with; rows are named within its section and column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ties {
    /// Row that is subtracted from this one in each round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Row that this one is divided by in each round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub versus: Option<String>,
    /// Name in the answer, which sets this row, a thread's, against the one that it is divided by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Work that depends on the machine alone, and tells how far that moved between two runs.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub yardstick: bool,
    /// Work that programs do every day, which the answer sets against a switch and a creation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub everyday: bool,
    /// Work whose time on other machines is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Yardstick>,
}

/// Work that depends on the machine alone, and whose time on other machines is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Yardstick {
    /// The system call getpid(2).
    Getpid,
    /// The hand-over from one thread to another through a futex, on one CPU.
    Futex,
    /// A minor page fault of anonymous memory.
    PageFault,
}

impl Row {
    /// Arguments of its process.
    pub fn args(&self) -> Vec<String> {
        let mut args = self.command.flags.clone();
        args.extend(["--warmup".to_owned(), self.effort.warmup.to_string()]);
        args
    }

    /// All metrics of its trials.
    pub fn metrics(&self) -> impl Iterator<Item = &Metric> {
        [&self.place.metric].into_iter().chain(self.also.iter().map(|also| &also.metric))
    }

    /// True if it takes no turns.
    pub fn is_alone(&self) -> bool {
        self.effort.alone || self.place.metric.is_slope()
    }

    /// True if its section, row, column, both together or its name in the answer contains `text` from the start of a
    /// word on (`lock` is in "Locks", not in "blocking"), case-insensitively.
    pub fn matches(&self, text: &str) -> bool {
        let answer = self.ties.answer.as_ref().map(|name| self.place.named(name));
        let names = [Some(self.place.section.clone()), Some(self.place.name()), answer];
        let text = text.to_lowercase();
        let is_word = text.starts_with(char::is_alphanumeric);
        names.iter().flatten().map(|name| name.to_lowercase()).any(|name| {
            let mut places = name.match_indices(&text);
            places.any(|(at, _)| !is_word || !name[..at].ends_with(char::is_alphanumeric))
        })
    }

    /// The same row at a value of a flag, which is typed in this unit.
    #[must_use]
    pub fn at(&self, flag: &str, x: u64, unit: &str) -> Row {
        let mut row = self.clone();
        row.place.x = Some(x);
        row.command.flags = with_value(&self.command.flags, flag, &format!("{x}{unit}"));
        row
    }
}

/// Where a command has the value of a flag.
pub fn place_of(flag: &str) -> String {
    format!("{{{}}}", flag.trim_start_matches('-'))
}

/// Flags with the value of another one, or with the value wherever they have its name in braces: `--size`, in `head -c
/// {size}`.
pub fn with_value(flags: &[String], flag: &str, value: &str) -> Vec<String> {
    let place = place_of(flag);
    if flags.iter().any(|word| word.contains(&place)) {
        return flags.iter().map(|word| word.replace(&place, value)).collect();
    }
    [flags, &[flag.to_owned(), value.to_owned()]].concat()
}
