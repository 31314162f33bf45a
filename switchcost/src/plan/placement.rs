//! Cases that name their CPUs by a relation, on this machine.

use anyhow::Context;
use facts::machine::cpu_map::CpuMap;

use crate::plan::Case;
use crate::plan::setting::Cpus;

/// A case that this machine cannot run, and why.
pub type Absent = (Case, String);

/// Gives each case that names a relation two CPUs of this process that are so related, and separates
/// those for which there are none.
pub fn place(cases: Vec<Case>) -> anyhow::Result<(Vec<Case>, Vec<Absent>)> {
    if cases.iter().all(|case| case.relation.is_none()) {
        return Ok((cases, Vec::new()));
    }
    let allowed = Cpus::allowed().context("cannot read the CPU affinity")?;
    Ok(place_on(&CpuMap::read(), allowed.list(), cases))
}

fn place_on(map: &CpuMap, allowed: &[u32], cases: Vec<Case>) -> (Vec<Case>, Vec<Absent>) {
    let (mut placed, mut absent) = (Vec::new(), Vec::new());
    for mut case in cases {
        match case.relation.map(|relation| map.pair(relation, allowed)) {
            Some(Err(why)) => absent.push((case, why)),
            Some(Ok(pair)) => {
                case.setting.cpus = Some(Cpus::of(pair.to_vec()));
                placed.push(case);
            }
            None => placed.push(case),
        }
    }
    (placed, absent)
}

#[cfg(test)]
mod tests {
    use facts::machine::cpu_map::{CacheGroups, Relation};

    use super::*;

    #[test]
    fn a_relation_becomes_two_cpus_or_a_reason() {
        let map = CpuMap {
            online: vec![0, 1, 2, 3],
            sockets: vec![vec![0, 1, 2, 3]],
            cores: vec![vec![0], vec![1], vec![2], vec![3]],
            caches: vec![CacheGroups {
                level: 3,
                kind: "Unified".to_owned(),
                size_bytes: None,
                groups: vec![vec![0, 1], vec![2, 3]],
            }],
            ..CpuMap::default()
        };
        let case = |relation| Case { relation, ..Case::default() };
        let relations = [Relation::SmtSibling, Relation::SameCache, Relation::OtherCache];
        let cases = relations.map(|relation| case(Some(relation)));
        let cases = [case(None)].into_iter().chain(cases).collect();
        let (placed, absent) = place_on(&map, &[1, 2, 3], cases);
        let cpus: Vec<Option<String>> =
            placed.iter().map(|case| Some(case.setting.cpus.as_ref()?.to_string())).collect();
        assert_eq!(cpus, [None, Some("2-3".to_owned()), Some("1-2".to_owned())]);
        let [(case, why)] = &absent[..] else { panic!("one is absent: {absent:?}") };
        assert_eq!(case.relation, Some(Relation::SmtSibling));
        assert_eq!(why, "this machine has no SMT siblings");
    }
}
