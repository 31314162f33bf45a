//! Claims of other people: whether a figure measured here bears out what they found. A rule gives the verdict, never a
//! text.

use std::collections::BTreeSet;

use anyhow::ensure;
use record::Quantity;
use serde::Deserialize;

use super::grade::Grade;
use super::value::Value;

#[cfg(test)]
mod tests;

/// How a claim is judged. *Theirs* is the quoted figure; *the figure* is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A size or a ratio: within a factor of two, since machines differ, and on the same side of 1 if theirs is more than a
    /// tenth off.
    Near,
    /// A time or a rate of another machine: within a factor of √10.
    Order,
    /// What they found to be equal, or busy CPUs: within a tenth.
    Equal,
    /// What they found to change little: within a quarter.
    Little,
    /// Counts: the figures, rounded, are the numbers of the quotation, in its order.
    Counts,
    /// Each figure's whole interval reaches theirs.
    Over,
    /// The whole interval is below theirs.
    Under,
    /// The whole interval is on the same side of 1 as theirs.
    Side,
    /// The first figure is larger than the second one.
    Larger,
    /// No figure is below 1 by more than a tenth.
    Least,
    /// As [`Rule::Near`]; if only the second figure passes, which was measured with the software of that time, the claim
    /// no longer holds.
    NoLonger,
    /// They asked, and a ratio answers.
    Asked,
    /// There are some, at least one in a hundred hops.
    Some,
}

/// What is said of a claim that holds; the second if a figure is outside, and its interval reaches the bound.
const HOLDS: [&str; 2] = ["holds", "holds, barely"];
const SAME_ORDER: [&str; 2] = ["same order", "same order, barely"];
const NOT_HERE: &str = "not here";
const TOO_WIDE: &str = "undecided here: the interval is too wide";

/// Factor by which a figure of too few rounds may be off: single runs differ by up to it.
const MAY_BE_OFF: f64 = 1.5;

impl Rule {
    /// What a rule says of their figure, as they quote it, and of ours.
    ///
    /// # Errors
    /// The rule is not about such a quotation, or such figures.
    pub fn judge(self, theirs: &str, ours: &[Value]) -> anyhow::Result<String> {
        let needed = if matches!(self, Rule::Larger | Rule::NoLonger) { 2 } else { 1 };
        ensure!(ours.len() >= needed, "the rule takes {needed} figures");
        let (number, unit) = theirs_with_unit(theirs);
        let needs_number =
            !matches!(self, Rule::Counts | Rule::Larger | Rule::Least | Rule::Asked | Rule::Some);
        ensure!(number.is_some() || !needs_number, "the quotation has no number");
        let mut units = ours.iter().map(|value| value.quantity.filter(|own| has_unit(*own)));
        ensure!(
            self == Rule::Larger || units.all(|of_figure| of_figure == unit),
            "their unit is not the figure's: a ratio or a count has none"
        );
        let has_all = self != Rule::Counts || numbers(theirs).count() == ours.len();
        ensure!(has_all, "the quotation has another number of counts");
        let ours = self.deciding(ours);
        let verdicts: BTreeSet<&str> =
            shaken(&ours).iter().map(|figures| self.say(theirs, figures)).collect();
        let verdicts: Vec<&str> = verdicts.into_iter().collect();
        let verdict = match (ours.iter().map(|value| value.grade).max(), &verdicts[..]) {
            (Some(Grade::Contradicted), _) => "undecided here: contradicted by its counters",
            (Some(Grade::Disturbed), _) => "undecided here: a quieter machine decides",
            (_, [verdict]) => verdict,
            _ => "undecided here: more rounds decide",
        };
        Ok(verdict.to_owned())
    }

    /// The figures that it looks at. Of those that must each be on one side, the sure ones decide, if there are any.
    fn deciding(self, ours: &[Value]) -> Vec<Value> {
        let sure = ours.iter().filter(|value| value.grade == Grade::Sure);
        let sure: Vec<Value> = sure.cloned().collect();
        match self {
            Rule::Over | Rule::Least if !sure.is_empty() => sure,
            Rule::Over | Rule::Least | Rule::Counts => ours.to_vec(),
            Rule::Larger | Rule::NoLonger => ours[..2].to_vec(),
            _ => ours[..1].to_vec(),
        }
    }

