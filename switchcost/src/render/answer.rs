//! The answer in plain sentences, made from the analysis alone.

use std::fmt;

use contract::units::{Nanos, bytes, bytes_like};
use record::Metric;
use stats::{Estimate, Interval};

use super::figures::{bracketed, first_line, value};
use super::{curves, scale};
use crate::analysis::{Analysis, Cell, Curve, Row, Table};
use crate::cases::Reading;
use crate::memory::{Fit, Slopes};
use crate::scale::Reach;

/// A sentence whose figures can be set off from its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence(pub Vec<Span>);

/// A part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Words.
    Words(String),
    /// A figure that answers something.
    Figure(String),
    /// A figure that the answer is made of.
    Part(String),
}

/// The sentences about one table or curve.
#[derive(Clone, Debug)]
pub struct Paragraph {
    /// The heading of the table.
    pub title: String,
    /// What it says.
    pub sentences: Vec<Sentence>,
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Span::Words(text) | Span::Figure(text) | Span::Part(text) in &self.0 {
            f.write_str(text)?;
        }
        Ok(())
    }
}

impl Sentence {
    fn words(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Words(text.into()));
        self
    }

    fn figure(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Figure(text.into()));
        self
    }

    fn part(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Part(text.into()));
        self
    }

    /// Things said of several columns: `a (free) and b (one CPU)`.
    fn list(mut self, items: Vec<(String, Sentence)>) -> Self {
        let last = items.len().saturating_sub(1);
        for (index, (aside, item)) in items.into_iter().enumerate() {
            let glue = match index {
                0 => "",
                i if i == last => " and ",
                _ => ", ",
            };
            self = self.words(glue);
            self.0.extend(item.0);
            if !aside.is_empty() {
                self = self.words(format!(" ({aside})"));
            }
        }
        self
    }
}

/// What the analysis says, table by table. The first sentence says where it holds.
pub fn answer(analysis: &Analysis) -> Vec<Paragraph> {
    let tables = analysis.tables.iter().map(|table| Paragraph {
        title: table.title.clone(),
        sentences: match table.metric {
            Metric::Memory => table.rows.iter().flat_map(|r| memory(table, r)).collect(),
            _ => times(table),
        },
    });
    // What is told of scale is how far each program gets.
    let is_phase = |metric: &Metric| {
        let phases = [Metric::SetUp, Metric::FirstIteration, Metric::Teardown];
        phases.contains(metric)
    };
    let curves = analysis.curves.iter().filter(|c| !is_phase(&c.metric));
    let curves = curves.map(|curve| Paragraph {
        title: curve.title.clone(),
        sentences: course(curve),
    });
    let scale = Paragraph {
        title: scale::TITLE.to_owned(),
        sentences: analysis.reaches.iter().map(reach).collect(),
    };
    let mut paragraphs: Vec<Paragraph> = tables
        .chain(curves)
        .chain([scale])
        .filter(|paragraph| !paragraph.sentences.is_empty())
        .collect();
    let first = paragraphs.iter_mut().find_map(|p| p.sentences.first_mut());
    if let Some(Span::Words(opening)) = first.and_then(|sentence| sentence.0.first_mut()) {
        *opening = format!("On this machine {}", uncapitalised(opening));
    }
    paragraphs
}

