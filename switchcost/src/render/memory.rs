//! Memory for each task in full: every part with its fit, and how many tasks would fit.

use std::io::{self, Write};

use contract::units;
use record::Metric;

use super::figures::{bracketed, factor_in, first_line, unmeasured};
use super::grid::Grid;
use crate::analysis::{Analysis, Cell, Row, Table};
use crate::cases::case_name;
use crate::fits::{Outlook, Verdict};
use crate::memory::{Fit, Slopes};

/// Cell where huge pages make a slope mean nothing.
pub const VOID: &str = "void (huge pages)";

/// A table as text: in full where an analysis has nothing but one table of memory, and in short
/// beside others.
pub fn grid_in(analysis: &Analysis, table: &Table) -> Grid {
    let alone = analysis.tables.len() == 1 && analysis.curves.is_empty();
    match alone && table.metric == Metric::Memory {
        true => full_grid(table),
        false => super::grid(table),
    }
}

/// Every part of each row's memory, with what says whether it is a line.
pub fn full_grid(table: &Table) -> Grid {
    let head = ["", "each task", "Theil–Sen", "fixed", "R²", "over the range"];
    let head = head.map(str::to_owned).to_vec();
    let mut body: Vec<Vec<String>> = Vec::new();
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let name = case_name(&row.name, column);
            match cell {
                Cell::Memory(slopes) => {
                    body.push(vec![format!("{name} ({})", range(slopes))]);
                    body.extend(parts(slopes, row));
                }
                Cell::Failed(reason) => {
                    body.push(vec![name, unmeasured(reason)]);
                }
                Cell::Absent | Cell::Reading(_) => {}
            }
        }
    }
    for line in &mut body {
        line.resize(head.len(), String::new());
    }
    Grid { head, body }
}

fn range(slopes: &Slopes) -> String {
    let tasks = || slopes.points.iter().map(|(tasks, ..)| *tasks);
    let (from, to) = (tasks().min().unwrap_or(0), tasks().max().unwrap_or(0));
    format!("{from} to {to} tasks, {} runs", slopes.points.len())
}

fn parts(slopes: &Slopes, row: &Row) -> Vec<Vec<String>> {
    let kernel = &slopes.parts;
    let lines = [
        ("together", slopes.all.as_ref(), slopes.void()),
        ("user", Some(&slopes.user), slopes.void()),
        ("kernel", slopes.kernel.as_ref(), false),
        ("  kernel stacks", kernel.stacks.as_ref(), false),
        ("  page tables", kernel.page_tables.as_ref(), false),
        ("  slab", kernel.slab.as_ref(), false),
        ("(VmPTE)", slopes.own_page_tables.as_ref(), false),
    ];
    let mut body: Vec<Vec<String>> = lines
        .into_iter()
        .map(|(name, fit, void)| {
            let mut line = vec![format!("  {name}")];
            match (fit, void) {
                (_, true) => line.push(VOID.to_owned()),
                (None, false) => line.push("unknown".to_owned()),
                (Some(fit), false) => line.extend(figures(fit)),
            }
            line
        })
        .collect();
    if let (Some(versus), Some(ratio), false) = (&row.versus, &slopes.ratio, slopes.void()) {
        body.push(vec![format!("  together ÷ {versus}"), factor_in(ratio.estimate, Some(ratio))]);
    }
    body
}

fn figures(fit: &Fit) -> [String; 5] {
    let robust = fit.robust.map_or("unknown".to_owned(), |robust| units::bytes(robust.slope));
    let r_squared = fit.line.r_squared.map_or("unknown".to_owned(), |r| format!("{r:.4}"));
    let shape = match (fit.bends(), fit.halves) {
        _ if !fit.is_seen() => "nothing seen".to_owned(),
        // A share of next to nothing says nothing.
        (Some(bend), _) if bend.abs() > 10.0 => "bends: one half is flat".to_owned(),
        (Some(bend), _) => format!("bends by {:+.0} %", bend * 100.0),
        (None, Some(_)) => "straight".to_owned(),
        (None, None) => "unknown".to_owned(),
    };
    [slope(fit), robust, units::bytes(fit.line.intercept.estimate), r_squared, shape]
}

/// A slope with its interval.
pub fn slope(fit: &Fit) -> String {
    let slope = &fit.line.slope;
    format!(
        "{} {}",
        units::bytes(slope.estimate),
        bracketed(slope, |v| units::bytes_like(v, slope.estimate))
    )
}

