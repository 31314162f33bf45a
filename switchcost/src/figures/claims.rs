//! Claims of other people: whether a figure measured here bears out what they found. The verdict is a rule's, never a text.

use std::collections::BTreeSet;

use anyhow::ensure;
use facts::Quantity;
use serde::Deserialize;

use super::grade::Grade;
use super::value::Value;

#[cfg(test)]
mod tests;

/// What a claim must fulfil to hold. `theirs` is their figure, *the figure* ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// A size: within a factor of two, since machines differ.
    Size,
    /// A ratio: within a factor of two, and on the same side of 1 if theirs is more than a tenth off.
    Ratio,
    /// A time or a rate of another machine: within a factor of √10.
    Order,
    /// What they found to be equal: within a tenth.
    Equal,
    /// A share of time, or busy CPUs: within a tenth of a CPU.
    Share,
    /// Counts: the figures, rounded, are the numbers of the quotation, in its order.
    Counts,
    /// The whole interval is above theirs.
    Over,
    /// The whole interval is below theirs.
    Under,
    /// As many as theirs, or more.
    Reached,
    /// The whole interval is on the same side of 1 as theirs.
    Side,
    /// The first figure is larger than the second one.
    Larger,
    /// No figure is below 1 by more than a tenth.
    Least,
    /// Each figure reaches theirs.
    AllOver,
    /// As [`Rule::Size`]; else true of the second figure, which was measured with the software of then.
    NoLonger,
    /// They asked, and a ratio answers.
    Asked,
    /// There are some, at least one in a hundred hops.
    Some,
}

// What is said of a claim.
const HOLDS: &str = "holds";
const SAME_ORDER: &str = "same order";
const NOT_HERE: &str = "not here";
const TOO_WIDE: &str = "undecided here: the interval is too wide";

/// A figure is outside, and its interval reaches the bound.
const BARELY: &str = ", barely";

/// An estimate with the ends of its interval.
type Ends = [f64; 3];

/// By how much a disturbed figure, or one of too few rounds, may be off: corrected times are within 6 % (rms) of quiet
/// ones, and single runs of the records within this factor.
const MAY_BE_OFF: f64 = 1.5;

impl Rule {
    /// What a rule says of their figure, as they quote it, and of ours.
    ///
    /// # Errors
    /// The rule could say nothing else, whatever the figures were.
    pub fn judge(self, theirs: &str, ours: &[Value]) -> anyhow::Result<String> {
        let figures: Vec<Ends> = ours.iter().map(Value::ends).collect();
        ensure!(!figures.is_empty(), "there is no figure to judge by");
        ensure!(self.depends(theirs, &figures), "its verdict does not depend on its figures");
        if ours.iter().any(|value| value.grade == Grade::Contradicted) {
            return Ok("undecided here: contradicted by its counters".to_owned());
        }
        let said: BTreeSet<String> =
            shaken(ours).iter().map(|figures| self.say(theirs, figures)).collect();
        let said: Vec<String> = said.into_iter().collect();
        Ok(match &said[..] {
            [one] => one.clone(),
            [surely, barely] if *barely == format!("{surely}{BARELY}") => barely.clone(),
            _ if ours.iter().any(|value| value.grade != Grade::Sure) => {
                "undecided here: a quieter machine decides".to_owned()
            }
            _ => "undecided here: more rounds decide".to_owned(),
        })
    }

    /// What it says of figures without doubts.
    fn say(self, quotation: &str, figures: &[Ends]) -> String {
        let theirs = theirs(quotation).unwrap_or(f64::NAN);
        let [estimate, low, high] = figures[0];
        let is_equal = low > 1.0 / 1.1 && high < 1.1;
        let if_true = |holds: bool| if holds { HOLDS } else { NOT_HERE };
        let on_a_side = |yes: bool, no: bool| match (yes, no) {
            (true, _) => HOLDS,
            (_, true) => NOT_HERE,
            _ => TOO_WIDE,
        };
        let word = match self {
            Rule::Size => return within(figures[0], theirs, 2.0, HOLDS),
            Rule::Ratio => {
                let is_other_side =
                    (theirs > 1.1 && estimate < 1.0) || (theirs < 1.0 / 1.1 && estimate > 1.0);
                if !is_other_side {
                    return within(figures[0], theirs, 2.0, HOLDS);
                }
                NOT_HERE
            }
            Rule::Order => return within(figures[0], theirs, 10f64.sqrt(), SAME_ORDER),
            Rule::Equal => return within(figures[0], theirs, 1.1, HOLDS),
            Rule::Share => return between(figures[0], [theirs - 0.1, theirs + 0.1], HOLDS),
            Rule::Counts => {
                let ours = figures.iter().map(|[count, ..]| count.round());
                if_true(numbers(quotation).eq(ours))
            }
            Rule::Over => on_a_side(low > theirs, high < theirs),
            Rule::Under => on_a_side(high < theirs, low > theirs),
            Rule::Reached => if_true(low >= theirs),
            Rule::Side if low > 1.0 => if_true(theirs > 1.0),
            Rule::Side if high < 1.0 => if_true(theirs < 1.0),
            Rule::Side if is_equal => "not here: no difference",
            Rule::Side => TOO_WIDE,
            Rule::Larger => {
                let [_, other_low, other_high] = figures.get(1).copied().unwrap_or([f64::NAN; 3]);
                on_a_side(low > other_high, high < other_low)
            }
            Rule::Least => {
                let is_below = figures.iter().any(|[.., high]| *high < 1.0);
                let is_above = figures.iter().all(|[_, low, _]| *low > 1.0 / 1.1);
                on_a_side(is_above && !is_below, is_below)
            }
            Rule::AllOver => on_a_side(
                figures.iter().all(|[_, low, _]| *low >= theirs),
                figures.iter().any(|[.., high]| *high < theirs),
            ),
            Rule::NoLonger => {
                let now_and_then = figures.iter().map(|figure| within(*figure, theirs, 2.0, HOLDS));
                let [now, then] = &now_and_then.collect::<Vec<_>>()[..] else {
                    return NOT_HERE.to_owned();
                };
                match (&**now, &**then) {
                    (NOT_HERE, NOT_HERE) => NOT_HERE,
                    (NOT_HERE, _) => "no longer",
                    (now, _) => return now.to_owned(),
                }
            }
            Rule::Asked if low > 1.0 => "answered: more",
            Rule::Asked if high < 1.0 => "answered: less",
            Rule::Asked if is_equal => "answered: no difference",
            Rule::Asked => TOO_WIDE,
            Rule::Some if high < 0.01 => "never did",
            Rule::Some => HOLDS,
        };
        word.to_owned()
    }

