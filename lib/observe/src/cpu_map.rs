//! CPUs online, and which of them share a core, a cache or a socket. A hypervisor may show
//! a topology that is not the real one.

use std::collections::{BTreeMap, BTreeSet};

use record::Relation;
use record::machine::cpu_list;
use serde_json::Value;

use host::source::Source;

pub(crate) const CPUS: &str = "/sys/devices/system/cpu";

/// CPUs online, and what each shares with others.
#[derive(Clone, Debug, Default)]
pub struct CpuMap {
    pub cpus: BTreeMap<u32, Shared>,
}

/// What a CPU shares with others. What the kernel does not tell is absent.
#[derive(Clone, Debug, Default)]
pub struct Shared {
    /// CPUs of its core: SMT siblings.
    pub core: Option<Vec<u32>>,
    /// CPUs with the same last cache.
    pub cache: Option<Vec<u32>>,
    pub socket: Option<u32>,
}

impl Shared {
    fn is_known(&self) -> bool {
        self.core.is_some() && self.cache.is_some() && self.socket.is_some()
    }
}

impl CpuMap {
    /// Reads the arrangement of the running system.
    pub fn read() -> Self {
        Self::of(&Source::system())
    }

    /// Reads the arrangement found in `/sys` of a source.
    pub fn of(source: &Source) -> Self {
        let online = list(source, &format!("{CPUS}/online")).unwrap_or_default();
        let shared = online.into_iter().map(|cpu| {
            let topology = format!("{CPUS}/cpu{cpu}/topology");
            let core = list(source, &format!("{topology}/thread_siblings_list"));
            // Firmware that says nothing about sockets leaves -1.
            let socket = source.number(&format!("{topology}/physical_package_id")).ok();
            (cpu, Shared { core, cache: last_cache(source, cpu), socket })
        });
        CpuMap { cpus: shared.collect() }
    }

    /// Number of sockets, cores and hardware threads as records hold them.
    pub(crate) fn topology(&self) -> Value {
        let sockets: BTreeSet<_> = self.cpus.values().filter_map(|cpu| cpu.socket).collect();
        let cores: BTreeSet<_> = self.cpus.values().filter_map(|cpu| cpu.core.as_ref()).collect();
        let threads = cores.iter().map(|core| core.len()).max().unwrap_or(0);
        let counts =
            [("sockets", sockets.len()), ("cores", cores.len()), ("threads_per_core", threads)];
        let known = counts.into_iter().filter(|(_, count)| *count > 0);
        Value::Object(known.map(|(name, count)| (name.to_owned(), count.into())).collect())
    }

    /// Relation of two CPUs; `None` if the kernel does not tell enough.
    pub fn relation(&self, a: u32, b: u32) -> Option<Relation> {
        let (a, b) = (self.cpus.get(&a)?, self.cpus.get(&b)?);
        if a.core.as_ref()? == b.core.as_ref()? {
            return Some(Relation::SmtSibling);
        }
        let caches = a.cache.as_ref().zip(b.cache.as_ref());
        if caches.is_some_and(|(a, b)| a == b) {
            return Some(Relation::SameCache);
        }
        if a.socket? != b.socket? {
            return Some(Relation::OtherSocket);
        }
        caches.map(|_| Relation::OtherCache)
    }

    /// The first two allowed CPUs with this relation, or why there are none.
    pub fn pair(&self, relation: Relation, allowed: &[u32]) -> Result<[u32; 2], String> {
        if let &[only] = allowed {
            return Err(format!("it needs two CPUs, but this process may use only CPU {only}"));
        }
        if let Some(pair) = self.pair_of(relation, allowed) {
            return Ok(pair);
        }
        let online: Vec<u32> = self.cpus.keys().copied().collect();
        if let Some([a, b]) = self.pair_of(relation, &online) {
            return Err(format!(
                "CPUs {a} and {b} are such a pair, but this process may not use both: allow them by taskset(1)"
            ));
        }
        Err(if self.cpus.is_empty() || !self.cpus.values().all(Shared::is_known) {
            "the kernel does not say which CPUs share a core, a cache or a socket".to_owned()
        } else {
            format!("no two CPUs of this machine have this relation: {}", relation.name())
        })
    }

    fn pair_of(&self, relation: Relation, cpus: &[u32]) -> Option<[u32; 2]> {
        cpus.iter().enumerate().find_map(|(k, &a)| {
            let mut later = cpus[k + 1..].iter();
            let b = later.find(|&&b| self.relation(a, b) == Some(relation))?;
            Some([a, *b])
        })
    }
}

/// CPUs that a file lists.
fn list(source: &Source, file: &str) -> Option<Vec<u32>> {
    cpu_list(&source.text(file)?)
}

/// CPUs that share a CPU's last cache.
fn last_cache(source: &Source, cpu: u32) -> Option<Vec<u32>> {
    let folders = (0..).map(|k: u32| format!("{CPUS}/cpu{cpu}/cache/index{k}"));
    let caches = folders.take_while(|folder| source.exists(folder)).filter_map(|folder| {
        let level = source.number::<u8>(&format!("{folder}/level")).ok()?;
        let kind = source.text(&format!("{folder}/type"))?;
        let cpus = list(source, &format!("{folder}/shared_cpu_list"))?;
        (kind != "Instruction").then_some((level, cpus))
    });
    caches.max_by_key(|(level, _)| *level).map(|(_, cpus)| cpus)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use host::fixtures::Root;

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
        let counts = json!({"sockets": 2, "cores": 8, "threads_per_core": 2});
        assert_eq!((map.cpus.len(), map.topology()), (16, counts));
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
        assert_eq!(map.pair(Relation::SmtSibling, &[0, 1, 8, 9, 10]), Ok([0, 8]));
        assert_eq!(map.pair(Relation::OtherSocket, &[2, 3, 5]), Ok([2, 5]));
        let reason = |map: &CpuMap, relation, cpus: &[u32]| map.pair(relation, cpus).unwrap_err();
        assert!(reason(&map, Relation::SmtSibling, &[0, 1]).contains("CPUs 0 and 8 are such"));
        assert!(reason(&map, Relation::SameCache, &[3]).contains("only CPU 3"));
        map.cpus.retain(|cpu, _| *cpu < 2);
        assert!(reason(&map, Relation::OtherSocket, &[0, 1]).contains("no two CPUs"));
        map.cpus.values_mut().for_each(|cpu| cpu.cache = None);
        assert!(reason(&map, Relation::SameCache, &[0, 1]).contains("does not say"));
    }
}
