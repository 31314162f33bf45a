//! What happens when the system gives a runtime too few threads.
//!
//! Tokio panics when it cannot start a worker, and while that panic unwinds it waits for the
//! workers that did start, which nobody ends (`BlockingPool`'s drop; seen with 1.54). So whether
//! they can be had is found out beforehand, and what is left of the chance ends the process.

use std::panic;
use std::process;
use std::sync::{Mutex, PoisonError};
use std::thread;

use harness::limits::{self, Demand};
use harness::{console, panics};

/// Starts as many threads as there will be workers, all alive at once, and ends them.
///
/// # Errors
/// Names the limit that does not allow so many.
pub(crate) fn rehearse(workers: u32) -> anyhow::Result<()> {
    let gate = Mutex::new(());
    let wait = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
    thread::scope(|scope| {
        let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        // Joined, and not only awaited by the scope: until then they count against the limits.
        let mut threads = Vec::new();
        for k in 0..workers {
            let started = thread::Builder::new().spawn_scoped(scope, wait);
            let started = started.map_err(|e| {
                let demand = Demand::each_worker();
                limits::explain_of("workers", "start a worker", k, workers, e, &demand)
            });
            threads.push(started?);
        }
        drop(closed);
        for thread in threads {
            thread.join().map_err(|panic| panics::error(&*panic))?;
        }
        Ok(())
    })
}

/// Builds a runtime. A panic ends the process there and then, with status 1: it would never come
/// to an end by itself.
pub(crate) fn or_end<T>(build: impl FnOnce() -> T) -> T {
    let before = panic::take_hook();
    panic::set_hook(Box::new(|panic| {
        let error = panics::error(panic.payload());
        console::say(format_args!("cannot build the runtime: {error:#}"));
        process::exit(1);
    }));
    let built = build();
    panic::set_hook(before);
    built
}
