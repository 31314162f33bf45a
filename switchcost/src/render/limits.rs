//! Every limit of a system against every benchmark, and what raises it, for a terminal.

use std::io::{self, Write};

use harness::limits::{Held, Lasting, Resource, Rights, Standing};
use contract::units::Bytes;
use terminal_size::{Width, terminal_size_of};

use super::layout::{Table, wrapped};
use crate::doctor::{Checkup, Line, Raise, Verdict};

/// As wide as text may be where the terminal's width is not known.
const WIDEST: usize = 100;

/// Under this a line is broken by the terminal.
const NARROWEST: usize = 60;

/// How wide the text may be on this standard output.
pub fn width() -> usize {
    terminal_size_of(io::stdout()).map_or(WIDEST, |(Width(columns), _)| {
        usize::from(columns).clamp(NARROWEST, WIDEST)
    })
}

/// Writes the answer within `width` columns; only commands and paths may be longer.
///
/// # Errors
/// What the writer reports.
pub fn text(checkup: &Checkup, width: usize, out: &mut impl Write) -> io::Result<()> {
    wrapped(&rights(&checkup.rights), 0, width, out)?;
    writeln!(out)?;
    table(checkup, width, out)?;
    groups(checkup, width, out)?;
    for standing in [Standing::Free, Standing::Unknown] {
        others(checkup, standing, width, out)?;
    }
    writeln!(out)?;
    for verdict in &checkup.programs {
        wrapped(&sentence(verdict, checkup.tasks), 4, width, out)?;
    }
    commands(checkup, width, out)
}

/// What may be raised at all.
fn rights(rights: &Rights) -> String {
    let who = match (rights.root, rights.first_namespace) {
        (true, true) => "root",
        (true, false) => "root of a user namespace only",
        (false, _) => "not root",
    };
    let capability = match rights.sys_resource {
        Held::Held => "CAP_SYS_RESOURCE is held: hard limits can be raised",
        Held::NotHeld => "CAP_SYS_RESOURCE is not held: raising a hard limit takes root",
        Held::Withheld => {
            "CAP_SYS_RESOURCE is withheld, from root too: hard limits can be raised only where \
             this container, service or machine is started"
        }
        Held::Unknown => "whether CAP_SYS_RESOURCE is held cannot be read",
    };
    let sysctls = match rights.sysctls_writable {
        true => "",
        false => "; /proc/sys is read-only: kernel parameters can be raised only on the host",
    };
    format!("This process is {who}. {capability}{sysctls}.")
}

fn table(checkup: &Checkup, width: usize, out: &mut impl Write) -> io::Result<()> {
    let bounding = |line: &&Line| !line.largest.is_empty();
    let mut table = Table::new(["limit", "value", "in use"]);
    for verdict in &checkup.programs {
        table.column(&verdict.program);
    }
    for line in checkup.limits.iter().filter(bounding) {
        let in_use = line.finding.in_use;
        let mut cells = vec![
            name(checkup, line),
            line.finding
                .value
                .map_or_else(String::new, |value| amount(value, line.finding.resource)),
            in_use.map_or("?".to_owned(), |value| amount(value, line.finding.resource)),
        ];
        for verdict in &checkup.programs {
            let most = line.largest.get(&verdict.program);
            let is_first = line.binds_first.contains(&verdict.program);
            cells.push(match most {
                None => "·".to_owned(),
                Some(most) if is_first => format!("{}*", count(*most)),
                Some(most) => count(*most),
            });
        }
        table.row(cells);
    }
    let title = "How many tasks each limit allows (* binds first, · does not bound this one):";
    wrapped(title, 0, width, out)?;
    writeln!(out)?;
    table.write(width, out)
}

/// A limit's name in the table: short, and with the number of its group.
fn name(checkup: &Checkup, line: &Line) -> String {
    let name = short(&line.finding.name);
    match group_number(checkup, line) {
        Some(number) => format!("{name} [{number}]"),
        None if line.finding.standing == Standing::Shrinks => format!("{name} ~"),
        None => name.to_owned(),
    }
}

fn short(name: &str) -> &str {
    let name = name.split(" (").next().unwrap_or(name);
    // Kernel parameters go by their last name.
    let families = ["fs.", "kernel.", "vm."];
    let family = families.iter().find_map(|family| name.strip_prefix(family));
    family.unwrap_or(name)
}

/// The folder of a control group, where a limit is one of a group.
fn group(line: &Line) -> Option<&str> {
    let (folder, file) = line.finding.source.rsplit_once('/')?;
    (file == line.finding.name).then_some(folder)
}

/// The groups in the order of the table.
fn bounding_groups(checkup: &Checkup) -> Vec<&str> {
    let mut groups = Vec::new();
    for line in checkup
        .limits
        .iter()
        .filter(|line| !line.largest.is_empty())
    {
        if let Some(group) = group(line)
            && !groups.contains(&group)
        {
            groups.push(group);
        }
    }
    groups
}

fn group_number(checkup: &Checkup, line: &Line) -> Option<usize> {
    let group = group(line)?;
    let groups = bounding_groups(checkup);
    groups
        .iter()
        .position(|other| *other == group)
        .map(|i| i + 1)
}

fn groups(checkup: &Checkup, width: usize, out: &mut impl Write) -> io::Result<()> {
    for (number, group) in (1..).zip(bounding_groups(checkup)) {
        writeln!(out, "[{number}] {group}")?;
    }
    let shrinks =
        |line: &&Line| line.finding.standing == Standing::Shrinks && !line.largest.is_empty();
    for line in checkup.limits.iter().filter(shrinks) {
        let remark = line.finding.remark.as_deref().unwrap_or_default();
        wrapped(&format!("~ {remark}"), 2, width, out)?;
    }
    Ok(())
}

