//! Answers of several files side by side.

use super::answer::ratio;
use super::document::Section;
use super::{ABSENT, Document, Grid};
use crate::views::answer::AnswerRow;
use crate::views::fleet::{Fleet, Machine};

/// The files with their facts, and the two tables.
pub fn document(fleet: &Fleet) -> Document {
    let mut head = Vec::new();
    let mut foot = Vec::new();
    for Machine { name, file, facts, doubts, trust, absent, .. } in &fleet.machines {
        head.extend([facts].into_iter().chain(doubts).map(|line| format!("{name}: {line}")));
        foot.extend(trust.iter().map(|line| format!("{name}: {line}")));
        if !absent.is_empty() {
            foot.push(format!("{name}: Not in {file}: {}.", absent.join("; ")));
        }
    }
    let intervals = "In brackets: 95 % intervals from whole processes as samples.";
    let ratios = Section {
        title: "Thread ÷ task: ratios, to compare between machines".to_owned(),
        grid: grid(fleet, ratio),
        lines: vec![intervals.to_owned()],
    };
    let costs = Section {
        title: "OS thread, async task: times and sizes, of one machine each".to_owned(),
        grid: grid(fleet, |row| {
            let costs = [row.thread, row.task];
            costs.map(|cost| cost.show(row.metric.quantity())).join(", ")
        }),
        lines: Vec::new(),
    };
    Document { head, sections: vec![ratios, costs], foot }
}

fn grid(fleet: &Fleet, show: fn(&AnswerRow) -> String) -> Grid {
    let mut head = vec![String::new()];
    head.extend(fleet.machines.iter().map(|machine| machine.name.clone()));
    let mut body = Vec::new();
    for row in &fleet.rows {
        let name = row.iter().flatten().next().map(|row| row.name.clone());
        let mut line = vec![name.unwrap_or_default()];
        line.extend(row.iter().map(|row| row.as_ref().map_or(ABSENT.to_owned(), show)));
        body.push(line);
    }
    Grid::of(head, body)
}
