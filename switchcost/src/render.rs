//! An analysis as text for a terminal or as Markdown.

use std::io::{self, Write};

use comfy_table::{CellAlignment, LineStyle, Table as Grid, TableStyle};
use harness::record::{Metric, Record};
use harness::units::{self, Nanos};

use crate::analysis::{Analysis, Cell, Table, Time};
use crate::memory::{Fit, Slopes};
use crate::stats::{Estimate, Interval, MIN_ROUNDS, Mode};

/// A table as people see it: each line has the name of a row or of what is derived from it, and
/// one text for each column.
struct Lines {
    head: Vec<String>,
    body: Vec<Vec<String>>,
}

/// A table without frames: only its head is underlined.
const RULE_BELOW_HEAD: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Writes an analysis for a terminal.
///
/// # Errors
/// What the writer reports.
pub fn text(analysis: &Analysis, records: &[Record], out: &mut impl Write) -> io::Result<()> {
    for line in provenance(records) {
        writeln!(out, "{line}")?;
    }
    for table in &analysis.tables {
        writeln!(out, "\n{}", table.title)?;
        let lines = lines(table);
        let mut grid = Grid::new();
        grid.load_style(RULE_BELOW_HEAD)
            .set_header(&lines.head)
            .add_rows(&lines.body);
        for column in grid.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for line in grid.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    writeln!(
        out,
        "\nIn brackets: 95 % intervals from whole processes as samples."
    )?;
    for warning in &analysis.warnings {
        writeln!(out, "Note: {warning}.")?;
    }
    Ok(())
}

/// Writes an analysis as Markdown.
///
/// # Errors
/// What the writer reports.
pub fn markdown(analysis: &Analysis, records: &[Record], out: &mut impl Write) -> io::Result<()> {
    for line in provenance(records) {
        writeln!(out, "{line}  ")?;
    }
    for table in &analysis.tables {
        let lines = lines(table);
        writeln!(out, "\n**{}**\n", table.title)?;
        writeln!(out, "| {} |", lines.head.join(" | "))?;
        writeln!(out, "| --- |{}", " ---: |".repeat(lines.head.len() - 1))?;
        for line in &lines.body {
            let name = line[0].trim_start();
            let indent = if name == line[0] { "" } else { "&emsp;" };
            writeln!(out, "| {indent}{name} | {} |", line[1..].join(" | "))?;
        }
    }
    writeln!(
        out,
        "\nIn brackets: 95 % intervals from whole processes as samples."
    )?;
    for warning in &analysis.warnings {
        writeln!(out, "Note: {warning}.")?;
    }
    Ok(())
}

/// Where the records come from.
fn provenance(records: &[Record]) -> Vec<String> {
    let Some(first) = records.first() else {
        return Vec::new();
    };
    let rounds = records
        .iter()
        .filter_map(|r| r.plan.as_ref())
        .map(|p| p.round + 1);
    let seed = first.plan.as_ref().map_or(0, |p| p.seed);
    let tokio = first.build.tokio.as_deref().unwrap_or("of unknown version");
    let rustc = first
        .build
        .rustc
        .as_deref()
        .unwrap_or("rustc of unknown version");
    vec![
        first.machine.summary(),
        format!(
            "{} runs in {} rounds (seed {seed}), Tokio {tokio}, {rustc}",
            records.len(),
            rounds.max().unwrap_or(1),
        ),
    ]
}

fn lines(table: &Table) -> Lines {
    match table.metric {
        Metric::Memory => memory_lines(table),
        Metric::Hop | Metric::Task => time_lines(table),
    }
}

fn time_lines(table: &Table) -> Lines {
    let mut head = vec![String::new()];
    head.extend(table.columns.iter().map(|name| match name.as_str() {
        "" => "time".to_owned(),
        name => name.to_owned(),
    }));
    let mut body = Vec::new();
    for row in &table.rows {
        let mut line = |name: String, show: &dyn Fn(&Cell) -> Option<String>| {
            let texts: Vec<Option<String>> = row.cells.iter().map(show).collect();
            if texts.iter().any(Option::is_some) {
                let texts = texts
                    .into_iter()
                    .map(|text| text.unwrap_or_else(|| "-".to_owned()));
                body.push([name].into_iter().chain(texts).collect());
            }
        };
        line(row.name.clone(), &|cell| match cell {
            Cell::Time(time) => Some(headline(time)),
            Cell::Failed(reason) => Some(format!("failed: {}", first_line(reason))),
            Cell::Absent | Cell::Memory(_) => None,
        });
        let derived = |cell: &Cell, pick: fn(&Time) -> Option<Estimate>| match cell {
            Cell::Time(time) => pick(time),
            _ => None,
        };
        if let Some(baseline) = &row.baseline {
            line(format!("  less {baseline}"), &|cell| {
                derived(cell, |t| t.net).map(|e| net(&e))
            });
        }
        if let Some(versus) = &row.versus {
            line(format!("  ÷ {versus}"), &|cell| {
                derived(cell, |t| t.ratio).map(|e| factor(&e))
            });
            line("  ÷ the same, both less their I/O".to_owned(), &|cell| {
                derived(cell, |t| t.net_ratio).map(|e| factor(&e))
            });
        }
    }
    Lines { head, body }
}

fn memory_lines(table: &Table) -> Lines {
    let head = ["", "user", "kernel", "together"];
    let mut body = Vec::new();
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let name = match column.as_str() {
                "" => row.name.clone(),
                column => format!("{}, {column}", row.name),
            };
            let slopes = match cell {
                Cell::Memory(slopes) => slopes,
                Cell::Failed(reason) => {
                    let mut line = vec![name, format!("failed: {}", first_line(reason))];
                    line.resize(head.len(), String::new());
                    body.push(line);
                    continue;
                }
                Cell::Absent | Cell::Time(_) => continue,
            };
            body.push(memory_line(name, slopes));
            if let (Some(versus), Some(ratio)) = (&row.versus, &slopes.ratio) {
                let mut line = vec![format!("  ÷ {versus}"), String::new(), String::new()];
                line.push(factor_in(ratio.estimate, Some(ratio)));
                line.resize(head.len(), String::new());
                body.push(line);
            }
        }
    }
    Lines {
        head: head.map(str::to_owned).to_vec(),
        body,
    }
}

