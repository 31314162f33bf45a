//! Tables of figures as text, with the sentences below them.

use contract::units::{Bytes, bytes, bytes_like};
use facts::Quantity;
use stats::Estimate;

use super::document::Section;
use super::{ABSENT, Grid};
use crate::figures::evidence::{Evidence, MARK};
use crate::figures::memory::{Fit, Slopes};
use crate::figures::number::{bracketed, factor, factor_in, net, number, value};
use crate::figures::{Figure, Outcome, Reading, grouped};
use crate::views::tables::{Row, Table};

/// Why two rows less their I/O have no ratio.
const NO_NET: &str = "none: one of them is not above its I/O in every round";

/// Cell of a size that huge pages make meaningless.
const VOID: &str = "void (huge pages)";

/// Wake-up interrupts or migrations a hop that are worth a word.
const FEW: f64 = 0.02;

/// Reasons why there are no figures, each said once below a table.
#[derive(Debug, Default)]
pub(super) struct Footnotes(Vec<String>);

impl Footnotes {
    /// Text of a figure, or what became of it with the sign of its footnote.
    pub(super) fn cell(
        &mut self,
        figure: Option<&Figure<'_>>,
        show: impl Fn(&Figure<'_>, &Reading) -> String,
    ) -> String {
        let (word, reason) = match figure.map(|figure| (figure, &figure.outcome)) {
            Some((figure, Outcome::Measured(reading))) => return show(figure, reading),
            Some((_, Outcome::Failed { reason })) => ("failed", reason),
            Some((_, Outcome::NotRun { reason })) => ("not run", reason),
            Some((_, Outcome::Absent | Outcome::Slope(_))) | None => return ABSENT.to_owned(),
        };
        format!("{word}{}", self.sign(word, reason))
    }

    /// Sign of the footnote with a reason, of which the first line is said.
    pub(super) fn sign(&mut self, word: &str, reason: &str) -> String {
        let note = format!("{word}: {}.", reason.lines().next().unwrap_or_default());
        let known = self.0.iter().position(|known| *known == note);
        superscript(known.unwrap_or_else(|| {
            self.0.push(note);
            self.0.len() - 1
        }))
    }

    pub(super) fn lines(self) -> impl Iterator<Item = String> {
        let notes = self.0.into_iter().enumerate();
        notes.map(|(index, note)| format!("{} {note}", superscript(index)))
    }
}

/// Number of a footnote, from 1.
fn superscript(index: usize) -> String {
    let digits = (index + 1).to_string();
    let raised =
        |digit: u8| ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][usize::from(digit - b'0')];
    digits.bytes().map(raised).collect()
}

/// A table in full.
pub(super) fn section(table: &Table<'_>) -> Section {
    let mut notes = Footnotes::default();
    let grid = if table.metric.is_slope() {
        memory_grid(table, &mut notes)
    } else {
        reading_grid(table, &mut notes)
    };
    let lines = notes.lines().chain(evidence_lines(table)).chain(memory_lines(table));
    Section { title: table.title.to_owned(), grid, lines: lines.collect() }
}

fn reading_grid(table: &Table<'_>, notes: &mut Footnotes) -> Grid {
    let heads = table.columns.iter().map(|(name, _)| match *name {
        "" => table.metric.quantity().noun().to_owned(),
        name => name.to_owned(),
    });
    let mut body = Vec::new();
    for row in &table.rows {
        let figures = row.cells.iter().map(|cell| notes.cell(*cell, headline));
        body.push([row.name.to_owned()].into_iter().chain(figures).collect());
        body.extend(derived_lines(table, row));
    }
    Grid { head: [String::new()].into_iter().chain(heads).collect(), body }
}

/// A figure, or two if it has two modes, with what is to be said of its processes. Of a further column it is
/// said in the section's own.
pub(super) fn headline(figure: &Figure<'_>, reading: &Reading) -> String {
    let mut text = both_modes(figure.quantity(), reading);
    if figure.runs.is_further() {
        return text;
    }
    if reading.failed > 0 {
        text += &format!(", {} failed", reading.failed);
    }
    if reading.evidence.as_ref().is_some_and(|evidence| evidence.verdict.is_contradiction()) {
        text += &format!(" {MARK}");
    }
    text
}

fn both_modes(quantity: Quantity, reading: &Reading) -> String {
    let Some(modes) = &reading.modes else {
        return value(quantity, &reading.mean);
    };
    let shown = modes
        .each_ref()
        .map(|mode| format!("{} ({:.0} %)", quantity.show(mode.centre), mode.weight * 100.0));
    shown.join(" or ")
}

