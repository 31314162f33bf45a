//! What is said of curves: where one overtakes another, and where tasks fill a cache.

use facts::Record;
use facts::machine::Cache;
use serde::Serialize;

use super::basis::CONFIDENCE;
use super::grade::Graded;
use super::verdict::Verdict;

/// Where threads overtake tasks, or tasks threads: from a point on one takes less time than the other, which
/// took less before.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overtaking {
    /// The series that takes less from there on, and the other one.
    pub names: [String; 2],
    /// The first point of those up to the right end at which the whole interval of the ratio is below one.
    pub from: u64,
    /// Ratio of their times at the right end.
    pub end: Graded,
}

impl Overtaking {
    /// Compares two series by the ratios of their times, of the first by the second, in ascending order;
    /// `None` if no interval tells that one was behind before and ahead up to the end.
    pub fn of(names: [&str; 2], ratios: &[(u64, Graded)]) -> Option<Self> {
        let verdict = |(_, ratio): &(u64, Graded)| {
            ratio.interval.map(|i| Verdict::of([i.low - 1.0, i.high - 1.0], 0.0))
        };
        let verdicts: Vec<Option<Verdict>> = ratios.iter().map(verdict).collect();
        let end = (*verdicts.last()?).filter(|end| end.has_changed())?;
        let reverse = if end == Verdict::Less { Verdict::More } else { Verdict::Less };
        let before = verdicts.iter().rposition(|verdict| *verdict != Some(end))?;
        let was_behind = verdicts[..=before].contains(&Some(reverse));
        let ([first, second], ratio) = (names, ratios.last()?.1);
        let (names, end) = match end {
            Verdict::More => {
                ([second, first], Graded { estimate: ratio.inverse(), grade: ratio.grade })
            }
            _ => ([first, second], ratio),
        };
        let from = ratios.get(before + 1)?.0;
        was_behind.then(|| Overtaking { names: names.map(str::to_owned), from, end })
    }
}

/// User memory that a program's tasks hold, and where it fills the caches.
///
/// A hop touches a part of it, so the caches are full at these counts or later; what the kernel
/// touches for a hop (stacks, descriptors, buffers) is not in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Held {
    /// The row of the plan.
    pub name: String,
    /// Bytes for each task: the slope of the resident memory that the process has gained.
    pub per_task: f64,
    /// The data caches that are full within the curve, nearest first.
    pub full: Vec<FullCache>,
}

/// A data cache that tasks fill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FullCache {
    /// `L1d`, `L2`, `L3`.
    pub cache: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Number of tasks that hold as much.
    pub tasks: f64,
}

impl Held {
    /// What the tasks of these runs hold; `None` if the runs do not tell, or the memory does
    /// not grow with the number of tasks.
    pub fn of(name: &str, runs: &[&Record]) -> Option<Self> {
        let (tasks, gains): (Vec<f64>, Vec<f64>) =
            runs.iter().filter_map(|r| Some((r.tasks? as f64, r.resident_gain()? as f64))).unzip();
        let slope = stats::fit_line(&tasks, &gains, CONFIDENCE)?.slope;
        let per_task = Some(slope.estimate).filter(|_| slope.low > 0.0)?;
        let most = tasks.iter().copied().fold(0.0, f64::max);
        let least = tasks.iter().copied().fold(most, f64::min);
        let mut full: Vec<FullCache> = data_caches(&runs.first()?.machine().caches)
            .map(|(cache, bytes)| FullCache { cache, bytes, tasks: bytes as f64 / per_task })
            .filter(|full| (least..=most).contains(&full.tasks))
            .collect();
        full.sort_by_key(|full| full.bytes);
        Some(Held { name: name.to_owned(), per_task, full })
    }
}

/// The caches that hold data, with their sizes.
fn data_caches(caches: &[Cache]) -> impl Iterator<Item = (String, u64)> {
    let data = caches.iter().filter(|cache| cache.kind.as_deref() != Some("Instruction"));
    data.filter_map(|cache| {
        // Only the first level has a data cache beside one for instructions.
        let d = if cache.kind.as_deref() == Some("Data") { "d" } else { "" };
        Some((format!("L{}{d}", cache.level?), cache.size_bytes?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use facts::{Memory, MemoryChange, Run};
    use stats::{Estimate, Interval};
    use std::sync::Arc;

    /// Points at x = 1, 2, 4, ..., each with an interval of ± `reach`.
    fn curve(values: &[f64], reach: f64) -> Vec<(u64, Estimate)> {
        let point = |(i, &value): (usize, &f64)| {
            let (low, high) = (value - reach, value + reach);
            let interval = Interval { estimate: value, low, high, n: 5, confidence: 0.95 };
            (1 << i, Estimate { value, n: 5, interval: Some(interval) })
        };
        values.iter().enumerate().map(point).collect()
    }

    #[test]
    fn one_series_overtakes_another_where_the_intervals_tell() {
        let of = |values: &[f64]| {
            let points: Vec<(u64, Graded)> =
                curve(values, 0.1).into_iter().map(|(x, estimate)| (x, estimate.into())).collect();
            Overtaking::of(["threads", "tasks"], &points)
        };
        let over = of(&[2.0, 1.5, 1.05, 0.8, 0.5]).unwrap();
        assert_eq!((over.names[0].as_str(), over.from, over.end.value), ("threads", 8, 0.5));
        let over = of(&[0.5, 0.95, 1.6, 4.0]).unwrap();
        assert_eq!((over.names[0].as_str(), over.from, over.end.value), ("tasks", 4, 0.25));
        // One is ahead all the time, or nobody knows who is at the end, or was at the beginning.
        for values in [&[0.5, 0.8][..], &[2.0, 0.5, 0.95], &[1.05, 0.5], &[]] {
            assert_eq!(of(values), None, "{values:?}");
        }
    }

    /// A run with `tasks` tasks that hold `each` bytes, and 1 MiB of its own.
    fn run(tasks: u64, each: u64) -> Record {
        let cache = |level: u8, kind: &str, kib: u64| Cache {
            level: Some(level),
            kind: Some(kind.to_owned()),
            size_bytes: Some(kib << 10),
            groups: Vec::new(),
        };
        let memory = |resident| Memory { resident: Some(resident), ..Memory::default() };
        let mut record = testing::record("p", tasks, &[1]);
        record.memory = Some(MemoryChange {
            before: memory(2 << 20),
            held: Some(memory((3 << 20) + tasks * each)),
        });
        let mut run = Run::clone(&record.header);
        run.machine.caches = vec![
            cache(1, "Instruction", 64),
            cache(3, "Unified", 480 << 10),
            cache(2, "Unified", 2 << 10),
            cache(1, "Data", 48),
            Cache::default(),
        ];
        record.header = Arc::new(run);
        record
    }

    #[test]
    fn a_cache_is_full_where_the_tasks_hold_as_much() {
        let runs = [10, 100, 1000, 5000].map(|tasks| run(tasks, 2048));
        let held = Held::of("p", &runs.iter().collect::<Vec<_>>()).unwrap();
        assert!((held.per_task - 2048.0).abs() < 1e-6);
        let full: Vec<_> = held.full.iter().map(|f| (&*f.cache, f.tasks.round())).collect();
        assert_eq!(full, [("L1d", 24.0), ("L2", 1024.0)]);
        let runs = runs.map(|r| run(r.tasks.unwrap(), 0));
        assert_eq!(Held::of("p", &runs.iter().collect::<Vec<_>>()), None, "it does not grow");
        assert_eq!(Held::of("p", &[]), None);
    }
}
