//! Every limit of a system against every program, and what raises it, for a terminal.

use std::io::{self, Write};

use contract::units::Bytes;
use facts::limits::{CapabilityState, LimitState, LimitStatus, Resource, Rights};
use terminal_size::{Width, terminal_size_of};

use super::grid::Grid;
use super::layout::wrapped;
use crate::views::doctor::{Checkup, Line, Verdict};

/// Width of text if standard output is no terminal.
const USUAL: usize = 100;

/// Narrowest and widest text: the terminal breaks lines under it, and nobody reads longer ones.
const LIMITS: [usize; 2] = [60, 120];

/// Width of text on this standard output.
pub fn width() -> usize {
    let [narrowest, widest] = LIMITS;
    terminal_size_of(io::stdout())
        .map_or(USUAL, |(Width(columns), _)| usize::from(columns).clamp(narrowest, widest))
}

/// Writes the answer within `width` columns; only commands and paths may be longer.
///
/// # Errors
/// Errors of the writer.
pub fn text(checkup: &Checkup, width: usize, out: &mut impl Write) -> io::Result<()> {
    wrapped(&rights(&checkup.rights), 0, width, out)?;
    writeln!(out)?;
    table(checkup, width, out)?;
    others(checkup, width, out)?;
    writeln!(out)?;
    for verdict in &checkup.programs {
        wrapped(&sentence(verdict, checkup.tasks), 4, width, out)?;
    }
    remedies(checkup, width, out)
}

fn rights(rights: &Rights) -> String {
    let who = match (rights.root, rights.first_namespace) {
        (true, true) => "root",
        (true, false) => "root of a user namespace only",
        (false, _) => "not root",
    };
    let capability = match rights.sys_resource {
        CapabilityState::Held => "CAP_SYS_RESOURCE is held: hard limits can be raised",
        CapabilityState::NotHeld => "CAP_SYS_RESOURCE is not held: raising a hard limit takes root",
        CapabilityState::Withheld => {
            "CAP_SYS_RESOURCE is withheld, from root too: hard limits can be raised only where \
             this container, service or machine is started"
        }
        CapabilityState::Unknown => "whether CAP_SYS_RESOURCE is held cannot be read",
    };
    let sysctls = match rights.sysctls_writable {
        true => "",
        false => "; /proc/sys is read-only: kernel parameters can be raised only on the host",
    };
    format!("This process is {who}. {capability}{sysctls}.")
}

fn table(checkup: &Checkup, width: usize, out: &mut impl Write) -> io::Result<()> {
    let programs = checkup.programs.iter().map(|v| v.program.replace('-', "\n"));
    let fixed = ["limit", "value", "in use"].map(str::to_owned);
    let mut grid = Grid { head: fixed.into_iter().chain(programs).collect(), body: Vec::new() };
    for Line { status, most } in checkup.limits.iter().filter(|line| !line.most.is_empty()) {
        let shown = |value: Option<u64>| {
            value.map_or_else(|| "?".to_owned(), |value| amount(value, status.resource))
        };
        let mut cells = vec![short(checkup, status), shown(status.value), shown(status.in_use)];
        for verdict in &checkup.programs {
            let is_first = verdict.binding.as_ref() == Some(&status.name);
            cells.push(match most.get(&verdict.program) {
                None => "·".to_owned(),
                Some(most) if is_first => format!("{}*", count(*most)),
                Some(most) => count(*most),
            });
        }
        grid.body.push(cells);
    }
    let groups = groups(checkup);
    let title = "Most tasks that each limit allows (* binds first, · does not bound this one):";
    wrapped(title, 0, width, out)?;
    writeln!(out)?;
    grid.write_text(width, out)?;
    for (number, group) in (1..).zip(groups) {
        writeln!(out, "[{number}] {group}")?;
    }
    Ok(())
}

/// Folder of the control group that a limit is one of.
fn group(status: &LimitStatus) -> Option<&str> {
    let (folder, file) = status.source.rsplit_once('/')?;
    (file == status.name).then_some(folder)
}

/// Control groups in the order of the table.
fn groups(checkup: &Checkup) -> Vec<&str> {
    let mut groups = Vec::new();
    for line in checkup.limits.iter().filter(|line| !line.most.is_empty()) {
        groups.extend(group(&line.status).filter(|group| !groups.contains(group)));
    }
    groups
}

/// Name in the table: short, and with the number of its group.
fn short(checkup: &Checkup, status: &LimitStatus) -> String {
    let name = status.name.split(" (").next().unwrap_or(&status.name);
    // Kernel parameters go by their last name.
    let families = ["fs.", "kernel.", "vm."];
    let name = families.iter().find_map(|family| name.strip_prefix(family)).unwrap_or(name);
    let number = group(status).and_then(|own| groups(checkup).iter().position(|g| *g == own));
    match number {
        Some(number) => format!("{name} [{}]", number + 1),
        None => name.to_owned(),
    }
}

