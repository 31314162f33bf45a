//! Every limit of a system against every program, and how to raise it, for a terminal.

use std::io::{self, Write};

use contract::units::{Bytes, counted};
use limits::{CapabilityState, LimitStatus, Rights};

use super::grid::Grid;
use super::layout::wrapped;
use crate::views::limits::{LimitRow, LimitsReport, ProgramRow};

/// Writes the limits within `width` columns; only commands and paths may be longer.
///
/// # Errors
/// Errors of the writer.
pub fn text(report: &LimitsReport, width: usize, out: &mut impl Write) -> io::Result<()> {
    wrapped(&rights(&report.rights), 0, width, out)?;
    writeln!(out)?;
    let title = "Most tasks that each limit allows (* binds first, · no limit for this program):";
    wrapped(title, 0, width, out)?;
    writeln!(out)?;
    table(report, width, out)?;
    writeln!(out)?;
    for row in &report.programs {
        wrapped(&sentence(row, report.tasks), 4, width, out)?;
    }
    let mut too_low = report.limits.iter().filter(|row| row.remedy.is_some()).peekable();
    if too_low.peek().is_none() {
        return Ok(());
    }
    writeln!(out)?;
    let heading = match report.tasks {
        Some(tasks) => format!("To make room for {} of each, in this order:", counted(tasks, "task")),
        None => "To make room for twice as many of each, in this order (--tasks N shows it for N of them):"
            .to_owned(),
    };
    wrapped(&heading, 0, width, out)?;
    too_low.try_for_each(|row| write_raise(row, &report.programs, width, out))
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

/// Writes the limits that bound a program as a table, and the others below it.
fn table(report: &LimitsReport, width: usize, out: &mut impl Write) -> io::Result<()> {
    let programs: Vec<_> = report.programs.iter().filter(|row| row.error.is_none()).collect();
    let names = programs.iter().map(|row| row.program.as_str());
    let head = ["limit", "value", "in use"].into_iter().chain(names).map(str::to_owned);
    let mut body = Vec::new();
    let mut notes = Vec::new();
    let is_bound = |row: &&LimitRow| !row.most.is_empty();
    for LimitRow { status, most, .. } in report.limits.iter().filter(is_bound) {
        let mut name = short_name(status).to_owned();
        if status.is_of_group() {
            notes.push(format!("[{}] {}", notes.len() + 1, status.source));
            name = format!("{name} [{}]", notes.len());
        }
        let mut cells = vec![name, amount(status, status.value), amount(status, status.in_use)];
        for row in &programs {
            let mark = if row.binding == Some(status.to_string()) { "*" } else { "" };
            let most = most.get(&row.program);
            cells.push(most.map_or_else(|| "·".to_owned(), |most| format!("{most}{mark}")));
        }
        body.push(cells);
    }
    let mut grid = Grid::new(head, body);
    grid.head[3..].iter_mut().for_each(|name| *name = name.replace('-', "\n"));
    grid.write_text(width, out)?;
    notes.iter().try_for_each(|note| writeln!(out, "{note}"))?;
    let mut others = report.limits.iter().filter(|row| !is_bound(row)).peekable();
    if others.peek().is_some() {
        writeln!(out, "\nNot in the table:")?;
    }
    for LimitRow { status, .. } in others {
        let value = status.value.map(|_| amount(status, status.value));
        let words: Vec<String> = value.into_iter().chain(status.remark.clone()).collect();
        wrapped(&format!("  {}: {}", name(status), words.join(", ")), 6, width, out)?;
    }
    Ok(())
}

/// Path of a control group's file; another limit's name without what stands in brackets.
pub(super) fn name(status: &LimitStatus) -> &str {
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
    let most = match (row.most, &row.binding) {
        (Some(most), Some(limit)) => {
            format!("at most {}, because of {limit}", counted(most, "task"))
        }
        _ => "no known limit applies".to_owned(),
    };
    match (tasks, row.fits) {
        (Some(1), Some(true)) => format!("{program}: 1 task fits ({most})"),
        (Some(1), Some(false)) => format!("{program}: 1 task does NOT fit: {most}"),
        (Some(tasks), Some(true)) => format!("{program}: {tasks} tasks fit ({most})"),
        (Some(tasks), Some(false)) => format!("{program}: {tasks} tasks do NOT fit: {most}"),
        _ => format!("{program}: {most}"),
    }
}

/// Writes a limit that is too low, the programs that need more, and the command that raises it.
fn write_raise(
    LimitRow { status, needed, remedy, .. }: &LimitRow,
    programs: &[ProgramRow],
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let value = amount(status, status.value);
    let most = amount(status, needed.values().max().copied());
    let names = programs.iter().map(|row| row.program.as_str());
    let names: Vec<&str> = names.filter(|name| needed.contains_key(*name)).collect();
    let line = format!("{}: {value}, needed {most} ({})", name(status), names.join(", "));
    writeln!(out)?;
    wrapped(&line, 4, width, out)?;
    remedy.iter().try_for_each(|remedy| writeln!(out, "    {remedy}"))
}
