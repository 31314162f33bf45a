//! OS threads are created, N in a row.
//!
//! One iteration: create N threads, each of which returns its own number at once, and join them.
//!
//! Timed: the N calls of `spawn`: the allocation and mapping of each stack, clone(2), and what the new
//! threads do to their creator meanwhile. Left out: the joins, and the check of the numbers.
//!
//! For `hold` N threads sleep at a gate.
//!
//! `--floor` is the creation by clone(2) alone (`floor.rs`); `--sleep` times threads that sleep until the
//! last one is joined (`sleepers.rs`).
//!
//! Not to be taken for the cost of N threads at once, since threads end while others are created, nor for
//! that of a thread's whole life, which contains its join.

mod cli;
mod floor;
mod gate;
mod sleepers;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use contract::message::Description;
use contract::{Pass, Run, Step, limits};
use creation::use_stack;
use threads::raw::RawThreads;
use threads::{StackFlags, join};

use cli::Cli;
use gate::Gate;

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    cli.depth.set();
    let (tasks, stack) = (cli.flags.tasks, cli.stack);
    let floor = cli.floor.then(|| RawThreads::new(stack, tasks));
    let mut floor = floor.transpose().context("cannot map the stacks")?;
    while let Some(step) = run.next_step()? {
        let mut pass = match (step, &mut floor) {
            (Step::Pass(pass), _) => pass,
            (Step::Hold, Some(threads)) => {
                floor::hold(tasks, threads, run)?;
                continue;
            }
            (Step::Hold, None) => {
                // All are alive now, also those that would have ended one by one.
                let needs = cli.needs_of_all();
                limits::check(&Description { needs, ..run.description().clone() })?;
                hold(tasks, stack, run)?;
                continue;
            }
        };
        let result = match (&mut floor, cli.sleep.sleep) {
            (Some(threads), _) => floor::create(tasks, threads, &mut pass),
            (None, Some(sleep)) => sleepers::create(cli, sleep.into(), &mut pass),
            (None, None) => create(tasks, stack, &mut pass),
        };
        run.finish(*pass)?;
        result?;
    }
    Ok(())
}

/// Creates N threads in each iteration, and times that.
fn create(tasks: u32, stack: StackFlags, pass: &mut Pass) -> anyhow::Result<()> {
    let mut threads = Vec::with_capacity(tasks as usize);
    while pass.next_iteration().is_some() {
        let clock = Instant::now();
        for k in 0..tasks {
            threads.push(stack.spawn(tasks, move || k)?);
        }
        pass.record(clock.elapsed());

        for (k, thread) in (0..).zip(threads.drain(..)) {
            let returned = join(thread)?;
            ensure!(returned == k, "thread {k} returned {returned}");
        }
    }
    Ok(())
}

/// Holds N threads, all asleep.
fn hold(tasks: u32, stack: StackFlags, run: &mut Run) -> anyhow::Result<()> {
    let mut threads = Vec::with_capacity(tasks as usize);
    // Dropped before the threads are joined: they end when the gate is gone.
    let mut gate = Gate::new(tasks)?;
    for _ in 0..tasks {
        let (guard, reader) = (gate.latch.guard(None), Arc::clone(&gate.reader));
        let thread = stack.spawn(tasks, move || {
            use_stack();
            guard.started()?;
            gate::wait(&reader);
            Ok(())
        });
        threads.push(thread?);
    }
    gate.latch.wait()?;
    run.held()?;
    gate.open(tasks)?;
    threads.into_iter().try_for_each(|thread| join(thread)?)
}
