//! Answers of several files side by side.

use super::answer::ratio;
use super::document::{Document, Section};
use super::grid::{ABSENT, Grid};
use crate::views::answer::{AnswerRow, THREAD_AND_TASK};
use crate::views::fleet::{Fleet, Machine};

/// How to read the ratios.
pub(super) const READ: &str = "Each ratio divides a thread's cost by an async task's; its 95 % interval stands in \
                               brackets; '-' marks a question that was not measured. Compare ratios between \
                               machines: a time or a size holds on its own machine alone.";

/// The rule of the words that tell machines apart.
pub(super) const RULE: &str = "Waking another CPU is cheap if a thread's hop through pipes takes at most twice as \
                               long unpinned as on one CPU, and yardsticks are slow if one takes clearly longer \
                               than on bare metal.";

/// How to read a cost of two groups of processes.
const GROUPS: &str = "Two figures in one cell, such as 3.6/7.9 µs, are the centres of two groups of processes: no \
                      mean describes both.";

/// The ratios, the machines, the costs by question, and what can be said about each machine.
pub(super) fn document(fleet: &Fleet) -> Document {
    let mut sections = vec![ratios(fleet), machines(fleet)];
    sections.extend(costs(fleet));
    sections.extend(notes(fleet));
    Document { head: vec![READ.to_owned()], sections, foot: Vec::new() }
}

/// A line for each question, a column for each machine.
pub(super) fn ratios(fleet: &Fleet) -> Section {
    let rows = || fleet.rows.iter().filter_map(|rows| Some((rows.iter().flatten().next()?, rows)));
    let title = if rows().all(|(first, _)| first.is_of_threads()) {
        "Cost of an OS thread, as a multiple of an async task's"
    } else {
        "Ratios"
    };
    let lines = rows().map(|(first, rows)| {
        let ratios = rows.iter().map(|row| row.as_ref().map_or(ABSENT.to_owned(), ratio));
        [question(first)].into_iter().chain(ratios).collect()
    });
    let names = fleet.machines.iter().map(|machine| machine.name.as_str());
    let grid = Grid::new([""].into_iter().chain(names), lines.collect());
    Section { title: title.to_owned(), grid, lines: Vec::new() }
}

/// Name of a row, with its sides if they are not threads and async tasks.
fn question(row: &AnswerRow) -> String {
    if row.is_of_threads() {
        row.name.clone()
    } else {
        format!("{}: {}", row.name, row.sides.join(" ÷ "))
    }
}

/// A line for each machine: what tells it from the others.
pub(super) fn machines(fleet: &Fleet) -> Section {
    let head = [
        "",
        "waking another CPU",
        "yardsticks",
        "CPU",
        "CPUs",
        "kernel",
        "idle driver",
        "date",
        "sessions",
        "doubts",
    ];
    let line = |machine: &Machine| {
        let Machine { waking, yardsticks, cpu, cpus, kernel, idle_driver, date, .. } = machine;
        let known = [waking, yardsticks, cpu, cpus, kernel, idle_driver, date].map(Clone::clone);
        let sessions = machine.sessions.map(|sessions| sessions.to_string());
        let doubts = machine.sessions.map(|_| machine.doubts.len().to_string());
        let cells = known.into_iter().chain([sessions, doubts]);
        let cells = cells.map(|cell| cell.unwrap_or(ABSENT.to_owned()));
        [machine.name.clone()].into_iter().chain(cells).collect()
    };
    Section {
        title: "Machines".to_owned(),
        grid: Grid::new(head, fleet.machines.iter().map(line).collect()),
        lines: vec![RULE.to_owned()],
    }
}

/// For each question a line for each machine with both costs.
pub(super) fn costs(fleet: &Fleet) -> Vec<Section> {
    let mut sections: Vec<Section> = fleet.rows.iter().map(|rows| cost(fleet, rows)).collect();
    if let Some(first) = sections.first_mut() {
        first.lines.push(GROUPS.to_owned());
    }
    sections
}

/// The costs of one question.
fn cost(fleet: &Fleet, rows: &[Option<AnswerRow>]) -> Section {
    let lines = fleet.machines.iter().zip(rows).map(|(machine, row)| {
        let costs = row.as_ref().map_or([ABSENT; 2].map(str::to_owned), |row| {
            [&row.thread, &row.task].map(super::answer::cost)
        });
        [machine.name.clone()].into_iter().chain(costs).collect()
    });
    let first = rows.iter().flatten().next();
    let [one, other] =
        first.map_or(THREAD_AND_TASK, |row| row.sides.each_ref().map(String::as_str));
    Section {
        title: first.map_or(String::new(), |row| row.name.clone()),
        grid: Grid::new(["", one, other], lines.collect()),
        lines: Vec::new(),
    }
}

/// For each machine its facts, its doubts and how far to trust it.
pub(super) fn notes(fleet: &Fleet) -> Vec<Section> {
    let note = |machine: &Machine| {
        let Machine { name, file, facts, doubts, trust, absent, .. } = machine;
        let absent = (!absent.is_empty()).then(|| format!("Not in {file}: {}.", absent.join("; ")));
        let facts = [format!("{facts}.")].into_iter();
        let lines = facts.chain(doubts.iter().chain(trust).cloned()).chain(absent);
        Section { title: name.clone(), grid: Grid::default(), lines: lines.collect() }
    };
    fleet.machines.iter().map(note).collect()
}
