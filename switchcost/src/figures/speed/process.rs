//! Processes and their slices as the fit sees them.

use facts::Record;

/// Round of a run.
pub type Round = (u64, u64, u32);

/// A case of a plan, in all runs: section, row, column and the swept value.
pub(super) type Case<'a> = (&'a str, &'a str, &'a str, Option<u64>);

/// A slice as the fit sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) turn: u32,
    pub(super) x: f64,
    pub(super) y: f64,
    /// True if no probe was slower than those of a quiet CPU.
    pub(super) is_quiet: bool,
}

/// A process as the fit sees it.
pub(super) struct Process<'a> {
    pub(super) index: usize,
    pub(super) case: Case<'a>,
    pub(super) group: (bool, bool),
    pub(super) round: Round,
    pub(super) cpus: usize,
    /// All slices, and those that count.
    pub(super) all: Vec<Look>,
    pub(super) looks: Vec<Look>,
    /// True if too few of them count.
    pub(super) is_short: bool,
}

/// Round of a record.
pub fn round(record: &Record) -> Round {
    (record.run, record.header.seed, record.round)
}
