//! Every limit of a system against every program, and how to raise it.

use host::units::{Bytes, counted};
use limits::{CapabilityState, LimitStatus, Rights};
use serde_json::{Value, json};

use super::document::{Document, Section, TextLine, sentences};
use super::grid::Grid;
use super::report::{Report, Spreadsheet};
use crate::views::limits::{LimitRow, LimitsReport, ProgramRow};

/// A line for each limit and each program that it bounds.
const COLUMNS: &[(&str, &str)] = &[
    ("limit", "/name"),
    ("value", "/value"),
    ("in_use", "/in_use"),
    ("program", "/program"),
    ("most_tasks", "/most_tasks"),
    ("needed", "/needed_by"),
];

impl Report for LimitsReport {
    fn documents(&self) -> Vec<Document> {
        vec![document(self)]
    }

    fn spreadsheet(&self) -> Spreadsheet {
        let mut lines = Vec::new();
        for row in &self.limits {
            for (program, most) in &row.most {
                let mut line: Value = json!(row.status);
                line["program"] = json!(program);
                line["most_tasks"] = json!(most);
                line["needed_by"] = json!(row.needed.get(program));
                lines.push(line);
            }
        }
        Spreadsheet { columns: COLUMNS, lines }
    }
}

/// What each limit allows each program, and the commands that raise those that are too low.
fn document(report: &LimitsReport) -> Document {
    let (bound, others): (Vec<&LimitRow>, Vec<&LimitRow>) =
        report.limits.iter().partition(|row| !row.most.is_empty());
    let mut sections = vec![table(report, &bound)];
    let others = others.iter().map(|row| unbound(&row.status)).collect::<Vec<_>>();
    if !others.is_empty() {
        sections.push(Section::new("Not in the table:", Grid::default(), others));
    }
    // Without a number of tasks, the table says it all.
    let asked = report.programs.iter().filter(|row| report.tasks.is_some() || row.error.is_some());
    let asked: Vec<String> = asked.map(|row| sentence(row, report.tasks)).collect();
    if !asked.is_empty() {
        sections.push(Section::new("", Grid::default(), asked));
    }
    let too_low: Vec<&LimitRow> = report.limits.iter().filter(|row| row.remedy.is_some()).collect();
    if !too_low.is_empty() {
        let title = match report.tasks {
            Some(tasks) => {
                format!("To make room for {} of each, in this order:", counted(tasks, "task"))
            }
            None => "To make room for twice as many tasks of each program, in this order (--tasks N shows it for N of \
                     them):"
                .to_owned(),
        };
        sections.push(Section::new(&title, Grid::default(), []));
        sections.extend(too_low.into_iter().map(|row| raise(row, &report.programs)));
    }
    Document {
        title: "What the limits of this system allow".to_owned(),
        head: sentences([rights(&report.rights)]),
        sections,
        ..Document::default()
    }
}

fn rights(rights: &Rights) -> String {
    let who = match (rights.root, rights.first_namespace) {
        (true, true) => "root",
        (true, false) => "root only in a user namespace",
        (false, _) => "not root",
    };
    let hard = match rights.sys_resource {
        CapabilityState::Held => "can be raised",
        CapabilityState::NotHeld => "can be raised by root",
        CapabilityState::Withheld => {
            "can be raised only where this container, service or machine is started \
             (CAP_SYS_RESOURCE is withheld)"
        }
    };
    let mut text = format!("This process is {who}. Hard limits {hard}.");
    if !rights.sysctls_writable {
        text += " Kernel parameters can be raised only on the host (/proc/sys is read-only).";
    }
    if !rights.groups_writable {
        text += " Limits of control groups can be raised only where this container or service is started \
                 (they are mounted read-only).";
    }
    text
}

