//! The creation of threads by clone3(2) and nothing else (see [`threads::raw`]): a lower bound.
//!
//! One iteration: create N threads, each of which writes its own number down and ends, and join them.
//! Timed: the N system calls, and the preparation of their arguments. Left out: the stacks, mapped once and
//! never touched; all that the C library prepares for a thread; and the joins.
//!
//! In the pass `single` the threads read the clock by a system call, not by the vDSO.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::{BadUsage, Pass, Run, Step, console, limits};
use creation::SpawnTimes;
use threads::raw::{CloneCall, RawThreads, SignalsBlocked, ThreadAction};

use crate::Cli;
use crate::gate::Gate;

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let tasks = cli.flags.tasks;
    let mut threads = match RawThreads::new(cli.stack, tasks) {
        Err(e) if e.kind() == ErrorKind::Unsupported => {
            return Err(BadUsage::new(
                "--floor: only for x86-64 and AArch64, whose instructions it contains: drop it",
            ));
        }
        other => other.context("cannot map the stacks")?,
    };
    while let Some(step) = run.next_step()? {
        let mut pass = match step {
            Step::Hold => {
                hold(tasks, &mut threads, run)?;
                continue;
            }
            Step::Pass(pass) => *pass,
        };
        let result = match pass.is(SpawnTimes::PASS) {
            true => create_stamped(tasks, &mut threads, &mut pass),
            false => create(tasks, &mut threads, &mut pass),
        };
        run.finish(pass)?;
        result?;
    }
    if threads.call() != CloneCall::Clone3 {
        let call = threads.call().name();
        console::say(&format!("clone3(2) is refused here: measured {call}"));
    }
    Ok(())
}

/// Creates N threads in each iteration, and times that.
fn create(tasks: u32, threads: &mut RawThreads, pass: &mut Pass) -> anyhow::Result<()> {
    while pass.next_iteration().is_some() {
        let blocked = SignalsBlocked::new()?;
        let clock = Instant::now();
        for _ in 0..tasks {
            threads
                .create(&blocked, ThreadAction::None)
                .with_context(|| limits::refused("create a thread", tasks))?;
        }
        pass.record(clock.elapsed());

        for (k, report) in (0..).zip(threads.join()) {
            ensure!(report.number == Some(k), "thread {k} left {report:?}");
        }
    }
    Ok(())
}

/// The same with a clock reading after each call, and one first thing in each thread.
fn create_stamped(tasks: u32, threads: &mut RawThreads, pass: &mut Pass) -> anyhow::Result<()> {
    let mut calls = Vec::with_capacity(tasks as usize);
    let mut times = SpawnTimes::new(tasks);
    while pass.next_iteration().is_some() {
        calls.clear();
        times.begin(pass.is_timed());
        let blocked = SignalsBlocked::new()?;
        let clock = Instant::now();
        let mut called = clock;
        for _ in 0..tasks {
            threads
                .create(&blocked, ThreadAction::Clock)
                .with_context(|| limits::refused("create a thread", tasks))?;
            calls.push(called);
            called = times.returned(called);
        }
        pass.record(called - clock);

        let reports: Vec<_> = threads.join().collect();
        let delays = calls.iter().zip(reports);
        times.end(delays.map(|(&called, report)| threads.delay(called, report)));
    }
    times.add_to(&mut pass.extra);
    Ok(())
}

/// Holds N threads, all asleep.
fn hold(tasks: u32, threads: &mut RawThreads, run: &mut Run) -> anyhow::Result<()> {
    let mut gate = Gate::new(tasks)?;
    // Its descriptor stays open until all are gone.
    let entrance = gate.entrance();
    let action = ThreadAction::Read(entrance.0.as_fd());
    let result = come_to(&mut gate, tasks, threads, action)
        .and_then(|()| run.held())
        .and_then(|()| gate.open(tasks));
    threads.join().for_each(drop);
    result
}

/// Creates N threads that stay, and waits until each has started.
fn come_to(
    gate: &mut Gate,
    tasks: u32,
    threads: &mut RawThreads,
    action: ThreadAction<'_>,
) -> anyhow::Result<()> {
    let blocked = SignalsBlocked::new()?;
    for _ in 0..tasks {
        threads
            .create(&blocked, action)
            .with_context(|| limits::refused("create a thread", tasks))?;
    }
    drop(blocked);
    let mut seen = 0;
    while !gate.latch.is_open()? {
        thread::sleep(Duration::from_millis(1));
        let started = threads.started();
        (seen..started).try_for_each(|_| gate.latch.guard(None).started())?;
        seen = started;
    }
    Ok(())
}
