//! A machine's CPUs for a terminal.

use std::io::{self, Write};

use facts::Quantity;
use facts::machine::cpu_map::{CpuMap, Groups, Relation};

use super::layout::{named, wrapped};
use super::{ABSENT, Grid, plainly};
use crate::figures::number::short;
use crate::plan::scheduling::Cpus;
use crate::views::crossings::{Class, Crossings};

/// Widest line.
const WIDTH: usize = 99;

/// Width of the names before the lines.
const INDENT: usize = 17;

/// Most groups that are listed.
const MOST_GROUPS: usize = 16;

/// Writes the arrangement of the CPUs, and the round trips of a cache line between them.
///
/// # Errors
/// Errors of the writer.
pub fn text(crossings: &Crossings, out: &mut impl Write) -> io::Result<()> {
    plainly(out, |out| {
        wrapped(&crossings.machine.summary(), 0, WIDTH, out)?;
        writeln!(out)?;
        for (name, line) in arrangement(&crossings.map, &crossings.allowed) {
            named(&name, &line, (INDENT, WIDTH), out)?;
        }
        writeln!(out)?;
        if crossings.cpus.len() < 2 {
            return writeln!(out, "One CPU: no cache line travels.");
        }
        writeln!(out, "Round trip of a cache line between two CPUs, in ns:")?;
        matrix(crossings).write_text(WIDTH, out)?;
        writeln!(out)?;
        classes(crossings).write_text(WIDTH, out)?;
        let left = crossings.allowed.len() - crossings.cpus.len();
        if left > 0 {
            let line = format!("{left} CPUs are left out: --cpus LIST takes others.");
            wrapped(&line, 0, WIDTH, out)?;
        }
        if crossings.machine.virtualisation.as_deref().is_some_and(|host| host != "none") {
            let line = "The machine is virtual: the host may show another arrangement than there is, and move \
                        a CPU at any time. Repeat it to see.";
            wrapped(line, 0, WIDTH, out)?;
        }
        Ok(())
    })
}

/// Lines on what the CPUs share, each with its name.
fn arrangement(map: &CpuMap, allowed: &[u32]) -> Vec<(String, String)> {
    let mut lines = vec![
        ("CPUs online".to_owned(), or_unknown(&map.online)),
        ("of this process".to_owned(), or_unknown(allowed)),
        ("sockets".to_owned(), groups(&map.sockets, map)),
        ("NUMA nodes".to_owned(), groups(&map.numa_nodes, map)),
    ];
    for cache in map.caches.iter().rev().filter(|cache| cache.kind != "Instruction") {
        let size = cache.size_bytes.map(|size| short(Quantity::Bytes, size as f64));
        let size = size.map_or(String::new(), |size| format!(" {size}"));
        let kind = if cache.kind == "Data" { "d" } else { "" };
        lines.push((format!("L{}{kind}{size}", cache.level), groups(&cache.groups, map)));
    }
    let siblings: Groups = map.cores.iter().filter(|core| core.len() > 1).cloned().collect();
    lines.push((
        "SMT siblings".to_owned(),
        match (siblings.is_empty(), map.cores.is_empty()) {
            (true, false) => "none".to_owned(),
            _ => listed(&siblings),
        },
    ));
    lines
}

fn or_unknown(cpus: &[u32]) -> String {
    match cpus {
        [] => "unknown".to_owned(),
        cpus => Cpus::of(cpus.to_vec()).to_string(),
    }
}

/// Number of groups, and the CPUs of each where the number does not tell them.
fn groups(groups: &Groups, map: &CpuMap) -> String {
    match groups.len() {
        0 => listed(groups),
        1 => format!("1: {}", listed(groups)),
        number if *groups == map.cores => format!("{number}, one for each core"),
        number => format!("{number}: {}", listed(groups)),
    }
}

/// CPUs of each group, as far as there is room. No list is broken.
fn listed(groups: &Groups) -> String {
    let mut lists: Vec<String> = groups.iter().take(MOST_GROUPS).map(|g| or_unknown(g)).collect();
    let more = groups.len().saturating_sub(MOST_GROUPS);
    if more > 0 {
        lists.push(format!("and {more} more"));
    }
    match lists.is_empty() {
        true => "unknown".to_owned(),
        false => lists.join("; "),
    }
}

/// Each CPU against those before it.
fn matrix(crossings: &Crossings) -> Grid {
    let cpus = &crossings.cpus;
    let name = |cpu: &u32| format!("CPU {cpu}");
    let row = |(k, cpu): (usize, &u32)| {
        let cell = |(other, column): (&u32, usize)| match column < k {
            true => crossings.median(*cpu, *other).map_or(ABSENT.to_owned(), whole),
            false => String::new(),
        };
        let cells = cpus[..cpus.len() - 1].iter().zip(0..).map(cell);
        [name(cpu)].into_iter().chain(cells).collect()
    };
    let last = cpus.len() - 1;
    Grid {
        head: [String::new()].into_iter().chain(cpus[..last].iter().map(u32::to_string)).collect(),
        body: cpus.iter().enumerate().skip(1).map(row).collect(),
    }
}