    /// True if it says something else of other figures.
    fn depends(self, quotation: &str, figures: &[Ends]) -> bool {
        let theirs = theirs(quotation).unwrap_or(1.0);
        let mut others: Vec<Vec<Ends>> = Vec::new();
        for number in [0.0, 1e18, theirs] {
            others.push(vec![[number; 3]; figures.len()]);
            let mut first = figures.to_vec();
            first[0] = [number; 3];
            others.push(first);
        }
        let mut quoted = figures.to_vec();
        quoted.iter_mut().zip(numbers(quotation)).for_each(|(ours, count)| *ours = [count; 3]);
        others.push(quoted);
        let first = self.say(quotation, &others[0]);
        others.iter().any(|figures| self.say(quotation, figures) != first)
    }
}

/// Figures as they are, and as they may be.
fn shaken(ours: &[Value]) -> Vec<Vec<Ends>> {
    let mut all = vec![Vec::new()];
    for value in ours {
        let is_sure = value.grade == Grade::Sure && !value.has_few_rounds();
        let factors = if is_sure { &[1.0][..] } else { &[1.0 / MAY_BE_OFF, 1.0, MAY_BE_OFF] };
        let ends = value.ends();
        all = factors
            .iter()
            .flat_map(|factor| {
                let ends = ends.map(|end| end * factor);
                all.iter().map(move |figures: &Vec<Ends>| [&figures[..], &[ends]].concat())
            })
            .collect();
    }
    all
}

/// Whether a figure is within a factor of theirs, and what is said if it is.
fn within(figure: Ends, theirs: f64, factor: f64, yes: &str) -> String {
    between(figure, [theirs / factor, theirs * factor], yes)
}

/// Whether a figure lies between two ends: barely, if its interval alone reaches them.
fn between([estimate, low, high]: Ends, [from, to]: [f64; 2], yes: &str) -> String {
    if high < from || low > to {
        NOT_HERE.to_owned()
    } else if low < from && high > to {
        TOO_WIDE.to_owned()
    } else if (from..=to).contains(&estimate) {
        yes.to_owned()
    } else {
        format!("{yes}{BARELY}")
    }
}

/// Units that people quote figures in: their size and quantity.
const UNITS: [(&str, f64, Quantity); 13] = [
    ("ns", 1.0, Quantity::Time),
    ("µs", 1e3, Quantity::Time),
    ("ms", 1e6, Quantity::Time),
    ("s", 1e9, Quantity::Time),
    ("B", 1.0, Quantity::Bytes),
    ("KB", 1e3, Quantity::Bytes),
    ("MB", 1e6, Quantity::Bytes),
    ("GB", 1e9, Quantity::Bytes),
    ("KiB", 1024.0, Quantity::Bytes),
    ("MiB", 1048576.0, Quantity::Bytes),
    ("GiB", 1073741824.0, Quantity::Bytes),
    ("MiB/s", 1048576.0, Quantity::Throughput),
    ("GiB/s", 1073741824.0, Quantity::Throughput),
];

/// The first number of a text, with its unit if it has one, and what follows it.
pub fn quantity(text: &str) -> Option<(f64, Option<Quantity>, &str)> {
    let text = &text[text.find(|c: char| c.is_ascii_digit())?..];
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let (number, rest) = text.split_at(text.find(|c| !is_part(c)).unwrap_or(text.len()));
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
    let number = |text| quantity(text).map(|(number, ..)| number);
    match quotation.split_once(" ÷ ") {
        Some((one, other)) => Some(number(one)? / number(other)?),
        None => number(quotation),
    }
}

/// Whole numbers of a quotation.
fn numbers(quotation: &str) -> impl Iterator<Item = f64> + '_ {
    quotation.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok())
}
