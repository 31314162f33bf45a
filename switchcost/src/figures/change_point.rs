//! Course of a curve: where it leaves the level that it begins at, and where its tasks fill a cache.
//!
//! The *level* is the middle one, by value, of the first three points, or the very first one if
//! the three are not alike. The *change point* is the first point from which on every point to the
//! right end lies outside [`TOLERANCE`] of the level, on the same side, with an interval that shares no
//! value with that of the level. So one stray point changes nothing, and neither does noise.

use std::cmp::Ordering;

use facts::Record;
use facts::machine::Cache;
use serde::Serialize;
use stats::Estimate;

use super::CONFIDENCE;
use super::grade::Graded;

/// How far from the level a point must be to have left it.
pub const TOLERANCE: f64 = 0.2;

/// Fewest points that have a course.
pub const FEWEST: usize = 3;

/// A curve in few words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Course {
    /// The value that the curve begins at.
    pub level: f64,
    /// The last point before the change point, and the change point.
    pub change: Option<(u64, u64)>,
    /// If there is none: the point farthest from the level of those that have left it, and its value
    /// divided by the level.
    pub stray: Option<(u64, f64)>,
    /// The value at the right end, divided by the level.
    pub end: f64,
}

impl Course {
    /// Describes a curve by its points in ascending order; `None` under three points, or if a value
    /// has no interval or is not positive and finite.
    pub fn of(points: &[(u64, Estimate)]) -> Option<Self> {
        let usable =
            |(_, e): &(u64, Estimate)| e.interval.is_some() && e.value.is_finite() && e.value > 0.0;
        let last = points.last().filter(|_| points.iter().all(usable))?;
        let level = level(points)?;
        let factor = |e: &Estimate| e.value / level.value;
        let sides: Vec<Ordering> = points.iter().map(|(_, e)| side(e, &level)).collect();
        let end = side(&last.1, &level);
        let before = sides.iter().rposition(|side| *side != end);
        let change = before
            .filter(|_| end != Ordering::Equal)
            .and_then(|before| Some((points.get(before)?.0, points.get(before + 1)?.0)));
        let left = points.iter().zip(&sides).filter(|(_, side)| **side != Ordering::Equal);
        let left = left.map(|((x, e), _)| (*x, factor(e)));
        let farthest = left.max_by(|a, b| a.1.ln().abs().total_cmp(&b.1.ln().abs()));
        let stray = farthest.filter(|_| change.is_none());
        Some(Course { level: level.value, change, stray, end: factor(&last.1) })
    }
}

fn level(points: &[(u64, Estimate)]) -> Option<Estimate> {
    let mut first: Vec<Estimate> = points.get(..FEWEST)?.iter().map(|(_, e)| *e).collect();
    first.sort_by(|a, b| a.value.total_cmp(&b.value));
    let middle = first[FEWEST / 2];
    let alike = first.iter().all(|e| side(e, &middle) == Ordering::Equal);
    Some(if alike { middle } else { points[0].1 })
}

/// Side of the level that a value is on; equal if it is near it or cannot be told from it.
fn side(of: &Estimate, level: &Estimate) -> Ordering {
    let bounds = |e: &Estimate| e.interval.map_or((e.value, e.value), |i| (i.low, i.high));
    let ((low, high), (level_low, level_high)) = (bounds(of), bounds(level));
    match of.value / level.value {
        factor if factor > 1.0 + TOLERANCE && low > level_high => Ordering::Greater,
        factor if factor < 1.0 - TOLERANCE && high < level_low => Ordering::Less,
        _ => Ordering::Equal,
    }
}

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
        let side = |(_, ratio): &(u64, Graded)| match ratio.interval {
            Some(i) if i.high < 1.0 => Ordering::Less,
            Some(i) if i.low > 1.0 => Ordering::Greater,
            _ => Ordering::Equal,
        };
        let sides: Vec<Ordering> = ratios.iter().map(side).collect();
        let end = *sides.last().filter(|side| **side != Ordering::Equal)?;
        let before = sides.iter().rposition(|side| *side != end)?;
        let was_behind = sides[..before + 1].contains(&end.reverse());
        let ([first, second], ratio) = (names, ratios.last()?.1);
        let (names, end) = match end {
            Ordering::Greater => {
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
    use stats::Interval;
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
    fn a_change_point_is_where_all_that_follows_has_left_the_level() {
        for (values, reach, level, change, stray) in [
            (&[100.0, 104.0, 97.0, 101.0, 110.0][..], 2.0, 100.0, None, None),
            (&[100.0, 104.0, 96.0, 100.0, 130.0, 200.0], 3.0, 100.0, Some((8, 16)), None),
            // One stray point before is no part of it.
            (&[100.0, 104.0, 150.0, 100.0, 130.0], 3.0, 100.0, Some((8, 16)), None),
            // Each step is 10 %.
            (&[100.0, 110.0, 120.0, 132.0, 145.0], 1.0, 110.0, Some((8, 16)), None),
            (&[100.0, 60.0, 40.0, 30.0], 3.0, 100.0, Some((1, 2)), None),
            // Intervals that overlap change nothing.
            (&[100.0, 100.0, 100.0, 130.0, 140.0], 25.0, 100.0, None, None),
            (&[100.0, 100.0, 250.0, 180.0, 100.0], 5.0, 100.0, None, Some((4, 2.5))),
            // A dip and then a rise: what holds up to the end is the rise.
            (&[100.0, 50.0, 100.0, 300.0], 5.0, 100.0, Some((4, 8)), None),
        ] {
            let course = Course::of(&curve(values, reach)).unwrap();
            let end = values[values.len() - 1] / level;
            assert_eq!(course, Course { level, change, stray, end }, "{values:?}");
        }
    }

    #[test]
    fn too_few_points_and_points_without_intervals_have_no_course() {
        for values in [&[][..], &[1.0, 2.0], &[1.0, 0.0, 2.0], &[1.0, f64::NAN, 2.0]] {
            assert_eq!(Course::of(&curve(values, 0.1)), None);
        }
        let mut points = curve(&[100.0, 101.0, 130.0], 1.0);
        points[1].1.interval = None;
        assert_eq!(Course::of(&points), None);
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
            shared_cpu_list: None,
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
