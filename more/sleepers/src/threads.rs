//! Threads that sleep.

use std::io::PipeReader;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use brigade::{Gate, StartGuard, StartLatch, hold, join, wait_at};
use contract::message::{Description, Need, Needs};
use contract::{BadUsage, Pass, Run, Step, limits};
use host::units::Bytes;

use crate::Cli;
use crate::alive::{Alive, Sleepers, lateness};
use crate::depth::use_stack;

/// Bytes of stack that a thread needs in addition to --stack-depth.
const UNUSED_STACK: Bytes = Bytes(12 << 10);

/// Bounds of the time that it takes to create a thread, in ns.
const FASTEST_SPAWN: u64 = 4_000;
const SLOWEST_SPAWN: u64 = 100_000;

/// Bytes that a thread keeps until it is joined: the part of its stack that it has used.
const ENDED_BYTES: u64 = 10 << 10;

/// Memory maps that it keeps: its stack and the guard page.
const ENDED_MAPS: u64 = 2;

/// Needs of a pass. Without a gate, the first threads may end before the last ones start, and nobody knows how many will
/// be alive at once. Too few threads end in an error of the program, so only the fewest are asked for; too few maps, or
/// too little memory, in a death without one, so the most are.
pub(crate) fn needs(cli: &Cli) -> Result<Needs> {
    let (depth, all) = (cli.stack_depth, needs_of_all(cli));
    if depth.0 + UNUSED_STACK.0 > cli.stack.stack_size.0 {
        return Err(BadUsage::new(format!(
            "--stack-depth {depth}: less than {UNUSED_STACK} of the stack would be left: lower it, or raise --stack-size"
        )));
    }
    let most = cli.sleep.0 / FASTEST_SPAWN;
    if cli.gate || most >= u64::from(cli.flags.tasks) {
        return Ok(all);
    }
    Ok(Needs {
        threads: Need::new(cli.sleep.0 / SLOWEST_SPAWN, 0),
        maps: of_alive_and_ended(all.maps, most, ENDED_MAPS),
        bytes: of_alive_and_ended(all.bytes, most, ENDED_BYTES),
        ..all
    })
}

/// The need of N threads of which so many are alive, while the others keep `ended` each.
fn of_alive_and_ended(all_alive: Need, alive: u64, ended: u64) -> Need {
    Need::new(all_alive.fixed + alive * all_alive.each.saturating_sub(ended), ended)
}

/// Needs of N threads that are all alive, the gate, some descriptors to spare, and lists of threads and times.
fn needs_of_all(cli: &Cli) -> Needs {
    let bytes = Need::new(4 << 20, 128 + cli.stack_depth.0);
    cli.stack.needs() + Needs { descriptors: Need::new(10, 0), bytes, ..Needs::default() }
}

/// Lets threads sleep in each pass, and holds them at a gate when that is asked for.
pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    while let Some(step) = run.next_step()? {
        match step {
            Step::Pass(mut pass) => {
                let created = create(cli, &mut pass);
                run.finish(*pass)?;
                created?;
            }
            Step::Hold => {
                let needs = needs_of_all(cli);
                limits::check(&Description { needs, ..run.description().clone() })?;
                hold(cli.flags.tasks, cli.stack, use_stack, || run.held())?;
            }
        }
    }
    Ok(())
}

/// Lets N threads sleep in each iteration, and times that. After an error or a signal nobody joins those that are
/// left, since nothing would end a sleep: the end of the process ends them.
fn create(cli: &Cli, pass: &mut Pass) -> Result<()> {
    let (n, stack, sleep) = (cli.flags.tasks, cli.stack, cli.sleep.into());
    let mut sleepers = Sleepers::new(n);
    let mut threads = Vec::with_capacity(n as usize);
    while pass.next_iteration().is_some() {
        let gate = cli.gate.then(Gate::new).transpose()?;
        let mut latch = StartLatch::new(n);
        let clock = Instant::now();
        for _ in 0..n {
            let alive = sleepers.spawning()?;
            let thread = match &gate {
                None => stack.spawn(n, move || body(alive, sleep)),
                Some(gate) => {
                    let (guard, gate) = (latch.guard()?, gate.reader());
                    stack.spawn(n, move || body_at_gate(alive, sleep, guard, &gate))
                }
            };
            threads.push(thread?);
        }
        if let Some(gate) = gate {
            latch.wait()?;
            gate.open(n)?;
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
fn body_at_gate(alive: Alive, sleep: Duration, guard: StartGuard, gate: &PipeReader) -> u64 {
    guard.started();
    if wait_at(gate) { body(alive, sleep) } else { 0 }
}

/// Awaits all threads, the oldest first. A join cannot be interrupted: it begins when the last thread is about to
/// wake, or when one has ended.
fn join_all(
    threads: &mut Vec<JoinHandle<u64>>,
    sleep: Duration,
    sleepers: &mut Sleepers,
) -> Result<()> {
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
