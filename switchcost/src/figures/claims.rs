//! Claims of other people: whether a figure measured here bears out what they found. The verdict is a rule's, never a text.

use std::fmt;

use anyhow::ensure;
use facts::Quantity;
use serde::Deserialize;

use super::grade::Grade;
use super::value::Value;

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

/// What can be said of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It holds.
    Holds,
    /// The figure is outside, its interval reaches the bound.
    HoldsBarely,
    /// The time has the same order of magnitude.
    SameOrder,
    /// The time has another order of magnitude, its interval reaches the bound.
    SameOrderBarely,
    /// It does not hold on this machine.
    NotHere,
    /// It does not hold: what they found to differ is equal here.
    NoDifference,
    /// It holds with the software of then alone.
    NoLonger,
    /// Their own program does not show it.
    NeverDid,
    /// The ratio they asked for is above 1.
    AnsweredMore,
    /// It is below 1.
    AnsweredLess,
    /// It is 1.
    AnsweredNoDifference,
    /// The interval is too wide.
    TooWide,
    /// The figure may be half as much again, or two thirds, and that decides: the machine was disturbed.
    Disturbed,
    /// The same: there are too few rounds.
    FewRounds,
    /// The counters contradict the figure.
    Contradicted,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Judgement::Holds => "holds",
            Judgement::HoldsBarely => "holds, barely",
            Judgement::SameOrder => "same order",
            Judgement::SameOrderBarely => "same order, barely",
            Judgement::NotHere => "not here",
            Judgement::NoDifference => "not here: no difference",
            Judgement::NoLonger => "no longer",
            Judgement::NeverDid => "never did",
            Judgement::AnsweredMore => "answered: more",
            Judgement::AnsweredLess => "answered: less",
            Judgement::AnsweredNoDifference => "answered: no difference",
            Judgement::TooWide => "undecided here: the interval is too wide",
            Judgement::Disturbed => "undecided here: a quieter machine decides",
            Judgement::FewRounds => "undecided here: more rounds decide",
            Judgement::Contradicted => "undecided here: contradicted by its counters",
        })
    }
}

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
    pub fn judge(self, theirs: &str, ours: &[Value]) -> anyhow::Result<Judgement> {
        let figures: Vec<Ends> = ours.iter().map(Value::ends).collect();
        ensure!(!figures.is_empty(), "there is no figure to judge by");
        ensure!(self.depends(theirs, &figures), "its verdict does not depend on its figures");
        if ours.iter().any(|value| value.grade == Grade::Contradicted) {
            return Ok(Judgement::Contradicted);
        }
        let mut said = Vec::new();
        for figures in shaken(ours) {
            let judgement = self.say(theirs, &figures);
            said.extend((!said.contains(&judgement)).then_some(judgement));
        }
        said.sort_by_key(|judgement| *judgement as u8);
        Ok(match said[..] {
            [one] => one,
            [Judgement::Holds, Judgement::HoldsBarely] => Judgement::HoldsBarely,
            [Judgement::SameOrder, Judgement::SameOrderBarely] => Judgement::SameOrderBarely,
            _ if ours.iter().any(|value| value.grade != Grade::Sure) => Judgement::Disturbed,
            _ => Judgement::FewRounds,
        })
    }

    /// What it says of figures without doubts.
    fn say(self, quotation: &str, figures: &[Ends]) -> Judgement {
        use Judgement::{
            AnsweredLess, AnsweredMore, AnsweredNoDifference, Holds, NeverDid, NoDifference,
            NoLonger, NotHere, TooWide,
        };
        let theirs = theirs(quotation).unwrap_or(f64::NAN);
        let [estimate, low, high] = figures[0];
        let is_equal = low > 1.0 / 1.1 && high < 1.1;
        let if_true = |holds: bool| if holds { Holds } else { NotHere };
        let on_a_side = |yes: bool, no: bool| match (yes, no) {
            (true, _) => Holds,
            (_, true) => NotHere,
            _ => TooWide,
        };
        match self {
            Rule::Size => within(figures[0], theirs, 2.0),
            Rule::Ratio => {
                let is_other_side =
                    (theirs > 1.1 && estimate < 1.0) || (theirs < 1.0 / 1.1 && estimate > 1.0);
                if is_other_side { NotHere } else { within(figures[0], theirs, 2.0) }
            }
            Rule::Order => match within(figures[0], theirs, 10f64.sqrt()) {
                Holds => Judgement::SameOrder,
                Judgement::HoldsBarely => Judgement::SameOrderBarely,
                other => other,
            },
            Rule::Equal => within(figures[0], theirs, 1.1),
            Rule::Share => between(figures[0], [theirs - 0.1, theirs + 0.1]),
            Rule::Counts => {
                let counts: Vec<f64> = numbers(quotation).collect();
                let ours: Vec<f64> = figures.iter().map(|[count, ..]| count.round()).collect();
                if_true(counts == ours)
            }
            Rule::Over => on_a_side(low > theirs, high < theirs),
            Rule::Under => on_a_side(high < theirs, low > theirs),
            Rule::Reached => if_true(low >= theirs),
            Rule::Side if low > 1.0 => if_true(theirs > 1.0),
            Rule::Side if high < 1.0 => if_true(theirs < 1.0),
            Rule::Side => {
                if is_equal {
                    NoDifference
                } else {
                    TooWide
                }
            }
            Rule::Larger => {
                let [_, other_low, other_high] = figures.get(1).copied().unwrap_or([f64::NAN; 3]);
                on_a_side(low > other_high, high < other_low)
            }
            Rule::Least => on_a_side(
                figures.iter().all(|[_, low, _]| *low > 1.0 / 1.1)
                    && figures.iter().all(|[.., high]| *high >= 1.0),
                figures.iter().any(|[.., high]| *high < 1.0),
            ),
            Rule::AllOver => on_a_side(
                figures.iter().all(|[_, low, _]| *low >= theirs),
                figures.iter().any(|[.., high]| *high < theirs),
            ),
            Rule::NoLonger => match within(figures[0], theirs, 2.0) {
                NotHere => match figures.get(1).map(|then| within(*then, theirs, 2.0)) {
                    None | Some(NotHere) => NotHere,
                    Some(_) => NoLonger,
                },
                now => now,
            },
            Rule::Asked if low > 1.0 => AnsweredMore,
            Rule::Asked if high < 1.0 => AnsweredLess,
            Rule::Asked => {
                if is_equal {
                    AnsweredNoDifference
                } else {
                    TooWide
                }
            }
            Rule::Some => {
                if high < 0.01 {
                    NeverDid
                } else {
                    Holds
                }
            }
        }
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

/// Whether a figure is within a factor of theirs.
fn within(figure: Ends, theirs: f64, factor: f64) -> Judgement {
    between(figure, [theirs / factor, theirs * factor])
}

/// Whether a figure lies between two ends: barely, if its interval alone reaches them.
fn between([estimate, low, high]: Ends, [from, to]: [f64; 2]) -> Judgement {
    if high < from || low > to {
        Judgement::NotHere
    } else if low < from && high > to {
        Judgement::TooWide
    } else if (from..=to).contains(&estimate) {
        Judgement::Holds
    } else {
        Judgement::HoldsBarely
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

#[cfg(test)]
mod tests {
    use facts::Quantity;
    use stats::{Estimate, Interval};

    use super::Judgement::*;
    use super::*;

    fn ours(ends: Ends, grade: Grade) -> Value {
        let [estimate, low, high] = ends;
        let interval = Interval { estimate, low, high, n: 9, confidence: 0.95 };
        Value::estimated(interval.into(), None, grade)
    }

    fn few(estimate: f64) -> Value {
        let estimate = Estimate { value: estimate, n: 1, interval: None };
        Value::estimated(estimate, None, Grade::Sure)
    }

    fn judge(rule: Rule, quotation: &str, ends: &[Ends]) -> Judgement {
        let ours: Vec<Value> = ends.iter().map(|ends| ours(*ends, Grade::Sure)).collect();
        rule.judge(quotation, &ours).unwrap()
    }

    #[test]
    fn a_rule_says_what_its_figures_bear() {
        for (rule, quotation, ends, judgement) in [
            (Rule::Ratio, "1.2", &[[2.3, 2.2, 2.6]][..], Holds),
            (Rule::Ratio, "1.2", &[[2.5, 2.3, 2.6]], HoldsBarely),
            (Rule::Ratio, "1.2", &[[2.5, 2.45, 2.6]], NotHere),
            (Rule::Ratio, "1.2", &[[1.0, 0.1, 30.0]], TooWide),
            (Rule::Ratio, "1.5", &[[0.95, 0.9, 1.0]], NotHere),
            (Rule::Ratio, "0.4", &[[0.5, 0.45, 0.6]], Holds),
            (Rule::Ratio, "17 µs ÷ 0.3 µs", &[[40.0, 39.0, 41.0]], Holds),
            (Rule::Equal, "1", &[[1.05, 1.0, 1.09]], Holds),
            (Rule::Equal, "1", &[[1.2, 1.15, 1.3]], NotHere),
            (Rule::Order, "2 µs", &[[6000.0, 5900.0, 6100.0]], SameOrder),
            (Rule::Order, "2 µs", &[[6400.0, 6300.0, 6500.0]], SameOrderBarely),
            (Rule::Order, "2 µs", &[[7000.0, 6900.0, 7100.0]], NotHere),
            (Rule::Share, "0.53", &[[0.6, 0.59, 0.61]], Holds),
            (Rule::Counts, "2, 1 and 4", &[[2.0; 3], [1.0; 3], [4.0; 3]], Holds),
            (Rule::Counts, "2, 1 and 4", &[[2.0; 3], [1.0; 3], [1.0; 3]], NotHere),
            (Rule::Over, "10 times", &[[12.0, 11.0, 13.0]], Holds),
            (Rule::Over, "10 times", &[[12.0, 9.0, 13.0]], TooWide),
            (Rule::Over, "10 times", &[[8.0, 7.0, 9.0]], NotHere),
            (Rule::Under, "0.1", &[[0.05, 0.04, 0.06]], Holds),
            (Rule::Under, "0.1", &[[0.2, 0.15, 0.3]], NotHere),
            (Rule::Reached, "250,000", &[[250000.0; 3]], Holds),
            (Rule::Reached, "250,000", &[[249999.0; 3]], NotHere),
            (Rule::Side, "0.8", &[[0.7, 0.6, 0.9]], Holds),
            (Rule::Side, "0.8", &[[1.01, 0.95, 1.05]], NoDifference),
            (Rule::Side, "0.8", &[[1.3, 0.5, 43.0]], TooWide),
            (Rule::Larger, "yes", &[[4.0, 3.0, 5.0], [2.0, 1.0, 2.5]], Holds),
            (Rule::Larger, "yes", &[[4.0, 3.0, 5.0], [6.0, 5.5, 7.0]], NotHere),
            (Rule::Least, "1", &[[1.5, 1.2, 2.0], [0.7, 0.5, 0.9]], NotHere),
            (Rule::Least, "1", &[[0.93, 0.84, 1.1]], TooWide),
            (Rule::AllOver, "10", &[[110.0, 100.0, 120.0], [29.0, 28.0, 30.0]], Holds),
            (Rule::AllOver, "10", &[[110.0, 100.0, 120.0], [9.0, 8.0, 9.5]], NotHere),
            (Rule::Size, "10 KiB", &[[23000.0, 22000.0, 24000.0]], NotHere),
            (Rule::NoLonger, "20", &[[6.0; 3], [26.0; 3]], NoLonger),
            (Rule::NoLonger, "20", &[[6.0; 3], [60.0; 3]], NotHere),
            (Rule::Asked, "open", &[[1.1, 0.6, 2.0]], TooWide),
            (Rule::Asked, "open", &[[0.88, 0.87, 0.89]], AnsweredLess),
            (Rule::Asked, "open", &[[5.5, 5.2, 5.9]], AnsweredMore),
            (Rule::Asked, "open", &[[1.0, 0.97, 1.03]], AnsweredNoDifference),
            (Rule::Some, "some", &[[0.0; 3]], NeverDid),
            (Rule::Some, "some", &[[1.0; 3]], Holds),
        ] {
            assert_eq!(judge(rule, quotation, ends), judgement, "{rule:?} {quotation} {ends:?}");
        }
    }

    #[test]
    fn a_figure_that_may_be_off_is_judged_by_its_margin() {
        let judge = |ours: Value| Rule::Over.judge("10 times", &[ours]).unwrap();
        assert_eq!(judge(ours([48.0, 45.0, 50.0], Grade::Disturbed)), Holds);
        assert_eq!(judge(ours([12.0, 11.0, 13.0], Grade::Disturbed)), Disturbed);
        assert_eq!(judge(few(12.0)), FewRounds);
        assert_eq!(judge(few(16.0)), Holds);
        assert_eq!(judge(ours([48.0, 45.0, 50.0], Grade::Contradicted)), Contradicted);
        let size = Rule::Size.judge("10", &[ours([15.0, 14.0, 16.0], Grade::Disturbed)]).unwrap();
        assert_eq!(size, Disturbed);
    }

    #[test]
    fn a_rule_that_can_say_nothing_else_is_refused() {
        let one = [ours([1.0; 3], Grade::Sure)];
        assert!(Rule::Counts.judge("none", &one).is_err());
        assert!(Rule::Size.judge("open", &one).is_err());
        assert!(Rule::Size.judge("10", &[]).is_err());
    }

    #[test]
    fn quotations_have_numbers_and_units() {
        for (text, number) in [
            ("9.7 KB", Some(9700.0)),
            ("2,122 B", Some(2122.0)),
            ("0.1 (our reading)", Some(0.1)),
            ("10 times", Some(10.0)),
            ("1993 ns ÷ 1 µs", Some(1.993)),
            ("2.14 GiB/s", Some(2.14 * 1073741824.0)),
            ("open", None),
        ] {
            assert_eq!(theirs(text), number, "{text}");
        }
        assert_eq!(quantity("50 ms"), Some((5e7, Some(Quantity::Time), "")));
    }
}
