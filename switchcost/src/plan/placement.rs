//! CPUs of the rows of a plan on this machine.

use std::collections::BTreeMap;

use anyhow::Context;
use observe::affinity;
use observe::cpu_map::CpuMap;
use record::{Cpus, Place, Row};

/// Rows that this machine cannot run, and why.
pub type Absent = BTreeMap<Place, String>;

/// Puts a list of CPUs in place of each [`Cpus::First`] and [`Cpus::Related`]: the first CPU of this process, two CPUs
/// that are so related, or such a pair for each of the row's chains. A row for which there are none is absent.
pub fn place_rows(rows: &mut [Row]) -> anyhow::Result<Absent> {
    let allowed = affinity::allowed().context("cannot read the CPU affinity")?;
    let are_related = |row: &Row| matches!(row.command.setting.cpus, Some(Cpus::Related(_)));
    let map = if rows.iter().any(are_related) { CpuMap::read() } else { CpuMap::default() };
    let absent = rows.iter_mut().filter_map(|row| {
        let why = place(row, &map, &allowed).err()?;
        Some((row.place.clone(), why))
    });
    Ok(absent.collect())
}

/// Places a row, or says why it cannot run.
fn place(row: &mut Row, map: &CpuMap, allowed: &[u32]) -> Result<(), String> {
    let chains = row.place.x.filter(|_| row.swept.as_ref().is_some_and(|over| over.flag == CHAINS));
    let command = &mut row.command;
    match command.setting.cpus {
        None | Some(Cpus::First) if allowed.len() == 1 && needs_two_cpus(&mut command.flags) => {
            return Err("it needs two CPUs, but this process may use only one".to_owned());
        }
        Some(Cpus::First) => {
            command.setting.cpus = Some(Cpus::List(allowed.iter().take(1).copied().collect()));
        }
        Some(Cpus::Related(relation)) => {
            let pairs = map.pairs(relation, allowed)?;
            let chains = usize::try_from(chains.unwrap_or(1)).unwrap_or(usize::MAX);
            let mut cpus: Vec<u32> = pairs.iter().take(chains).flatten().copied().collect();
            // `spread` would lay the chains over them in ascending order.
            if let Some(layout) = layout(&mut command.flags).filter(|_| cpus.len() > 2) {
                *layout = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            }
            cpus.sort_unstable();
            command.setting.cpus = Some(Cpus::List(cpus));
        }
        None | Some(Cpus::List(_)) => {}
    }
    Ok(())
}

/// Flag for the number of chains at once. Each chain needs a pair of CPUs.
const CHAINS: &str = "--chains";

/// True if the flags ask for two CPUs, whatever else they ask for.
fn needs_two_cpus(flags: &mut [String]) -> bool {
    let other_side = flags.windows(2).find(|words| words[0] == "--other-side");
    let is_apart = other_side.is_some_and(|words| matches!(&*words[1], "idle-cpu" | "busy-cpu"));
    is_apart || layout(flags).is_some()
}

/// Layout over two CPUs and more that the flags ask for.
fn layout(flags: &mut [String]) -> Option<&mut String> {
    let layout = flags.iter().position(|flag| flag == "--placement")? + 1;
    flags.get_mut(layout).filter(|word| matches!(word.as_str(), "half" | "spread"))
}

#[cfg(test)]
mod tests {
    use observe::cpu_map::Shared;
    use record::{Command, Relation, Setting, Swept};

    use super::*;

    #[test]
    fn each_chain_has_a_pair() {
        let flags = ["--placement", "spread"].map(str::to_owned).to_vec();
        let cpus = Some(Cpus::Related(Relation::SmtSibling));
        let setting = Setting { cpus, ..Setting::default() };
        let row = Row {
            swept: Some(Swept { flag: CHAINS.to_owned() }),
            command: Command { program: "p".to_owned(), flags, setting },
            ..Row::default()
        };
        let mut rows = [1, 2, 8].map(|x| row.at(CHAINS, x));
        let cores = [[0, 2], [1, 3], [0, 2], [1, 3]];
        let shared = cores.map(|core| Shared { core: Some(core.to_vec()), ..Shared::default() });
        let map = CpuMap { cpus: (0..).zip(shared).collect() };
        rows.iter_mut().for_each(|row| place(row, &map, &[0, 1, 2, 3]).unwrap());
        let found = rows.map(|row| {
            let cpus = row.command.setting.cpus.as_ref().unwrap().to_string();
            (cpus, row.command.flags[1].clone())
        });
        let all = ("0-3".to_owned(), "0,2,1,3".to_owned());
        assert_eq!(found, [("0,2".to_owned(), "spread".to_owned()), all.clone(), all]);
    }
}