/// Text of something derived from a figure, if there is any.
type Show<'a> = &'a dyn Fn(&Reading) -> Option<String>;

/// Lines below a row's figures, derived from those of the section's own metric.
fn derived_lines(table: &Table<'_>, row: &Row<'_>) -> Vec<Vec<String>> {
    let quantity = table.metric.quantity();
    let name = |sign: &str, row: Option<&str>| format!("  {sign} {}", row.unwrap_or_default());
    let lines: [(String, Show<'_>); 4] = [
        ("  switches per hop".to_owned(), &|reading| reading.evidence.as_ref().map(counts)),
        (name("less", row.baseline), &|reading| Some(net(quantity, reading.net.as_ref()?))),
        (name("÷", row.versus), &|reading| reading.ratio.as_ref().map(factor)),
        ("  ÷ the same, both less their I/O".to_owned(), &|reading| {
            if reading.no_net_left {
                return Some(NO_NET.to_owned());
            }
            reading.net_ratio.as_ref().map(factor)
        }),
    ];
    let cells = |show: Show<'_>| -> Vec<Option<String>> {
        let own = row.cells.iter().map(|cell| {
            let figure = cell.as_ref().filter(|figure| !figure.runs.is_further())?;
            show(figure.reading()?)
        });
        own.collect()
    };
    let lines = lines.into_iter().map(|(name, show)| (name, cells(show)));
    let said = lines.filter(|(_, cells)| cells.iter().any(Option::is_some));
    let said = said.map(|(name, cells)| {
        let texts = cells.into_iter().zip(&table.columns).map(|(text, (_, is_further))| {
            text.unwrap_or_else(|| if *is_further { String::new() } else { ABSENT.to_owned() })
        });
        [name].into_iter().chain(texts).collect()
    });
    said.collect()
}

/// The counts as they stand in a table, below their figure.
fn counts(evidence: &Evidence) -> String {
    let mut text = format!("{:.2}", evidence.switches);
    if evidence.preemptions >= FEW {
        text += &format!(" + {:.2}", evidence.preemptions);
    }
    for (count, name) in [(evidence.wakeups, "wake-ups"), (evidence.migrations, "migrations")] {
        if let Some(count) = count.filter(|&count| count >= FEW) {
            text += &format!(", {count:.2} {name}");
        }
    }
    text
}

/// One line for each verdict of a table, with the cases that it holds for.
fn evidence_lines(table: &Table<'_>) -> Vec<String> {
    let own = table.figures().filter_map(|f| Some((f, f.reading()?.evidence.as_ref()?)));
    let evidence: Vec<(&Figure<'_>, &Evidence)> = own.collect();
    if evidence.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["Switches per hop: voluntary ones, + involuntary (preempted).".to_owned()];
    for (verdict, figures) in grouped(evidence.iter().map(|(f, evidence)| (evidence.verdict, *f))) {
        lines.push(format!("{verdict}: {}.", names(table, &figures)));
    }
    let crossing: Vec<String> = evidence
        .iter()
        .filter_map(|(figure, evidence)| {
            let wakeups = evidence.wakeups.filter(|&wakeups| wakeups >= FEW)?;
            Some(format!("{}: {wakeups:.2}", figure.key.name()))
        })
        .collect();
    if !crossing.is_empty() {
        let crossing = crossing.join("; ");
        lines.push(format!(
            "Wake-up interrupts per hop, about the share of the hops that cross CPUs: {crossing}."
        ));
    }
    lines
}

/// Names of cases; a row stands for all of its own.
fn names(table: &Table<'_>, figures: &[&Figure<'_>]) -> String {
    let is_one = |figure: &Figure<'_>| figures.iter().any(|other| other.key == figure.key);
    let has_evidence =
        |figure: &&&Figure<'_>| figure.reading().is_some_and(|reading| reading.evidence.is_some());
    let mut shown: Vec<String> = Vec::new();
    for row in &table.rows {
        let cells: Vec<&&Figure<'_>> = row.cells.iter().flatten().filter(has_evidence).collect();
        let found: Vec<&&&Figure<'_>> = cells.iter().filter(|figure| is_one(figure)).collect();
        if found.len() == cells.len() && !cells.is_empty() {
            shown.push(row.name.to_owned());
        } else {
            shown.extend(found.iter().map(|figure| figure.key.name()));
        }
    }
    shown.join("; ")
}

