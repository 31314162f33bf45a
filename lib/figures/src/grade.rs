//! Grades: what a figure is worth, decided once from its doubts and shown wherever the figure is.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;
use stats::Estimate;

use super::number::{Shown, range};

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

/// A range: the least and the greatest.
pub type Range = [f64; 2];

/// An estimate made of other figures, such as a ratio or a difference. Its grade is that of the worst of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Graded<T = Estimate> {
    /// The estimate.
    #[serde(flatten)]
    pub estimate: T,
    /// What it is worth.
    pub grade: Grade,
}

impl Graded<Range> {
    /// Range that holds both, as good as the worse of them.
    pub fn joined(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.estimate, other.estimate);
        Graded { estimate: [a.min(c), b.max(d)], grade: self.grade.max(other.grade) }
    }

    /// The range, or one figure if both ends look alike, with its mark.
    pub fn show<S: Into<Shown>>(&self, show: impl Fn(f64) -> S) -> String {
        self.grade.mark(&range(self.estimate, show))
    }
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
