//! Cases of a run, and the tables that show them.

use serde::{Deserialize, Serialize};

use crate::Metric;

/// Cases of a run, as its tables show them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Question that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Tables.
    pub sections: Vec<Section>,
    /// Cells of the tables, in their order; a process names its own by its place here.
    pub cases: Vec<Case>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Figure of each process that the table shows.
    pub metric: Metric,
    /// Figures of the same processes in further columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Also>,
    /// What the curves of a sweep run over, such as `--length in ns, 500 tasks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swept: Option<String>,
}

/// A further column of a section: another metric of the same processes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Also {
    /// Heading.
    pub name: String,
    /// Figure that it shows.
    pub metric: Metric,
}

impl Also {
    /// Its heading beside the column that it belongs to.
    pub fn heading(&self, column: &str) -> String {
        if column.is_empty() { self.name.clone() } else { format!("{column}: {}", self.name) }
    }
}

/// One cell of a table, or one curve of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Title of its section.
    pub section: String,
    /// Row.
    pub row: String,
    /// Column; empty if there is one alone.
    #[serde(default)]
    pub column: String,
    /// Row that is subtracted from this one in each round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Row that this one is divided by in each round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versus: Option<String>,
    /// Name in the answer, which sets this row against the one that it is divided by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Work that depends on the machine alone, and tells how far that moved between two runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub yardstick: bool,
    /// Work that programs do every day, which the answer sets against a switch and a creation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub everyday: bool,
    /// Work whose time on other machines is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Yardstick>,
    /// Flag that is swept, without its dashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
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

/// Name of a case: its row, and its column if there are several.
pub fn case_name(row: &str, column: &str) -> String {
    if column.is_empty() { row.to_owned() } else { format!("{row}, {column}") }
}

impl Section {
    /// All metrics that it shows.
    pub fn metrics(&self) -> impl Iterator<Item = &Metric> {
        [&self.metric].into_iter().chain(self.also.iter().map(|also| &also.metric))
    }
}

impl Case {
    /// Name for people.
    pub fn name(&self) -> String {
        case_name(&self.row, &self.column)
    }
}

impl Plan {
    /// Adds a case in a section, which is added with its first case.
    pub fn put(&mut self, section: &Section, case: &Case) {
        if !self.sections.iter().any(|s| s.title == section.title) {
            self.sections.push(section.clone());
        }
        self.cases.push(case.clone());
    }

    /// A case and its section.
    pub fn get(&self, index: u32) -> Option<(&Section, &Case)> {
        let case = self.cases.get(index as usize)?;
        let section = self.sections.iter().find(|s| s.title == case.section)?;
        Some((section, case))
    }
}
