//! Bytes for each task: the slope of memory over the number of tasks.

use record::{Memory, Record};
use serde::Serialize;
use stats::{Estimate, Halves, Line, TheilSen};

use super::basis::CONFIDENCE;
use super::sessions;

/// Bytes that each task adds.
#[derive(Clone, Debug, Serialize)]
pub struct Slopes {
    /// The process's own resident memory.
    pub user: Fit,
    /// Kernel stacks, page tables and slab, from the whole system's counters.
    pub kernel: Option<Fit>,
    /// The kernel's memory by what it is used for.
    pub parts: Parts,
    /// Both together.
    pub all: Option<Fit>,
    /// The fewest and the most tasks of a run.
    pub tasks: (u64, u64),
    /// The machine's memory, in bytes.
    pub machine: Option<u64>,
    /// Number of trials that failed.
    pub failed: usize,
    /// The number of runs with part of their memory in transparent huge pages.
    pub(crate) huge: usize,
}

/// The kernel's memory, from the whole system's counters.
#[derive(Clone, Debug, Serialize)]
pub struct Parts {
    /// Stacks that the kernel has for threads.
    pub stacks: Option<Fit>,
    /// Page tables.
    pub page_tables: Option<Fit>,
    /// Slab memory that cannot be reclaimed.
    pub slab: Option<Fit>,
    /// Pages that pipes hold.
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

/// Why runs have no slopes.
pub(crate) fn no_slope(runs: &[&Record]) -> &'static str {
    let resident = |record: &&Record| record.memory?.held?.resident;
    if runs.iter().any(|record| resident(record).is_some()) {
        "too few task counts for a slope"
    } else {
        "its memory is unknown: /proc/PID/smaps_rollup could not be read"
    }
}

/// Fits the memory of runs with different numbers of tasks, beside so many that failed.
pub(crate) fn slopes(runs: &[&Record], failed: usize) -> Option<Slopes> {
    let user = |record: &Record| Some(record.memory?.held?.resident? as f64);
    let huge = |record: &&Record| record.memory?.held?.huge.filter(|&bytes| bytes > 0);
    let tasks = runs.iter().filter_map(|record| record.tasks());
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
        tasks: (tasks.clone().min()?, tasks.max()?),
        machine: runs.iter().find_map(|record| record.machine().number("memory_total_bytes")),
        failed,
        huge: runs.iter().filter_map(huge).count(),
    })
}

impl Slopes {
    /// Memory of a task in the whole system, as far as it can be told from what the system did meanwhile.
    pub fn headline(&self) -> &Fit {
        self.fit(self.has_kernel()).unwrap_or(&self.user)
    }

    /// True if the kernel's share is known, and clearly more than what the system did meanwhile.
    pub(crate) fn has_kernel(&self) -> bool {
        self.all.is_some() && self.kernel.as_ref().is_none_or(Fit::is_seen)
    }

    /// Memory of a task with the kernel's share, if it is known, or without it.
    pub(crate) fn fit(&self, with_kernel: bool) -> Option<&Fit> {
        if with_kernel { self.all.as_ref() } else { Some(&self.user) }
    }

    /// True if the kernel's share cannot be told from what the system did meanwhile, and may be as large as the
    /// process's own: then the process alone is all that is known.
    pub fn lacks_kernel(&self) -> bool {
        let is_noise = |kernel: &Fit| {
            !kernel.is_seen() && kernel.line.slope.high > self.user.line.slope.estimate
        };
        self.kernel.as_ref().is_none_or(is_noise)
    }

    /// Makes each session a sample of the slopes; the rest is of all processes.
    pub(crate) fn combine(&mut self, mut sessions: Vec<Slopes>) {
        let sessions: Vec<_> = sessions.iter_mut().map(Slopes::fits).collect();
        for (part, fit) in self.fits().into_iter().enumerate() {
            let slope = |fits: &[Option<&mut Fit>; 7]| {
                Some(Estimate::from(fits[part].as_ref()?.line.slope))
            };
            let slopes: Vec<Estimate> = sessions.iter().filter_map(slope).collect();
            if let Some(fit) = fit {
                // The geometric mean of what may be zero would be seen to be above it.
                let are_seen =
                    slopes.iter().all(|slope| slope.interval.is_some_and(|i| i.low > 0.0));
                let mean = if are_seen { sessions::over } else { sessions::over_sums };
                let slope = mean(&slopes).and_then(|slope| slope.interval);
                fit.line.slope = slope.unwrap_or(fit.line.slope);
            }
        }
    }

