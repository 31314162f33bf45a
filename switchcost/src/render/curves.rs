//! Curves as tables, with a line for each that says what it does.

use contract::units;
use record::Quantity;

use super::figures::{first_line, headline};
use super::{Grid, Section, evidence};
use crate::NOT_RUN;
use crate::figures::analysis::{Cell, Curve, Series};
use crate::figures::change_point::{FEWEST, Held, Overtaking, TOLERANCE};
use crate::figures::number::short;

/// Bars of rising height.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A curve as its table and sentences.
pub(super) fn section(curve: &Curve) -> Section {
    let shown = shown(curve);
    let xs = xs(&shown);
    let does = |series: &&Series| {
        format!("{}: {} {}", series.name, sparkline(series, &xs), sentence(curve, series))
    };
    let mut lines: Vec<String> = shown.iter().map(does).collect();
    lines.extend(curve.overtakings.iter().map(|o| overtaking(curve, o)));
    lines.extend(shown.iter().filter_map(|series| calls(series)));
    lines.extend(gaps(curve));
    lines.extend(evidence::contradictions(curve));
    lines.extend(curve.held.iter().map(held));
    Section { title: curve.title.clone(), grid: points(curve, &shown), lines }
}

/// From where on one of two series takes less time, in one sentence.
fn overtaking(
    curve: &Curve,
    Overtaking { names: [ahead, behind], from, end }: &Overtaking,
) -> String {
    let interval = end.interval.map(|i| format!(" [{:.2}, {:.2}]", i.low, i.high));
    format!(
        "From {} on {ahead} takes less time than {behind}: {:.2} times{} at the end",
        at(curve, *from),
        end.value,
        interval.unwrap_or_default()
    )
}

/// A value of the flag that is swept, for a sentence.
fn at(curve: &Curve, x: u64) -> String {
    match &*flag(curve) {
        // Flags that count something read as what they count.
        "--tasks" | "--tokens" | "--workers" => {
            let plural = &*curve.over;
            let one = plural.trim_end_matches('s');
            format!("{x} {}", if x == 1 { one } else { plural })
        }
        over => format!("{over} {x}"),
    }
}

/// System calls of a series at each x, where they were counted.
fn calls(series: &Series) -> Option<String> {
    let counted = |(x, cell): &(u64, Cell)| {
        let Cell::Reading(reading) = cell else {
            return None;
        };
        let evidence = reading.evidence.as_ref()?;
        let waits = evidence.hops_per_wait.map(|hops| format!(" ({hops:.1} hops per wait)"));
        Some(format!("{:.2}{} at {x}", evidence.calls?, waits.unwrap_or_default()))
    };
    let counted: Vec<String> = series.points.iter().filter_map(counted).collect();
    (!counted.is_empty())
        .then(|| format!("{}: system calls per hop: {}", series.name, counted.join(", ")))
}

/// The series that are worth a column: those of which something could be run.
fn shown(curve: &Curve) -> Vec<&Series> {
    let series = curve.series.iter();
    series.filter(|series| !series.points.iter().all(|(_, cell)| is_empty(cell))).collect()
}

/// True where nothing was run, or where the curve of the section's own metric says what became of it.
fn is_empty(cell: &Cell) -> bool {
    matches!(cell, Cell::Absent) || is_left_out(cell)
}

fn is_left_out(cell: &Cell) -> bool {
    matches!(cell, Cell::Failed(why) if why.starts_with(NOT_RUN))
}

/// A row for each x of the curve at which something was run, a column for each of the series.
fn points(curve: &Curve, series: &[&Series]) -> Grid {
    let mut head = vec![flag(curve)];
    head.extend(series.iter().map(|series| series.name.clone()));
    let is_run = |x: &u64| {
        let points = series.iter().flat_map(|series| &series.points);
        points.filter(|(at, _)| at == x).any(|(_, cell)| !is_empty(cell))
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

/// User memory of a program's tasks, and where it fills the caches.
fn held(held: &Held) -> String {
    let full = held.full.iter().map(|full| {
        let size = short(Quantity::Bytes, full.bytes as f64);
        format!(", {} ({size}) is full at about {:.0} tasks", full.cache, full.tasks)
    });
    let full: String = full.collect();
    format!(
        "{}: {} of user memory for each task{full}",
        held.name,
        units::bytes(held.per_task.round())
    )
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
fn sentence(curve: &Curve, series: &Series) -> String {
    let points = series.measured();
    let quantity = curve.metric.quantity();
    let (Some(course), Some((last, _))) = (&series.course, points.last()) else {
        // Without intervals any two points differ, and a change would mostly be noise.
        let values = || points.iter().map(|(_, e)| e.value);
        let [least, most] = [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)];
        return match points.len() < FEWEST {
            true => "too few points to tell".to_owned(),
            false => format!(
                "between {} and {} (fewer than five runs: no intervals, so no change is told)",
                quantity.show(least),
                quantity.show(most)
            ),
        };
    };
    let at = |x: u64| at(curve, x);
    let level = quantity.show(course.level);
    let digits = |factor: f64| if factor < 0.01 { 4 } else { units::significant(factor).min(2) };
    let times = |factor: f64| format!("{factor:.*} times", digits(factor));
    let end = format!("{} as much at {last}", times(course.end));
    match (course.change, course.stray) {
        (Some((after, from)), _) => {
            let moves = if course.end > 1.0 { "rises" } else { "falls" };
            format!("{level} up to {}, {moves} from {from}: {end}", at(after))
        }
        (None, Some((x, factor))) => {
            format!("{level}, then uneven: {} as much at {}, {end}", times(factor), at(x))
        }
        // Flat is what cannot be told from its level; to say so of this would mislead.
        (None, None) if (course.end - 1.0).abs() > TOLERANCE => {
            format!("{level}, and no change that the intervals bear out: {end}")
        }
        (None, None) => format!("flat over the whole range: {level}"),
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
    let highest = points.iter().map(|(_, e)| e.value).fold(0.0, f64::max);
    let bar = |x: &u64| match points.iter().find(|(at, _)| at == x) {
        Some((_, e)) if highest > 0.0 => {
            let eighths = (e.value / highest * BARS.len() as f64).ceil() as usize;
            BARS[eighths.clamp(1, BARS.len()) - 1]
        }
        _ => ' ',
    };
    xs.iter().map(bar).collect()
}

#[cfg(test)]
mod tests;
