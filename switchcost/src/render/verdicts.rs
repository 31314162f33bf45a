//! Tables of verdicts, for a duel and for two files.

use figures::grouped;
use figures::number::{self, bracketed, capitalised, percent};
use figures::quotient::{Compared, Kind, Quotient};
use figures::verdict::{Reason, Verdict};
use host::units::counted;
use record::Side;
use serde_json::{Value, json};
use stats::Interval;

use super::document::{Document, Section, sentences};
use super::grid::{ABSENT, Grid};
use super::report::{Report, Spreadsheet};
use crate::views::comparison::Comparison;

/// Figures that are counted separately, with their names.
const TALLIES: [(Kind, &str); 5] = [
    (Kind::Time, "time per hop/task: "),
    (Kind::Memory, "memory per task (RSS): "),
    (Kind::Switches, "voluntary switches per hop/task: "),
    (Kind::Faults, "minor faults per hop/task: "),
    (Kind::Figure, ""),
];

/// What the figures of a command are for each of.
const RUN: &str = "run";

/// A line for each quotient; a row without any has one with the word why.
const COLUMNS: &[(&str, &str)] = &[
    ("section", "/section"),
    ("row", "/row"),
    ("verdict", "/verdict"),
    ("kind", "/kind"),
    ("a", "/figures/0"),
    ("b", "/figures/1"),
    ("change", "/change/estimate"),
    ("low", "/change/low"),
    ("high", "/change/high"),
    ("is_share", "/is_share"),
    ("grade", "/grade"),
];

impl Report for Comparison {
    fn documents(&self) -> Vec<Document> {
        vec![document(self)]
    }

    fn spreadsheet(&self) -> Spreadsheet {
        Spreadsheet {
            columns: COLUMNS,
            lines: self.rows.iter().flat_map(spreadsheet_lines).collect(),
        }
    }
}

impl Report for [Comparison] {
    fn documents(&self) -> Vec<Document> {
        self.iter().map(document).collect()
    }

    fn spreadsheet(&self) -> Spreadsheet {
        let rows = self.iter().flat_map(|comparison| &comparison.rows);
        Spreadsheet { columns: COLUMNS, lines: rows.flat_map(spreadsheet_lines).collect() }
    }
}

/// A line for each quotient of a row.
fn spreadsheet_lines(row: &Compared) -> Vec<Value> {
    let quotients = row.quotients.iter();
    let mut lines: Vec<(Value, &str)> =
        quotients.map(|quotient| (json!(quotient), quotient.word())).collect();
    if lines.is_empty() {
        lines.push((json!({"kind": row.kind}), fault(row).0));
    }
    let lines = lines.into_iter().map(|(mut line, verdict)| {
        line["section"] = json!(row.place.section);
        line["row"] = json!(row.name);
        line["verdict"] = json!(verdict);
        line
    });
    lines.collect()
}

/// A comparison: a tally, then a table for each section with a line for each figure. What changed comes first.
pub(super) fn document(comparison: &Comparison) -> Document {
    let mut rows: Vec<&Compared> = comparison.rows.iter().collect();
    rows.sort_by_key(|row| !row.quotients.iter().any(|quotient| quotient.verdict.has_changed()));
    let (runs, others): (Vec<&Compared>, Vec<&Compared>) =
        rows.iter().partition(|row| row.unit == RUN && !row.quotients.is_empty());
    let tallies = TALLIES.iter().filter_map(|(kind, name)| tally(*kind, name, &others));
    let is_only_one = runs.len() == 1;
    let told = runs.into_iter().flat_map(|row| conclusions(row, is_only_one)).chain(tallies);
    let tallies = Section::new("", Grid::default(), told.collect::<Vec<_>>());
    let judged = rows.into_iter().filter(|row| !row.quotients.is_empty());
    let sections = grouped(judged.map(|row| (row.place.section.as_str(), row)));
    let sections = sections.iter().map(|(title, rows)| section(title, rows));
    Document {
        title: format!("{} ÷ {}", comparison.sides[1], comparison.sides[0]),
        doubts: sentences(comparison.doubts.iter().map(ToString::to_string)),
        head: sentences(head(comparison)),
        sections: [tallies].into_iter().chain(sections).collect(),
        foot: sentences(without_quotients(&comparison.rows)),
        ..Document::default()
    }
}

