//! compio's runtime: its needs, and the ends of its tasks.

use anyhow::{Result, anyhow};
use compio::runtime::{JoinError, JoinHandle, Runtime};
use contract::console;
use contract::message::{self, Need, Needs};

/// Bytes of the ring, which has 1024 entries.
const RING_BYTES: u64 = 256 << 10;

/// Bytes of a task at rest: its operation, here and in the kernel.
const TASK_BYTES: u64 = 3 << 10;

/// The runtime with its defaults.
///
/// # Errors
/// Where io_uring is not available.
pub(crate) fn open() -> Result<Runtime> {
    Runtime::new().map_err(|e| {
        anyhow!("io_uring is not available: {e} (uring-brigade names the cause and the remedy)")
    })
}

/// Needs of the ring, of the descriptor that wakes it, and of the tasks.
pub(crate) fn needs() -> Needs {
    Needs {
        descriptors: Need::new(2, 0),
        maps: Need::new(4, 0),
        bytes: Need::new(RING_BYTES, TASK_BYTES),
        ..Needs::default()
    }
}

/// The runtime as a description names it.
pub(crate) fn describe() -> message::Runtime {
    message::Runtime {
        name: "compio".to_owned(),
        version: option_env!("COMPIO_VERSION").map(str::to_owned),
        flavor: "current-thread".to_owned(),
        workers: 1,
    }
}

/// Awaits a task; one that panicked is an error.
///
/// # Errors
/// The task's panic.
pub(crate) fn join<T>(runtime: &Runtime, task: JoinHandle<T>) -> Result<T> {
    runtime.block_on(task).map_err(|died| match died {
        JoinError::Panicked(panic) => console::panic_error(&*panic),
        cancelled => anyhow!("{cancelled}"),
    })
}
