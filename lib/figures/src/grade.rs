//! Grades: what a figure is worth, decided once from its doubts and shown wherever the figure is.

use std::fmt;

use serde::Serialize;

use super::number::range;

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

/// The least and the greatest of some figures, as good as the worst of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least and the greatest.
    pub ends: [f64; 2],
    pub grade: Grade,
}

impl Range {
    /// The range that holds both.
    pub fn joined(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.ends, other.ends);
        Range { ends: [a.min(c), b.max(d)], grade: self.grade.max(other.grade) }
    }

    /// The range, or one figure if both ends look alike, with its mark.
    pub fn show(&self, show: impl Fn(f64) -> String) -> String {
        self.grade.mark(&range(self.ends, show))
    }
}
