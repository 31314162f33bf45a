//! Bytes for each task: the slope of memory over the number of tasks.

use facts::{Memory, Record};
use serde::Serialize;
use stats::{Halves, Interval, Line, TheilSen};

use super::basis::CONFIDENCE;
use super::grade::Graded;

/// Bytes that each task adds.
#[derive(Clone, Debug, Serialize)]
pub struct Slopes {
    /// The process's own resident memory.
    pub user: Fit,
    /// Kernel stacks, page tables and slab, from the whole system's counters.
    pub kernel: Option<Fit>,
    /// The kernel's memory by what it is used for.
    pub parts: Parts,
    /// User and kernel memory together.
    pub all: Option<Fit>,
    /// The fewest and the most tasks of a run.
    pub tasks: (u64, u64),
    /// Memory of the machine in bytes.
    pub machine: Option<u64>,
    /// How many runs failed.
    pub failed: usize,
    /// The number of runs in which transparent huge pages held part of the memory.
    pub huge: usize,
    /// `all`, or else `user`, divided by that of the row it is compared with.
    pub ratio: Option<Graded<Interval>>,
    /// The two sizes that it divides.
    #[serde(skip)]
    pub divided: Option<[Interval; 2]>,
}

/// The kernel's memory, from the whole system's counters.
#[derive(Clone, Debug, Serialize)]
pub struct Parts {
    /// Kernel stacks.
    pub stacks: Option<Fit>,
    /// Page tables.
    pub page_tables: Option<Fit>,
    /// Slab memory that cannot be reclaimed.
    pub slab: Option<Fit>,
    /// Pages that used pipes keep.
    pub pipe_pages: Option<Fit>,
}

/// A line through memory over tasks.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// Least squares: the slope is in bytes for each task, the intercept what there is without.
    pub line: Line,
    /// The median of all pairwise slopes, which no outlier moves.
    pub robust: Option<TheilSen>,
    /// The slopes of the lower and of the upper half, which agree if it is a line.
    pub halves: Option<Halves>,
}

/// Fits the memory of runs with different numbers of tasks; `versus` are the runs to compare with.
pub fn slopes(runs: &[&Record], versus: Option<&[&Record]>) -> Option<Slopes> {
    let mut slopes = fits(runs)?;
    if let Some(other) = versus.and_then(fits) {
        let both = comparable([&slopes, &other]);
        let ratio = stats::log_slope_ratio(both[0], both[1])
            .and_then(|change| change.ratio(CONFIDENCE))
            .map(Graded::from);
        let divided = Some(both.map(|line| line.slope));
        slopes = Slopes { ratio, divided, ..slopes };
    }
    Some(slopes)
}

/// Lines of two rows that may be divided: with the kernel's share, or both without it if it cannot be told of
/// either.
fn comparable(both: [&Slopes; 2]) -> [&Line; 2] {
    let is_alone = both.iter().any(|slopes| slopes.lacks_kernel());
    both.map(|slopes| if is_alone { &slopes.user.line } else { &slopes.headline().line })
}

/// Why runs have no slopes.
pub fn no_slope(runs: &[&Record]) -> &'static str {
    let is_known = |record: &&Record| {
        let at_rest = record.memory.and_then(|memory| memory.held);
        at_rest.is_some_and(|memory| memory.resident.is_some())
    };
    if runs.iter().any(is_known) {
        "too few task counts for a slope"
    } else {
        "the memory is unknown: /proc/PID/smaps_rollup could not be read"
    }
}

fn fits(runs: &[&Record]) -> Option<Slopes> {
    let user = |record: &Record| Some(record.memory?.held?.resident? as f64);
    let huge =
        |record: &&&Record| record.memory.and_then(|m| m.held?.huge).is_some_and(|bytes| bytes > 0);
    Some(Slopes {
        user: Fit::of(runs, user)?,
        kernel: Fit::of(runs, |r| r.kernel_gain()),
        parts: Parts {
            stacks: Fit::of_gain(runs, |memory| memory.system_kernel_stacks),
            page_tables: Fit::of_gain(runs, |memory| memory.system_page_tables),
            slab: Fit::of_gain(runs, |memory| memory.system_slab),
            // Those of the process: it had none before it began.
            pipe_pages: Fit::of(runs, |record| Some(record.memory?.held?.pipe_pages? as f64)),
        },
        all: Fit::of(runs, |record| Some(user(record)? + record.kernel_gain()?)),
        tasks: (
            runs.iter().filter_map(|record| record.tasks).min()?,
            runs.iter().filter_map(|record| record.tasks).max()?,
        ),
        machine: runs.iter().find_map(|record| record.machine().memory_total_bytes),
        failed: 0,
        huge: runs.iter().filter(huge).count(),
        ratio: None,
        divided: None,
    })
}

/// What a figure has grown by since before the tasks were built; system-wide ones can shrink.
fn gain(record: &Record, figure: impl Fn(&Memory) -> Option<f64>) -> Option<f64> {
    let memory = record.memory?;
    Some(figure(&memory.held?)? - figure(&memory.before)?)
}