/// Name without what stands in brackets; a control group's limit goes by its path.
fn name(status: &LimitStatus) -> String {
    match status.source.rsplit_once('/') {
        Some((_, file)) if file == status.name => status.source.clone(),
        _ => {
            let name = status.name.split(" (").next();
            name.unwrap_or(&status.name).to_owned()
        }
    }
}

/// Limits that bound no program, in short.
fn others(checkup: &Checkup, width: usize, out: &mut impl Write) -> io::Result<()> {
    for (is_unknown, heading) in
        [(false, "\nNot bounding any of them:"), (true, "\nNot known, so not in the table:")]
    {
        let is_meant = |line: &&Line| {
            line.most.is_empty() && (line.status.state == LimitState::Unknown) == is_unknown
        };
        let mut lines = checkup.limits.iter().filter(is_meant).peekable();
        if lines.peek().is_some() {
            writeln!(out, "{heading}")?;
        }
        for Line { status, .. } in lines {
            let value = status.value.map(|value| amount(value, status.resource));
            let words: Vec<&str> =
                value.as_deref().into_iter().chain(status.remark.as_deref()).collect();
            let line = format!("  {}: {}", name(status), words.join(", "));
            wrapped(&line, 6, width, out)?;
        }
    }
    Ok(())
}

/// Most tasks that all limits together allow one program.
fn sentence(verdict: &Verdict, tasks: Option<u64>) -> String {
    let program = &verdict.program;
    if let Some(error) = &verdict.error {
        return format!("{program}: cannot be asked: {error}");
    }
    let most = match (verdict.most, &verdict.binding) {
        (Some(most), Some(limit)) => format!("at most {most} tasks, for {limit}"),
        _ => "no known limit bounds it".to_owned(),
    };
    match (tasks, verdict.fits) {
        (Some(tasks), Some(true)) => format!("{program}: {tasks} tasks fit ({most})"),
        (Some(tasks), Some(false)) => format!("{program}: {tasks} tasks do NOT fit: {most}"),
        _ => format!("{program}: {most}"),
    }
}

fn remedies(checkup: &Checkup, width: usize, out: &mut impl Write) -> io::Result<()> {
    if checkup.raises.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let heading = match checkup.tasks {
        Some(tasks) => format!("For {tasks} tasks of each, in this order:"),
        None => "For twice as many of each, in this order (--tasks N says what N of them take):"
            .to_owned(),
    };
    wrapped(&heading, 0, width, out)?;
    for raise in &checkup.raises {
        let limit = &raise.shortage.limit;
        let exact = |value: u64| match limit.resource.is_bytes() {
            true => Bytes(value).to_string(),
            false => value.to_string(),
        };
        let head = format!(
            "{}: {}, needed {} ({})",
            name(limit),
            limit.value.map_or_else(|| "?".to_owned(), exact),
            exact(raise.shortage.needed),
            raise.programs.join(", ")
        );
        writeln!(out)?;
        wrapped(&head, 4, width, out)?;
        let remedy = &raise.shortage.remedy;
        match &remedy.command {
            Some(command) => writeln!(out, "    {command}")?,
            None => wrapped(&format!("    {remedy}"), 4, width, out)?,
        }
        if let (Some(_), Some(lasts)) = (&remedy.command, remedy.lasts) {
            let root = if remedy.needs_root { "needs root; " } else { "" };
            wrapped(&format!("  {root}lasts {lasts}"), 2, width, out)?;
        }
        for line in remedy.to_last.iter().flat_map(|text| text.lines()) {
            writeln!(out, "    to make it last: {line}")?;
        }
        if let Some(refusal) = &remedy.refusal {
            wrapped(&format!("  {refusal}"), 2, width, out)?;
        }
    }
    Ok(())
}

/// An amount in three digits or so: `23.4G` of what the name of the limit says.
fn amount(value: u64, resource: Resource) -> String {
    match resource.is_bytes() {
        true => scaled(value, 1024.0, 1024),
        false => count(value),
    }
}

/// A count: exact up to a million, and then in millions and so on.
fn count(value: u64) -> String {
    scaled(value, 1000.0, 1_000_000)
}

fn scaled(value: u64, step: f64, exact_below: u64) -> String {
    if value < exact_below {
        return value.to_string();
    }
    let mut scaled = value as f64;
    let mut units = ["", "k", "M", "G", "T", "P", "E"].iter().peekable();
    let mut unit = units.next().unwrap_or(&"");
    while scaled >= step && units.peek().is_some() {
        scaled /= step;
        unit = units.next().unwrap_or(unit);
    }
    let decimals = match scaled {
        s if s < 10.0 => 2,
        s if s < 100.0 => 1,
        _ => 0,
    };
    format!("{scaled:.decimals$}{unit}")
}
