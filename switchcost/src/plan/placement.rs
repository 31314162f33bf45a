//! Cases that name their CPUs by a relation, on this machine.

use anyhow::Context;
use observe::cpu_map::CpuMap;

use crate::plan::Case;
use crate::plan::scheduling::Cpus;

/// A case that this machine cannot run, and why.
pub type Absent = (Case, String);

/// Gives each case that names a relation two CPUs of this process that are so related, or a pair of them for
/// each of its chains, and separates those for which there are none.
pub fn place_cases(cases: Vec<Case>) -> anyhow::Result<(Vec<Case>, Vec<Absent>)> {
    let allowed = Cpus::allowed().context("cannot read the CPU affinity")?;
    let map = if cases.iter().all(|case| case.relation.is_none()) {
        CpuMap::default()
    } else {
        CpuMap::read()
    };
    Ok(placed(cases, &map, allowed.list()))
}

fn placed(cases: Vec<Case>, map: &CpuMap, allowed: &[u32]) -> (Vec<Case>, Vec<Absent>) {
    let (mut placed, mut absent) = (Vec::new(), Vec::new());
    for mut case in cases {
        match case.relation.map(|relation| map.pairs(relation, allowed)) {
            Some(Err(why)) => absent.push((case, why)),
            Some(Ok(pairs)) => {
                let chains = case.x.filter(|_| case.cell.over.as_deref() == Some("chains"));
                let chains = usize::try_from(chains.unwrap_or(1)).unwrap_or(usize::MAX);
                let mut cpus: Vec<u32> = pairs.iter().take(chains).flatten().copied().collect();
                // `spread` would lay the chains over them in ascending order.
                if let Some(layout) = layout(&mut case.flags).filter(|_| cpus.len() > 2) {
                    *layout = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
                }
                cpus.sort_unstable();
                case.setting.cpus = Some(Cpus::of(cpus));
                placed.push(case);
            }
            None if allowed.len() == 1 && layout(&mut case.flags).is_some() => {
                absent.push((case, ONE_CPU.to_owned()));
            }
            None => placed.push(case),
        }
    }
    (placed, absent)
}

/// Why a case is absent that lays its tasks over two CPUs.
const ONE_CPU: &str = "it needs two CPUs, but this process may use only one";

/// Layout over two CPUs and more that the flags ask for.
fn layout(flags: &mut [String]) -> Option<&mut String> {
    let layout = flags.iter().position(|flag| flag == "--placement")? + 1;
    flags.get_mut(layout).filter(|word| matches!(word.as_str(), "half" | "spread"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use observe::cpu_map::Relation;

    use super::*;

    #[test]
    fn each_chain_has_a_pair() {
        let flags = ["--placement", "spread"].map(str::to_owned).to_vec();
        let over = record::Case { over: Some("chains".to_owned()), ..record::Case::default() };
        let relation = Some(Relation::SmtSibling);
        let one = Case { flags, relation, cell: Arc::new(over), ..Case::default() };
        let cases = [1, 2, 8].map(|x| Case { x: Some(x), ..one.clone() });
        let map = CpuMap {
            online: vec![0, 1, 2, 3],
            cores: vec![vec![0, 2], vec![1, 3]],
            ..CpuMap::default()
        };
        let (cases, absent) = placed(cases.to_vec(), &map, &[0, 1, 2, 3]);
        assert!(absent.is_empty());
        let found: Vec<(String, &str)> = cases
            .iter()
            .map(|case| (case.setting.cpus.as_ref().unwrap().to_string(), &*case.flags[1]))
            .collect();
        let all = ("0-3".to_owned(), "0,2,1,3");
        assert_eq!(found, [("0,2".to_owned(), "spread"), all.clone(), all]);
    }
}
