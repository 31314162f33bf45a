//! Bytes for each task: the slope of memory over the number of tasks.

use harness::record::Record;
use harness::usage::Memory;
use serde::Serialize;

use crate::analysis::CONFIDENCE;
use crate::stats::{self, Halves, Interval, Line, TheilSen};

/// What each task adds.
#[derive(Clone, Debug, Serialize)]
pub struct Slopes {
    /// The process's own resident memory.
    pub user: Fit,
    /// Kernel stacks, page tables and slab, from the whole system's counters.
    pub kernel: Option<Fit>,
    /// Both together.
    pub all: Option<Fit>,
    /// Each run: its tasks, its user memory and its kernel memory in bytes.
    pub points: Vec<(u64, f64, Option<f64>)>,
    /// The number of runs in which transparent huge pages held part of the memory.
    pub huge: usize,
    /// `all`, or else `user`, divided by that of the row it is compared with.
    pub ratio: Option<Interval>,
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
        slopes.ratio =
            stats::slope_ratio(&slopes.headline().line, &other.headline().line, CONFIDENCE);
    }
    Some(slopes)
}

fn fits(runs: &[&Record]) -> Option<Slopes> {
    let kernel = |record: &Record| {
        let memory = record.memory?;
        Some(kernel(&memory.at_rest?)? - kernel(&memory.before)?)
    };
    let user = |record: &Record| Some(record.memory?.at_rest?.resident? as f64);
    let huge = |record: &&&Record| {
        record
            .memory
            .and_then(|m| m.at_rest?.huge)
            .is_some_and(|bytes| bytes > 0)
    };
    Some(Slopes {
        user: Fit::of(runs, user)?,
        kernel: Fit::of(runs, kernel),
        all: Fit::of(runs, |record| Some(user(record)? + kernel(record)?)),
        points: runs
            .iter()
            .filter_map(|record| Some((record.tasks()?, user(record)?, kernel(record))))
            .collect(),
        huge: runs.iter().filter(huge).count(),
        ratio: None,
    })
}

/// The kernel's memory of the whole system, as far as it follows the number of tasks.
fn kernel(memory: &Memory) -> Option<f64> {
    Some((memory.system_kernel_stacks? + memory.system_page_tables? + memory.system_slab?) as f64)
}

impl Slopes {
    /// What a task costs the system, as far as it is known.
    pub fn headline(&self) -> &Fit {
        self.all.as_ref().unwrap_or(&self.user)
    }
}

impl Fit {
    fn of(runs: &[&Record], size: impl Fn(&Record) -> Option<f64>) -> Option<Self> {
        let (tasks, sizes): (Vec<f64>, Vec<f64>) = runs
            .iter()
            .filter_map(|record| Some((record.tasks()? as f64, size(record)?)))
            .unzip();
        Some(Fit {
            line: stats::fit_line(&tasks, &sizes, CONFIDENCE)?,
            robust: stats::theil_sen(&tasks, &sizes, CONFIDENCE),
            halves: stats::halves(&tasks, &sizes, CONFIDENCE),
        })
    }
}
