//! How often a program's own event loop entered the kernel, and what it brought back.

use serde::{Deserialize, Serialize};

/// What an event loop counts of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// System calls: io_uring_enter(2).
    pub enters: u64,
    /// Completions that were taken from the kernel.
    pub completions: u64,
}

impl Waits {
    /// What was added to an earlier count.
    #[must_use]
    pub fn since(self, before: Waits) -> Waits {
        Waits {
            enters: self.enters - before.enters,
            completions: self.completions - before.completions,
        }
    }

    /// Both counts together.
    #[must_use]
    pub(crate) fn and(self, more: Waits) -> Waits {
        Waits {
            enters: self.enters + more.enters,
            completions: self.completions + more.completions,
        }
    }
}