/// Sizes of each row, and how many times as much as another.
fn memory_grid(table: &Table<'_>, notes: &mut Footnotes) -> Grid {
    // First what counts: user memory alone flatters threads, whose larger part is the kernel's.
    let head = ["", "together", "user", "kernel"].map(str::to_owned).to_vec();
    let mut body: Vec<Vec<String>> = Vec::new();
    for (row, figure) in
        table.rows.iter().flat_map(|row| row.cells.iter().flatten().map(move |f| (row, f)))
    {
        let Some(slopes) = figure.slopes() else {
            body.push(vec![figure.key.name(), notes.cell(Some(figure), |_, _| String::new())]);
            continue;
        };
        body.push(sizes(figure.key.name(), slopes));
        if let (Some(versus), Some(ratio)) = (row.versus, &slopes.ratio) {
            body.push(vec![format!("  ÷ {versus}"), factor_in(ratio.estimate, Some(ratio))]);
        }
    }
    body.iter_mut().for_each(|line| line.resize(head.len(), String::new()));
    Grid { head, body }
}

fn sizes(name: String, slopes: &Slopes) -> Vec<String> {
    let unknown = || "unknown".to_owned();
    let together = match (&slopes.kernel, &slopes.all) {
        // To add what is noise would make the sum no truer.
        (Some(kernel), _) if !kernel.is_seen() => "user alone".to_owned(),
        (_, all) => all.as_ref().map_or_else(unknown, slope),
    };
    let valid = |text: String| if slopes.void() { VOID.to_owned() } else { text };
    let kernel = slopes.kernel.as_ref().map_or_else(unknown, |fit| {
        if fit.is_seen() { slope(fit) } else { format!("{}, not distinguishable", slope(fit)) }
    });
    let failed =
        if slopes.failed > 0 { format!(" ({} failed)", slopes.failed) } else { String::new() };
    vec![name + &failed, valid(together), valid(slope(&slopes.user)), kernel]
}

/// A slope with its interval.
fn slope(fit: &Fit) -> String {
    let slope = &fit.line.slope;
    format!("{} {}", bytes(slope.estimate), bracketed(slope, |v| bytes_like(v, slope.estimate)))
}

/// For each row: the parts of its memory, how far it is a line, and how many the machine would hold.
fn memory_lines(table: &Table<'_>) -> Vec<String> {
    let sizes = table.figures().filter_map(|figure| Some((figure.key.name(), figure.slopes()?)));
    sizes.map(|(name, slopes)| format!("{name}: {}.", memory_sentence(slopes))).collect()
}

fn memory_sentence(slopes: &Slopes) -> String {
    let fit = slopes.headline();
    let parts = &slopes.parts;
    let parts = [
        ("kernel stack", &parts.stacks),
        ("page tables", &parts.page_tables),
        ("slab", &parts.slab),
        ("pipe page", &parts.pipe_pages),
    ];
    let parts = parts.into_iter().filter_map(|(name, part)| {
        let part = part.as_ref().filter(|part| part.is_seen())?;
        Some(format!("{name} {}, ", bytes(part.line.slope.estimate)))
    });
    let robust = fit.robust.map_or("unknown".to_owned(), |robust| bytes(robust.slope));
    let r_squared = fit.line.r_squared.map_or("unknown".to_owned(), |r| format!("{r:.4}"));
    let (least, most) = slopes.tasks;
    let mut text = format!(
        "{}fixed {}; Theil–Sen {robust}, R² {r_squared}, {} from {least} to {most} tasks",
        parts.collect::<String>(),
        bytes(fit.line.intercept.estimate),
        shape(fit)
    );
    if let (Some(most), Some(machine)) = (slopes.most(), slopes.machine) {
        text += &format!("; {} of memory would hold about {}", Bytes(machine), number(most));
    }
    text
}

fn shape(fit: &Fit) -> String {
    match (fit.bends(), fit.halves) {
        _ if !fit.is_seen() => "nothing seen".to_owned(),
        // A share of next to nothing says nothing.
        (Some(bend), _) if bend.abs() > 10.0 => "one half is flat".to_owned(),
        (Some(bend), _) => format!("upper half {:+.0} %", bend * 100.0),
        (None, Some(_)) => "straight".to_owned(),
        (None, None) => "shape unknown".to_owned(),
    }
}

/// A figure without its interval if it has none.
pub(super) fn bare_or_headline(figure: &Figure<'_>, reading: &Reading) -> String {
    let Estimate { value, interval, .. } = reading.mean;
    if interval.is_none() && reading.failed == 0 {
        return figure.quantity().show(value);
    }
    headline(figure, reading)
}