/// For each kind of task and each number of them: what they take, and whether it can be had.
pub fn outlook_grid(outlooks: &[Outlook]) -> Grid {
    let head = ["", "memory", "as the system is"];
    let mut body: Vec<Vec<String>> = Vec::new();
    let mut last = "";
    for outlook in outlooks {
        if outlook.name != last {
            last = &outlook.name;
            body.push(vec![outlook.name.clone(), String::new(), String::new()]);
        }
        let bytes = outlook.bytes.map(|bytes| units::bytes(bytes.round()));
        body.push(vec![
            format!("  {}", of_tasks(outlook.tasks)),
            bytes.unwrap_or_else(|| "unknown".to_owned()),
            verdict(&outlook.verdict),
        ]);
    }
    Grid { head: head.map(str::to_owned).to_vec(), body }
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Fits => "fits".to_owned(),
        Verdict::NeedsRaise { limits } => {
            let mut names: Vec<&str> = limits.iter().map(|limit| short(&limit.name)).collect();
            names.dedup();
            format!("needs raise of {}", names.join(", "))
        }
        Verdict::Beyond { limit } => format!("beyond {}", short(limit)),
        Verdict::NotEnoughMemory { .. } => "not enough memory".to_owned(),
        Verdict::Unknown { reason } => format!("unknown: {}", first_line(reason)),
    }
}

/// A limit's name without what stands in brackets behind it.
fn short(name: &str) -> &str {
    name.split(" (").next().unwrap_or(name)
}

fn of_tasks(count: u64) -> String {
    match count {
        c if c >= 1_000_000 && c % 1_000_000 == 0 => format!("{} M", c / 1_000_000),
        c if c >= 1000 && c % 1000 == 0 => format!("{} k", c / 1000),
        c => c.to_string(),
    }
}

/// Writes how many tasks would fit into `room` bytes, and how the limits are raised.
///
/// # Errors
/// Errors of the writer.
pub fn write_outlook(
    outlooks: &[Outlook],
    room: Option<(u64, &str)>,
    markdown: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let title = "What it would take to hold so many on this machine";
    let grid = outlook_grid(outlooks);
    match markdown {
        true => {
            writeln!(out, "\n**{title}**\n")?;
            grid.write_markdown(out)?;
            writeln!(out)?;
        }
        false => {
            writeln!(out, "\n{title}")?;
            grid.write_text(out)?;
        }
    }
    let room = match room {
        Some((room, name)) => format!(" There is room for {} ({name}).", units::bytes(room as f64)),
        None => String::new(),
    };
    writeln!(
        out,
        "The sizes are the lines of user and kernel memory together, drawn out to these counts.{room}"
    )?;
    let raise = outlooks.iter().any(|o| matches!(o.verdict, Verdict::NeedsRaise { .. }));
    if raise {
        writeln!(
            out,
            "The commands that raise a limit: the program itself, with --tasks N --check-limits."
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Shortage;

    #[test]
    fn an_outlook_reads_as_a_table() {
        let outlook =
            |tasks, bytes, verdict| Outlook { name: "thread".to_owned(), tasks, bytes, verdict };
        let limits = ["open files (hard limit)", "kernel.pid_max"].map(|name| Shortage {
            name: name.to_owned(),
            resource: "threads".to_owned(),
            needed: 2,
            allowed: 1,
            remedy: "ulimit".to_owned(),
        });
        let limits = limits.to_vec();
        let outlooks = [
            outlook(10_000, Some(1024.0), Verdict::Fits),
            outlook(100_000, Some(2e6), Verdict::NeedsRaise { limits }),
            outlook(1_000_000, Some(1e12), Verdict::NotEnoughMemory { room: 5 }),
        ];
        let grid = outlook_grid(&outlooks);
        assert_eq!(
            grid.body,
            [
                ["thread", "", ""],
                ["  10 k", "1.000 KiB", "fits"],
                ["  100 k", "1.907 MiB", "needs raise of open files, kernel.pid_max"],
                ["  1 M", "931.3 GiB", "not enough memory"],
            ]
        );
        let mut text = Vec::new();
        write_outlook(&outlooks, Some((4 << 30, "MemAvailable")), false, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("room for 4.000 GiB (MemAvailable)"), "{text}");
        assert!(text.contains("--check-limits"), "{text}");
    }
}
