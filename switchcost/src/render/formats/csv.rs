//! Comma-separated values, unrounded, for a spreadsheet or a data frame.

use std::io;

use figures::{Figure, Outcome};
use serde_json::{Value, json};
use stats::Estimate;

use crate::render::found::Found;
use crate::render::verdicts::fault;
use crate::views::comparison::Comparison;
use crate::views::fleet::{Machine, questions};

/// Columns of figures: the name of each, and where its value is in a line's JSON. There is a line for each row, and for
/// each point of a curve. Times are in ns, sizes in bytes, rates and throughputs per second, and counts of the evidence
/// per hop; what is unknown is left empty.
const FIGURES: &[(&str, &str)] = &[
    ("section", "/section"),
    ("row", "/row"),
    ("column", "/column"),
    ("metric", "/metric"),
    ("x", "/x"),
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
];

/// A line for each machine and question.
const MACHINES: &[(&str, &str)] = &[
    ("machine", "/machine"),
    ("row", "/name"),
    ("metric", "/metric"),
    ("thread", "/thread/value"),
    ("task", "/task/value"),
    ("ratio", "/ratio/value"),
    ("ratio_low", "/ratio/interval/low"),
    ("ratio_high", "/ratio/interval/high"),
    ("ratio_grade", "/ratio/grade"),
];

/// A line for each quotient; a row without any has one with the word why.
const COMPARISON: &[(&str, &str)] = &[
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

pub(super) fn write(found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    let (columns, lines) = match found {
        Found::Figures { figures, .. } => (FIGURES, figures.iter().flat_map(of_figure).collect()),
        Found::Machines(all) => (MACHINES, of_machines(all)),
        Found::Comparisons(all) => (COMPARISON, of_comparisons(all)),
    };
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(columns.iter().map(|(name, _)| name))?;
    for line in lines {
        let value = |path: &str| line.pointer(path).map_or(String::new(), shown);
        writer.write_record(columns.iter().map(|(_, path)| value(path)))?;
    }
    writer.flush()
}

/// The lines of a figure, as JSON has it. A row of memory has up to three of them: its metric is `memory-user`,
/// `memory-kernel` or, for both together, `memory`.
fn of_figure(figure: &Figure<'_>) -> Vec<Value> {
    let mut line = json!(figure);
    match &figure.outcome {
        Outcome::Measured(_) => vec![line],
        Outcome::Slope(slopes) => {
            let parts = [("", "together"), ("-user", "user"), ("-kernel", "kernel")];
            let lines = parts.into_iter().filter_map(|(end, part)| {
                let slope = Estimate::from(slopes.part(part)?.line.slope);
                let mut own = line.clone();
                own["metric"] = json!(format!("{}{end}", figure.metric()));
                own["mean"] = json!(slope);
                // Only the first line has the ratio: of all memory if that is known, else of user memory.
                line["ratio"] = Value::Null;
                Some(own)
            });
            lines.collect()
        }
        Outcome::Missing(_) | Outcome::Absent => {
            line["mean"] = json!({"n": 0});
            line["grade"] = Value::Null;
            vec![line]
        }
    }
}

fn of_machines(all: &[Machine<'_>]) -> Vec<Value> {
    let mut lines = Vec::new();
    for question in questions(all) {
        for machine in all {
            let Some(row) = machine.row(question) else { continue };
            let mut line = json!(row);
            line["machine"] = json!(machine.name);
            lines.push(line);
        }
    }
    lines
}

fn of_comparisons(all: &[Comparison]) -> Vec<Value> {
    let mut lines = Vec::new();
    for row in all.iter().flat_map(|comparison| &comparison.rows) {
        let mut add = |mut line: Value, verdict: &str| {
            line["section"] = json!(row.place.section);
            line["row"] = json!(row.name);
            line["verdict"] = json!(verdict);
            lines.push(line);
        };
        for quotient in &row.quotients {
            add(json!(quotient), quotient.verdict.word(quotient.quantity));
        }
        if row.quotients.is_empty() {
            add(json!({"kind": row.kind}), fault(row).0);
        }
    }
    lines
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