/// A column for each limit that bounds a program, and a row for each program.
fn table(report: &LimitsReport, limits: &[&LimitRow]) -> Section {
    let mut head = vec![String::new()];
    let mut values = vec!["value".to_owned()];
    let mut used = vec!["in use".to_owned()];
    let mut notes = Vec::new();
    for LimitRow { status, .. } in limits {
        let mut name = short_name(status).to_owned();
        if status.is_of_group() {
            notes.push(format!("[{}] {}", notes.len() + 1, status.source));
            name = format!("{name} [{}]", notes.len());
        }
        head.push(name);
        values.push(amount(status, status.value));
        used.push(amount(status, status.in_use));
    }
    let mut body = vec![values, used];
    for program in report.programs.iter().filter(|row| row.error.is_none()) {
        let cells = limits.iter().map(|LimitRow { status, most, .. }| {
            let mark = if program.binding == Some(status.to_string()) { "*" } else { "" };
            let tasks = most.get(&program.program);
            tasks.map_or_else(|| "·".to_owned(), |tasks| format!("{tasks}{mark}"))
        });
        body.push([program.program.clone()].into_iter().chain(cells).collect());
    }
    let title = "Most tasks that each limit allows (* binds first, · no limit for this program):";
    Section::new(title, Grid::new(head, body), notes)
}

/// A limit that bounds no program.
fn unbound(status: &LimitStatus) -> String {
    let value = status.value.map(|_| amount(status, status.value));
    let words: Vec<String> = value.into_iter().chain(status.remark.clone()).collect();
    format!("{}: {}", name(status), words.join(", "))
}

/// Path of a control group's file; another limit's name without what stands in brackets.
fn name(status: &LimitStatus) -> &str {
    if status.is_of_group() {
        return &status.source;
    }
    status.name.split_once(" (").map_or(&status.name, |(name, _)| name)
}

/// Name in the table: kernel parameters go by their last name.
fn short_name(status: &LimitStatus) -> &str {
    if status.is_of_group() {
        return &status.name;
    }
    let name = name(status);
    ["fs.", "kernel.", "vm."].iter().find_map(|family| name.strip_prefix(family)).unwrap_or(name)
}

/// An amount as a count or in bytes.
fn amount(status: &LimitStatus, value: Option<u64>) -> String {
    match value {
        None => "?".to_owned(),
        Some(value) if status.resource.is_bytes() => Bytes(value).to_string(),
        Some(value) => value.to_string(),
    }
}

/// Most tasks that all limits together allow one program.
fn sentence(row: &ProgramRow, tasks: Option<u64>) -> String {
    let program = &row.program;
    if let Some(error) = &row.error {
        return format!("{program}: it cannot be asked: {error}");
    }
    let bound = match (row.most, &row.binding) {
        (Some(tasks), Some(limit)) => {
            format!("at most {}, because of {limit}", counted(tasks, "task"))
        }
        _ => "no known limit applies".to_owned(),
    };
    match (tasks, row.fits) {
        (Some(1), Some(true)) => format!("{program}: 1 task fits ({bound})"),
        (Some(1), Some(false)) => format!("{program}: 1 task does NOT fit: {bound}"),
        (Some(tasks), Some(true)) => format!("{program}: {tasks} tasks fit ({bound})"),
        (Some(tasks), Some(false)) => format!("{program}: {tasks} tasks do NOT fit: {bound}"),
        _ => format!("{program}: {bound}"),
    }
}

/// A limit that is too low, the programs that need more, and the command that raises it.
fn raise(LimitRow { status, needed, remedy, .. }: &LimitRow, programs: &[ProgramRow]) -> Section {
    let value = amount(status, status.value);
    let wanted = amount(status, needed.values().max().copied());
    let names = programs.iter().map(|row| row.program.as_str());
    let names: Vec<&str> = names.filter(|name| needed.contains_key(*name)).collect();
    let title = format!("{}: {value}, needed {wanted} ({})", name(status), names.join(", "));
    let commands = remedy.iter().flat_map(|remedy| remedy.lines());
    let lines = commands.map(|command| TextLine::command(command.to_owned())).collect();
    Section { title, lines, ..Section::default() }
}
