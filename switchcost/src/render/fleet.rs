//! Answers of several files side by side.

use super::answer::line;
use super::document::{Document, Section};
use super::grid::{ABSENT, Grid};
use crate::views::answer::{AnswerRow, THREAD_AND_TASK};
use crate::views::fleet::{Fleet, Machine};

/// The files with their facts, and for each question a line for each of them.
pub(super) fn document(fleet: &Fleet) -> Document {
    let mut head = Vec::new();
    let mut foot = vec![
        "Compare ratios between machines; a time or a size is of one machine. In brackets: 95 % intervals from processes \
         or sessions as samples. Two figures in one cell: two groups of processes."
            .to_owned(),
    ];
    for Machine { name, file, facts, date, doubts, trust, absent } in &fleet.machines {
        let date = date.as_ref().map_or(String::new(), |date| format!(", {date}"));
        head.push(format!("{name}: {facts}{date}"));
        head.extend(doubts.iter().map(|line| format!("{name}: {line}")));
        foot.extend(trust.iter().map(|line| format!("{name}: {line}")));
        if !absent.is_empty() {
            foot.push(format!("{name}: Not in {file}: {}.", absent.join("; ")));
        }
    }
    let sections = fleet.rows.iter().map(|rows| section(fleet, rows)).collect();
    Document { head, sections, foot }
}

fn section(fleet: &Fleet, rows: &[Option<AnswerRow>]) -> Section {
    let machines = fleet.machines.iter().map(|machine| machine.name.clone());
    let lines = machines.zip(rows).map(|(name, row)| match row {
        Some(row) => line(name, row),
        None => vec![name, ABSENT.into(), ABSENT.into(), ABSENT.into()],
    });
    let [one, other] = THREAD_AND_TASK;
    Section {
        title: rows.iter().flatten().next().map_or(String::new(), |row| row.name.clone()),
        grid: Grid::new(["", one, other, "thread ÷ task"], lines.collect()),
        lines: Vec::new(),
    }
}