/// The machine, both sides and what the verdicts mean.
fn head(comparison: &Comparison) -> Vec<String> {
    let Comparison { sides: [a, b], machine, notes, .. } = comparison;
    let mut lines: Vec<String> =
        (!machine.is_empty()).then(|| machine.clone()).into_iter().collect();
    lines.extend([format!("A: {a}"), format!("B: {b}")]);
    lines.extend_from_slice(notes);
    let holds = if comparison.seed.is_some() { " and hold for this session" } else { "" };
    lines.push(format!(
        "intervals are joint over all rows ({}){holds}; unchanged means within ± {}",
        percent(comparison.confidence),
        percent(comparison.margin)
    ));
    lines
}

/// Number of rows with each verdict on a figure; `None` if no row has the figure.
fn tally(kind: Kind, name: &str, rows: &[&Compared]) -> Option<String> {
    let words = rows.iter().filter_map(|row| {
        let quotient = row.quotients.iter().find(|quotient| quotient.measured.kind == kind);
        let has_fault = row.quotients.is_empty() && kind == row.kind;
        let word = quotient.map(Quotient::word);
        word.or(has_fault.then(|| fault(row).0))
    });
    let counts = grouped(words.map(|word| (word, ())));
    let sizes = counts.iter().map(|(word, group)| format!("{} {word}", group.len()));
    (!counts.is_empty()).then(|| format!("{name}{}", sizes.collect::<Vec<_>>().join(", ")))
}

/// Reason why a row has no quotients: a word, and a sentence.
fn fault(row: &Compared) -> (&'static str, String) {
    match &row.fault {
        _ if row.missing_on == Some(Side::A) => ("missing", "in A".to_owned()),
        _ if row.missing_on == Some(Side::B) => ("missing", "in B".to_owned()),
        Some(why) => (why.word(), why.first_line().to_owned()),
        None => ("unfinished", format!("only {}", counted(row.pairs, "pair"))),
    }
}

/// Table of a section, and why figures have no verdict.
fn section(title: &str, rows: &[&Compared]) -> Section {
    let mut body = Vec::new();
    let mut reasons = Vec::new();
    let quotients = rows.iter().flat_map(|row| row.quotients.iter().map(move |f| (row, f)));
    for (row, quotient) in quotients.filter(|(row, quotient)| says_more(row, quotient)) {
        if let Verdict::Inconclusive(why) = quotient.verdict {
            let twin = quotient.twin.filter(|_| why == Reason::TwinDiffers);
            let by =
                twin.map_or(String::new(), |twin| format!(" by {}", change(row, quotient, &twin)));
            reasons.push((format!("{why}{by}"), row.name.as_str()));
        }
        // The tally says enough about counts that are next to nothing on both sides.
        if !quotient.measured.is_scarce() {
            body.push(line(row, quotient));
        }
    }
    let lines = grouped(reasons).into_iter().map(|(why, mut names)| {
        // All figures of a row may have the same reason.
        names.dedup();
        format!("{}: {why}", names.join("; "))
    });
    Section::new(title, Grid::new(["", "A", "B", "change", "verdict"], body), lines)
}

/// True unless it is a mean that says no more than the medians of its row.
fn says_more(row: &Compared, quotient: &Quotient) -> bool {
    if quotient.measured.kind != Kind::Mean {
        return true;
    }
    let medians = row.quotient(Kind::Time).map(|time| time.verdict);
    quotient.verdict.has_changed() && medians != Some(quotient.verdict)
}

