//! CPUs of the rows of a plan on this machine.

use std::collections::BTreeMap;

use anyhow::Context;
use observe::affinity;
use observe::cpu_map::CpuMap;
use record::{Cpus, Place, Row};

/// Rows that this machine cannot run, and why.
pub type Absent = BTreeMap<Place, String>;

/// Puts a list of CPUs in place of each [`Cpus::First`] and [`Cpus::Related`]: the first CPU of this process, or two CPUs
/// that are so related. A row for which there are none is absent.
pub fn place_rows(rows: &mut [Row]) -> anyhow::Result<Absent> {
    let allowed = affinity::allowed().context("cannot read the CPU affinity")?;
    let mut cpus = rows.iter().map(|row| &row.command.setting.cpus);
    let map = match cpus.any(|cpus| matches!(cpus, Some(Cpus::Related(_)))) {
        true => CpuMap::read(),
        false => CpuMap::default(),
    };
    let absent = rows.iter_mut().filter_map(|row| {
        let why = place(row, &map, &allowed).err()?;
        Some((row.place.clone(), why))
    });
    Ok(absent.collect())
}

/// Places a row, or says why it cannot run.
fn place(row: &mut Row, map: &CpuMap, allowed: &[u32]) -> Result<(), String> {
    let command = &mut row.command;
    match command.setting.cpus {
        None | Some(Cpus::First) if allowed.len() == 1 && needs_two_cpus(&command.flags) => {
            return Err("it needs two CPUs, but this process may use only one".to_owned());
        }
        Some(Cpus::First) => {
            command.setting.cpus = Some(Cpus::List(allowed.iter().take(1).copied().collect()));
        }
        Some(Cpus::Related(relation)) => {
            command.setting.cpus = Some(Cpus::List(map.pair(relation, allowed)?.to_vec()));
        }
        None | Some(Cpus::List(_)) => {}
    }
    Ok(())
}

/// True if the flags ask for two CPUs, whatever else they ask for.
fn needs_two_cpus(flags: &[String]) -> bool {
    flags.windows(2).any(|words| {
        matches!(
            (&*words[0], &*words[1]),
            ("--other-side", "idle-cpu" | "busy-cpu") | ("--placement", "half" | "spread")
        )
    })
}
