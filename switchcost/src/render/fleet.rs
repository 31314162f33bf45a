//! Answers of several files side by side.

use super::answer::ratio;
use super::document::Section;
use super::{ABSENT, Document, Grid};
use crate::figures::number::short;
use crate::views::answer::Row;
use crate::views::fleet::{Fleet, Machine};

/// The files with their facts, and the two tables.
pub fn document(fleet: &Fleet) -> Document {
    let intervals = "In brackets: 95 % intervals from whole processes as samples.";
    Document {
        head: fleet.machines.iter().flat_map(facts).collect(),
        sections: vec![
            Section {
                title: "Thread ÷ task: ratios, to compare between machines".to_owned(),
                grid: grid(fleet, |row| ratio(&row.ratio)),
                lines: vec![intervals.to_owned()],
            },
            Section {
                title: "OS thread, async task: times and sizes, of one machine each".to_owned(),
                grid: grid(fleet, |row| {
                    let costs = [row.thread, row.task];
                    costs.map(|cost| short(row.metric.quantity(), cost.value)).join(", ")
                }),
                lines: Vec::new(),
            },
        ],
        foot: fleet.machines.iter().flat_map(remarks).collect(),
    }
}

fn grid(fleet: &Fleet, show: impl Fn(&Row) -> String) -> Grid {
    let names = fleet.machines.iter().map(|machine| machine.name.clone());
    let line = |row: &Vec<Option<Row>>| {
        let name = row.iter().flatten().next().map(|row| row.name.clone());
        let cells = row.iter().map(|row| row.as_ref().map_or(ABSENT.to_owned(), &show));
        [name.unwrap_or_default()].into_iter().chain(cells).collect()
    };
    Grid {
        head: [String::new()].into_iter().chain(names).collect(),
        body: fleet.rows.iter().map(line).collect(),
    }
}

/// The machine of a file, and what to know before its figures are read.
fn facts(machine: &Machine) -> Vec<String> {
    let lines = [&machine.facts].into_iter().chain(&machine.doubts);
    lines.map(|line| format!("{}: {line}", machine.name)).collect()
}

/// How far to trust a file's figures, and what it does not have.
fn remarks(machine: &Machine) -> Vec<String> {
    let mut lines = machine.trust.clone();
    if !machine.absent.is_empty() {
        lines.push(format!("Not in {}: {}.", machine.file, machine.absent.join("; ")));
    }
    lines.iter().map(|line| format!("{}: {line}", machine.name)).collect()
}