/// Line of a quotient: the name of its row, both figures, the change and the verdict. The line of a count is indented, below
/// the time of its row.
fn line(row: &Compared, quotient: &Quotient) -> Vec<String> {
    let measured = &quotient.measured;
    let name = measured.kind.label().map_or(row.name.clone(), |label| format!("  {label}"));
    let quantity = measured.quantity;
    let [a, b] = [0, 1].map(|side| match (measured.estimates, measured.figures) {
        (Some(estimates), _) => measured.grade.mark(&number::value(quantity, &estimates[side])),
        (None, Some(figures)) => measured.grade.mark(&quantity.show(figures[side])),
        (None, None) => ABSENT.to_owned(),
    });
    let change = quotient.change.map_or(ABSENT.to_owned(), |interval| {
        measured.grade.mark(&change(row, quotient, &interval))
    });
    vec![name, a, b, change, verdict(quotient)]
}

fn verdict(quotient: &Quotient) -> String {
    let is_none = quotient.change.is_some_and(|change| change.estimate == 0.0);
    let exact = if quotient.measured.is_exact { ", exact" } else { "" };
    match quotient.verdict {
        Verdict::Within(0.0) if is_none => format!("the same{exact}"),
        Verdict::Within(0.0) => "the same".to_owned(),
        // Why stands below the table.
        Verdict::Inconclusive(_) => quotient.word().to_owned(),
        verdict if verdict.has_changed() => quotient.word().to_owned() + exact,
        verdict => match quotient.word_within() {
            Some(word) => format!("{word}, within the margin"),
            None => verdict.in_full(quotient.measured.quantity),
        },
    }
}

/// What the runs of two commands say: how noisy they are, their modes, and at last the verdict on their time.
fn conclusions(row: &Compared, is_only_one: bool) -> Vec<String> {
    let Some(time) = row.quotient(Kind::Time) else { return Vec::new() };
    let mut lines = Vec::new();
    if let (Some(noise), Some(twin)) = (time.measured.noise(), time.twin) {
        let (noise, twin) = (percent(noise), change(row, time, &twin));
        let pairs = counted(u64::from(time.measured.twins()), "pair");
        lines.push(format!(
            "A against itself: {twin} in {pairs}; two runs are {noise} apart (median)"
        ));
    }
    for (side, modes) in ["A", "B"].into_iter().zip(time.measured.modes_of_runs()) {
        let Some(modes) = modes else { continue };
        let [low, high] = modes.map(|mode| {
            let share = percent(mode.weight);
            format!("{share} of the runs at about {}", time.measured.quantity.show(mode.centre))
        });
        lines.push(format!("{side} has two modes: {low}, {high}"));
    }
    let change = time.change.map_or(String::new(), |interval| {
        format!(": {}", time.measured.grade.mark(&change(row, time, &interval)))
    });
    let pairs = counted(row.pairs as u64, "pair");
    let words = match time.verdict {
        Verdict::Inconclusive(_) => time.verdict.in_full(time.measured.quantity),
        _ => verdict(time),
    };
    lines.push(format!("B against A: {words}{change} in {pairs}"));
    if !is_only_one {
        lines.iter_mut().for_each(|line| line.insert_str(0, &format!("{}: ", row.name)));
    }
    lines
}

/// A change with its interval: in per cent, or as a difference per hop or task.
fn change(row: &Compared, quotient: &Quotient, change: &Interval) -> String {
    if quotient.measured.is_share {
        return number::change(&change.map(|share| 1.0 + share).into());
    }
    let unit = if quotient.measured.kind == Kind::Memory { "task" } else { row.unit };
    let bounds = bracketed(change, |end| format!("{end:+.3}"));
    format!("{:+.3}/{unit} {bounds}", change.estimate)
}

/// Names of the rows without quotients, by their reasons.
fn without_quotients(rows: &[Compared]) -> Vec<String> {
    let rows = rows.iter().filter(|row| row.quotients.is_empty());
    let reasons = grouped(rows.map(|row| (fault(row), row.name.as_str()))).into_iter();
    let lines = reasons
        .map(|((word, why), names)| format!("{}: {} ({why})", capitalised(word), names.join("; ")));
    lines.collect()
}
