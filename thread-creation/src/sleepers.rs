//! Threads that sleep: the comparison that circulates, with ten thousand of them or a million.
//!
//! One iteration: create N threads, each of which sleeps for `--sleep` as soon as it runs, and join all of
//! them, the oldest first. With `--gate` each thread waits until all are alive before it sleeps. Timed: all
//! of that, until the last one is joined. The distribution `late` is by how much each thread woke late,
//! `alive_count` the most threads that were alive at once.
//!
//! Without the gate a thread may have slept and ended before the last one is created: then N threads were
//! never alive together. A thread that has ended keeps its stack until it is joined, which is most of the
//! resident memory of such a run.
//!
//! For `hold` all threads wait at a gate, also without `--gate`.

use std::io::PipeReader;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use chain::StartGuard;
use contract::Pass;
use creation::{Alive, Sleepers, lateness};

use threads::join;

use crate::cli::Cli;
use crate::gate::{self, Gate};

/// Lets N threads sleep in each iteration, and times that. After an error or a signal nobody joins those that are
/// left, since nothing would end a sleep: the end of the process ends them.
pub(crate) fn create(cli: &Cli, sleep: Duration, pass: &mut Pass) -> anyhow::Result<()> {
    let (tasks, stack) = (cli.flags.tasks, cli.stack);
    let mut sleepers = Sleepers::new(tasks);
    let mut threads = Vec::with_capacity(tasks as usize);
    while pass.next_iteration().is_some() {
        let gate = cli.sleep.gate.then(|| Gate::new(tasks)).transpose()?;
        let clock = Instant::now();
        for _ in 0..tasks {
            let alive = sleepers.spawning()?;
            let thread = match &gate {
                None => stack.spawn(tasks, move || body(alive, sleep)),
                Some(gate) => {
                    let (guard, reader) = (gate.latch.guard(None), Arc::clone(&gate.reader));
                    stack.spawn(tasks, move || body_at_gate(alive, sleep, guard, &reader))
                }
            };
            threads.push(thread?);
        }
        if let Some(mut gate) = gate {
            gate.latch.wait()?;
            gate.open(tasks)?;
        }
        join_all(&mut threads, sleep, &mut sleepers)?;
        pass.record(clock.elapsed());

        sleepers.end(pass);
    }
    sleepers.add_to(pass);
    Ok(())
}

/// A thread that sleeps; returns how late it woke, in ns.
fn body(alive: Alive, sleep: Duration) -> u64 {
    let due = Instant::now() + sleep;
    thread::sleep(sleep);
    let late = lateness(due);
    drop(alive);
    late
}

/// A thread that waits at the gate before it sleeps.
fn body_at_gate(alive: Alive, sleep: Duration, guard: StartGuard, reader: &PipeReader) -> u64 {
    if guard.started().is_err() || !gate::wait(reader) {
        return 0;
    }
    body(alive, sleep)
}

/// Awaits all threads, the oldest first. A join cannot be interrupted: it begins when the last thread is about to
/// wake, or when one has ended.
fn join_all(
    threads: &mut Vec<JoinHandle<u64>>,
    sleep: Duration,
    sleepers: &mut Sleepers,
) -> anyhow::Result<()> {
    let (since, mut left) = (Instant::now(), threads.len() as u64);
    for oldest in threads.drain(..) {
        while Sleepers::wakes_late(since, sleep)? && Sleepers::alive() >= left {
            thread::sleep(Sleepers::LOOK);
        }
        sleepers.joined(join(oldest)?);
        left -= 1;
    }
    Ok(())
}
