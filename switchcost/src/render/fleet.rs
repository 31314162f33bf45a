//! Answers of several machines side by side: their ratios, what tells them apart, what a thread and an async task cost on
//! each, and the doubts about each.

use std::io::{self, Write};

use figures::known::Beside;
use figures::provenance;
use record::Metric;
use serde_json::json;

use super::cells::{cost, ratio};
use super::document::{Document, Section, TextLine, sentences};
use super::figures::TITLE;
use super::formats::html;
use super::grid::{ABSENT, Grid};
use super::plot;
use super::report::{Report, Spreadsheet};
use crate::views::answer::AnswerRow;
use crate::views::fleet::{MachineResults, questions};

/// How to read the ratios.
const READ: &str = "Each ratio divides a thread's cost by an async task's; its 95 % interval stands in \
                               brackets; '-' marks a question that was not measured. Compare ratios between \
                               machines: a time or a size holds on its own machine alone.";

/// The rule of the words that tell machines apart.
const RULE: &str = "Waking another CPU is cheap if a thread's hop through pipes takes at most twice as \
                               long unpinned as on one CPU, and yardsticks are slow if one takes clearly longer \
                               than on bare metal.";

/// How to read a cost of two groups of processes.
const GROUPS: &str = "Two figures in one cell, such as 3.6/7.9 µs, are the centres of two groups of processes: no \
                      mean describes both.";

/// Commands that add a machine, in a clone.
const ADD: [&str; 4] = [
    "mkdir results/NAME",
    "cargo run --release -- --out results/NAME/answer.jsonl",
    "gzip -9 results/NAME/answer.jsonl",
    "cargo run -p xtask -- documents",
];

/// A line for each machine and question.
const COLUMNS: &[(&str, &str)] = &[
    ("machine", "/machine"),
    ("row", "/name"),
    ("metric", "/metric"),
    ("thread", "/thread/value"),
    ("task", "/task/value"),
    ("ratio", "/ratio/value"),
    ("ratio_low", "/ratio/interval/low"),
    ("ratio_high", "/ratio/interval/high"),
    ("ratio_grade", "/ratio/grade"),
];

impl Report for [MachineResults<'_>] {
    fn documents(&self) -> Vec<Document> {
        vec![document(self)]
    }

    fn spreadsheet(&self) -> Spreadsheet {
        let mut lines = Vec::new();
        for question in questions(self) {
            for machine in self {
                let Some(row) = machine.row(question) else { continue };
                let mut line = json!(row);
                line["machine"] = json!(machine.name);
                lines.push(line);
            }
        }
        Spreadsheet { columns: COLUMNS, lines }
    }
}

