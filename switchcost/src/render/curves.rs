//! Curves as tables, with a line for each that says what it does.

use std::io::{self, Write};

use contract::units;
use record::Quantity;

use super::evidence;
use super::figures::{first_line, headline};
use super::grid::Grid;
use super::markdown::escaped;
use crate::NOT_RUN;
use crate::analysis::{Cell, Curve, Series};
use crate::bend::{Bend, Shape, TOLERANCE};
use crate::working_set::Held;

/// Bars of rising height.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How many series a terminal has room for side by side.
const ABREAST: usize = 4;

/// Heading of the second table.
const HELD: &str = "User memory that all tasks hold, and the smallest cache with room for it. A \
                    hop touches less of it;\nwhat the kernel touches for a hop is not in it.";

/// Writes a curve for a terminal.
///
/// # Errors
/// Errors of the writer.
pub fn write_text(curve: &Curve, out: &mut impl Write) -> io::Result<()> {
    let shown = shown(curve);
    for series in shown.chunks(ABREAST) {
        grid(curve, series).write_text(out)?;
        writeln!(out)?;
    }
    if let Some(grid) = calls_grid(curve) {
        writeln!(out, "{CALLS}")?;
        grid.write_text(out)?;
        writeln!(out)?;
    }
    let width = |text: &str| text.chars().count();
    let names = shown.iter().map(|s| width(&s.name)).max().unwrap_or(0);
    for series in &shown {
        let name = format!("{}{}", series.name, " ".repeat(names - width(&series.name)));
        let chart = sparkline(series, &xs(&shown));
        writeln!(out, "{name}  {chart}  {}", sentence(curve, series))?;
    }
    for line in gaps(curve).into_iter().chain(evidence::contradictions(curve)) {
        writeln!(out, "{line}")?;
    }
    if !curve.held.is_empty() {
        writeln!(out, "\n{HELD}")?;
        held_grid(curve).write_text(out)?;
        for line in full_caches(curve) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}

/// Writes a curve as Markdown.
///
/// # Errors
/// Errors of the writer.
pub fn write_markdown(curve: &Curve, out: &mut impl Write) -> io::Result<()> {
    curve_grid(curve).write_markdown(out)?;
    writeln!(out)?;
    if let Some(grid) = calls_grid(curve) {
        writeln!(out, "{CALLS}\n")?;
        grid.write_markdown(out)?;
        writeln!(out)?;
    }
    for line in lines(curve) {
        writeln!(out, "- {}", escaped(&line))?;
    }
    if !curve.held.is_empty() {
        writeln!(out, "\n{HELD}\n")?;
        held_grid(curve).write_markdown(out)?;
        writeln!(out)?;
        for line in full_caches(curve) {
            writeln!(out, "- {}", escaped(&line))?;
        }
    }
    Ok(())
}

/// A curve of the analysis as text.
pub fn curve_grid(curve: &Curve) -> Grid {
    grid(curve, &shown(curve))
}

/// Heading of the table of system calls.
pub const CALLS: &str = "System calls per hop, and hops per wait of the event loop:";

/// The system calls at each x, where they were counted in some run.
pub fn calls_grid(curve: &Curve) -> Option<Grid> {
    let calls = |cell: &Cell| {
        let Cell::Reading(reading) = cell else {
            return None;
        };
        let evidence = reading.evidence.as_ref()?;
        let calls = format!("{:.2}", evidence.calls?);
        Some(match evidence.hops_per_wait {
            Some(hops) => format!("{calls}, {hops:.1}"),
            None => calls,
        })
    };
    let any = |series: &&Series| series.points.iter().any(|(_, cell)| calls(cell).is_some());
    let shown: Vec<&Series> = shown(curve).into_iter().filter(any).collect();
    (!shown.is_empty()).then(|| points(curve, &shown, |cell| calls(cell).unwrap_or_default()))
}

/// Course of each series, and missing points.
pub fn lines(curve: &Curve) -> Vec<String> {
    let does = |series: &&Series| format!("{}: {}", series.name, sentence(curve, series));
    let mut lines: Vec<String> = shown(curve).iter().map(does).collect();
    lines.extend(gaps(curve));
    lines.extend(evidence::contradictions(curve));
    lines
}

/// The series that are worth a column: those of which something could be run.
fn shown(curve: &Curve) -> Vec<&Series> {
    let series = curve.series.iter();
    series.filter(|series| !series.points.iter().all(|(_, cell)| is_left_out(cell))).collect()
}

fn is_left_out(cell: &Cell) -> bool {
    matches!(cell, Cell::Failed(why) if why.starts_with(NOT_RUN))
}

/// A row for each x of the curve at which something was run, a column for each of the series.
pub fn grid(curve: &Curve, series: &[&Series]) -> Grid {
    points(curve, series, text)
}

fn points(curve: &Curve, series: &[&Series], text: impl Fn(&Cell) -> String) -> Grid {
    let mut head = vec![flag(curve)];
    head.extend(series.iter().map(|series| series.name.clone()));
    let is_run = |x: &u64| {
        let points = series.iter().flat_map(|series| &series.points);
        points.filter(|(at, _)| at == x).any(|(_, cell)| !is_left_out(cell))
    };
    let body = xs(series)
        .into_iter()
        .filter(is_run)
        .map(|x| {
            let cells = series.iter().map(|series| {
                let point = series.points.iter().find(|(at, _)| *at == x);
                point.map_or_else(|| "-".to_owned(), |(_, cell)| text(cell))
            });
            [x.to_string()].into_iter().chain(cells).collect()
        })
        .collect();
    Grid { head, body }
}

fn text(cell: &Cell) -> String {
    match cell {
        // The sentence below the table says that there are no intervals, once.
        Cell::Reading(reading) if reading.mean.interval.is_none() && reading.failed == 0 => {
            reading.quantity().show(reading.mean.value)
        }
        Cell::Reading(reading) => headline(reading),
        cell if is_left_out(cell) => "not run".to_owned(),
        Cell::Failed(_) => "failed".to_owned(),
        Cell::Absent | Cell::Memory(_) => "-".to_owned(),
    }
}

/// The memory that the tasks hold at each x.
fn held_grid(curve: &Curve) -> Grid {
    let mut head = vec![flag(curve)];
    head.extend(curve.held.iter().map(|held| held.name.clone()));
    let each = |held: &Held| format!("{} each", units::bytes(held.per_task.estimate.round()));
    let each = curve.held.iter().map(each);
    let mut body = vec![[String::new()].into_iter().chain(each).collect()];
    body.extend(xs(&shown(curve)).into_iter().map(|x| {
        let cells = curve.held.iter().map(|held| {
            let bytes = held.at(x);
            format!("{} {:>6}", units::bytes(bytes.round()), held.fits(bytes))
        });
        [x.to_string()].into_iter().chain(cells).collect()
    }));
    Grid { head, body }
}

/// For each program, where it fills the caches.
fn full_caches(curve: &Curve) -> Vec<String> {
    let xs = xs(&shown(curve));
    let (Some(&first), Some(&last)) = (xs.first(), xs.last()) else {
        return Vec::new();
    };
    let line = |held: &Held| {
        let marks = held.marks(first, last);
        let full =
            marks.iter().map(|mark| format!("{} is full at about {:.0} tasks", mark.label, mark.x));
        let full: Vec<String> = full.collect();
        (!full.is_empty()).then(|| format!("{}: {}", held.name, full.join(", ")))
    };
    curve.held.iter().filter_map(line).collect()
}

/// Every x that one of the series has, in ascending order.
fn xs(series: &[&Series]) -> Vec<u64> {
    let points = series.iter().flat_map(|series| &series.points);
    let mut xs: Vec<u64> = points.map(|(x, _)| *x).collect();
    xs.sort_unstable();
    xs.dedup();
    xs
}

/// The flag as it is typed.
fn flag(curve: &Curve) -> String {
    format!("--{}", curve.over.replace('_', "-"))
}

/// Course of a series: where it leaves its first level, and how far it gets.
pub fn sentence(curve: &Curve, series: &Series) -> String {
    let points = series.measured();
    let (Some(bend), Some(last)) = (&series.bend, points.last()) else {
        return "too few points to tell".to_owned();
    };
    let at = |x: u64| match &*flag(curve) {
        // Flags that count something read as what they count.
        "--tasks" | "--tokens" | "--workers" => {
            let plural = &*curve.over;
            let one = plural.trim_end_matches('s');
            format!("{x} {}", if x == 1 { one } else { plural })
        }
        over => format!("{over} {x}"),
    };
    if bend.sure {
        return shape(bend, curve.metric.quantity(), at, last.x);
    }
    // Without intervals any two points differ, and a bend would mostly be noise.
    let least = points.iter().map(|p| p.value).fold(f64::INFINITY, f64::min);
    let most = points.iter().map(|p| p.value).fold(0.0, f64::max);
    let quantity = curve.metric.quantity();
    format!(
        "between {} and {} (fewer than five runs: no intervals, so no bend is told)",
        quantity.show(least),
        quantity.show(most)
    )
}

fn shape(bend: &Bend, quantity: Quantity, at: impl Fn(u64) -> String, last: u64) -> String {
    let level = quantity.show(bend.level);
    let times = |factor: f64| format!("{factor:.*} times", units::significant(factor).min(2));
    let end = format!("{} as much at {last}", times(bend.end));
    match bend.shape {
        // Flat is what cannot be told from its level; to say so of this would mislead.
        Shape::Flat if (bend.end - 1.0).abs() > TOLERANCE => {
            format!("{level}, and no bend that the intervals bear out: {end}")
        }
        Shape::Flat => format!("flat over the whole range: {level}"),
        Shape::Rises { after, from } => {
            format!("{level} up to {}, rises from {from}: {end}", at(after))
        }
        Shape::Falls { after, from } => {
            format!("{level} up to {}, falls from {from}: {end}", at(after))
        }
        Shape::Uneven { at: x, factor } => {
            format!("{level}, then uneven: {} as much at {}, {end}", times(factor), at(x))
        }
    }
}

/// The points that are missing, by their reason.
fn gaps(curve: &Curve) -> Vec<String> {
    type Gap<'a> = (&'a str, Vec<u64>, Vec<&'a str>);
    let mut gaps: Vec<Gap<'_>> = Vec::new();
    for series in &curve.series {
        let mut own: Vec<(&str, Vec<u64>)> = Vec::new();
        for (x, cell) in &series.points {
            let Cell::Failed(reason) = cell else { continue };
            match own.iter_mut().find(|(other, _)| other == reason) {
                Some((_, xs)) => xs.push(*x),
                None => own.push((reason, vec![*x])),
            }
        }
        for (reason, xs) in own {
            match gaps.iter_mut().find(|gap| gap.0 == reason && gap.1 == xs) {
                Some((_, _, names)) => names.push(&series.name),
                None => gaps.push((reason, xs, vec![&series.name])),
            }
        }
    }
    let line = |(reason, xs, names): &Gap<'_>| {
        let xs: Vec<String> = xs.iter().map(u64::to_string).collect();
        let (what, reason) = match reason.strip_prefix(NOT_RUN) {
            Some(reason) => ("Not run", reason),
            None => ("Failed", *reason),
        };
        let (over, xs, names) = (flag(curve), xs.join(", "), names.join("; "));
        format!("{what} at {over} {xs}: {names}: {}", first_line(reason))
    };
    gaps.iter().map(line).collect()
}

/// A bar for each x of the curve, from zero up to the highest value, so that what is flat looks
/// flat.
fn sparkline(series: &Series, xs: &[u64]) -> String {
    let points = series.measured();
    let highest = points.iter().map(|p| p.value).fold(0.0, f64::max);
    let bar = |x: &u64| match points.iter().find(|p| p.x == *x) {
        Some(p) if highest > 0.0 => {
            let eighths = (p.value / highest * BARS.len() as f64).ceil() as usize;
            BARS[eighths.clamp(1, BARS.len()) - 1]
        }
        _ => ' ',
    };
    xs.iter().map(bar).collect()
}

#[cfg(test)]
mod tests;