    /// What it says of figures without doubts: of each the estimate and the ends of its interval.
    fn say(self, quotation: &str, figures: &[[f64; 3]]) -> &'static str {
        let theirs = theirs(quotation).unwrap_or(f64::NAN);
        let [estimate, low, high] = figures[0];
        let is_equal = low > 1.0 / 1.1 && high < 1.1;
        let [low_end, high_end] =
            [1, 2].map(|end| figures.iter().map(|ends| ends[end]).fold(f64::INFINITY, f64::min));
        match self {
            Rule::Near
                if (theirs > 1.1 && estimate < 1.0) || (theirs < 1.0 / 1.1 && estimate > 1.0) =>
            {
                NOT_HERE
            }
            Rule::Near => within(figures[0], theirs, 2.0, HOLDS),
            Rule::Order => within(figures[0], theirs, 10f64.sqrt(), SAME_ORDER),
            Rule::Equal => within(figures[0], theirs, 1.1, HOLDS),
            Rule::Little => within(figures[0], theirs, 1.25, HOLDS),
            Rule::Counts => {
                let ours = figures.iter().map(|[count, ..]| count.round());
                if_true(numbers(quotation).eq(ours))
            }
            Rule::Over => on_a_side(low_end >= theirs, high_end < theirs),
            Rule::Least => on_a_side(low_end >= 1.0 / 1.1, high_end < 1.0 / 1.1),
            Rule::Under => on_a_side(high < theirs, low > theirs),
            Rule::Side if low > 1.0 => if_true(theirs > 1.0),
            Rule::Side if high < 1.0 => if_true(theirs < 1.0),
            Rule::Side if is_equal => "not here: no difference",
            Rule::Larger => {
                let [_, other_low, other_high] = figures[1];
                on_a_side(low > other_high, high < other_low)
            }
            Rule::NoLonger => {
                match [0, 1].map(|which| within(figures[which], theirs, 2.0, HOLDS)) {
                    [NOT_HERE, NOT_HERE] => NOT_HERE,
                    [NOT_HERE, _] => "no longer",
                    [now, _] => now,
                }
            }
            Rule::Asked if low > 1.0 => "answered: more",
            Rule::Asked if high < 1.0 => "answered: less",
            Rule::Asked if is_equal => "answered: no difference",
            Rule::Side | Rule::Asked => TOO_WIDE,
            Rule::Some => {
                if high < 0.01 {
                    "never did"
                } else {
                    HOLDS[0]
                }
            }
        }
    }
}

fn if_true(holds: bool) -> &'static str {
    if holds { HOLDS[0] } else { NOT_HERE }
}

/// Figures as they are, and as they may be.
fn shaken(ours: &[Value]) -> Vec<Vec<[f64; 3]>> {
    let mut shaken = vec![Vec::new()];
    for value in ours {
        let few = [1.0 / MAY_BE_OFF, 1.0, MAY_BE_OFF];
        let factors = if value.has_few_rounds() { &few } else { &few[1..2] };
        let ends = value.ends();
        shaken = factors
            .iter()
            .flat_map(|factor| {
                let ends = ends.map(|end| end * factor);
                shaken.iter().map(move |figures: &Vec<[f64; 3]>| [&figures[..], &[ends]].concat())
            })
            .collect();
    }
    shaken
}

/// Whether the whole interval lies on the side that a claim is about, or on the other one.
fn on_a_side(yes: bool, no: bool) -> &'static str {
    match (yes, no) {
        (true, _) => HOLDS[0],
        (_, true) => NOT_HERE,
        _ => TOO_WIDE,
    }
}

/// Whether a figure is within a factor of theirs, and what is said if it is, or if its interval alone is.
fn within(
    [estimate, low, high]: [f64; 3],
    theirs: f64,
    factor: f64,
    [surely, barely]: [&'static str; 2],
) -> &'static str {
    let (from, to) = (theirs / factor, theirs * factor);
    if high < from || low > to {
        NOT_HERE
    } else if low < from && high > to {
        TOO_WIDE
    } else if (from..=to).contains(&estimate) {
        surely
    } else {
        barely
    }
}

/// Units that people quote figures in: their size and quantity.
const UNITS: [(&str, f64, Quantity); 14] = [
    ("ns", 1.0, Quantity::Time),
    ("µs", 1e3, Quantity::Time),
    ("ms", 1e6, Quantity::Time),
    ("s", 1e9, Quantity::Time),
    ("B", 1.0, Quantity::Bytes),
    ("KB", 1e3, Quantity::Bytes),
    ("MB", 1e6, Quantity::Bytes),
    ("GB", 1e9, Quantity::Bytes),
    ("TB", 1e12, Quantity::Bytes),
    ("KiB", 1024.0, Quantity::Bytes),
    ("MiB", 1048576.0, Quantity::Bytes),
    ("GiB", 1073741824.0, Quantity::Bytes),
    ("MiB/s", 1048576.0, Quantity::Throughput),
    ("GiB/s", 1073741824.0, Quantity::Throughput),
];

/// The first number of a text, with its unit if it has one, and what follows it.
pub fn quantity(text: &str) -> Option<(f64, Option<Quantity>, &str)> {
    let text = &text[text.find(|c: char| c.is_ascii_digit())?..];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != ',');
    let (number, rest) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.replace(',', "").parse().ok()?;
    let word = rest.trim_start();
    let word = &word[..word.find(|c: char| !c.is_alphabetic() && c != '/').unwrap_or(word.len())];
    Some(match UNITS.iter().find(|(name, ..)| *name == word) {
        Some((_, size, quantity)) => {
            (number * size, Some(*quantity), rest.trim_start().split_at(word.len()).1)
        }
        None => (number, None, rest),
    })
}

/// The figure of a quotation: its first number, or the quotient of two. `None` if it has none.
pub fn theirs(quotation: &str) -> Option<f64> {
    theirs_with_unit(quotation).0
}

/// The same with its unit.
fn theirs_with_unit(quotation: &str) -> (Option<f64>, Option<Quantity>) {
    let [one, other] = quotation.split_once(" ÷ ").map_or([quotation, ""], |(a, b)| [a, b]);
    match (quantity(one), quantity(other)) {
        (Some((number, unit, _)), None) => (Some(number), unit),
        (Some((one, ..)), Some((other, ..))) => (Some(one / other), None),
        (None, _) => (None, None),
    }
}

/// True of quantities that are not a plain number.
fn has_unit(quantity: Quantity) -> bool {
    !matches!(quantity, Quantity::Count | Quantity::Share)
}

/// Whole numbers of a quotation.
fn numbers(quotation: &str) -> impl Iterator<Item = f64> + '_ {
    quotation.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok())
}
