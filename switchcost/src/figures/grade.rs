//! Grades: what a figure is worth, decided once from its doubts and shown wherever the figure is.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;
use stats::Estimate;

/// Worth of a figure; the greater one is the worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Its interval is all that there is to say.
    #[default]
    Sure,
    /// The machine was disturbed more than a correction can answer for.
    Disturbed,
    /// Its counters contradict what it is called.
    Contradicted,
}

impl Grade {
    /// Some text of a figure, marked if it is not sure.
    pub fn mark(self, text: &str) -> String {
        format!("{self}{text}")
    }
}

impl fmt::Display for Grade {
    /// The mark that precedes a figure; nothing if it is sure.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Grade::Sure => "",
            Grade::Disturbed => "~",
            Grade::Contradicted => "!",
        })
    }
}

/// An estimate made of other figures, such as a ratio or a difference. Its grade is that of the worst of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Graded<T = Estimate> {
    /// The estimate.
    #[serde(flatten)]
    pub estimate: T,
    /// Its worth.
    pub grade: Grade,
}

impl<T> From<T> for Graded<T> {
    fn from(estimate: T) -> Self {
        Graded { estimate, grade: Grade::Sure }
    }
}

impl<T> Deref for Graded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.estimate
    }
}
