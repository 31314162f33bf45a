//! Cases that name their CPUs by a relation, on this machine.

use anyhow::Context;
use facts::machine::cpu_map::CpuMap;

use crate::plan::Case;
use crate::plan::scheduling::Cpus;

/// A case that this machine cannot run, and why.
pub type Absent = (Case, String);

/// Gives each case that names a relation two CPUs of this process that are so related, and separates
/// those for which there are none.
pub fn place_cases(cases: Vec<Case>) -> anyhow::Result<(Vec<Case>, Vec<Absent>)> {
    if cases.iter().all(|case| case.relation.is_none()) {
        return Ok((cases, Vec::new()));
    }
    let allowed = Cpus::allowed().context("cannot read the CPU affinity")?;
    let map = CpuMap::read();
    let (mut placed, mut absent) = (Vec::new(), Vec::new());
    for mut case in cases {
        match case.relation.map(|relation| map.pair(relation, allowed.list())) {
            Some(Err(why)) => absent.push((case, why)),
            Some(Ok(pair)) => {
                case.setting.cpus = Some(Cpus::of(pair.to_vec()));
                placed.push(case);
            }
            None => placed.push(case),
        }
    }
    Ok((placed, absent))
}
