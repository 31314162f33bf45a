//! How far each program gets: the largest number of tasks that this system lets it hold, what it
//! takes to build, to pass through for the first time and to tear down, and what stops it there.

pub mod plan;

use record::{Metric, Record};
use serde::Serialize;

use crate::NOT_RUN;
use crate::cases::{Cases, Key, Runs};
use crate::memory;

/// The largest run of a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// The program, with the flags that tell it from others.
    pub name: String,
    /// How many tasks it held.
    pub tasks: u64,
    /// How many runs of that size there are; the figures below are their means.
    pub runs: usize,
    /// Set-up in ns.
    pub setup: Option<f64>,
    /// The very first iteration in ns.
    pub first_iteration: Option<f64>,
    /// Teardown in ns.
    pub teardown: Option<f64>,
    /// User memory in bytes for each task: what the process has gained, divided by the tasks.
    pub user: Option<f64>,
    /// Kernel memory in bytes for each task: what the system has gained meanwhile.
    pub kernel: Option<f64>,
    /// Why there is no larger run; `None` where the sweep went no further.
    pub stopped_by: Option<String>,
}

/// How far each program of these cases got, in the plan's order.
pub fn reaches(cases: &Cases<'_>) -> Vec<Reach> {
    let mut reaches: Vec<Reach> = Vec::new();
    // Each record is in the cases of three metrics: once is enough.
    let of_scale = cases.in_order().into_iter().filter(|(_, runs)| {
        runs.place.section.metric == Metric::Scale && runs.view.metric == Metric::SetUp
    });
    for (key, runs) in of_scale {
        let name = runs.place.case.name();
        match reaches.iter_mut().find(|reach| reach.name == name) {
            Some(reach) => reach.go_on(key, runs),
            None => {
                let mut reach = Reach::none(name);
                reach.go_on(key, runs);
                reaches.push(reach);
            }
        }
    }
    reaches
}

impl Reach {
    fn none(name: String) -> Self {
        Reach {
            name,
            tasks: 0,
            runs: 0,
            setup: None,
            first_iteration: None,
            teardown: None,
            user: None,
            kernel: None,
            stopped_by: None,
        }
    }

    /// Takes the next point; they come in ascending order.
    fn go_on(&mut self, key: &Key, runs: &Runs<'_>) {
        let Some(tasks) = key.x.filter(|_| !runs.all.is_empty()) else {
            let reason = runs.reason.unwrap_or("interrupted");
            let reason = reason.strip_prefix(NOT_RUN).unwrap_or(reason);
            // The first one is what stopped it; it may still get past a run that failed.
            self.stopped_by.get_or_insert_with(|| reason.to_owned());
            return;
        };
        let mean = |figure: &dyn Fn(&Record) -> Option<f64>| {
            let figures: Vec<f64> = runs.all.iter().filter_map(|r| figure(r)).collect();
            (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
        };
        let each = |bytes: Option<f64>| bytes.map(|bytes| bytes / tasks as f64);
        let time = |time: Option<u64>| time.map(|ns| ns as f64);
        *self = Reach {
            tasks,
            runs: runs.all.len(),
            setup: mean(&|r| time(r.setup_ns)),
            first_iteration: mean(&|r| time(r.first_ns)),
            teardown: mean(&|r| time(r.teardown_ns)),
            user: each(mean(&memory::user_gain)),
            kernel: each(mean(&|r| r.kernel_gain())),
            stopped_by: (runs.all.iter().any(|r| r.partial)).then(|| "interrupted".to_owned()),
            ..Reach::none(std::mem::take(&mut self.name))
        };
    }
}

#[cfg(test)]
mod tests;
