//! `switchcost fit`: a line through two columns of numbers.

use std::io::{Read, Write};

use crate::console;
use anyhow::{Context, ensure};
use contract::units;

use crate::analysis::CONFIDENCE;

/// Reads rows of numbers from standard input; lines that begin with # and an optional line of
/// headings are passed over
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The column that the line runs over, from 1
    #[arg(long, value_name = "COLUMN", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    x: u16,

    /// The column that follows it, from 1
    #[arg(long, value_name = "COLUMN", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    y: u16,

    /// The second column is in KiB: print the slope in bytes, too
    #[arg(long)]
    kib: bool,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("cannot read standard input")?;
    let (x, y) = columns(&text, args)?;
    ensure!(
        x.len() >= 3 && x.iter().any(|value| *value != x[0]),
        "a line needs at least three rows with different values in column {}",
        args.x
    );
    let line = stats::fit_line(&x, &y, CONFIDENCE)
        .context("the numbers are too large or too close together for a line")?;
    let r_squared = line
        .r_squared
        .map_or("unknown".to_owned(), |r| format!("{r:.6}"));
    console::print(|out| {
        let scale = if args.kib { 1024.0 } else { 1.0 };
        let show = |v: f64| match args.kib {
            true => units::bytes(v * scale),
            false => format!("{v:.6}"),
        };
        let s = &line.slope;
        writeln!(
            out,
            "slope\t{}\t(95 %: {} to {})",
            show(s.estimate),
            show(s.low),
            show(s.high)
        )?;
        if args.kib {
            writeln!(out, "slope, bytes\t{:.1}", s.estimate * scale)?;
        }
        writeln!(out, "standard error\t{}", show(line.slope_se))?;
        writeln!(out, "intercept\t{}", show(line.intercept.estimate))?;
        writeln!(out, "R2\t{r_squared}")
    })?;
    Ok(())
}

/// The two columns of a table separated by white space.
fn columns(text: &str, args: &Args) -> anyhow::Result<(Vec<f64>, Vec<f64>)> {
    let mut points = (Vec::new(), Vec::new());
    let rows = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    for (row, (number, line)) in rows.enumerate() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let value = |column: u16| fields.get(usize::from(column) - 1)?.parse::<f64>().ok();
        let point = (value(args.x), value(args.y));
        for (column, value) in [(args.x, point.0), (args.y, point.1)] {
            ensure!(
                value.is_none_or(f64::is_finite),
                "line {number}, column {column}: {} is no finite number: leave the line out",
                value.unwrap_or_default()
            );
        }
        match point {
            (Some(x), Some(y)) => {
                points.0.push(x);
                points.1.push(y);
            }
            // The first row may hold the headings.
            _ => ensure!(
                row == 0,
                "line {number} has no numbers in columns {} and {}: {line}",
                args.x,
                args.y
            ),
        }
    }
    Ok(points)
}