/// Whole nanoseconds: more digits change from pass to pass.
fn whole(ns: f64) -> String {
    format!("{ns:.0}")
}

fn classes(crossings: &Crossings) -> Grid {
    let row = |class: &Class| {
        let (least, greatest) = class.range;
        vec![
            class.relation.map_or("unknown relation", Relation::name).to_owned(),
            class.pairs.to_string(),
            whole(class.median),
            format!("{} to {}", whole(least), whole(greatest)),
        ]
    };
    Grid {
        head: ["", "pairs", "median", "all passes"].map(str::to_owned).to_vec(),
        body: crossings.classes().iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use facts::Machine;
    use facts::machine::cpu_map::CacheGroups;

    use super::*;
    use crate::views::crossings::Crossing;

    /// 128 CPUs: two sockets, caches of four cores, two threads a core.
    fn large() -> CpuMap {
        let core = |core: u32| vec![core, core + 64];
        let cores: Groups = (0..64).map(core).collect();
        let joined = |size: u32| -> Groups {
            let groups =
                (0..64 / size).map(|k| (k * size..(k + 1) * size).flat_map(core).collect());
            let mut groups: Groups = groups.collect();
            groups.iter_mut().for_each(|group| group.sort_unstable());
            groups
        };
        let cache = |level, kind: &str, groups| CacheGroups {
            level,
            kind: kind.to_owned(),
            size_bytes: Some(1 << 20),
            groups,
        };
        CpuMap {
            online: (0..128).collect(),
            sockets: joined(32),
            numa_nodes: joined(32),
            caches: vec![
                cache(1, "Data", cores.clone()),
                cache(1, "Instruction", cores.clone()),
                cache(3, "Unified", joined(4)),
            ],
            cores,
        }
    }

    fn shown(map: CpuMap, cpus: &[u32]) -> String {
        let pair = |one: u32, other: u32| Crossing {
            cpus: [one, other],
            relation: map.relation(one, other),
            median_ns: Some(f64::from(one + other)),
            round_trips_ns: vec![1.0, f64::from(one + other)],
        };
        let pairs = cpus.iter().enumerate();
        let pairs = pairs.flat_map(|(k, &one)| cpus[k + 1..].iter().map(move |&o| pair(one, o)));
        let crossings = Crossings {
            machine: Machine::default(),
            allowed: map.online.clone(),
            cpus: cpus.to_vec(),
            pairs: pairs.collect(),
            map: map.clone(),
        };
        let mut out = Vec::new();
        text(&crossings, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_large_machine_stays_narrow() {
        let all: Vec<u32> = (100..112).collect();
        for cpus in [&[0, 1, 4, 32, 64][..], &all] {
            let text = shown(large(), cpus);
            assert!(text.lines().all(|line| line.chars().count() < 100), "{text}");
            assert!(text.lines().count() < 45, "{text}");
        }
        let text = shown(large(), &[0, 1, 4, 32, 64]);
        for expected in [
            "CPUs online      0-127\n",
            "sockets          2: 0-31,64-95; 32-63,96-127\n",
            "L1d 1.0 MiB      64, one for each core\n",
            "L3 1.0 MiB       16: 0-3,64-67; 4-7,68-71;",
            "SMT siblings     0,64; 1,65;",
            "and 48 more\n",
            "123 CPUs are left out",
        ] {
            assert!(text.contains(expected), "{expected}\n{text}");
        }
        let row = |name: &str| {
            let cells = text.lines().rev().find_map(|line| line.trim().strip_prefix(name));
            cells.unwrap().split_whitespace().collect::<Vec<_>>()
        };
        assert_eq!(row("CPU 64"), ["64", "65", "68", "96"]);
        assert_eq!(row("SMT sibling"), ["1", "64", "1", "to", "64"]);
        for (class, pairs) in Relation::ALL.iter().zip(["1", "2", "3", "4"]) {
            assert_eq!(row(class.name())[0], pairs, "{text}");
        }
    }

    #[test]
    fn what_is_unknown_says_so() {
        let text = shown(CpuMap { online: vec![0, 1], ..CpuMap::default() }, &[0, 1]);
        assert!(text.contains("sockets          unknown\n"), "{text}");
        assert!(text.contains("SMT siblings     unknown\n"), "{text}");
        assert!(text.contains("unknown relation"), "{text}");
        let one = CpuMap { online: vec![0], cores: vec![vec![0]], ..CpuMap::default() };
        let text = shown(one, &[0]);
        assert!(text.contains("SMT siblings     none") && text.contains("One CPU"), "{text}");
    }
}
