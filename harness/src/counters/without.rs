//! No perf events: the harness was built without its feature `perf`.

use super::{Absent, Outcome, Tasks};

/// None.
#[derive(Debug)]
pub(super) struct Events;

impl Events {
    pub(super) fn open(_: &Tasks) -> Self {
        Events
    }

    pub(super) fn enable(&mut self) {}

    pub(super) fn disable(&mut self) {}

    pub(super) fn read(self) -> Outcome {
        Outcome {
            absent: vec![Absent {
                events: vec!["perf_events".to_owned()],
                reason: "built without the feature perf of the harness".to_owned(),
            }],
            ..Outcome::default()
        }
    }
}
