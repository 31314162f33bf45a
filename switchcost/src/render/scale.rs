//! How far each program got, as a table.

use contract::units::{self, Nanos};

use super::Grid;
use super::figures::first_line;
use crate::scale::Reach;

/// The heading of the table.
pub const TITLE: &str = "The largest number of tasks, and what stops each program there";

/// Meaning of the columns.
pub const LEGEND: &str = "Set-up ends when every task has started; the first iteration follows at \
                          once; teardown ends when every task is joined.\nMemory is for each task: \
                          what the process gained, and what the kernel's stacks, page tables and \
                          slab gained meanwhile.";

/// A line for each program.
pub fn grid(reaches: &[Reach]) -> Grid {
    let head = ["", "tasks", "set-up", "first iteration", "teardown", "user", "kernel"];
    let time = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| Nanos(ns).to_string());
    let size = |b: Option<f64>| b.map_or_else(|| "-".to_owned(), |b| units::bytes(b.round()));
    let body = reaches.iter().map(|reach| {
        vec![
            reach.name.clone(),
            reach.tasks.to_string(),
            time(reach.setup),
            time(reach.first_iteration),
            time(reach.teardown),
            size(reach.user),
            size(reach.kernel),
        ]
    });
    Grid { head: head.map(str::to_owned).to_vec(), body: body.collect() }
}

/// Reason why each program stopped.
pub fn lines(reaches: &[Reach]) -> Vec<String> {
    let line = |reach: &Reach| {
        let end = match &reach.stopped_by {
            Some(reason) => format!("stopped by: {}", first_line(reason)),
            None => "not stopped: it went as far as was asked".to_owned(),
        };
        format!("{}: {end}", reach.name)
    };
    reaches.iter().map(line).collect()
}
