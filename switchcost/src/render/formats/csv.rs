//! Comma-separated values, unrounded, for a spreadsheet or a data frame.

use std::io;

use figures::memory::Slopes;
use figures::{Figure, Figures};
use serde_json::{Value, json};
use stats::Estimate;

use crate::render::found::Found;
use crate::render::verdicts::fault;
use crate::views::comparison::Comparison;
use crate::views::fleet::Fleet;

/// Columns of figures: the names of a line's first cells, then the others and where each is in what JSON has. There is a
/// line for each row, and for each point of a curve. Times are in ns, sizes in bytes, rates and throughputs per
/// second, and counts of the evidence per hop; what is unknown is left empty.
const FIGURES: (&[&str], &[(&str, &str)]) = (
    &["section", "row", "column", "metric", "x"],
    &[
        ("n", "/mean/n"),
        ("failed", "/failed"),
        ("mean", "/mean/value"),
        ("low", "/mean/interval/low"),
        ("high", "/mean/interval/high"),
        ("median", "/median"),
        ("min", "/min"),
        ("p50", "/percentiles/0"),
        ("p90", "/percentiles/1"),
        ("p99", "/percentiles/2"),
        ("max", "/percentiles/3"),
        ("net", "/net/value"),
        ("net_low", "/net/interval/low"),
        ("net_high", "/net/interval/high"),
        ("ratio", "/ratio/value"),
        ("ratio_low", "/ratio/interval/low"),
        ("ratio_high", "/ratio/interval/high"),
        ("noise_low", "/noise/low"),
        ("noise_high", "/noise/high"),
        ("switches", "/evidence/switches"),
        ("preemptions", "/evidence/preemptions"),
        ("wakeups", "/evidence/wakeups"),
        ("calls", "/evidence/calls"),
        ("hops_per_wait", "/evidence/hops_per_wait"),
        ("grade", "/grade"),
        ("ratio_grade", "/ratio/grade"),
    ],
);

/// A line for each machine and question.
const FLEET: (&[&str], &[(&str, &str)]) = (
    &["machine"],
    &[
        ("row", "/name"),
        ("metric", "/metric"),
        ("thread", "/thread/value"),
        ("task", "/task/value"),
        ("ratio", "/ratio/value"),
        ("ratio_low", "/ratio/interval/low"),
        ("ratio_high", "/ratio/interval/high"),
        ("ratio_grade", "/ratio/grade"),
    ],
);

/// A line for each quotient; a row without any has one with the word why.
const COMPARISON: (&[&str], &[(&str, &str)]) = (
    &["section", "row", "verdict"],
    &[
        ("kind", "/kind"),
        ("a", "/figures/0"),
        ("b", "/figures/1"),
        ("change", "/change/estimate"),
        ("low", "/change/low"),
        ("high", "/change/high"),
        ("is_share", "/is_share"),
        ("grade", "/grade"),
    ],
);

pub(super) fn write(found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    match found {
        Found::Figures { figures, .. } => write_lines(FIGURES, of_figures(figures), out),
        Found::Fleet(fleet) => write_lines(FLEET, of_fleet(fleet), out),
        Found::Comparisons(all) => write_lines(COMPARISON, of_comparisons(all), out),
    }
}

fn write_lines(
    (names, columns): (&[&str], &[(&str, &str)]),
    lines: Vec<(Vec<String>, Value)>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(names.iter().chain(columns.iter().map(|(name, _)| name)))?;
    for (cells, values) in lines {
        let found =
            columns.iter().map(|(_, path)| values.pointer(path).map_or(String::new(), shown));
        writer.write_record(cells.iter().map(|cell| defused(cell)).chain(found))?;
    }
    writer.flush()
}

/// A row of memory has up to three lines: its metric is `memory-user`, `memory-kernel` or, for both together,
/// `memory`.
fn of_figures(figures: &Figures<'_>) -> Vec<(Vec<String>, Value)> {
    let mut lines = Vec::new();
    for figure in figures.iter() {
        let place = figure.place();
        for (part, values) in values(figure) {
            let names = [&place.section, &place.row, &place.column].map(String::clone).into_iter();
            let metric = format!("{}{part}", figure.metric());
            let x = place.x.map_or(String::new(), |x| x.to_string());
            lines.push((names.chain([metric, x]).collect(), values));
        }
    }
    lines
}

fn of_fleet(fleet: &Fleet) -> Vec<(Vec<String>, Value)> {
    let line = |(machine, row)| Some((vec![machine], json!(Option::as_ref(row)?)));
    let names = || fleet.machines.iter().map(|machine| machine.name.clone());
    fleet.rows.iter().flat_map(|rows| names().zip(rows).filter_map(line)).collect()
}

fn of_comparisons(all: &[Comparison]) -> Vec<(Vec<String>, Value)> {
    let mut lines = Vec::new();
    for row in all.iter().flat_map(|comparison| &comparison.rows) {
        let line = |verdict: &str, values| {
            (vec![row.place.section.clone(), row.name.clone(), verdict.to_owned()], values)
        };
        let quotients = row.quotients.iter();
        lines.extend(quotients.map(|f| line(f.verdict.word(f.quantity), json!(f))));
        if row.quotients.is_empty() {
            lines.push(line(fault(row).0, json!({"kind": row.kind})));
        }
    }
    lines
}

/// Values of a figure as JSON has them, each with the end of its metric's name.
fn values(figure: &Figure<'_>) -> Vec<(&'static str, Value)> {
    if let Some(slopes) = figure.slopes() {
        return sizes(figure, slopes);
    }
    if figure.reading().is_none() {
        return vec![("", json!({"mean": {"n": 0}, "failed": figure.runs.failed}))];
    }
    vec![("", json!(figure))]
}

/// Slopes in the form of means. The ratio is the ratio of all memory, if known, or else of user memory.
fn sizes(figure: &Figure<'_>, slopes: &Slopes) -> Vec<(&'static str, Value)> {
    let mut ratio = json!(figure.related.ratio);
    let parts = [("", "together"), ("-user", "user"), ("-kernel", "kernel")];
    let values = parts.into_iter().filter_map(|(end, part)| {
        let mean = json!(Estimate::from(slopes.part(part)?.line.slope));
        Some((
            end,
            json!({"mean": mean, "ratio": ratio.take(), "failed": figure.runs.failed, "grade": figure.grade}),
        ))
    });
    values.collect()
}

/// A value as a field; nothing if it is unknown.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        // Whole numbers without a point.
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or(String::new(), |number| number.to_string())
        }
        Value::String(text) => defused(text),
        other => other.to_string(),
    }
}

/// A text that a spreadsheet does not take for a formula: an apostrophe precedes it if it begins like one.
fn defused(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}
