//! Tables of figures as text, with the sentences below them.

use figures::evidence::{Evidence, FEW};
use figures::memory::{Fit, Slopes};
use figures::number::{bracketed, factor, net, number, value};
use figures::part::Part;
use figures::value::Value;
use figures::{Figure, Outcome, Reading, Related, grouped};
use host::units::Bytes;
use record::Quantity;

use super::document::Section;
use super::grid::{ABSENT, Grid};
use crate::views::tables::Table;

/// Why two rows less their I/O have no ratio.
const NO_NET: &str = "none: one of them does not exceed its I/O in every round";

/// Cell of a size that huge pages make meaningless.
const VOID: &str = "void (huge pages)";

/// A figure, or what happened to it; the lines below the table say why.
pub(super) fn cell(figure: Option<&Figure<'_>>) -> String {
    match figure.map(|figure| (figure, &figure.outcome)) {
        Some((figure, Outcome::Measured(reading))) => headline(figure, reading),
        Some((_, Outcome::Missing(why))) => why.word().to_owned(),
        Some((_, Outcome::Absent | Outcome::Slope(_))) | None => ABSENT.to_owned(),
    }
}

/// Reasons why there are no figures, each with their names.
pub(super) fn gaps<'a>(
    figures: impl Iterator<Item = &'a Figure<'a>>,
    names: impl Fn(&[&Figure<'_>]) -> String,
) -> Vec<String> {
    let missing = figures.filter_map(|figure| {
        let why = figure.outcome.why()?;
        Some(((why.word(), why.first_line()), figure))
    });
    let lines = grouped(missing).into_iter();
    lines.map(|((what, why), figures)| format!("{} {what}: {why}.", names(&figures))).collect()
}

/// A table in full.
pub(super) fn section(table: &Table<'_>) -> Section {
    let grid = if table.metric.is_slope() { memory_grid(table) } else { reading_grid(table) };
    let mut lines = gaps(table.figures(), |gaps| holders(table, gaps, |f| f.runs.ties().is_some()));
    lines.extend(evidence_lines(table));
    lines.extend(memory_lines(table));
    Section::new(table.title, grid, lines)
}

fn reading_grid(table: &Table<'_>) -> Grid {
    let mut head = vec![String::new()];
    for (name, _) in &table.columns {
        let noun = table.metric.quantity().noun();
        head.push(if name.is_empty() { noun } else { name }.to_owned());
    }
    let mut body = Vec::new();
    for (name, cells) in &table.rows {
        let figures = cells.iter().map(|figure| cell(*figure));
        body.push([(*name).to_owned()].into_iter().chain(figures).collect());
        body.extend(derived_lines(table, cells));
    }
    Grid::new(head, body)
}

/// A figure, or two if it has two modes, with a note on failed processes. For a further column, the section's own column
/// has that note.
fn headline(figure: &Figure<'_>, reading: &Reading) -> String {
    let quantity = figure.quantity();
    let text = match &reading.modes {
        None => figure.grade.mark(&value(quantity, &reading.mean)),
        Some(modes) => modes
            .each_ref()
            .map(|mode| {
                let centre = figure.grade.mark(&quantity.show(mode.centre));
                format!("{centre} ({:.0} %)", mode.weight * 100.0)
            })
            .join(" or "),
    };
    if figure.runs.ties().is_none() {
        return text;
    }
    match figure.runs.lost() {
        None => text,
        Some(lost) => text + ", " + &lost,
    }
}

/// Lines below a row's figures, derived from the section's own metric.
fn derived_lines(table: &Table<'_>, cells: &[Option<&Figure<'_>>]) -> Vec<Vec<String>> {
    let ties = cells.iter().flatten().next().map(|first| &first.runs.row.ties);
    let [baseline, versus] = ties.map_or([""; 2], |ties| {
        [&ties.baseline, &ties.versus].map(|name| name.as_deref().unwrap_or_default())
    });
    let names = [
        "  switches per hop".to_owned(),
        format!("  less {baseline}"),
        format!("  ÷ {versus}"),
        "  ÷ the same, both less their I/O".to_owned(),
    ];
    let mut lines = names.map(|name| vec![name]).to_vec();
    for (figure, (_, metric)) in cells.iter().zip(&table.columns) {
        let figure = figure.filter(|figure| figure.metric() == table.metric);
        let texts = figure.and_then(|figure| Some(derived(figure, figure.reading()?)));
        let unknown = if *metric == table.metric { ABSENT } else { "" };
        for (line, text) in lines.iter_mut().zip(texts.unwrap_or_default()) {
            line.push(text.unwrap_or(unknown.to_owned()));
        }
    }
    lines.retain(|line| line[1..].iter().any(|text| !text.is_empty() && text != ABSENT));
    lines
}

/// What is derived from a figure: counts, the difference from its baseline, and its ratios.
fn derived(figure: &Figure<'_>, reading: &Reading) -> [Option<String>; 4] {
    let Related { net: less, ratio: times, net_ratio, no_net_left, .. } = &figure.related;
    let no_net = no_net_left.then(|| NO_NET.to_owned());
    [
        reading.evidence.as_ref().map(counts),
        less.as_ref().map(|own| own.grade.mark(&net(figure.quantity(), &own.estimate))),
        times.as_ref().map(ratio),
        no_net.or(net_ratio.as_ref().map(ratio)),
    ]
}

