//! Verdict on a change from one side to another: one rule and one set of words, for a duel and for two files.

use std::fmt;

use record::Quantity;
use serde::Serialize;
use stats::MIN_ROUNDS;

use super::grade::Grade;
use super::number::{UNBOUNDED, percent};

/// Largest change that counts as none, as a share, unless `--fail-above` sets it.
pub const MARGIN: f64 = 0.05;

/// Fewest pairs that a verdict is made of.
pub const MIN_PAIRS: usize = 8;

/// What can be said about a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The second side has less.
    Less,
    More,
    /// The whole interval lies within the margin, on either side of zero; no change is larger than this.
    Within(f64),
    /// Nothing: the interval includes no change, and reaches this far from it.
    Open(f64),
    /// Nothing, and why.
    Inconclusive(Reason),
}

/// Why nothing can be said about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The machine was disturbed more than a correction can answer for.
    Disturbed,
    /// The counters contradict what the figure is called.
    Contradicted,
    /// The first side's twin differs from it.
    TwinDiffers,
    /// Most twins differ by as much as the second side may.
    TwinsAsMuch,
    /// There are too few values for an interval.
    FewRounds,
    /// A duel ended before it had enough pairs.
    FewPairs,
    /// Memory does not grow with the tasks, or a figure may be zero: nothing can be divided by it.
    NoSize,
    /// The processes of either side fall into two clusters: no mean describes both.
    TwoModes,
    /// Too few pairs have a time: other programs disturbed every slice of the rest.
    FewSlices,
    /// Work that depends only on the machine changed, or changed as much.
    Machine,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Disturbed => "disturbed",
            Reason::Contradicted => "contradicted by its counters",
            Reason::TwinDiffers => "A differs from itself",
            Reason::TwinsAsMuch => "equal processes differ as much",
            Reason::FewRounds => return write!(f, "fewer than {MIN_ROUNDS} rounds"),
            Reason::FewPairs => return write!(f, "fewer than {MIN_PAIRS} pairs"),
            Reason::FewSlices => "too few undisturbed pairs",
            Reason::NoSize => "a size that may be zero",
            Reason::TwoModes => "two modes",
            Reason::Machine => "the machine changed",
        })
    }
}

impl Reason {
    /// Why figures of this grade have no verdict.
    pub(crate) fn of(grade: Grade) -> Option<Self> {
        match grade {
            Grade::Sure => None,
            Grade::Disturbed => Some(Reason::Disturbed),
            Grade::Contradicted => Some(Reason::Contradicted),
        }
    }
}

impl Verdict {
    /// The verdict on a change, given its whole interval as shares.
    pub fn of([low, high]: [f64; 2], margin: f64) -> Self {
        let reach = high.max(-low);
        if reach <= margin {
            Verdict::Within(reach)
        } else if high < 0.0 {
            Verdict::Less
        } else if low > 0.0 {
            Verdict::More
        } else {
            Verdict::Open(reach)
        }
    }

    /// The verdict in a word, by what the figure is.
    pub fn word(self, quantity: Quantity) -> &'static str {
        use Quantity::{Count, Rate, Throughput, Time};
        match (self, quantity) {
            (Verdict::More, Time) | (Verdict::Less, Rate | Throughput) => "slower",
            (Verdict::Less, Time) | (Verdict::More, Rate | Throughput) => "faster",
            (Verdict::More, _) => "more",
            (Verdict::Less, Count) => "fewer",
            (Verdict::Less, _) => "less",
            (Verdict::Within(_), _) => "unchanged",
            (Verdict::Open(_) | Verdict::Inconclusive(_), _) => "no verdict",
        }
    }

    /// The verdict for a table; without one, how large a change may be, or why there is none.
    pub fn in_full(self, quantity: Quantity) -> String {
        let word = self.word(quantity);
        match self {
            Verdict::Open(reach) if 1.0 + reach >= UNBOUNDED => format!("{word}: up to ∞"),
            Verdict::Open(reach) => format!("{word}: up to {}", percent(reach)),
            Verdict::Inconclusive(why) => format!("{word}: {why}"),
            _ => word.to_owned(),
        }
    }

    /// True if the second side has less or more of it.
    pub fn has_changed(self) -> bool {
        matches!(self, Verdict::Less | Verdict::More)
    }

    /// True if nothing can be said.
    pub fn is_open(self) -> bool {
        matches!(self, Verdict::Open(_) | Verdict::Inconclusive(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_inside_the_margin_is_unchanged_whatever_its_sign() {
        for ([low, high], verdict) in [
            ([-0.04, -0.003], Verdict::Within(0.04)),
            ([0.01, 0.05], Verdict::Within(0.05)),
            ([-0.01, 0.02], Verdict::Within(0.02)),
            ([0.01, 0.06], Verdict::More),
            ([-0.3, -0.01], Verdict::Less),
            ([-0.874, 16.045], Verdict::Open(16.045)),
            ([0.0, 0.3], Verdict::Open(0.3)),
            ([-0.3, 0.0], Verdict::Open(0.3)),
        ] {
            assert_eq!(Verdict::of([low, high], MARGIN), verdict, "{low} to {high}");
        }
        // A rate that rises is time that falls.
        for (quantity, words) in [
            (Quantity::Time, ["slower", "faster"]),
            (Quantity::Rate, ["faster", "slower"]),
            (Quantity::Bytes, ["more", "less"]),
            (Quantity::Count, ["more", "fewer"]),
        ] {
            assert_eq!([Verdict::More, Verdict::Less].map(|v| v.word(quantity)), words);
        }
        for (reach, text) in [(0.3, "no verdict: up to 30 %"), (100.0, "no verdict: up to ∞")] {
            assert_eq!(Verdict::Open(reach).in_full(Quantity::Time), text);
        }
    }
}
