//! The least that creating a thread can cost: clone3(2) and nothing else (see
//! [`harness::threads::raw`]).
//!
//! One iteration: create N threads, one after the other, each of which writes its own number down
//! and ends. Timed: the N system calls, and the filling in of what they are told. Left out: the
//! stacks, mapped once and never touched; all that the C library prepares for a thread, which has no
//! thread-local storage here and could run neither C nor Rust; and awaiting them, which follows.
//!
//! The stamped pass has the threads read the clock by a system call, not by the vDSO.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use harness::delays::Delays;
use harness::laps::Laps;
use harness::notes::Note;
use harness::ready::Muster;
use harness::signals::{self, Deaf};
use harness::threads::raw::{Call, Errand, RawThreads};
use harness::{BadUsage, Session};

use crate::{Cli, explain};

/// What `measure` does after the check of the limits, with threads of this kind.
pub(crate) fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    let threads = RawThreads::new(cli.stack, cli.run.tasks);
    let mut threads = threads.map_err(|e| match e.kind() {
        io::ErrorKind::Unsupported => BadUsage::new(
            "--floor: only for x86-64 and AArch64, whose instructions it has to know: leave it out",
        ),
        _ => explain("map the stacks", 0, e, cli),
    })?;
    let mut laps = session.laps();
    let result = create(cli, &mut threads, &mut laps);
    session.timed(laps);
    result?;

    let mut delays = Delays::new(&cli.run);
    let result = create_stamped(cli, &mut threads, &mut delays);
    delays.report(session);
    // Its memory is not the threads'.
    drop(delays);
    result?;

    if threads.call() != Call::Clone3 {
        session.note(Note::Instead {
            refused: Call::Clone3.name().to_owned(),
            called: threads.call().name().to_owned(),
        });
    }
    hold(cli, threads, session)
}

/// Creates N threads in each lap and times that.
fn create(cli: &Cli, threads: &mut RawThreads, laps: &mut Laps) -> anyhow::Result<()> {
    while let Some(_lap) = laps.advance()? {
        let deaf = Deaf::now()?;
        let clock = Instant::now();
        for k in 0..cli.run.tasks {
            threads
                .create(&deaf, Errand::None)
                .map_err(|e| explain("create a thread", k, e, cli))?;
        }
        laps.record(clock.elapsed());

        for (k, trace) in (0..).zip(threads.join()) {
            ensure!(trace.number == Some(k), "thread {k} left {trace:?}");
        }
    }
    Ok(())
}

/// Creates as many again, reading the clock between the calls and first thing in each thread.
fn create_stamped(cli: &Cli, threads: &mut RawThreads, delays: &mut Delays) -> anyhow::Result<()> {
    let mut calls = Vec::with_capacity(cli.run.tasks as usize);
    while delays.advance() {
        calls.clear();
        let deaf = Deaf::now()?;
        let mut called = Instant::now();
        for k in 0..cli.run.tasks {
            threads
                .create(&deaf, Errand::Clock)
                .map_err(|e| explain("create a thread", k, e, cli))?;
            calls.push(called);
            called = delays.returned(called);
        }
        let traces: Vec<_> = threads.join().collect();
        for (called, trace) in calls.iter().zip(traces) {
            delays.began(threads.delay(*called, trace));
        }
    }
    Ok(())
}

/// Holds N threads at once, all asleep, for the look at the memory and the user's command.
fn hold(cli: &Cli, mut threads: RawThreads, session: &mut Session) -> anyhow::Result<()> {
    if signals::received().is_some() {
        return Ok(());
    }
    let begun = Instant::now();
    let (gate, key) =
        io::pipe().map_err(|e| explain("make the pipe that they wait at", 0, e, cli))?;
    // Whatever happens, the end of the file comes before they are awaited.
    let mut key = key;
    let result = stand(cli, &mut threads, Errand::Read(gate.as_fd()));
    let opened = match &result {
        Ok(()) => {
            session.built(begun.elapsed());
            session.at_rest();
            key.write_all(&vec![0; cli.run.tasks as usize])
        }
        Err(_) => Ok(()),
    };
    drop(key);
    threads.join().for_each(drop);
    result?;
    opened.context("cannot wake the threads")
}

/// Creates N threads that stay, and waits until each of them has begun.
fn stand(cli: &Cli, threads: &mut RawThreads, errand: Errand<'_>) -> anyhow::Result<()> {
    let deaf = Deaf::now()?;
    for k in 0..cli.run.tasks {
        threads
            .create(&deaf, errand)
            .map_err(|e| explain("create a thread", k, e, cli))?;
    }
    drop(deaf);
    let mut muster = Muster::of(cli.run.tasks);
    let mut seen = 0;
    while !muster.complete()? {
        thread::sleep(Duration::from_millis(1));
        let started = threads.started();
        (seen..started).for_each(|_| muster.arrival().arrive());
        seen = started;
    }
    Ok(())
}