fn memory_line(name: String, slopes: &Slopes) -> Vec<String> {
    let size = |fit: &Fit| {
        let slope = &fit.line.slope;
        format!(
            "{} {}",
            units::bytes(slope.estimate),
            bracketed(slope, |v| units::bytes_like(v, slope.estimate))
        )
    };
    let unknown = || "unknown".to_owned();
    vec![
        name,
        size(&slopes.user),
        slopes.kernel.as_ref().map_or_else(unknown, size),
        slopes.all.as_ref().map_or_else(unknown, size),
    ]
}

/// A time, or two where it has two modes.
fn headline(time: &Time) -> String {
    let failed = match time.failed {
        0 => String::new(),
        n => format!(", {n} failed"),
    };
    match &time.modes {
        Some(modes) => {
            let [low, high] = modes.map(|Mode { centre, weight, .. }| {
                format!("{} ({:.0} %)", Nanos(centre), weight * 100.0)
            });
            format!("{low} or {high}{failed}")
        }
        None => format!("{}{failed}", nanos(&time.mean)),
    }
}

fn nanos(estimate: &Estimate) -> String {
    let value = Nanos(estimate.value);
    match &estimate.interval {
        Some(interval) => format!("{value} {}", bracketed(interval, |v| value.like(v))),
        None => format!("{value} ({} of {MIN_ROUNDS} runs)", estimate.n),
    }
}

/// A difference: nothing is clamped, and one that may be nothing says so.
fn net(estimate: &Estimate) -> String {
    match &estimate.interval {
        Some(interval) if interval.contains(0.0) => {
            format!("{}, not distinguishable", nanos(estimate))
        }
        _ => nanos(estimate),
    }
}

fn factor(estimate: &Estimate) -> String {
    factor_in(estimate.value, estimate.interval.as_ref())
}

fn factor_in(value: f64, interval: Option<&Interval>) -> String {
    let decimals = units::significant(value).saturating_sub(1);
    let number = |v: f64| format!("{v:.decimals$}");
    match interval {
        Some(interval) => format!("{}x {}", number(value), bracketed(interval, number)),
        None => format!("{}x", number(value)),
    }
}

fn bracketed(interval: &Interval, show: impl Fn(f64) -> String) -> String {
    format!("[{}, {}]", show(interval.low), show(interval.high))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
