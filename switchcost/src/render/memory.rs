//! Memory for each task: the table, and a sentence for each row on its parts and its line.

use contract::units::{Bytes, bytes, bytes_like};

use super::Grid;
use super::figures::unmeasured;
use crate::figures::analysis::{Cell, Table};
use crate::figures::cases::case_name;
use crate::figures::memory::{Fit, Slopes};
use crate::figures::number::{bracketed, factor_in, number};

/// Cell where huge pages make a slope mean nothing.
const VOID: &str = "void (huge pages)";

/// What each row holds, and how many times as much as another.
pub(super) fn grid(table: &Table) -> Grid {
    // First what counts: user memory alone flatters threads, whose larger part is the kernel's.
    let head = ["", "together", "user", "kernel"];
    let mut body = Vec::new();
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let name = case_name(&row.name, column);
            let slopes = match cell {
                Cell::Memory(slopes) => slopes,
                Cell::Failed(reason) => {
                    let mut line = vec![name, unmeasured(reason)];
                    line.resize(head.len(), String::new());
                    body.push(line);
                    continue;
                }
                Cell::Absent | Cell::Reading(_) => continue,
            };
            body.push(line(name, slopes));
            if let (Some(versus), Some(ratio)) = (&row.versus, &slopes.ratio) {
                let ratio = factor_in(ratio.estimate, Some(ratio));
                let mut line = vec![format!("  ÷ {versus}"), ratio];
                line.resize(head.len(), String::new());
                body.push(line);
            }
        }
    }
    Grid { head: head.map(str::to_owned).to_vec(), body }
}

fn line(name: String, slopes: &Slopes) -> Vec<String> {
    let unknown = || "unknown".to_owned();
    let known = |fit: &Option<Fit>| fit.as_ref().map_or_else(unknown, slope);
    let valid = |text: String| match slopes.void() {
        true => VOID.to_owned(),
        false => text,
    };
    let name = match slopes.failed {
        0 => name,
        n => format!("{name} ({n} failed)"),
    };
    vec![
        name,
        valid(match &slopes.kernel {
            // To add what is noise would make the sum no truer.
            Some(kernel) if !kernel.is_seen() => "user alone".to_owned(),
            _ => known(&slopes.all),
        }),
        valid(slope(&slopes.user)),
        slopes.kernel.as_ref().map_or_else(unknown, |fit| match fit.is_seen() {
            true => slope(fit),
            false => format!("{}, not distinguishable", slope(fit)),
        }),
    ]
}

/// A slope with its interval.
fn slope(fit: &Fit) -> String {
    let slope = &fit.line.slope;
    format!("{} {}", bytes(slope.estimate), bracketed(slope, |v| bytes_like(v, slope.estimate)))
}

/// For each row: the parts of its memory, how far it is a line, and how many the machine would hold.
pub(super) fn lines(table: &Table) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            if let Cell::Memory(slopes) = cell {
                let name = case_name(&row.name, column);
                lines.push(format!("{name}: {}.", sentence(slopes)));
            }
        }
    }
    lines
}

fn sentence(slopes: &Slopes) -> String {
    let fit = slopes.headline();
    let parts = &slopes.parts;
    let parts = [
        ("kernel stack", &parts.stacks),
        ("page tables", &parts.page_tables),
        ("slab", &parts.slab),
        ("pipe page", &parts.pipe_pages),
    ];
    let parts = parts.into_iter().filter_map(|(name, part)| {
        let part = part.as_ref().filter(|part| part.is_seen())?;
        Some(format!("{name} {}, ", bytes(part.line.slope.estimate)))
    });
    let robust = fit.robust.map_or("unknown".to_owned(), |robust| bytes(robust.slope));
    let r_squared = fit.line.r_squared.map_or("unknown".to_owned(), |r| format!("{r:.4}"));
    let (least, most) = slopes.tasks;
    let mut text = format!(
        "{}fixed {}; Theil–Sen {robust}, R² {r_squared}, {} from {least} to {most} tasks",
        parts.collect::<String>(),
        bytes(fit.line.intercept.estimate),
        shape(fit)
    );
    if let (Some(most), Some(machine)) = (slopes.most(), slopes.machine) {
        text += &format!("; {} of memory would hold about {}", Bytes(machine), number(most));
    }
    text
}

fn shape(fit: &Fit) -> String {
    match (fit.bends(), fit.halves) {
        _ if !fit.is_seen() => "nothing seen".to_owned(),
        // A share of next to nothing says nothing.
        (Some(bend), _) if bend.abs() > 10.0 => "one half is flat".to_owned(),
        (Some(bend), _) => format!("upper half {:+.0} %", bend * 100.0),
        (None, Some(_)) => "straight".to_owned(),
        (None, None) => "shape unknown".to_owned(),
    }
}
