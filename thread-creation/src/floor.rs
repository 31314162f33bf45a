//! The creation of threads by clone(2) and nothing else (see [`threads::raw`]): a lower bound.
//!
//! One iteration: create N threads, each of which notes that it has run and ends, and join them. Timed: the
//! N system calls, and the preparation of their arguments. Left out: the stacks, mapped once; all that the
//! C library prepares for a thread; and the joins.

use std::io::PipeReader;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::{Interrupted, Pass, Run, limits, signals};
use threads::raw::RawThreads;

use crate::gate::Gate;

/// Creates N threads in each iteration, and times that.
pub(crate) fn create(tasks: u32, threads: &mut RawThreads, pass: &mut Pass) -> anyhow::Result<()> {
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for _ in 0..tasks {
            let created = threads.create(None);
            created.with_context(|| limits::refused("create a thread", tasks))?;
        }
        pass.record(clock.elapsed());

        let started = threads.join();
        ensure!(started == tasks as usize, "only {started} of {tasks} threads have run");
    }
    Ok(())
}

/// Holds N threads, all asleep.
pub(crate) fn hold(tasks: u32, threads: &mut RawThreads, run: &mut Run) -> anyhow::Result<()> {
    let gate = Gate::new(tasks)?;
    // Open until all threads are gone.
    let reader = Arc::clone(&gate.reader);
    let held = wait_at(&reader, tasks, threads).and_then(|()| run.held());
    // After an error the gate is dropped, which ends the threads too.
    let result = held.and_then(|()| gate.open(tasks));
    threads.join();
    result
}

/// Creates N threads that wait at a gate, and waits until each has run.
fn wait_at(gate: &PipeReader, tasks: u32, threads: &mut RawThreads) -> anyhow::Result<()> {
    for _ in 0..tasks {
        let created = threads.create(Some(gate.as_fd()));
        created.with_context(|| limits::refused("create a thread", tasks))?;
    }
    while threads.started() < tasks as usize {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
