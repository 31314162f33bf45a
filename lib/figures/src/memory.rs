//! Bytes for each task: the slope of memory over the number of tasks.

use std::collections::BTreeMap;

use record::{Memory, Record};
use serde::Serialize;
use stats::{Estimate, Interval, Line};

use super::part::Part;
use super::sessions;

/// Bytes that each task adds.
#[derive(Clone, Debug, Serialize)]
pub struct Slopes {
    /// A line for each part that is known.
    #[serde(flatten)]
    fits: BTreeMap<Part, Fit>,
    /// The fewest and the most tasks of a run.
    pub tasks: (u64, u64),
    /// The machine's memory within the limit of the control group, in bytes.
    pub machine: Option<u64>,
    /// True if transparent huge pages make the sizes mean nothing: one of 2 MiB becomes resident by a single byte.
    pub void: bool,
}

/// A line through memory over tasks.
#[derive(Clone, Debug, Serialize)]
pub struct Fit {
    /// Least squares: the slope is in bytes for each task, the intercept what there is without.
    pub line: Line,
    /// The slopes of the lower and of the upper half, which agree if it is a line.
    pub halves: Option<[Interval; 2]>,
}

/// Fits the memory of runs with different numbers of tasks.
pub(crate) fn slopes(runs: &[&Record]) -> Option<Slopes> {
    let parts = [
        (Part::User, Some(Fit::of(runs, in_process)?)),
        (Part::Kernel, Fit::of(runs, |r| r.kernel_gain())),
        (Part::Together, Fit::of(runs, |record| Some(in_process(record)? + record.kernel_gain()?))),
        (Part::Stacks, Fit::of_gain(runs, |memory| memory.system_kernel_stacks)),
        (Part::PageTables, Fit::of_gain(runs, |memory| memory.system_page_tables)),
        (Part::Slab, Fit::of_gain(runs, |memory| memory.system_slab)),
        // Those of the process: it had none before it began.
        (Part::PipePages, Fit::of(runs, |record| Some(record.memory?.held?.pipe_pages? as f64))),
    ];
    let tasks = runs.iter().filter_map(|record| record.tasks());
    Some(Slopes {
        fits: parts.into_iter().filter_map(|(part, fit)| Some((part, fit?))).collect(),
        tasks: (tasks.clone().min()?, tasks.max()?),
        machine: runs.iter().find_map(|record| record.machine().memory()),
        void: runs.iter().filter_map(|record| record.memory?.held?.huge).any(|bytes| bytes > 0),
    })
}

/// Bytes of a process.
fn in_process(record: &Record) -> Option<f64> {
    Some(record.resident()? as f64)
}

impl Slopes {
    /// The line of a part, if it is known.
    pub fn part(&self, part: Part) -> Option<&Fit> {
        self.fits.get(&part)
    }

    /// The process's own resident memory.
    pub fn user(&self) -> &Fit {
        &self.fits[&Part::User]
    }

    /// Memory of a task in the whole system, as far as it can be told from what the system did meanwhile.
    pub fn headline(&self) -> &Fit {
        self.part(self.told()).unwrap_or(self.user())
    }

    /// The part that can be told: both together if the kernel's share is known, and clearly more than what the system
    /// did meanwhile.
    pub(crate) fn told(&self) -> Part {
        let is_told =
            self.part(Part::Together).is_some() && self.part(Part::Kernel).is_none_or(Fit::is_seen);
        if is_told { Part::Together } else { Part::User }
    }

    /// True if the kernel's share cannot be told from what the system did meanwhile, and may be as large as the
    /// process's own: then the process alone is all that is known.
    pub fn lacks_kernel(&self) -> bool {
        self.part(Part::Kernel).is_none_or(|kernel| {
            // Noise, and more than what the process holds.
            !kernel.is_seen() && kernel.line.slope.high > self.user().line.slope.estimate
        })
    }

    /// Makes each session a sample of the slopes; the rest is of all processes.
    pub(crate) fn combine(&mut self, sessions: &[&Slopes]) {
        for (part, fit) in &mut self.fits {
            let slopes = sessions.iter().filter_map(|own| Some(own.part(*part)?.line.slope));
            let slopes: Vec<Interval> = slopes.collect();
            // The geometric mean of what may be zero would be seen to be above it.
            let are_seen = slopes.iter().all(|slope| slope.low > 0.0);
            let mean = if are_seen { Estimate::geometric_mean } else { Estimate::mean };
            let slopes: Vec<Estimate> = slopes.into_iter().map(Estimate::from).collect();
            let slope = sessions::across(&slopes, mean).and_then(|slope| slope.interval);
            fit.line.slope = slope.unwrap_or(fit.line.slope);
        }
    }

    /// Tasks that the machine's memory would hold, if they were all that it held.
    pub fn fitting(&self) -> Option<f64> {
        let line = &self.headline().line;
        let tasks = (self.machine? as f64 - line.intercept) / line.slope.estimate;
        (self.headline().is_seen() && !self.void && tasks > 0.0).then_some(tasks)
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
        let [lower, upper] = self.halves?;
        let differ = lower.high < upper.low || upper.high < lower.low;
        let bend = (upper.estimate - lower.estimate) / lower.estimate.abs();
        (differ && bend.is_finite() && bend.abs() > WORTH_A_WORD).then_some(bend)
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
        Some(Fit { line: stats::fit_line(&tasks, &sizes)?, halves: stats::halves(&tasks, &sizes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trials::sizes;

    fn fit(upper: u64, noise: u64) -> Slopes {
        slopes(&sizes(upper, noise).iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn each_part_has_its_slope_and_a_bend_is_told() {
        let slopes = fit(100, 0);
        let bytes = [Part::User, Part::Stacks, Part::PageTables, Part::Slab, Part::Together]
            .map(|part| slopes.part(part).unwrap().line.slope.estimate.round());
        assert_eq!(bytes, [100.0, 30.0, 20.0, 10.0, 160.0]);
        let slopes = Slopes { machine: Some(165_000), ..slopes };
        assert!((slopes.fitting().unwrap() - 1000.0).abs() < 1e-6);
        assert_eq!(Slopes { void: true, ..slopes.clone() }.fitting(), None);
        assert_eq!(slopes.user().bends(), None);
        for (upper, bend) in [(200, 1.0), (50, -0.5)] {
            assert!((fit(upper, 0).user().bends().unwrap() - bend).abs() < 1e-9, "{upper}");
        }
    }

    #[test]
    fn one_huge_page_voids_the_sizes() {
        for (huge, is_void) in [(0, false), (1, true)] {
            let mut runs = sizes(100, 0);
            let held = runs[3].trial.memory.as_mut().and_then(|memory| memory.held.as_mut());
            held.unwrap().huge = Some(huge);
            assert_eq!(slopes(&runs.iter().collect::<Vec<_>>()).unwrap().void, is_void);
        }
    }

    /// What the system did meanwhile may hide it.
    #[test]
    fn the_share_of_the_kernel_is_told_if_it_is_seen() {
        for (noise, is_told) in [(0, true), (100_000, false)] {
            let slopes = fit(100, noise);
            assert_eq!(
                (slopes.told() == Part::Together, !slopes.lacks_kernel()),
                (is_told, is_told)
            );
        }
    }
}
