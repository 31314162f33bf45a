//! Answers of several files side by side.

use figures::known::Beside;
use figures::provenance;
use record::Metric;

use super::answer::ratio;
use super::document::{Document, Section};
use super::grid::{ABSENT, Grid};
use crate::views::answer::AnswerRow;
use crate::views::fleet::{Machine, questions};

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
pub(super) fn document(all: &[Machine<'_>]) -> Document {
    let mut sections = vec![ratios(all), machines(all)];
    sections.extend(questions(all).into_iter().map(|question| costs(all, question)));
    sections.extend(all.iter().map(|machine| notes(all, machine)));
    Document { head: vec![READ.to_owned()], sections, foot: Vec::new() }
}

/// A line for each question, a column for each machine.
pub(super) fn ratios(all: &[Machine<'_>]) -> Section {
    let answers = all.iter().filter_map(|machine| machine.answer.as_ref());
    let is_of_threads = answers.flat_map(|answer| &answer.rows).all(AnswerRow::is_of_threads);
    let line = |question| {
        let rows = all.iter().map(|machine| machine.row(question));
        let ratios = rows.clone().map(|row| row.map_or(ABSENT.to_owned(), |row| ratio(&row.ratio)));
        let heading = rows.flatten().next().map_or(String::new(), name);
        [heading].into_iter().chain(ratios).collect()
    };
    let lines = questions(all).into_iter().map(line).collect();
    let title = if is_of_threads {
        "Cost of an OS thread, as a multiple of an async task's"
    } else {
        "Ratios"
    };
    let names = all.iter().map(|machine| machine.name.as_str());
    let grid = Grid::new([""].into_iter().chain(names), lines);
    Section { title: title.to_owned(), grid, lines: Vec::new() }
}

/// Name of a row, with its sides if they are not threads and async tasks.
fn name(row: &AnswerRow) -> String {
    if row.is_of_threads() {
        row.name.clone()
    } else {
        format!("{}: {}", row.name, row.sides.join(" ÷ "))
    }
}

/// A line for each machine: what tells it from the others.
pub(super) fn machines(all: &[Machine<'_>]) -> Section {
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
    let line = |machine: &Machine<'_>| {
        let answer = machine.answer.as_ref();
        let cells = [
            machine.waking(),
            machine.beside().map(Beside::in_short),
            machine.fact(record::Machine::model),
            machine.fact(record::Machine::usable_cpus),
            machine.fact(|facts| facts.kernel().map(series)),
            machine.fact(|facts| facts.text("idle_driver").map(str::to_owned)),
            machine.date(),
            answer.map(|answer| answer.sessions.to_string()),
            answer.map(|_| machine.doubts().len().to_string()),
        ];
        let cells = cells.into_iter().map(|cell| cell.unwrap_or(ABSENT.to_owned()));
        [machine.name.clone()].into_iter().chain(cells).collect()
    };
    Section {
        title: "Machines".to_owned(),
        grid: Grid::new(head, all.iter().map(line).collect()),
        lines: vec![RULE.to_owned()],
    }
}

/// The first two numbers of a release, which name its series: `6.18` of `6.18.44`.
fn series(release: &str) -> String {
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Both costs of a question, a line for each machine; how to read them stands below the first question.
pub(super) fn costs(all: &[Machine<'_>], question: (&str, &Metric)) -> Section {
    let lines = all.iter().map(|machine| {
        let costs = machine.row(question).map_or([ABSENT; 2].map(str::to_owned), |row| {
            [&row.thread, &row.task].map(super::answer::cost)
        });
        [machine.name.clone()].into_iter().chain(costs).collect()
    });
    let first = all.iter().find_map(|machine| machine.row(question));
    let sides = first.map_or([""; 2], |row| row.sides.each_ref().map(String::as_str));
    let is_first = questions(all).first() == Some(&question);
    Section {
        title: question.0.to_owned(),
        grid: Grid::new([""].into_iter().chain(sides), lines.collect()),
        lines: is_first.then(|| GROUPS.to_owned()).into_iter().collect(),
    }
}

/// The facts of a machine, its doubts, how far to trust it, and the rows of the others that it lacks.
pub(super) fn notes(all: &[Machine<'_>], machine: &Machine<'_>) -> Section {
    let mut lines = vec![format!("{}.", provenance::machine(&machine.records))];
    lines.extend(machine.doubts());
    lines.extend(machine.answer.iter().map(|answer| answer.conditions.to_string()));
    let mut absent = questions(all);
    absent.retain(|question| machine.row(*question).is_none());
    if !absent.is_empty() {
        let names: Vec<&str> = absent.into_iter().map(|(name, _)| name).collect();
        lines.push(format!("Not in {}: {}.", machine.file, names.join("; ")));
    }
    Section { title: machine.name.clone(), grid: Grid::default(), lines }
}
