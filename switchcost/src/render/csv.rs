//! Every case as a line of comma-separated values, unrounded, for a spreadsheet or a data frame.

use std::io::{self, Write};

use record::Record;
use stats::{Estimate, Interval};

use super::plainly;
use crate::analysis::{self, Cell};
use crate::cases::{Cases, Key, Reading, Runs};
use crate::memory::{Fit, Slopes};

/// The columns. Times are in ns, sizes in bytes, rates and throughputs per second, and counts of the
/// evidence per hop; what is unknown is left empty.
const HEAD: [&str; 31] = [
    "section",
    "row",
    "column",
    "metric",
    "x",
    "n",
    "failed",
    "mean",
    "low",
    "high",
    "median",
    "min",
    "p50",
    "p90",
    "p99",
    "max",
    "outliers",
    "net",
    "net_low",
    "net_high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "noise_low",
    "noise_high",
    "switches",
    "preemptions",
    "wakeups",
    "calls",
    "hops_per_wait",
    "contradicted",
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
    writeln!(out, "{}", HEAD.join(","))?;
    let cases = Cases::of(records);
    for (key, runs) in cases.in_order() {
        for line in lines(&cases, key, runs) {
            line.write(out)?;
        }
    }
    Ok(())
}

/// One line's fields by the names of their columns.
struct Line<'a>(Vec<(&'a str, String)>);

impl<'a> Line<'a> {
    fn new(key: &Key, runs: &Runs<'_>, metric: String) -> Self {
        let mut line = Line(vec![
            ("section", defused(&key.section)),
            ("row", defused(&key.row)),
            ("column", defused(&key.column)),
            ("metric", metric),
        ]);
        line.put("x", key.x);
        line.put("failed", Some(runs.failed));
        line
    }

    fn put(&mut self, name: &'a str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.push((name, value.to_string()));
        }
    }

    /// A value with its bounds.
    fn bounded(&mut self, names: [&'a str; 3], value: Option<f64>, interval: Option<&Interval>) {
        self.put(names[0], value);
        self.put(names[1], interval.map(|i| i.low));
        self.put(names[2], interval.map(|i| i.high));
    }

    fn estimate(&mut self, names: [&'a str; 3], estimate: Option<&Estimate>) {
        let interval = estimate.and_then(|e| e.interval.as_ref());
        self.bounded(names, estimate.map(|e| e.value), interval);
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let field = |name: &str| self.0.iter().find(|(column, _)| *column == name);
        let fields = HEAD.map(|name| field(name).map_or(String::new(), |(_, text)| quoted(text)));
        writeln!(out, "{}", fields.join(","))
    }
}

const MEAN: [&str; 3] = ["mean", "low", "high"];
const NET: [&str; 3] = ["net", "net_low", "net_high"];
const RATIO: [&str; 3] = ["ratio", "ratio_low", "ratio_high"];

fn lines<'a>(cases: &Cases<'_>, key: &Key, runs: &Runs<'_>) -> Vec<Line<'a>> {
    let metric = runs.view.metric.to_string();
    match analysis::cell(cases, key, runs) {
        Cell::Reading(reading) => {
            let mut line = Line::new(key, runs, metric);
            put_reading(&mut line, &reading);
            vec![line]
        }
        Cell::Memory(slopes) => memory(key, runs, &metric, &slopes),
        Cell::Failed(_) | Cell::Absent => {
            let mut line = Line::new(key, runs, metric);
            line.put("n", Some(0));
            vec![line]
        }
    }
}

fn put_reading(line: &mut Line<'_>, reading: &Reading) {
    line.put("n", Some(reading.mean.n));
    line.estimate(MEAN, Some(&reading.mean));
    line.put("median", Some(reading.median));
    if let Some(iterations) = &reading.iterations {
        line.put("min", Some(iterations.min));
        let names = ["p50", "p90", "p99", "max"];
        for (name, value) in names.into_iter().zip(iterations.percentiles) {
            line.put(name, Some(value));
        }
    }
    line.put("outliers", Some(reading.outliers));
    line.estimate(NET, reading.net.as_ref());
    line.estimate(RATIO, reading.ratio.as_ref());
    line.put("noise_low", reading.noise.map(|noise| noise.low));
    line.put("noise_high", reading.noise.map(|noise| noise.high));
    let Some(evidence) = &reading.evidence else {
        return;
    };
    line.put("switches", Some(evidence.switches));
    line.put("preemptions", Some(evidence.preemptions));
    line.put("wakeups", evidence.wakeups);
    line.put("calls", evidence.calls);
    line.put("hops_per_wait", evidence.hops_per_wait);
    line.put("contradicted", Some(evidence.verdict.is_contradiction()));
}

fn memory<'a>(key: &Key, runs: &Runs<'_>, metric: &str, slopes: &Slopes) -> Vec<Line<'a>> {
    let fits: [(&str, Option<&Fit>); 3] = [
        ("", slopes.all.as_ref()),
        ("-user", Some(&slopes.user)),
        ("-kernel", slopes.kernel.as_ref()),
    ];
    // The ratio is that of both together, where they are known.
    let mut ratio = slopes.ratio.as_ref();
    let mut lines = Vec::new();
    for (what, fit) in fits {
        let Some(fit) = fit else { continue };
        let mut line = Line::new(key, runs, format!("{metric}{what}"));
        line.put("n", Some(fit.line.n));
        let slope = &fit.line.slope;
        line.bounded(MEAN, Some(slope.estimate), Some(slope));
        let ratio = ratio.take();
        line.bounded(RATIO, ratio.map(|r| r.estimate), ratio);
        lines.push(line);
    }
    lines
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
