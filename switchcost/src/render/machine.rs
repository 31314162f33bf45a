//! A machine's CPUs for a terminal.

use std::io::{self, Write};
use std::slice;

use contract::units::counted;
use facts::Quantity;
use facts::machine::cpu_map::{CpuMap, Relation};
use facts::machine::cpu_ranges;

use super::grid::{ABSENT, Grid};
use super::layout::{named, wrapped};
use crate::figures::number::short;
use crate::views::machine::{CpuPair, MachineReport};

/// Widest line.
const WIDTH: usize = 99;

/// Width of the names before the lines.
const INDENT: usize = 17;

/// Most groups that are listed.
const MOST_GROUPS: usize = 16;

/// Writes the topology of the CPUs, and the round trips of a cache line between them.
///
/// # Errors
/// Errors of the writer.
pub fn text(report: &MachineReport, out: &mut impl Write) -> io::Result<()> {
    wrapped(&report.machine.summary(), 0, WIDTH, out)?;
    writeln!(out)?;
    write_arrangement(&report.map, &report.allowed, out)?;
    if report.cpus.len() < 2 {
        return writeln!(out, "\nThere is only one CPU, so no cache line travels.");
    }
    writeln!(out, "\nRound trip of a cache line between two CPUs, in ns:")?;
    matrix(report).write_text(WIDTH, out)?;
    writeln!(out)?;
    by_relation(&report.pairs).write_text(WIDTH, out)?;
    let left = report.allowed.len() - report.cpus.len();
    if left > 0 {
        let are = if left == 1 { "is" } else { "are" };
        writeln!(
            out,
            "{} {are} left out: use --cpus LIST to choose others.",
            counted(left, "CPU")
        )?;
    }
    if report.machine.virtualisation.as_deref().is_some_and(|host| host != "none") {
        let line = "The machine is virtual: this topology may not be the real one, and the host may move a CPU at any time. Repeat \
                    the command to see whether it does.";
        wrapped(line, 0, WIDTH, out)?;
    }
    Ok(())
}

/// Writes what the CPUs share.
fn write_arrangement(map: &CpuMap, allowed: &[u32], out: &mut impl Write) -> io::Result<()> {
    write_line("CPUs online", &listed(slice::from_ref(&map.online)), out)?;
    write_line("of this process", &listed(&[allowed.to_vec()]), out)?;
    write_line("sockets", &groups(&map.sockets, map), out)?;
    write_line("NUMA nodes", &groups(&map.numa_nodes, map), out)?;
    for cache in map.caches.iter().rev().filter(|cache| cache.kind != "Instruction") {
        let size = cache.size_bytes.map(|size| short(Quantity::Bytes, size as f64));
        let kind = if cache.kind == "Data" { "d" } else { "" };
        let name = format!("L{}{kind} {}", cache.level, size.unwrap_or_default());
        write_line(&name, &groups(&cache.groups, map), out)?;
    }
    let siblings: Vec<_> = map.cores.iter().filter(|core| core.len() > 1).cloned().collect();
    let has_none = siblings.is_empty() && !map.cores.is_empty();
    let siblings = if has_none { "none".to_owned() } else { listed(&siblings) };
    write_line("SMT siblings", &siblings, out)
}

fn write_line(name: &str, text: &str, out: &mut impl Write) -> io::Result<()> {
    named(name, text, (INDENT, WIDTH), out)
}

/// Number of groups, and the CPUs of each if the number does not tell them.
fn groups(groups: &[Vec<u32>], map: &CpuMap) -> String {
    match groups.len() {
        0 => listed(groups),
        number if number > 1 && *groups == map.cores => format!("{number}, one per core"),
        number => format!("{number}: {}", listed(groups)),
    }
}

/// CPUs of each group, as far as there is room. No list is broken.
fn listed(groups: &[Vec<u32>]) -> String {
    if groups.iter().all(Vec::is_empty) {
        return "unknown".to_owned();
    }
    let shown = groups.iter().take(MOST_GROUPS);
    let mut lists: Vec<String> = shown.map(|cpus| cpu_ranges(cpus)).collect();
    if groups.len() > MOST_GROUPS {
        lists.push(format!("and {} more", groups.len() - MOST_GROUPS));
    }
    lists.join("; ")
}

/// Each CPU against those before it, in whole ns: more digits change from pass to pass.
fn matrix(report: &MachineReport) -> Grid {
    let cpus = &report.cpus;
    let columns = cpus[..cpus.len() - 1].iter().map(u32::to_string);
    let head = [String::new()].into_iter().chain(columns);
    let mut body = Vec::new();
    for (k, &cpu) in cpus.iter().enumerate().skip(1) {
        let mut row = vec![format!("CPU {cpu}")];
        for &other in &cpus[..k] {
            let pair = report.pairs.iter().find(|pair| pair.cpus == [other, cpu]);
            let median = pair.and_then(|pair| pair.median_ns);
            row.push(median.map_or_else(|| ABSENT.to_owned(), |ns| format!("{ns:.0}")));
        }
        row.resize(cpus.len(), String::new());
        body.push(row);
    }
    Grid::new(head, body)
}

/// Relations that were measured, the nearest first and the unknown last: the median of the pairs'
/// medians, and the least and greatest of all passes.
fn by_relation(pairs: &[CpuPair]) -> Grid {
    let mut body = Vec::new();
    for relation in Relation::ALL.into_iter().map(Some).chain([None]) {
        let pairs = || pairs.iter().filter(|pair| pair.relation == relation);
        let medians: Vec<f64> = pairs().filter_map(|pair| pair.median_ns).collect();
        let Some(median) = stats::median(&medians) else {
            continue;
        };
        let times = || pairs().flat_map(|pair| pair.round_trips_ns.iter().copied());
        let (least, greatest) = (times().fold(f64::MAX, f64::min), times().fold(0.0, f64::max));
        body.push(vec![
            relation.map_or("unknown relation", Relation::name).to_owned(),
            medians.len().to_string(),
            format!("{median:.0}"),
            format!("{least:.0} to {greatest:.0}"),
        ]);
    }
    Grid::new(["", "pairs", "median", "all passes"], body)
}

#[cfg(test)]
mod tests {
    use facts::Machine;

    use super::*;

    #[test]
    fn a_large_machine_stays_narrow() {
        let socket = |k: u32| (k..k + 32).chain(k + 64..k + 96).collect();
        let map = CpuMap {
            online: (0..128).collect(),
            sockets: vec![socket(0), socket(32)],
            cores: (0..64).map(|core| vec![core, core + 64]).collect(),
            ..CpuMap::default()
        };
        let pair = |one, other| CpuPair {
            cpus: [one, other],
            relation: map.relation(one, other),
            median_ns: Some(f64::from(one + other)),
            round_trips_ns: vec![1.0, f64::from(one + other)],
        };
        let report = MachineReport {
            machine: Machine::default(),
            allowed: map.online.clone(),
            cpus: vec![0, 32, 64],
            pairs: vec![pair(0, 32), pair(0, 64), pair(32, 64)],
            map: map.clone(),
        };
        let mut out = Vec::new();
        text(&report, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() < 100), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "CPUs online 0-127 ",
            "sockets 2: 0-31,64-95; 32-63,96-127 ",
            "NUMA nodes unknown",
            "SMT siblings 0,64; 1,65;",
            "and 48 more ",
            "CPU 64 64 96 ",
            "SMT sibling 1 64 1 to 64 ",
            "another socket 2 64 1 to 96 ",
            "125 CPUs are left out",
        ] {
            assert!(words.contains(expected), "{expected}\n{text}");
        }
    }
}