impl Slopes {
    /// Memory of a task in the whole system, as far as it can be told from what the system did meanwhile:
    /// to add noise would make no sum truer.
    pub fn headline(&self) -> &Fit {
        match &self.kernel {
            Some(kernel) if !kernel.is_seen() => &self.user,
            _ => self.all.as_ref().unwrap_or(&self.user),
        }
    }

    /// True if the kernel's share cannot be told from what the system did meanwhile, and may be as large as the
    /// process's own: then the process alone is all that is known.
    pub fn lacks_kernel(&self) -> bool {
        let is_noise = |kernel: &Fit| {
            !kernel.is_seen() && kernel.line.slope.high > self.user.line.slope.estimate
        };
        self.kernel.as_ref().is_none_or(is_noise)
    }

    /// Tasks that the machine's memory would hold, if they were all that it held.
    pub fn most(&self) -> Option<f64> {
        let line = &self.headline().line;
        let most = (self.machine? as f64 - line.intercept.estimate) / line.slope.estimate;
        (self.headline().is_seen() && !self.void() && most > 0.0).then_some(most)
    }

    /// True if transparent huge pages make the user memory, and so the headline, mean nothing: a
    /// page of 2 MiB becomes resident when one byte of it is touched.
    pub fn void(&self) -> bool {
        self.huge > 0
    }
}

/// A bend that is worth a word, as a share of the lower half's slope.
const WORTH_A_WORD: f64 = 0.05;

impl Fit {
    /// True if the memory clearly grows with the tasks. Where it does not, or even shrinks, what
    /// the rest of the system did meanwhile is all that there is to see.
    pub fn is_seen(&self) -> bool {
        self.line.slope.low > 0.0
    }

    /// How much steeper the upper half is than the lower, as a share of that, if it is no
    /// line: if the halves differ by more than chance, and by more than 5 %.
    pub fn bends(&self) -> Option<f64> {
        let halves = self.halves.filter(|halves| halves.differ)?;
        halves.bend().filter(|bend| bend.abs() > WORTH_A_WORD)
    }

    fn of_gain(runs: &[&Record], figure: impl Fn(&Memory) -> Option<u64>) -> Option<Self> {
        let figure = |memory: &Memory| Some(figure(memory)? as f64);
        Fit::of(runs, |record| gain(record, figure))
    }

    fn of(runs: &[&Record], size: impl Fn(&Record) -> Option<f64>) -> Option<Self> {
        let (tasks, sizes): (Vec<f64>, Vec<f64>) =
            runs.iter().filter_map(|record| Some((record.tasks? as f64, size(record)?))).unzip();
        Some(Fit {
            line: stats::fit_line(&tasks, &sizes, CONFIDENCE)?,
            robust: stats::theil_sen(&tasks, &sizes),
            halves: stats::halves(&tasks, &sizes, CONFIDENCE),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use facts::MemoryChange;

    /// A run in which each task holds 100 bytes of its own, 30 of stack, 20 of page tables and 10
    /// of slab; the upper half of the counts twice as much of its own if `bent`.
    fn run(tasks: u64, bent: bool) -> Record {
        let own = if bent { tasks + tasks.saturating_sub(450) } else { tasks };
        let memory = |tasks: u64, own: u64| Memory {
            resident: Some(5000 + 100 * own),
            system_kernel_stacks: Some(90_000 + 30 * tasks),
            system_page_tables: Some(80_000 + 20 * tasks),
            system_slab: Some(70_000 + 10 * tasks),
            ..Memory::default()
        };
        let mut record = testing::record("p", tasks, &[1]);
        record.memory = Some(MemoryChange { before: memory(0, 0), held: Some(memory(tasks, own)) });
        record
    }

    fn fit(bent: bool) -> Slopes {
        let runs: Vec<Record> = (1..=8).map(|k| run(100 * k, bent)).collect();
        slopes(&runs.iter().collect::<Vec<_>>(), None).unwrap()
    }

    #[test]
    fn each_part_has_its_slope() {
        let slopes = fit(false);
        let slope = |fit: Option<&Fit>| fit.unwrap().line.slope.estimate.round();
        assert_eq!(slope(Some(&slopes.user)), 100.0);
        assert_eq!(slope(slopes.parts.stacks.as_ref()), 30.0);
        assert_eq!(slope(slopes.parts.page_tables.as_ref()), 20.0);
        assert_eq!(slope(slopes.parts.slab.as_ref()), 10.0);
        assert_eq!(slope(slopes.kernel.as_ref()), 60.0);
        assert_eq!(slope(slopes.all.as_ref()), 160.0);
        assert_eq!(slopes.tasks, (100, 800));
        let slopes = Slopes { machine: Some(165_000), ..slopes };
        assert!((slopes.most().unwrap() - 1000.0).abs() < 1e-6);
        assert!(!slopes.void());
    }

    #[test]
    fn no_slope_has_its_reason() {
        let mut blind = run(100, false);
        blind.memory = None;
        assert!(no_slope(&[&blind]).contains("/proc"));
        assert!(no_slope(&[&run(100, false)]).contains("too few"));
    }

    #[test]
    fn a_line_is_straight_and_a_bend_is_told() {
        assert_eq!(fit(false).user.bends(), None);
        let bend = fit(true).user.bends().unwrap();
        assert!((bend - 1.0).abs() < 1e-9, "{bend}");
    }
}
