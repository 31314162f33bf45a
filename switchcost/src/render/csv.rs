//! Every case as a line of comma-separated values, unrounded, for a spreadsheet or a data frame.

use std::io::{self, Write};

use record::Record;
use serde_json::{Value, json};
use stats::Interval;

use super::plainly;
use crate::figures::analysis::{self, Cell};
use crate::figures::cases::{Cases, Runs};
use crate::figures::memory::Slopes;

/// The columns behind the name, and where each is in a figure as JSON has it. Times are in ns, sizes in
/// bytes, rates and throughputs per second, and counts of the evidence per hop; what is unknown is left
/// empty.
const COLUMNS: [(&str, &str); 26] = [
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
    ("contradicted", "/contradicted"),
];

/// Writes one line for each case, and for each point of a curve. A case of memory has up to three:
/// its metric is `memory-user`, `memory-kernel` or, for both together, `memory`.
///
/// # Errors
/// Errors of the writer.
pub fn csv(records: &[Record], out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| write_csv(records, out))
}

fn write_csv(records: &[Record], out: &mut Vec<u8>) -> io::Result<()> {
    let names = COLUMNS.map(|(name, _)| name).join(",");
    writeln!(out, "section,row,column,metric,x,{names}")?;
    let cases = Cases::of(records);
    for (key, runs) in cases.in_order() {
        for (part, figure) in figures(analysis::cell(&cases, key, runs), runs) {
            let names = [&key.section, &key.row, &key.column].map(|name| defused(name));
            let place = [format!("{}{part}", runs.view.metric), shown(&json!(key.x))];
            let found = |(_, path)| figure.pointer(path).map_or(String::new(), shown);
            let fields = names.into_iter().chain(place).chain(COLUMNS.map(found));
            let fields: Vec<String> = fields.map(|field| quoted(&field)).collect();
            writeln!(out, "{}", fields.join(","))?;
        }
    }
    Ok(())
}

/// Figures of a case as JSON has them, each with the end of its metric's name.
fn figures(cell: Cell, runs: &Runs<'_>) -> Vec<(&'static str, Value)> {
    match cell {
        Cell::Reading(reading) => {
            let mut figure = json!(reading);
            if let Some(evidence) = &reading.evidence {
                figure["contradicted"] = evidence.verdict.is_contradiction().into();
            }
            vec![("", figure)]
        }
        Cell::Memory(slopes) => memory(&slopes, runs.failed),
        Cell::Failed(_) | Cell::Absent => {
            vec![("", json!({"mean": {"n": 0}, "failed": runs.failed}))]
        }
    }
}

/// Slopes in the form of means. The ratio is that of both together, where they are known.
fn memory(slopes: &Slopes, failed: usize) -> Vec<(&'static str, Value)> {
    let estimate = |slope: &Interval| json!({"value": slope.estimate, "interval": slope});
    let mut ratio = slopes.ratio.as_ref().map(estimate);
    let all = slopes.all.as_ref().map(|fit| ("", fit));
    let kernel = slopes.kernel.as_ref().map(|fit| ("-kernel", fit));
    let fits = all.into_iter().chain([("-user", &slopes.user)]).chain(kernel);
    fits.map(|(part, fit)| {
        let mut mean = estimate(&fit.line.slope);
        mean["n"] = fit.line.n.into();
        (part, json!({"mean": mean, "ratio": ratio.take(), "failed": failed}))
    })
    .collect()
}

/// A value as a field; nothing where it is unknown.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        // Whole numbers without a point.
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or(String::new(), |number| number.to_string())
        }
        other => other.to_string(),
    }
}

/// A name that a spreadsheet does not take for a formula: an apostrophe precedes it if it begins
/// like one.
fn defused(name: &str) -> String {
    match name.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{name}"),
        false => name.to_owned(),
    }
}

/// A field as RFC 4180 has it.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_formula() {
        for (name, text) in [
            ("=HYPERLINK(\"http://x\")", "'=HYPERLINK(\"http://x\")"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("a = b", "a = b"),
            ("", ""),
        ] {
            assert_eq!(defused(name), text);
        }
    }

    #[test]
    fn only_fields_that_need_it_are_quoted() {
        for (text, field) in [
            ("", ""),
            ("a b", "a b"),
            ("a, b", "\"a, b\""),
            ("say \"no\"", "\"say \"\"no\"\"\""),
            ("two\nlines", "\"two\nlines\""),
        ] {
            assert_eq!(quoted(text), field);
        }
    }
}
