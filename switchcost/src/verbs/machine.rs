//! `switchcost machine`: the topology of the CPUs, and the time of a cache line's round trip between them.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use facts::cache_line;
use facts::machine::cpu_map::CpuMap;

use crate::plan::scheduling::Cpus;
use crate::render;
use crate::system::console::BadUsage;
use crate::system::lock;
use crate::system::signals;
use crate::verbs::args::TextOrJson;
use crate::verbs::output;
use crate::views::machine::{CpuPair, MOST_CPUS, MachineReport};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// CPUs to send a cache line between, at most 12 [default: the CPUs of this process; if there are more, one for each
    /// relation to the first]
    #[arg(long, value_name = "LIST")]
    cpus: Option<Cpus>,

    /// Output format
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,
}

/// Number of passes over all pairs: a disturbance in one pass is over in the next.
const PASSES: usize = 5;

/// Time after which no further pass begins. The first one takes 3 s at most, for 66 pairs that do not
/// answer.
const LONGEST: Duration = Duration::from_secs(5);

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let allowed = Cpus::allowed().context("cannot read the CPU affinity")?;
    let map = CpuMap::read();
    let cpus = args.cpus(&map, &allowed)?;
    signals::install()?;
    let _lock = lock::acquire();
    let report = MachineReport {
        machine: facts::machine::read(),
        allowed: allowed.list().to_vec(),
        pairs: measure(&cpus, &map)?,
        cpus,
        map,
    };
    output::print_as(args.format, &report, |out| render::machine::text(&report, out))
}

impl Args {
    /// CPUs to measure between.
    fn cpus(&self, map: &CpuMap, allowed: &Cpus) -> anyhow::Result<Vec<u32>> {
        let Some(wanted) = &self.cpus else {
            return Ok(chosen(map, allowed.list()));
        };
        let (list, count) = (wanted.list().to_vec(), wanted.list().len());
        if let Some(other) = list.iter().find(|cpu| !allowed.list().contains(cpu)) {
            return Err(BadUsage::new(format!(
                "--cpus: CPU {other} is offline, or this process may not use it: name some of {allowed}"
            )));
        }
        if count > MOST_CPUS {
            return Err(BadUsage::new(format!(
                "--cpus: {count} CPUs are too many for a matrix: name at most {MOST_CPUS}"
            )));
        }
        Ok(list)
    }
}

/// All CPUs if there are few; otherwise one for each relation to the first CPU, or the first few if the kernel reports
/// no relation.
fn chosen(map: &CpuMap, allowed: &[u32]) -> Vec<u32> {
    if allowed.len() <= MOST_CPUS {
        return allowed.to_vec();
    }
    match map.representatives(allowed) {
        found if found.len() > 1 => found,
        _ => allowed.iter().take(MOST_CPUS).copied().collect(),
    }
}

/// Round trips between each two of these CPUs.
fn measure(cpus: &[u32], map: &CpuMap) -> anyhow::Result<Vec<CpuPair>> {
    let begun = Instant::now();
    let mut pairs = Vec::new();
    for (k, &one) in cpus.iter().enumerate() {
        pairs.extend(cpus[k + 1..].iter().map(|&other| CpuPair {
            cpus: [one, other],
            relation: map.relation(one, other),
            median_ns: None,
            round_trips_ns: Vec::new(),
        }));
    }
    for pass in 0..PASSES {
        if pass > 0 && begun.elapsed() > LONGEST {
            break;
        }
        for CpuPair { cpus: [one, other], median_ns, round_trips_ns, .. } in &mut pairs {
            if signals::received().is_some() {
                bail!("interrupted");
            }
            round_trips_ns.extend(cache_line::round_trip(*one as usize, *other as usize));
            *median_ns = stats::median(round_trips_ns);
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_cpus_are_represented_and_few_are_all_there() {
        let many: Vec<u32> = (0..128).collect();
        let map = CpuMap {
            online: many.clone(),
            sockets: vec![(0..64).collect(), (64..128).collect()],
            cores: (0..128).map(|cpu| vec![cpu]).collect(),
            ..CpuMap::default()
        };
        assert_eq!(chosen(&map, &many[..12]).len(), 12);
        assert_eq!(chosen(&map, &many), [0, 64]);
        assert_eq!(chosen(&CpuMap::default(), &many), many[..12]);
    }
}
