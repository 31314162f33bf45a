//! CPUs online, and which of them share a core, a cache or a socket. A hypervisor may show
//! a topology that is not the real one.

use std::collections::BTreeMap;

use contract::units::Bytes;
use record::Relation;
use record::machine::{cpu_list, cpu_ranges};
use serde_json::{Value, json};

use crate::source::Source;

pub(crate) const CPUS: &str = "/sys/devices/system/cpu";

/// Sets of CPUs that share something; none if that is unknown.
pub type Groups = Vec<Vec<u32>>;

/// Arrangement of the CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuMap {
    /// CPUs online, ascending.
    pub online: Vec<u32>,
    /// Sockets.
    pub sockets: Groups,
    /// Cores. CPUs of one are SMT siblings.
    pub cores: Groups,
    /// CPUs that share a cache, by its kind, those nearest to a core first.
    pub caches: BTreeMap<Cache, Groups>,
}

/// Caches of one kind and size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cache {
    /// 1 is nearest to the core.
    pub level: u8,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Size of one in bytes.
    pub size_bytes: Option<u64>,
}

impl CpuMap {
    /// Reads the arrangement of the running system.
    pub fn read() -> Self {
        Self::of(&Source::system())
    }

    /// Reads the arrangement found in `/sys` of a source.
    pub fn of(source: &Source) -> Self {
        let list = |file: &str| source.text(file).and_then(|list| cpu_list(&list));
        let online = list(&format!("{CPUS}/online")).unwrap_or_default();
        let mut cores = Groups::new();
        let mut packages: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        let mut caches: BTreeMap<Cache, Groups> = BTreeMap::new();
        for &cpu in &online {
            let topology = format!("{CPUS}/cpu{cpu}/topology");
            let siblings = list(&format!("{topology}/thread_siblings_list"));
            add(&mut cores, siblings.unwrap_or_default());
            let package = source.number(&format!("{topology}/physical_package_id"));
            packages.entry(package.unwrap_or(-1)).or_default().push(cpu);
            let folders = (0..).map(|k: u32| format!("{CPUS}/cpu{cpu}/cache/index{k}"));
            for folder in folders.take_while(|folder| source.exists(folder)) {
                let level = source.number::<u8>(&format!("{folder}/level"));
                let kind = source.text(&format!("{folder}/type"));
                let size = source.number(&format!("{folder}/size")).ok();
                let size_bytes = size.map(|Bytes(size)| size);
                let group = list(&format!("{folder}/shared_cpu_list"));
                if let (Ok(level), Some(kind), Some(group)) = (level, kind, group) {
                    add(caches.entry(Cache { level, kind, size_bytes }).or_default(), group);
                }
            }
        }
        // A group with an unknown CPU is useless; so are packages of firmware that says nothing
        // about them, and leaves -1.
        if cores.iter().any(Vec::is_empty) {
            cores.clear();
        }
        if packages.keys().any(|id| *id < 0) {
            packages.clear();
        }
        CpuMap { sockets: packages.into_values().collect(), cores, caches, online }
    }

    /// Caches of a CPU as records hold them, those nearest to its core first.
    pub(crate) fn caches_of(&self, cpu: u32) -> Value {
        let caches = self.caches.iter().filter_map(|(cache, groups)| {
            let group = groups.iter().find(|group| group.contains(&cpu))?;
            let mut facts = json!({
                "level": cache.level, "type": cache.kind, "shared_cpu_list": cpu_ranges(group),
            });
            if let Some(size) = cache.size_bytes {
                facts["size_bytes"] = size.into();
            }
            Some(facts)
        });
        Value::Array(caches.collect())
    }

    /// Number of sockets, cores and hardware threads as records hold them.
    pub(crate) fn topology(&self) -> Value {
        let threads = self.cores.iter().map(Vec::len).max().unwrap_or(0);
        let counts = [
            ("sockets", self.sockets.len()),
            ("cores", self.cores.len()),
            ("threads_per_core", threads),
        ];
        let known = counts.into_iter().filter(|(_, count)| *count > 0);
        Value::Object(known.map(|(name, count)| (name.to_owned(), count.into())).collect())
    }

    /// Last cache of a CPU: its kind, and its number among those.
    fn last_cache(&self, cpu: u32) -> Option<(usize, usize)> {
        let caches = self.caches.iter().enumerate().rev();
        let mut caches = caches.filter(|(_, (cache, _))| cache.kind != "Instruction");
        caches.find_map(|(kind, (_, groups))| Some((kind, group_of(groups, cpu)?)))
    }

    /// Relation of two CPUs; `None` if the kernel does not tell enough.
    pub fn relation(&self, one: u32, other: u32) -> Option<Relation> {
        if group_of(&self.cores, one)? == group_of(&self.cores, other)? {
            return Some(Relation::SmtSibling);
        }
        let caches = self.last_cache(one).zip(self.last_cache(other));
        if caches.is_some_and(|(one, other)| one == other) {
            return Some(Relation::SameCache);
        }
        if group_of(&self.sockets, one)? != group_of(&self.sockets, other)? {
            return Some(Relation::OtherSocket);
        }
        caches.map(|_| Relation::OtherCache)
    }