    fn fits(&mut self) -> [Option<&mut Fit>; 7] {
        let Parts { stacks, page_tables, slab, pipe_pages } = &mut self.parts;
        let parts = [stacks, page_tables, slab, pipe_pages, &mut self.kernel, &mut self.all];
        let [a, b, c, d, e, f] = parts.map(Option::as_mut);
        [Some(&mut self.user), a, b, c, d, e, f]
    }

    /// Tasks that the machine's memory would hold, if they were all that it held.
    pub fn most(&self) -> Option<f64> {
        let line = &self.headline().line;
        let most = (self.machine? as f64 - line.intercept.estimate) / line.slope.estimate;
        (self.headline().is_seen() && !self.void() && most > 0.0).then_some(most)
    }

    /// True if transparent huge pages make the sizes mean nothing: one of 2 MiB becomes resident by a single byte.
    pub fn void(&self) -> bool {
        self.huge > 0
    }
}

/// A bend that is worth a word, as a share of the lower half's slope.
const WORTH_A_WORD: f64 = 0.05;

impl Fit {
    /// True if the memory clearly grows with the tasks; otherwise the rest of the system is all that there is to see.
    pub fn is_seen(&self) -> bool {
        self.line.slope.low > 0.0
    }

    /// How much steeper the upper half is than the lower, as a share of that, if they differ by more than chance.
    pub fn bends(&self) -> Option<f64> {
        let halves = self.halves.filter(|halves| halves.differ)?;
        halves.bend().filter(|bend| bend.abs() > WORTH_A_WORD)
    }

    /// What a figure has grown by since before the tasks were built; system-wide ones can shrink.
    fn of_gain(runs: &[&Record], figure: fn(&Memory) -> Option<u64>) -> Option<Self> {
        Fit::of(runs, |record| {
            let memory = record.memory?;
            Some(figure(&memory.held?)? as f64 - figure(&memory.before)? as f64)
        })
    }

    fn of(runs: &[&Record], size: impl Fn(&Record) -> Option<f64>) -> Option<Self> {
        let (tasks, sizes): (Vec<f64>, Vec<f64>) =
            runs.iter().filter_map(|record| Some((record.tasks()? as f64, size(record)?))).unzip();
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
    use record::MemoryChange;

    /// Runs in which each task holds 100 bytes of its own, 30 of stack, 20 of page tables and 10 of slab; in the upper
    /// half twice as much of its own if `bent`.
    fn fit(bent: bool) -> Slopes {
        let run = |tasks: u64| {
            let own = if bent { tasks + tasks.saturating_sub(450) } else { tasks };
            let memory = |tasks: u64, own: u64| Memory {
                resident: Some(5000 + 100 * own),
                system_kernel_stacks: Some(90_000 + 30 * tasks),
                system_page_tables: Some(80_000 + 20 * tasks),
                system_slab: Some(70_000 + 10 * tasks),
                ..Memory::default()
            };
            let mut record = testing::record("p", tasks, &[1]);
            let (before, held) = (memory(0, 0), Some(memory(tasks, own)));
            record.trial.memory = Some(MemoryChange { before, held });
            record
        };
        let runs: Vec<Record> = (1..=8).map(|k| run(100 * k)).collect();
        slopes(&runs.iter().collect::<Vec<_>>(), 0).unwrap()
    }

    #[test]
    fn each_part_has_its_slope_and_a_bend_is_told() {
        let slopes = fit(false);
        let Parts { stacks, page_tables, slab, .. } = slopes.parts.clone();
        let fits = [Some(slopes.user.clone()), stacks, page_tables, slab, slopes.all.clone()];
        let bytes = fits.map(|fit| fit.unwrap().line.slope.estimate.round());
        assert_eq!(bytes, [100.0, 30.0, 20.0, 10.0, 160.0]);
        let slopes = Slopes { machine: Some(165_000), ..slopes };
        assert!((slopes.most().unwrap() - 1000.0).abs() < 1e-6);
        assert_eq!(slopes.user.bends(), None);
        assert!((fit(true).user.bends().unwrap() - 1.0).abs() < 1e-9);
    }
}
