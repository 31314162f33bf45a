//! Records for unit tests.

use std::sync::Arc;

use record::{Build, Case, Machine, Metric, Plan, Process, Record, Row, Run, Samples, Section};

/// A process with so many tasks, in the only case of its run.
pub(crate) fn record(program: &str, tasks: u64, samples: &[u64]) -> Record {
    let row = Row { tasks: Some(tasks), ..Row::of(program, Vec::new()) };
    let process = Process { samples: Samples::of(samples), ..Process::begin() };
    in_case(Metric::Hop, Case::default(), row, process)
}

/// A process in the only case of a run.
pub(crate) fn in_case(metric: Metric, case: Case, row: Row, process: Process) -> Record {
    let section = Section { title: case.section.clone(), metric, ..Section::default() };
    let mut plan = Plan::default();
    plan.put(&section, &case);
    let (machine, build) = (Machine::default(), Build::default());
    let run = Run { id: 1, ..Run::begin(String::new(), 1, machine, build, plan) };
    Record { header: Arc::new(run), row: Arc::new(row), group: None, process }
}
