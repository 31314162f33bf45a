//! Moves of threads from one CPU to another, without a perf event.

use std::collections::BTreeMap;

use crate::source::Source;

/// Moves of each thread so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrations(BTreeMap<String, u64>);

/// Moves of all threads of these processes; `None` if one of them has ended, or the kernel does
/// not tell (`CONFIG_SCHED_DEBUG`).
pub fn totals(pids: &[i32]) -> Option<Migrations> {
    read(&Source::system(), pids)
}

fn read(source: &Source, pids: &[i32]) -> Option<Migrations> {
    let mut moves = BTreeMap::new();
    for pid in pids {
        let folder = format!("/proc/{pid}/task");
        for thread in source.names(&folder) {
            let text = source.text(&format!("{folder}/{thread}/sched"))?;
            let line = text.lines().find_map(|line| line.strip_prefix("se.nr_migrations"))?;
            moves.insert(thread, line.trim_start_matches([' ', '\t', ':']).trim().parse().ok()?);
        }
    }
    (!moves.is_empty()).then_some(Migrations(moves))
}

impl Migrations {
    /// Moves since `before`; `None` unless the threads are the same, since the moves of a thread that
    /// has ended are lost.
    pub fn since(&self, before: &Migrations) -> Option<u64> {
        let sum = |moves: &Migrations| moves.0.values().sum::<u64>();
        self.0.keys().eq(before.0.keys()).then(|| sum(self).saturating_sub(sum(before)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::Root;

    #[test]
    fn moves_are_summed_over_the_same_threads() {
        let line = |thread: u32, moves: &str| {
            let file = format!("/proc/5/task/{thread}/sched");
            format!("{file}: x ({thread}, #threads: 2)\n{file}: se.nr_migrations   :   {moves}")
        };
        let of = |lines: &[String]| read(&Root::new(&lines.join("\n")).source(), &[5]);
        let before = of(&[line(5, "2"), line(6, "0")]).unwrap();
        let after = of(&[line(5, "4"), line(6, "9")]).unwrap();
        assert_eq!(after.since(&before), Some(11));
        assert_eq!(of(&[line(5, "4")]).unwrap().since(&before), None);
        assert_eq!(of(&[line(5, "4"), line(6, "?")]), None);
        assert_eq!(of(&[]), None);
        assert_eq!(totals(&[]), None);
    }
}
