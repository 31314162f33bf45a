//! How much memory all tasks of a point hold together, and which cache it would fill.
//!
//! What is known is the memory that a task holds: the slope of the resident memory that the
//! process has gained by the time its tasks are at rest. A hop touches a part of it, so the caches
//! are full at these counts or later, as far as user memory goes; what the kernel touches for a
//! hop (stacks, descriptors, buffers) is not in it.

use contract::units::{self, Bytes};
use record::Record;
use record::machine::Cache;
use serde::Serialize;
use stats::Interval;

use crate::CONFIDENCE;

/// A place on the x axis of a curve that deserves a line, such as where a cache is full.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mark {
    /// Where it is.
    pub x: f64,
    /// Label.
    pub label: String,
}

/// The user memory that a program's tasks hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The row of the plan.
    pub name: String,
    /// Bytes for each task.
    pub per_task: Interval,
    /// The data caches of the machine, nearest first.
    pub caches: Vec<CacheSize>,
}

/// A data cache and its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CacheSize {
    /// `L1d`, `L2`, `L3`.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Marks within this factor are one.
const NEAR: f64 = 1.1;

impl Held {
    /// What the tasks of these runs hold; `None` where the runs do not tell, or the memory does
    /// not grow with the number of tasks.
    pub fn of(name: &str, runs: &[&Record]) -> Option<Self> {
        let (tasks, gains): (Vec<f64>, Vec<f64>) =
            runs.iter().filter_map(|r| Some((r.tasks? as f64, r.resident_gain()? as f64))).unzip();
        let per_task = stats::fit_line(&tasks, &gains, CONFIDENCE)?.slope;
        (per_task.low > 0.0).then(|| Held {
            name: name.to_owned(),
            per_task,
            caches: runs.first().map_or_else(Vec::new, |r| data_caches(&r.machine().caches)),
        })
    }

    /// Bytes that `tasks` tasks hold together.
    pub fn at(&self, tasks: u64) -> f64 {
        self.per_task.estimate * tasks as f64
    }

    /// The nearest cache that so many bytes fit into; `memory` where they fit into none.
    pub fn fits(&self, bytes: f64) -> &str {
        self.caches
            .iter()
            .find(|cache| bytes <= cache.bytes as f64)
            .map_or("memory", |cache| &cache.name)
    }

    /// Where the caches are full, as far as that is between `from` and `to` tasks.
    pub fn marks(&self, from: u64, to: u64) -> Vec<Mark> {
        let mut marks = marks(self.per_task.estimate, &self.caches);
        marks.retain(|mark| from as f64 <= mark.x && mark.x <= to as f64);
        marks
    }
}

/// The marks of several programs for one plot, in ascending order. Where two programs fill the same
/// cache within 10 %, one line is enough.
pub fn marks_of(held: &[Held], from: u64, to: u64) -> Vec<Mark> {
    let mut all: Vec<(Mark, &str)> = held
        .iter()
        .flat_map(|held| held.marks(from, to).into_iter().map(|m| (m, &*held.name)))
        .collect();
    all.sort_by(|(a, _), (b, _)| a.x.total_cmp(&b.x));
    let mut marks: Vec<(Mark, Vec<&str>)> = Vec::new();
    for (mark, name) in all {
        let near = |m: &Mark| m.label == mark.label && mark.x <= m.x * NEAR;
        match marks.iter_mut().find(|(m, _)| near(m)) {
            Some((_, names)) if names.contains(&program(name)) => {}
            Some((_, names)) => names.push(program(name)),
            None => marks.push((mark, vec![program(name)])),
        }
    }
    marks
        .into_iter()
        .map(|(mark, names)| Mark {
            label: format!("{}: {}", mark.label, names.join(", ")),
            ..mark
        })
        .collect()
}

/// A row's program without its flags: what a plot has room for.
fn program(name: &str) -> &str {
    name.split(" --").next().unwrap_or(name)
}

/// The numbers of tasks that fill each cache, if each task holds `per_task` bytes.
pub fn marks(per_task: f64, caches: &[CacheSize]) -> Vec<Mark> {
    caches
        .iter()
        .map(|cache| Mark {
            x: cache.bytes as f64 / per_task,
            label: format!("{} {}", size(Bytes(cache.bytes)), cache.name),
        })
        .filter(|mark| mark.x.is_finite() && mark.x > 0.0)
        .collect()
}

