//! Curves as tables, with a line for each that says what it does.

use contract::units;
use facts::Quantity;

use super::document::Section;
use super::tables::{Footnotes, bare_or_headline};
use super::{ABSENT, Grid};
use crate::figures::change_point::{FEWEST, Held, Overtaking, TOLERANCE};
use crate::figures::doubt::{Doubt, names};
use crate::figures::number::short;
use crate::figures::{Figure, Outcome, grouped};
use crate::views::tables::{Curve, Series};

/// Bars of rising height.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A curve as its table and sentences.
pub(super) fn section(curve: &Curve<'_>) -> Section {
    let tried: Vec<&Series<'_>> = curve.series.iter().filter(|s| s.was_tried()).collect();
    let xs = xs(&tried);
    let courses = tried.iter().map(|series| {
        format!("{}: {} {}", series.name, sparkline(series, &xs), sentence(curve, series))
    });
    let lines = courses
        .chain(curve.overtakings.iter().map(|o| overtaking(curve, o)))
        .chain(tried.iter().filter_map(|series| calls(series)))
        .chain(gaps(curve))
        .chain(contradictions(curve))
        .chain(curve.held.iter().map(held));
    let lines = lines.collect();
    Section { title: curve.title.to_owned(), grid: grid(curve, &tried, &xs), lines }
}

