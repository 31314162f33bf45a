//! Every figure as a line of comma-separated values, unrounded, for a spreadsheet or a data frame.

use std::io::{self, Write};

use serde_json::{Value, json};
use stats::Interval;

use crate::figures::grade::Grade;
use crate::figures::memory::Slopes;
use crate::figures::{Figure, Figures};

/// The columns behind the name, and where each is in a figure as JSON has it. Times are in ns, sizes in
/// bytes, rates and throughputs per second, and counts of the evidence per hop; what is unknown is left
/// empty.
const COLUMNS: [(&str, &str); 27] = [
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
    ("outliers", "/outliers"),
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

/// Writes one line for each case, and for each point of a curve. A case of memory has up to three: its metric
/// is `memory-user`, `memory-kernel` or, for both together, `memory`.
pub fn csv(figures: &Figures<'_>, out: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let names = ["section", "row", "column", "metric", "x"].into_iter();
    writer.write_record(names.chain(COLUMNS.map(|(name, _)| name)))?;
    for figure in figures.iter() {
        let key = &figure.key;
        for (part, values) in values(figure) {
            let names = [&key.section, &key.row, &key.column].map(|name| defused(name));
            let place = [format!("{}{part}", figure.metric()), shown(&json!(key.x))];
            let found = COLUMNS.map(|(_, path)| values.pointer(path).map_or(String::new(), shown));
            writer.write_record(names.into_iter().chain(place).chain(found))?;
        }
    }
    writer.flush()
}

/// Values of a figure as JSON has them, each with the end of its metric's name.
fn values(figure: &Figure<'_>) -> Vec<(&'static str, Value)> {
    if let Some(slopes) = figure.slopes() {
        return sizes(slopes, figure.grade);
    }
    let Some(reading) = figure.reading() else {
        return vec![("", json!({"mean": {"n": 0}, "failed": figure.runs.failed}))];
    };
    let mut values = json!(reading);
    values["grade"] = json!(figure.grade);
    vec![("", values)]
}

/// Slopes in the form of means. The ratio is that of the whole, if it is known, or else of user memory.
fn sizes(slopes: &Slopes, grade: Grade) -> Vec<(&'static str, Value)> {
    let estimate = |slope: &Interval| json!({"value": slope.estimate, "interval": slope});
    let mut ratio = slopes.ratio.as_ref().map(|ratio| {
        let mut value = estimate(&ratio.estimate);
        value["grade"] = json!(ratio.grade);
        value
    });
    let all = slopes.all.as_ref().map(|fit| ("", fit));
    let kernel = slopes.kernel.as_ref().map(|fit| ("-kernel", fit));
    let fits = all.into_iter().chain([("-user", &slopes.user)]).chain(kernel);
    let values = fits.map(|(part, fit)| {
        let mut mean = estimate(&fit.line.slope);
        mean["n"] = fit.line.n.into();
        (
            part,
            json!({"mean": mean, "ratio": ratio.take(), "failed": slopes.failed, "grade": grade}),
        )
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
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A name that a spreadsheet does not take for a formula: an apostrophe precedes it if it begins like one.
fn defused(name: &str) -> String {
    let is_formula = name.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{name}") } else { name.to_owned() }
}