    /// Pairs of allowed CPUs with this relation, each CPU in one pair at most, or why there are none.
    pub fn pairs(&self, relation: Relation, allowed: &[u32]) -> Result<Vec<[u32; 2]>, String> {
        if let &[only] = allowed {
            return Err(format!("it needs two CPUs, but this process may use only CPU {only}"));
        }
        let pairs = self.pairs_of(relation, allowed);
        if !pairs.is_empty() {
            return Ok(pairs);
        }
        if let Some([one, other]) = self.pairs_of(relation, &self.online).first() {
            return Err(format!(
                "CPUs {one} and {other} are such a pair, but this process may not use both: allow them by taskset(1)"
            ));
        }
        let is_unknown = self.cores.is_empty() || self.caches.is_empty() || self.sockets.is_empty();
        Err(if is_unknown {
            "the kernel does not say which CPUs share a core, a cache or a socket".to_owned()
        } else {
            format!("no two CPUs of this machine have this relation: {}", relation.name())
        })
    }

    fn pairs_of(&self, relation: Relation, cpus: &[u32]) -> Vec<[u32; 2]> {
        let mut left = cpus.to_vec();
        let mut pairs = Vec::new();
        while !left.is_empty() {
            let one = left.remove(0);
            let is_other = |&other: &u32| self.relation(one, other) == Some(relation);
            if let Some(place) = left.iter().position(is_other) {
                pairs.push([one, left.remove(place)]);
            }
        }
        pairs
    }
}

/// Number of the group that a CPU is in.
fn group_of(groups: &Groups, cpu: u32) -> Option<usize> {
    groups.iter().position(|group| group.contains(&cpu))
}

fn add(groups: &mut Groups, group: Vec<u32>) {
    if !groups.contains(&group) {
        groups.push(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Root;

    /// Two sockets, in each two caches of two cores of two threads: CPU k and CPU k + 8 are of one core.
    fn two_sockets() -> Root {
        let root = Root::new(&format!("{CPUS}/online: 0-15"));
        for cpu in 0..16 {
            let (core, folder) = (cpu % 8, format!("{CPUS}/cpu{cpu}"));
            let (first, last) = (core / 2 * 2, core / 2 * 2 + 1);
            root.add(&format!(
                "{folder}/topology/physical_package_id: {}\n\
                 {folder}/topology/thread_siblings_list: {core},{}\n\
                 {folder}/cache/index0/level: 1\n{folder}/cache/index0/type: Instruction\n\
                 {folder}/cache/index0/shared_cpu_list: 0-15\n\
                 {folder}/cache/index1/level: 3\n{folder}/cache/index1/type: Unified\n\
                 {folder}/cache/index1/shared_cpu_list: {first}-{last},{}-{}",
                core / 4 * 36,
                core + 8,
                first + 8,
                last + 8
            ));
        }
        root
    }

    #[test]
    fn each_pair_has_its_relation() {
        let map = CpuMap::of(&two_sockets().source());
        assert_eq!((map.online.len(), map.sockets.len()), (16, 2));
        assert_eq!(
            (map.cores.len(), &*map.caches.last_key_value().unwrap().1[3]),
            (8, &[6, 7, 14, 15][..])
        );
        for (one, other, relation) in [
            (0, 8, Relation::SmtSibling),
            (0, 1, Relation::SameCache),
            (9, 0, Relation::SameCache),
            (0, 2, Relation::OtherCache),
            (3, 12, Relation::OtherSocket),
        ] {
            assert_eq!(map.relation(one, other), Some(relation), "{one} {other}");
        }
    }

    #[test]
    fn a_pair_is_of_the_cpus_allowed_or_has_a_reason() {
        let mut map = CpuMap::of(&two_sockets().source());
        assert_eq!(map.pairs(Relation::SmtSibling, &[0, 1, 8, 9, 10]), Ok(vec![[0, 8], [1, 9]]));
        assert_eq!(map.pairs(Relation::OtherSocket, &[2, 3, 5]), Ok(vec![[2, 5]]));
        let reason = |map: &CpuMap, relation, cpus: &[u32]| map.pairs(relation, cpus).unwrap_err();
        assert!(reason(&map, Relation::SmtSibling, &[0, 1]).contains("CPUs 0 and 8 are such"));
        assert!(reason(&map, Relation::SameCache, &[3]).contains("only CPU 3"));
        map.online = vec![0, 1];
        assert!(reason(&map, Relation::OtherSocket, &[0, 1]).contains("no two CPUs"));
        map.caches.clear();
        assert!(reason(&map, Relation::SameCache, &[0, 1]).contains("does not say"));
    }
}