/// The caches that hold data, nearest first.
pub fn data_caches(caches: &[Cache]) -> Vec<CacheSize> {
    let mut levels: Vec<(u8, CacheSize)> = caches
        .iter()
        .filter(|cache| cache.kind.as_deref() != Some("Instruction"))
        .filter_map(|cache| {
            let level = cache.level?;
            // Only the first level has a data cache beside one for instructions.
            let data = match cache.kind.as_deref() {
                Some("Data") => "d",
                _ => "",
            };
            let name = format!("L{level}{data}");
            let bytes = cache.size_bytes?;
            Some((level, CacheSize { name, bytes }))
        })
        .collect();
    levels.sort_by_key(|(level, _)| *level);
    levels.into_iter().map(|(_, cache)| cache).collect()
}

/// A cache's size without decimals, as it is a round number of KiB or MiB.
fn size(bytes: Bytes) -> String {
    let text = units::bytes(bytes.0 as f64);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use record::{Memory, MemoryChange, Run};
    use std::sync::Arc;

    fn cache(level: u8, kind: &str, kib: u64) -> Cache {
        Cache {
            level: Some(level),
            kind: Some(kind.to_owned()),
            size_bytes: Some(kib << 10),
            shared_cpu_list: None,
        }
    }

    fn machine() -> Vec<Cache> {
        vec![
            cache(1, "Data", 48),
            cache(1, "Instruction", 64),
            cache(3, "Unified", 480 << 10),
            cache(2, "Unified", 2 << 10),
            Cache::default(),
        ]
    }

    /// A run with `tasks` tasks that hold `each` bytes, and 1 MiB of its own.
    fn run(tasks: u64, each: u64) -> Record {
        let memory = |resident| Memory { resident: Some(resident), ..Memory::default() };
        let mut record = testing::record("p", tasks, &[1]);
        record.memory = Some(MemoryChange {
            before: memory(2 << 20),
            held: Some(memory((3 << 20) + tasks * each)),
        });
        let mut run = Run::clone(&record.header);
        run.machine.caches = machine();
        record.header = Arc::new(run);
        record
    }

    #[test]
    fn caches_for_data_come_nearest_first() {
        let names: Vec<String> =
            data_caches(&machine()).into_iter().map(|cache| cache.name).collect();
        assert_eq!(names, ["L1d", "L2", "L3"]);
        assert!(data_caches(&[]).is_empty());
    }

    #[test]
    fn a_mark_is_where_the_tasks_fill_the_cache() {
        let marks = marks(1024.0, &data_caches(&machine()));
        let texts: Vec<String> =
            marks.iter().map(|mark| format!("{} at {}", mark.label, mark.x)).collect();
        let expected = ["48 KiB L1d at 48", "2 MiB L2 at 2048", "480 MiB L3 at 491520"];
        assert_eq!(texts, expected);
        assert!(super::marks(0.0, &data_caches(&machine())).is_empty());
    }

    #[test]
    fn what_a_task_holds_is_the_slope_of_the_gain() {
        let runs = [10, 100, 1000, 5000].map(|tasks| run(tasks, 2048));
        let runs: Vec<&Record> = runs.iter().collect();
        let held = Held::of("p", &runs).unwrap();
        assert!((held.per_task.estimate - 2048.0).abs() < 1e-6);
        let fits = |tasks| held.fits(held.at(tasks)).to_owned();
        assert_eq!([10, 1000, 5000, 1_000_000].map(fits), ["L1d", "L2", "L3", "memory"]);
        let marks = held.marks(10, 5000);
        let labels: Vec<&str> = marks.iter().map(|mark| mark.label.as_str()).collect();
        assert_eq!(labels, ["48 KiB L1d", "2 MiB L2"]);
    }

    #[test]
    fn marks_of_programs_that_are_alike_are_one() {
        let held = |name: &str, each: u64| {
            let runs = [10, 100, 1000, 5000].map(|tasks| run(tasks, each));
            Held::of(name, &runs.iter().collect::<Vec<_>>()).unwrap()
        };
        let all = [held("a", 2048), held("b", 2000), held("c", 9600)];
        let labels: Vec<String> = marks_of(&all, 10, 5000)
            .into_iter()
            .map(|mark| format!("{} at {:.0}", mark.label, mark.x))
            .collect();
        let expected = ["48 KiB L1d: a, b at 24", "2 MiB L2: c at 218", "2 MiB L2: a, b at 1024"];
        assert_eq!(labels, expected);
    }

    #[test]
    fn memory_that_does_not_grow_holds_nothing() {
        let runs = [10, 100, 1000, 5000].map(|tasks| run(tasks, 0));
        let runs: Vec<&Record> = runs.iter().collect();
        assert_eq!(Held::of("p", &runs), None);
        assert_eq!(Held::of("p", &[]), None);
    }
}
