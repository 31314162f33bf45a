//! Trials of known times and sizes for unit tests.

use record::{Memory, MemoryChange, Metric, Record, Row, Samples, Trial};

use crate::testing;

/// A row, of which the figure is an iteration.
pub(crate) fn row(name: &str) -> Row {
    let mut row = testing::row(name, "p", &[]);
    row.place.metric = Metric::Iteration;
    row
}

/// Rounds of sessions with these times; a time of zero has failed.
pub(crate) fn sessions<const N: usize>(row: &Row, times: &[[u64; N]]) -> Vec<Record> {
    let rounds = times.iter().zip(1..).flat_map(|(times, run)| {
        times.iter().zip(0..).map(move |(time, round)| {
            let error = (*time == 0).then(|| "it crashed".to_owned());
            let samples = Samples::of(&[*time; 9]);
            let trial = Trial { run, round, error, samples, ..Trial::begin() };
            testing::in_row(row.clone(), testing::description(1), trial)
        })
    });
    rounds.collect()
}

/// Trials in which each task holds 100 bytes of its own, in the upper half so many, 30 of stack, 20 of page tables and 10
/// of slab; in every second one the system has so much more slab.
pub(crate) fn sizes(upper: u64, noise: u64) -> Vec<Record> {
    let mut size = row("");
    size.place.metric = Metric::Memory;
    let trial = |k: u32| {
        let tasks = 100 * u64::from(k);
        let memory = |tasks: u64, more: u64| Memory {
            resident: Some(5000 + 100 * tasks.min(450) + upper * tasks.saturating_sub(450)),
            system_kernel_stacks: Some(90_000 + 30 * tasks),
            system_page_tables: Some(80_000 + 20 * tasks),
            system_slab: Some(70_000 + 10 * tasks + more),
            ..Memory::default()
        };
        let held = Some(memory(tasks, u64::from(k % 2) * noise));
        let memory = Some(MemoryChange { before: memory(0, 0), held });
        let trial = Trial { round: k, memory, samples: Samples::of(&[1]), ..Trial::begin() };
        testing::in_row(size.clone(), testing::description(tasks), trial)
    };
    (1..=8).map(trial).collect()
}