/// Limits that bound no benchmark, in short.
fn others(
    checkup: &Checkup,
    standing: Standing,
    width: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let heading = match standing {
        Standing::Unknown => "\nNot known, so not in the table:",
        _ => "\nNot bounding any of them:",
    };
    let is_meant = |line: &&Line| {
        let unknown = line.finding.standing == Standing::Unknown;
        line.largest.is_empty() && unknown == (standing == Standing::Unknown)
    };
    let mut lines = checkup.limits.iter().filter(is_meant).peekable();
    if lines.peek().is_some() {
        writeln!(out, "{heading}")?;
    }
    for line in lines {
        let finding = &line.finding;
        let name = match group(line) {
            Some(_) => &finding.source,
            None => &finding.name,
        };
        let value = finding.value.map(|value| amount(value, finding.resource));
        let words: Vec<&str> = [value.as_deref(), finding.remark.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        wrapped(&format!("  {name}: {}", words.join(", ")), 6, width, out)?;
    }
    Ok(())
}

/// What all limits together mean for one benchmark.
fn sentence(verdict: &Verdict, tasks: Option<u64>) -> String {
    let program = &verdict.program;
    if let Some(error) = &verdict.error {
        return format!("{program}: cannot be asked: {error}");
    }
    let most = match (verdict.largest, &verdict.binding) {
        (Some(0), Some(limit)) => format!("not even one task, for {}", limit.name),
        (Some(largest), Some(limit)) => format!("at most {largest} tasks, for {}", limit.name),
        _ => "nothing that is known bounds it".to_owned(),
    };
    match (tasks, verdict.fits) {
        (Some(tasks), Some(true)) => format!("{program}: {tasks} tasks fit ({most})"),
        (Some(tasks), Some(false)) => format!("{program}: {tasks} tasks do NOT fit: {most}"),
        _ => format!("{program}: {most}"),
    }
}

fn commands(checkup: &Checkup, width: usize, out: &mut impl Write) -> io::Result<()> {
    if checkup.raises.is_empty() {
        return Ok(());
    }
    match checkup.tasks {
        Some(tasks) => writeln!(out, "\nFor {tasks} tasks of each, in this order:")?,
        None => {
            let heading =
                "For twice as many of each, in this order (--tasks N says what N of them take):";
            writeln!(out)?;
            wrapped(heading, 0, width, out)?;
        }
    }
    for raise in &checkup.raises {
        write_raise(raise, width, out)?;
    }
    if checkup
        .raises
        .iter()
        .any(|r| r.shortage.resource.is_of_links())
    {
        writeln!(out)?;
        let way_on = "Where descriptors cannot be raised: async-mem-brigade and \
            thread-mem-brigade need none, their links are in memory.";
        wrapped(way_on, 0, width, out)?;
    }
    Ok(())
}

fn write_raise(raise: &Raise, width: usize, out: &mut impl Write) -> io::Result<()> {
    let short = &raise.shortage;
    let [allowed, needed] = [short.allowed, short.needed].map(|value| exact(value, short.resource));
    let programs = raise.programs.join(", ");
    let head = format!("{}: {allowed}, needed {needed} ({programs})", short.name);
    writeln!(out)?;
    wrapped(&head, 4, width, out)?;
    match short.remedy.strip_prefix("# ") {
        Some(words) => wrapped(&format!("    {words}"), 4, width, out)?,
        None => writeln!(out, "    {}", short.remedy)?,
    }
    if let Some(lasts) = short.lasts {
        let root = if short.needs_root { "needs root; " } else { "" };
        let until = match lasts {
            Lasting::Shell => "lasts for this shell and what it starts",
            Lasting::Reboot => "lasts until the next reboot",
            Lasting::Group => "lasts until the group is made anew",
        };
        wrapped(&format!("  {root}{until}. To make it last:"), 2, width, out)?;
    }
    for line in short.to_last.iter().flat_map(|text| text.lines()) {
        writeln!(out, "    {line}")?;
    }
    match short.note {
        Some(note) => wrapped(&format!("  {note}"), 2, width, out),
        None => Ok(()),
    }
}

/// An amount in three digits or so.
fn amount(value: u64, resource: Resource) -> String {
    match resource.is_bytes() {
        true => {
            // `23.42 GiB` as `23.4G`: what is meant is in the name of the limit.
            let units = ["B", "K", "M", "G", "T", "P", "E"];
            scaled(value, 1024.0, &units, 1024)
        }
        false => count(value),
    }
}

/// A count: exact up to a million, and then in millions and so on.
fn count(value: u64) -> String {
    scaled(
        value,
        1000.0,
        &["", "k", "M", "G", "T", "P", "E"],
        1_000_000,
    )
}

fn scaled(value: u64, step: f64, units: &[&str], exact_below: u64) -> String {
    if value < exact_below {
        return format!("{value}{}", units[0]);
    }
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= step && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    let decimals = match scaled {
        s if s < 10.0 => 2,
        s if s < 100.0 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$}{}", units[unit])
}

fn exact(value: u64, resource: Resource) -> String {
    match resource {
        Resource::Pipes => format!("{value} pipes of 16 pages"),
        _ if resource.is_bytes() => Bytes(value).to_string(),
        _ => value.to_string(),
    }
}