/// A row as the subject of a sentence. The field's own words get an article; what else a plan may
/// call its rows is quoted as it stands.
fn subject(name: &str) -> String {
    let nouns = [
        ("thread", "a"),
        ("task", "a"),
        ("process", "a"),
        ("goroutine", "a"),
        ("OS thread", "an"),
        ("async task", "an"),
    ];
    let article = nouns.iter().find_map(|(noun, article)| {
        let rest = name.strip_prefix(noun)?;
        // With a comma in it, a name would run into the sentence.
        let ends = rest.is_empty() || rest.starts_with(' ');
        (ends && !rest.contains(',')).then_some(article)
    });
    match article {
        Some(article) => format!("{article} {name}"),
        None => format!("“{name}”"),
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Takes back what [`capitalised`] did to the article.
fn uncapitalised(text: &str) -> String {
    match text.split_once(' ') {
        Some((article @ ("A" | "An"), rest)) => format!("{} {rest}", article.to_lowercase()),
        _ => text.to_owned(),
    }
}

/// How a figure is told of what it was measured of.
struct Saying {
    /// Such as `costs`; the figure follows.
    verb: &'static str,
    /// What follows it, such as ` per hop`.
    tail: String,
}

fn saying(metric: &Metric) -> Saying {
    let (verb, tail) = match metric {
        Metric::Hop | Metric::FirstIteration => ("costs", " per hop"),
        Metric::Task | Metric::SetUp | Metric::Teardown | Metric::Scale => ("costs", " per task"),
        Metric::Iteration => ("costs", " per iteration"),
        Metric::RoundTrip => ("costs", " per round trip"),
        Metric::Message => ("costs", " per message"),
        Metric::Rate => ("makes", " round trips or messages a second"),
        Metric::Throughput => ("hands over", ""),
        Metric::User => ("takes", " of CPU time in user mode per iteration"),
        Metric::System => ("takes", " of CPU time in the kernel per iteration"),
        Metric::CpuShare => ("keeps busy", ""),
        Metric::Switches => ("is switched", " times per hop or task"),
        Metric::Faults => ("takes", " page faults per iteration"),
        Metric::Peak => ("takes up to", " of resident memory"),
        Metric::PeakPerTask => ("takes up to", " of resident memory per task"),
        Metric::Memory | Metric::SystemPerTask => ("holds", " of the system's memory per task"),
        Metric::Extra { .. } => {
            return Saying {
                verb: "shows",
                tail: format!(" ({})", metric.label()),
            };
        }
    };
    Saying {
        verb,
        tail: tail.to_owned(),
    }
}

fn times(table: &Table) -> Vec<Sentence> {
    let is_baseline = |row: &Row| {
        let name = Some(&row.name);
        table
            .rows
            .iter()
            .any(|other| other.baseline.as_ref() == name)
    };
    table
        .rows
        .iter()
        .filter(|row| !is_baseline(row))
        .flat_map(|row| {
            let mut sentences = Vec::new();
            sentences.extend(cost(table, row));
            sentences.extend(comparison(table, row));
            sentences.extend(failures(table, row));
            sentences
        })
        .collect()
}

/// What is said of each column that has something to say.
fn columns<T>(
    table: &Table,
    row: &Row,
    pick: impl Fn(&Reading) -> Option<T>,
    say: impl Fn(&T, usize) -> (Option<&'static str>, Sentence),
) -> Vec<(String, Sentence)> {
    table
        .own(row)
        .filter_map(|(index, column, cell)| {
            let Cell::Reading(reading) = cell else {
                return None;
            };
            let (aside, sentence) = say(&pick(reading)?, index);
            let asides: Vec<&str> = [column.as_str(), aside.unwrap_or_default()]
                .into_iter()
                .filter(|text| !text.is_empty())
                .collect();
            Some((asides.join(": "), sentence))
        })
        .collect()
}

fn cost(table: &Table, row: &Row) -> Option<Sentence> {
    let quantity = table.metric.quantity();
    let costs = columns(
        table,
        row,
        |reading| Some(reading.clone()),
        |reading, _| (None, price(reading)),
    );
    if costs.is_empty() {
        return None;
    }
    let Saying { verb, tail } = saying(&table.metric);
    let mut sentence = Sentence::default()
        .words(capitalised(&subject(&row.name)))
        .words(format!(" {verb} "))
        .list(costs)
        .words(tail);
    if let Some(rate) = rate(table, row) {
        sentence = sentence.words(": ");
        sentence.0.extend(rate.0);
    }
    let net = columns(
        table,
        row,
        |reading| reading.net,
        |net, _| {
            let nothing = net.interval.is_some_and(|interval| interval.contains(0.0));
            let aside = nothing.then_some("not distinguishable from nothing");
            (aside, Sentence::default().figure(value(quantity, net)))
        },
    );
    if let (Some(baseline), false) = (&row.baseline, net.is_empty()) {
        sentence = sentence
            .words(format!("; less {baseline}, that leaves "))
            .list(net);
    }
    Some(sentence.words("."))
}

/// The rate beside a time, such as `4.310 M (free) round trips a second`.
fn rate(table: &Table, row: &Row) -> Option<Sentence> {
    let what = match table.metric {
        Metric::RoundTrip => "round trips",
        Metric::Message => "messages",
        _ => return None,
    };
    let mut rates = Vec::new();
    let mut column = "";
    for (index, (heading, cell)) in table.columns.iter().zip(&row.cells).enumerate() {
        match cell {
            // Further columns follow the one that they belong to.
            _ if !table.is_further(index) => column = heading,
            Cell::Reading(reading) if reading.metric == Metric::Rate => {
                let rate = price(reading).0.into_iter().map(|span| match span {
                    Span::Figure(text) => {
                        Span::Figure(text.replacen("/s", "", 1).replace("  ", " "))
                    }
                    other => other,
                });
                rates.push((column.to_owned(), Sentence(rate.collect())));
            }
            _ => {}
        }
    }
    (!rates.is_empty()).then(|| {
        Sentence::default()
            .list(rates)
            .words(format!(" {what} a second"))
    })
}

/// A figure, or both where the processes fell into two groups.
fn price(reading: &Reading) -> Sentence {
    let quantity = reading.quantity();
    match &reading.modes {
        Some([low, high]) => Sentence::default()
            .words("either ")
            .figure(quantity.show(low.centre))
            .words(format!(
                " ({:.0} % of the processes) or ",
                low.weight * 100.0
            ))
            .figure(quantity.show(high.centre))
            .words(format!(" ({:.0} %)", high.weight * 100.0)),
        None => Sentence::default().figure(value(quantity, &reading.mean)),
    }
}

fn comparison(table: &Table, row: &Row) -> Option<Sentence> {
    // A ratio of means says little where a mean describes none of its processes.
    let two_groups = |name: &str, column: usize| {
        let row = table.rows.iter().find(|row| row.name == name);
        let cell = row.and_then(|row| row.cells.get(column));
        matches!(cell, Some(Cell::Reading(reading)) if reading.modes.is_some())
    };
    let versus = row.versus.as_ref()?;
    let say = |ratio: &Estimate, column: usize| {
        let same = ratio
            .interval
            .is_some_and(|interval| interval.contains(1.0));
        let aside = if two_groups(&row.name, column) || two_groups(versus, column) {
            Some("over both groups of processes")
        } else {
            same.then_some("not distinguishable")
        };
        (aside, times_as(ratio.value, ratio.interval.as_ref()))
    };
    let ratios = columns(table, row, |reading| reading.ratio, say);
    if ratios.is_empty() {
        return None;
    }
    let mut sentence = Sentence::default().words("That is ").list(ratios).words(
        match saying(&table.metric).verb {
            "costs" => format!(" what {} costs", subject(versus)),
            _ => format!(" the figure of {}", subject(versus)),
        },
    );
    let net = columns(table, row, |reading| reading.net_ratio, say);
    if !net.is_empty() {
        sentence = sentence.words("; both less their own I/O, ").list(net);
    }
    Some(sentence.words("."))
}

fn times_as(value: f64, interval: Option<&Interval>) -> Sentence {
    let factor = super::figures::factor_in(value, interval);
    Sentence::default().figure(factor.replacen('x', " times", 1))
}

fn failures(table: &Table, row: &Row) -> Vec<Sentence> {
    table
        .own(row)
        .filter_map(|(_, column, cell)| {
            let Cell::Failed(reason) = cell else {
                return None;
            };
            let column = match column.as_str() {
                "" => String::new(),
                column => format!(" ({column})"),
            };
            Some(Sentence::default().words(format!(
                "{} could not be measured{column}: {}.",
                capitalised(&subject(&row.name)),
                first_line(reason).trim_end_matches('.'),
            )))
        })
        .collect()
}

fn memory(table: &Table, row: &Row) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    for (cell, column) in row.cells.iter().zip(&table.columns) {
        let Cell::Memory(slopes) = cell else { continue };
        let column = match column.as_str() {
            "" => String::new(),
            column => format!(" ({column})"),
        };
        let opening = format!("{}{column} holds ", capitalised(&subject(&row.name)));
        let mut sentence = Sentence::default().words(opening);
        sentence.0.extend(held(slopes).0);
        if slopes.huge > 0 {
            sentence = sentence.words(format!(
                "; transparent huge pages held part of it in {} runs, which voids the figure",
                slopes.huge
            ));
        }
        sentences.push(sentence.words("."));
        if let (Some(versus), Some(ratio)) = (&row.versus, &slopes.ratio) {
            let mut sentence = Sentence::default().words("That is ");
            sentence.0.extend(times_as(ratio.estimate, Some(ratio)).0);
            let same = match ratio.contains(1.0) {
                true => " (not distinguishable)",
                false => "",
            };
            sentences.push(sentence.words(format!("{same} what {} holds.", subject(versus))));
        }
    }
    sentences.extend(failures(table, row));
    sentences
}

/// The whole where every part of it is known to be something; else the parts by themselves.
fn held(slopes: &Slopes) -> Sentence {
    let own = size(&slopes.user);
    match (&slopes.kernel, &slopes.all) {
        (Some(kernel), Some(all)) if kernel.is_seen() => Sentence::default()
            .figure(size(all))
            .words(": ")
            .part(own)
            .words(" of its own and ")
            .part(size(kernel))
            .words(" in the kernel"),
        (Some(kernel), _) => Sentence::default()
            .figure(own)
            .words(" of its own; what it holds in the kernel is not distinguishable from nothing: ")
            .part(size(kernel)),
        (None, _) => Sentence::default()
            .figure(own)
            .words(" of its own; what it holds in the kernel is not known"),
    }
}

fn size(fit: &Fit) -> String {
    let slope = &fit.line.slope;
    let bounds = bracketed(slope, |bound| bytes_like(bound, slope.estimate));
    format!("{} {bounds}", bytes(slope.estimate))
}

/// How far a program got.
fn reach(reach: &Reach) -> Sentence {
    let name = capitalised(&subject(&reach.name));
    if reach.tasks == 0 {
        let why = reach.stopped_by.as_deref().unwrap_or("nothing was run");
        return Sentence::default().words(format!("{name} held none: {}.", first_line(why)));
    }
    let mut sentence = Sentence::default()
        .words(format!("{name} held "))
        .figure(format!("{} tasks", reach.tasks));
    let mut glue = ": ";
    let phases = [("set-up took", reach.setup), ("teardown", reach.teardown)];
    for (phase, ns) in phases {
        if let Some(ns) = ns {
            sentence = sentence
                .words(format!("{glue}{phase} "))
                .part(Nanos(ns).to_string());
            glue = ", ";
        }
    }
    sentence.words(match &reach.stopped_by {
        Some(reason) => format!("; {}.", first_line(reason)),
        None => "; it went as far as was asked.".to_owned(),
    })
}

/// Where each series of a curve begins and ends, and what it does in between.
fn course(curve: &Curve) -> Vec<Sentence> {
    let time = |(x, cell): &(u64, Cell)| match cell {
        Cell::Reading(reading) => Some((*x, price(reading))),
        _ => None,
    };
    let each = curve.series.iter().filter_map(|series| {
        let mut known = series.points.iter().filter_map(time);
        let (first, at_first) = known.next()?;
        let (last, at_last) = known.next_back()?;
        let over = curve.over.replace('_', "-");
        let Saying { verb, tail } = saying(&curve.metric);
        let opening = format!("{} {verb} ", capitalised(&subject(&series.name)));
        let mut sentence = Sentence::default().words(opening);
        sentence.0.extend(at_first.0);
        sentence = sentence.words(format!("{tail} with --{over} {first} and "));
        sentence.0.extend(at_last.0);
        let bend = curves::sentence(curve, series);
        Some(sentence.words(format!(" with --{over} {last}: {bend}.")))
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_nouns_get_an_article() {
        for (name, text) in [
            ("thread", "a thread"),
            ("thread over pipes", "a thread over pipes"),
            ("async task, pinned", "“async task, pinned”"),
            ("threads", "“threads”"),
            ("Tokio 1.50", "“Tokio 1.50”"),
        ] {
            assert_eq!(subject(name), text);
        }
        assert_eq!(
            uncapitalised(&capitalised("an async task")),
            "an async task"
        );
        assert_eq!(uncapitalised("“A b”"), "“A b”");
    }
}