/// The ratios, the machines, the costs by question, and what can be said about each machine.
fn document(machines: &[MachineResults<'_>]) -> Document {
    let mut sections = vec![ratios(machines), differences(machines)];
    sections.extend(questions(machines).into_iter().map(|question| costs(machines, question)));
    sections.extend(machines.iter().map(|machine| notes(machines, machine)));
    // All plots have the same caption.
    let plots = sections.iter_mut().filter_map(|section| section.plot.as_mut());
    plots.skip(1).for_each(|plot| plot.caption.clear());
    Document {
        title: TITLE.to_owned(),
        head: sentences([READ.to_owned()]),
        sections,
        ..Document::default()
    }
}

/// Writes the page of machines in the project's `docs`, with links and with how to add a machine.
pub fn project_page(machines: &[MachineResults<'_>], out: &mut impl Write) -> io::Result<()> {
    let mut page = document(machines);
    let links =
        [("What the marks mean", "../docs/READING.md#marks"), ("The project", "../README.md")];
    page.links = links.map(|(name, target)| (name.to_owned(), target.to_owned())).to_vec();
    let how = "Measure on a quiet machine, in a clone, and open a pull request with what these commands write. A results \
               file holds neither the host's name nor yours; a path in your home folder begins with ~, and any other stays as you typed it.";
    let mut lines = sentences([how.to_owned()]);
    lines.extend(ADD.map(|command| TextLine::command(command.to_owned())));
    page.sections.push(Section { title: "Add yours".to_owned(), lines, ..Section::default() });
    html::write(&[page], out)
}

/// Writes the tables of ratios and of machines as a Markdown page in the project's `docs`.
pub fn project_tables(machines: &[MachineResults<'_>], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "# Machines: thread ÷ async task\n\n[`~`](READING.md#marks) marks disturbed figures.\n"
    )?;
    ratios(machines).grid.write_markdown(out)?;
    writeln!(out)?;
    // In the project a machine's name tells both.
    differences(machines).grid.without(&["CPUs", "kernel"]).write_markdown(out)?;
    writeln!(out, "\n{RULE} `switchcost report FILE --full` prints doubts.")
}

/// A line for each question, a column for each machine.
fn ratios(machines: &[MachineResults<'_>]) -> Section {
    let answers = machines.iter().filter_map(|machine| machine.answer.as_ref());
    let is_of_threads = answers.flat_map(|answer| &answer.rows).all(AnswerRow::is_of_threads);
    let lines = questions(machines).into_iter().map(|question| {
        let rows = machines.iter().map(|machine| machine.row(question));
        let ratios = rows.clone().map(|row| row.map_or(ABSENT.to_owned(), |row| ratio(&row.ratio)));
        let heading = rows.flatten().next().map_or(String::new(), name);
        [heading].into_iter().chain(ratios).collect()
    });
    let title = if is_of_threads {
        "Cost of an OS thread, as a multiple of an async task's"
    } else {
        "Ratios"
    };
    let names = machines.iter().map(|machine| machine.name.as_str());
    Section::new(title, Grid::new([""].into_iter().chain(names), lines.collect()), [])
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
fn differences(machines: &[MachineResults<'_>]) -> Section {
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
    let lines = machines.iter().map(|machine| {
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
    });
    let grid = Grid::new(head, lines.collect());
    Section::new("Machines", grid, [RULE.to_owned()])
}

/// The first two numbers of a release, which name its series: `6.18` of `6.18.44`.
fn series(release: &str) -> String {
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Both costs of a question, a line for each machine; how to read them stands below the first question.
fn costs(machines: &[MachineResults<'_>], question: (&str, &Metric)) -> Section {
    let lines = machines.iter().map(|machine| {
        let costs = machine
            .row(question)
            .map_or([ABSENT; 2].map(str::to_owned), |row| [&row.thread, &row.task].map(cost));
        [machine.name.clone()].into_iter().chain(costs).collect()
    });
    let first = machines.iter().find_map(|machine| machine.row(question));
    let sides = first.map_or([""; 2], |row| row.sides.each_ref().map(String::as_str));
    let is_first = questions(machines).first() == Some(&question);
    let grid = Grid::new([""].into_iter().chain(sides), lines.collect());
    let section = Section::new(question.0, grid, is_first.then(|| GROUPS.to_owned()));
    Section { plot: plot::of_machines(machines, question), ..section }
}

/// The facts of a machine, its doubts, how far to trust it, and the rows of the others that it lacks.
fn notes(machines: &[MachineResults<'_>], machine: &MachineResults<'_>) -> Section {
    let mut lines = vec![format!("{}.", provenance::machine(&machine.records))];
    lines.extend(machine.doubts());
    lines.extend(machine.answer.iter().map(|answer| answer.conditions.to_string()));
    let mut absent = questions(machines);
    absent.retain(|question| machine.row(*question).is_none());
    if !absent.is_empty() {
        let names: Vec<&str> = absent.into_iter().map(|(name, _)| name).collect();
        lines.push(format!("Not in {}: {}.", machine.file, names.join("; ")));
    }
    Section { is_folded: true, ..Section::new(&machine.name, Grid::default(), lines) }
}