/// A ratio with its mark.
fn ratio(ratio: &Value) -> String {
    ratio.grade.mark(&factor(&ratio.estimate))
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

/// One line for each verdict of a table, with the figures that it holds for.
fn evidence_lines(table: &Table<'_>) -> Vec<String> {
    let evidence = table.figures().filter_map(|f| Some((f.reading()?.evidence.as_ref()?, f)));
    let evidence: Vec<(&Evidence, &Figure<'_>)> = evidence.collect();
    if evidence.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["Switches per hop: voluntary + involuntary (preempted).".to_owned()];
    if evidence.iter().any(|(evidence, _)| evidence.wakeups.is_some_and(|count| count >= FEW)) {
        lines[0] +=
            " Wake-ups are interrupts between CPUs, about one per hop that crosses to another CPU.";
    }
    let verdicts = grouped(evidence.into_iter().map(|(evidence, f)| (evidence.verdict, f)));
    lines.extend(
        verdicts
            .iter()
            .map(|(verdict, f)| format!("{verdict}: {}.", holders(table, f, has_evidence))),
    );
    lines
}

fn has_evidence(figure: &Figure<'_>) -> bool {
    figure.reading().is_some_and(|reading| reading.evidence.is_some())
}

/// Names of figures; a row's name stands for all of its figures that could be among them.
fn holders(
    table: &Table<'_>,
    figures: &[&Figure<'_>],
    could_be: fn(&Figure<'_>) -> bool,
) -> String {
    let mut names: Vec<String> = Vec::new();
    for (name, cells) in &table.rows {
        let cells = cells.iter().flatten();
        let (found, others): (Vec<&Figure<'_>>, Vec<_>) =
            cells.partition(|figure| figures.iter().any(|other| other.place() == figure.place()));
        if !found.is_empty() && !others.iter().any(|figure| could_be(figure)) {
            names.push((*name).to_owned());
        } else {
            names.extend(found.iter().map(|figure| figure.place().name()));
        }
    }
    names.join("; ")
}

/// Sizes of each row, and how many times as much as another.
fn memory_grid(table: &Table<'_>) -> Grid {
    let mut body: Vec<Vec<String>> = Vec::new();
    for figure in table.figures() {
        let mut name = figure.place().name();
        let Some(slopes) = figure.slopes() else {
            body.push(vec![name, cell(Some(figure))]);
            continue;
        };
        if let Some(lost) = figure.runs.lost() {
            name += &format!(" ({lost})");
        }
        body.push([name].into_iter().chain(sizes(slopes)).collect());
        if let (Some(versus), Some(times)) = (&figure.runs.row.ties.versus, &figure.related.ratio) {
            body.push(vec![format!("  ÷ {versus}"), ratio(times)]);
        }
    }
    body.iter_mut().for_each(|line| line.resize(4, String::new()));
    // First what counts: user memory alone flatters threads, since most of their memory is in the kernel.
    Grid::new(["", "together", "user", "kernel"], body)
}

fn sizes(slopes: &Slopes) -> [String; 3] {
    let mut cells = [Part::Together, Part::User, Part::Kernel]
        .map(|part| slopes.part(part).map_or("unknown".to_owned(), slope));
    if slopes.part(Part::Kernel).is_some_and(|kernel| !kernel.is_seen()) {
        // Adding noise would not make the sum any truer.
        cells[0] = "user alone".to_owned();
        cells[2] += ", not distinguishable";
    }
    if slopes.void {
        cells[..2].fill(VOID.to_owned());
    }
    cells
}

/// A slope with its interval.
fn slope(fit: &Fit) -> String {
    let slope = &fit.line.slope;
    let bounds = bracketed(slope, |bound| Quantity::Bytes.like(bound, slope.estimate));
    format!("{} {bounds}", Quantity::Bytes.show(slope.estimate))
}

/// For each row: the parts of its memory, how far it is a line, and how many the machine would hold.
fn memory_lines(table: &Table<'_>) -> Vec<String> {
    let sizes =
        table.figures().filter_map(|figure| Some((figure.place().name(), figure.slopes()?)));
    sizes.map(|(name, slopes)| format!("{name}: {}.", memory_sentence(slopes))).collect()
}

fn memory_sentence(slopes: &Slopes) -> String {
    let fit = slopes.headline();
    let parts = [
        ("kernel stack", Part::Stacks),
        ("page tables", Part::PageTables),
        ("slab", Part::Slab),
        ("pipe page", Part::PipePages),
    ];
    let mut text = String::new();
    for (name, part) in parts {
        if let Some(part) = slopes.part(part).filter(|part| part.is_seen()) {
            text += &format!("{name} {}, ", Quantity::Bytes.show(part.line.slope.estimate));
        }
    }
    let r_squared = fit.line.r_squared.map_or("unknown".to_owned(), |r| format!("{r:.4}"));
    let (least, most) = slopes.tasks;
    text += &format!(
        "fixed {}; R² {r_squared}, {} from {least} to {most} tasks",
        Quantity::Bytes.show(fit.line.intercept),
        shape(fit)
    );
    if let (Some(most), Some(machine)) = (slopes.fitting(), slopes.machine) {
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