/// A row for each x of the curve at which something was tried, a column for each of the series.
fn grid(curve: &Curve<'_>, series: &[&Series<'_>], xs: &[u64]) -> Grid {
    let names = series.iter().map(|series| series.name.clone());
    let row = |x: u64| {
        // The lines below say why a point is missing.
        let mut unsaid = Footnotes::default();
        let cells = series.iter().map(|series| {
            let point = series.points.iter().find(|(at, _)| *at == x).map(|(_, figure)| *figure);
            let text = unsaid.cell(point, bare_or_headline);
            text.trim_end_matches(|c: char| !c.is_ascii() && c.is_numeric()).to_owned()
        });
        [x.to_string()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let was_tried = |cells: &Vec<String>| cells[1..].iter().any(|c| c != "not run" && c != ABSENT);
    Grid {
        head: [curve.over.clone()].into_iter().chain(names).collect(),
        body: xs.iter().map(|&x| row(x)).filter(was_tried).collect(),
    }
}

/// Every x that one of the series has, in ascending order.
fn xs(series: &[&Series<'_>]) -> Vec<u64> {
    let points = series.iter().flat_map(|series| &series.points);
    let mut xs: Vec<u64> = points.map(|(x, _)| *x).collect();
    xs.sort_unstable();
    xs.dedup();
    xs
}

/// A value of the flag that is swept, for a sentence.
fn at(curve: &Curve<'_>, x: u64) -> String {
    match &*curve.over {
        // Flags that count something read as what they count.
        "--tasks" | "--tokens" | "--workers" => {
            let plural = curve.over.trim_start_matches('-');
            let one = plural.trim_end_matches('s');
            format!("{x} {}", if x == 1 { one } else { plural })
        }
        over => format!("{over} {x}"),
    }
}

/// From where on one of two series takes less time, in one sentence.
fn overtaking(
    curve: &Curve<'_>,
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

/// System calls of a series at each x, if they were counted.
fn calls(series: &Series<'_>) -> Option<String> {
    let counted = series.points.iter().filter_map(|(x, figure)| {
        let evidence = figure.reading()?.evidence.as_ref()?;
        let waits = evidence.hops_per_wait.map(|hops| format!(" ({hops:.1} hops per wait)"));
        Some(format!("{:.2}{} at {x}", evidence.calls?, waits.unwrap_or_default()))
    });
    let counted: Vec<String> = counted.collect();
    (!counted.is_empty())
        .then(|| format!("{}: system calls per hop: {}", series.name, counted.join(", ")))
}

/// The points that are missing, by their reason.
fn gaps(curve: &Curve<'_>) -> Vec<String> {
    let points = curve.series.iter().flat_map(|series| series.points.iter().map(|(_, f)| *f));
    let missing = points.filter_map(|figure| match &figure.outcome {
        Outcome::Failed { reason } => Some((("Failed", reason.as_str()), figure)),
        Outcome::NotRun { reason } => Some((("Not run", reason.as_str()), figure)),
        _ => None,
    });
    let line = |((what, reason), figures): ((&str, &str), Vec<&Figure<'_>>)| {
        format!("{what}: {}: {}", names(&figures), reason.lines().next().unwrap_or_default())
    };
    grouped(missing).into_iter().map(line).collect()
}

/// Contradictions of the counters, with the points that they are about.
fn contradictions(curve: &Curve<'_>) -> Vec<String> {
    let points = curve.series.iter().flat_map(|series| series.points.iter().map(|(_, f)| *f));
    let all = points.flat_map(|figure| figure.doubts.iter().map(move |doubt| (doubt, figure)));
    let found = grouped(all.filter(|(doubt, _)| matches!(doubt, Doubt::Contradicted(_))));
    found.iter().map(|(doubt, figures)| format!("{doubt} {}", names(figures))).collect()
}

/// Course of a series: where it leaves its first level, and how far it gets.
fn sentence(curve: &Curve<'_>, series: &Series<'_>) -> String {
    let points = series.measured();
    let quantity = curve.metric.quantity();
    let (Some(course), Some((last, _))) = (&series.course, points.last()) else {
        // Without intervals any two points differ, and a change would mostly be noise.
        if points.len() < FEWEST {
            return "too few points to tell".to_owned();
        }
        let values = || points.iter().map(|(_, e)| e.value);
        let [least, most] = [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)];
        let [least, most] = [least, most].map(|value| quantity.show(value));
        return format!(
            "between {least} and {most} (fewer than five runs: no intervals, so no change is told)"
        );
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

/// A bar for each x of the curve, from zero up to the highest value, so that what is flat looks
/// flat.
fn sparkline(series: &Series<'_>, xs: &[u64]) -> String {
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
mod tests {
    use facts::{Case, Metric, Process, Samples};

    use super::*;
    use crate::figures::Figures;
    use crate::testing;
    use crate::views::tables::Tables;

    #[test]
    fn a_curve_has_points_a_course_and_gaps() {
        let times = [(2, 100), (20, 101), (200, 300)];
        let case = Case { row: "a".to_owned(), over: Some("tasks".to_owned()), ..Case::default() };
        let process = |round: u32, x: u64| Process {
            round,
            x: Some(x),
            tasks: Some(x),
            hops: Some(1),
            ..Process::of("p", Vec::new())
        };
        let mut records = Vec::new();
        for round in 0..5 {
            for (x, ns) in times {
                let ns = ns + u64::from(round);
                let process = Process { samples: Samples::of(&[ns; 9]), ..process(round, x) };
                records.push(testing::in_case(Metric::Hop, case.clone(), process));
            }
            let error = facts::not_run("at most 99 tasks\nand more");
            let process = Process { error: Some(error), ..process(round, 2000) };
            records.push(testing::in_case(Metric::Hop, case.clone(), process));
        }
        let header = records[0].header.clone();
        records.iter_mut().for_each(|record| record.header = header.clone());
        let figures = Figures::of(&records);
        let tables = Tables::of(&figures);
        let Section { grid, lines, .. } = section(&tables.curves[0]);
        assert_eq!(grid.head, ["--tasks", "a"]);
        let first: Vec<&str> = grid.body.iter().map(|line| line[0].as_str()).collect();
        assert_eq!(first, ["2", "20", "200"]);
        let text = lines.join("\n");
        assert!(text.contains("a: ▃▃█"), "{text}");
        assert!(text.contains("up to 20 tasks, rises from 200: 2.9"), "{text}");
        assert!(text.contains("Not run: a, --tasks 2000: at most 99 tasks"), "{text}");
        assert!(!text.contains("and more"), "{text}");
    }
}
