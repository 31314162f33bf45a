//! Threads that sleep: the comparison that circulates, with ten thousand of them or a million.
//!
//! One iteration: create N threads, one after the other, each of which sleeps for `--sleep` as soon as
//! it runs, and join all of them, the oldest first. Timed: all of that, until the last one is joined.
//! With `--gate` each thread waits until all are alive before it sleeps, and that is timed too.
//!
//! Without the gate a thread may have slept and ended before the last one is created. A million were
//! never alive together then; the run tells how many were. A thread that has ended keeps its stack
//! until it is joined, which is most of the resident memory of such a run. The lists of the driver are
//! in it too: a handle (some 30 bytes) and a time (8 bytes) for each thread.
//!
//! The memory at rest, which is also what `--command` sees, is that of one more iteration, which is not
//! timed: with the gate when all threads wait at it, without when the last one has been created.
//!
//! Where not all fit within the limits of the system at once, and there is no gate, the oldest is joined
//! before one more is created; a note says so.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use harness::laps::Laps;
use harness::limits::{Demand, Passing, Room};
use harness::ready::{Arrival, Muster};
use harness::sleepers::{Life, Sleepers, late};
use harness::threads::{Spawner, Thread};
use harness::units::Span;
use harness::{Session, panics, signals, usage};

use crate::{Cli, demand, explain};

/// What `measure` does once the process is confined to its CPUs, with threads of this kind.
pub(crate) fn measure(cli: &Cli, sleep: Span, session: &mut Session) -> anyhow::Result<()> {
    let passing = Passing {
        alive: demand(cli),
        ended: Demand::left_by_thread(cli.stack),
        tasks: u64::from(cli.run.tasks),
    };
    let room = match cli.sleep.gate {
        true => {
            session.require(&passing.alive)?;
            Room::for_all(cli.run.tasks)
        }
        false => session.require_passing(&passing)?,
    };
    let spawner = Spawner::new(cli.stack, room.unjoined as u32)
        .map_err(|e| explain("map the stacks", 0, e, cli))?;
    let mut crowd = Crowd {
        cli,
        spawner: &spawner,
        sleepers: Sleepers::new(sleep, room, &cli.run),
        threads: VecDeque::with_capacity(room.unjoined as usize),
        spawned: 0,
        asleep: None,
    };
    let mut laps = session.laps();
    let result = create(cli, &mut crowd, &mut laps);
    session.timed(laps);
    crowd.sleepers.report(session, &passing);
    result?;
    rest(cli, &mut crowd, session)
}

/// Lets N threads sleep in each lap, and times that.
fn create(cli: &Cli, crowd: &mut Crowd<'_>, laps: &mut Laps) -> anyhow::Result<()> {
    while let Some(_lap) = laps.advance()? {
        let gate = Gate::of(cli)?;
        crowd.begin(laps.is_timed());
        let clock = Instant::now();
        for k in 0..cli.run.tasks {
            crowd.spawn(k, gate.as_ref())?;
        }
        crowd.fall_asleep(gate)?;
        while crowd.join_oldest()? {}
        laps.record(clock.elapsed());

        crowd.sleepers.record();
    }
    Ok(())
}

/// Creates N threads once more, for the look at the memory and the user's command.
fn rest(cli: &Cli, crowd: &mut Crowd<'_>, session: &mut Session) -> anyhow::Result<()> {
    if signals::received().is_some() {
        return Ok(());
    }
    usage::trim();
    let gate = Gate::of(cli)?;
    crowd.begin(false);
    let begun = Instant::now();
    for k in 0..cli.run.tasks {
        crowd.spawn(k, gate.as_ref())?;
    }
    if let Some(mut gate) = gate {
        gate.muster.wait()?;
        session.built(begun.elapsed());
        session.at_rest();
        gate.open(Word::Leave, cli.run.tasks)?;
    } else {
        session.at_rest();
        crowd.asleep = Some(Instant::now());
    }
    while crowd.join_oldest()? {}
    Ok(())
}

/// What a thread does.
fn body(life: Life, sleep: Duration) -> u64 {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    sleep_for(sleep, life)
}

/// What a thread does where there is a gate.
fn body_at_gate(life: Life, sleep: Duration, arrival: Arrival, gate: &PipeReader) -> u64 {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    arrival.arrive();
    let mut word = [Word::Leave as u8];
    // At the end of the file nobody is to sleep any more.
    let _ = (&*gate).read(&mut word);
    match word == [Word::Sleep as u8] {
        true => sleep_for(sleep, life),
        false => 0,
    }
}

/// Sleeps and ends; returns how late it woke, in ns.
fn sleep_for(sleep: Duration, life: Life) -> u64 {
    let due = Instant::now() + sleep;
    thread::sleep(sleep);
    let late = late(due);
    drop(life);
    late
}

/// The threads that are not joined.
struct Crowd<'a> {
    cli: &'a Cli,
    spawner: &'a Spawner,
    sleepers: Sleepers,
    threads: VecDeque<Thread<u64>>,
    /// How many were created in all laps so far.
    spawned: u64,
    /// When the last of them was created, or let through the gate.
    asleep: Option<Instant>,
}

impl Crowd<'_> {
    fn begin(&mut self, is_timed: bool) {
        self.sleepers.begin(is_timed);
        self.asleep = None;
    }

    /// Creates the `k`th thread.
    fn spawn(&mut self, k: u32, gate: Option<&Gate>) -> anyhow::Result<()> {
        while !self.sleepers.has_room(self.threads.len()) {
            self.join_oldest()?;
        }
        let (life, sleep) = (self.sleepers.spawning()?, self.sleepers.sleep());
        let thread = match gate {
            None => self.spawner.spawn(move || body(life, sleep)),
            Some(gate) => {
                let (arrival, gate) = (gate.muster.arrival(), Arc::clone(&gate.reader));
                self.spawner
                    .spawn(move || body_at_gate(life, sleep, arrival, &gate))
            }
        };
        let thread = thread.map_err(|e| explain("create a thread", k, e, self.cli))?;
        self.threads.push_back(thread);
        self.spawned += 1;
        Ok(())
    }

    /// All are there: lets them through the gate, if there is one.
    fn fall_asleep(&mut self, gate: Option<Gate>) -> anyhow::Result<()> {
        let Some(mut gate) = gate else {
            self.asleep = Some(Instant::now());
            return Ok(());
        };
        gate.muster.wait()?;
        self.asleep = Some(Instant::now());
        gate.open(Word::Sleep, self.cli.run.tasks)
    }

    /// Awaits the oldest thread; false if there is none.
    fn join_oldest(&mut self) -> anyhow::Result<bool> {
        while self.sleepers.look_later(self.threads.len(), self.asleep)? {
            thread::sleep(Sleepers::LOOK);
        }
        let Some(thread) = self.threads.pop_front() else {
            return Ok(false);
        };
        let late = thread.join().map_err(|panic| panics::error(&*panic))?;
        self.sleepers.joined(late);
        Ok(true)
    }
}

impl Drop for Crowd<'_> {
    /// Where something went wrong, or a signal came: nobody is awaited, since nothing would end a
    /// sleep. The end of the process ends them. But all must have begun before limits that were raised for
    /// them are put back: a thread that then finds no room for its signal stack would abort the process.
    fn drop(&mut self) {
        let given_up = Instant::now() + PATIENCE;
        let all_begun = || BEGUN.load(Ordering::Relaxed) >= self.spawned;
        while !self.threads.is_empty() && !all_begun() && Instant::now() < given_up {
            thread::sleep(Sleepers::LOOK);
        }
        self.threads.drain(..).for_each(Thread::leave);
    }
}

/// How many threads have begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);

/// How long the end of the process may wait for threads to begin.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a thread is told that passes the gate: a byte of the pipe.
#[derive(Clone, Copy)]
enum Word {
    /// To end at once.
    Leave = 0,
    /// To sleep.
    Sleep = 1,
}

/// A pipe at which the threads wait for a byte each, in a queue of their own: sleepers in the kernel's
/// table of futexes would be in the way of every lock of the process (see `harness::futex`).
struct Gate {
    muster: Muster,
    reader: Arc<PipeReader>,
    writer: PipeWriter,
}

impl Gate {
    /// A gate that is shut, where one is asked for.
    fn of(cli: &Cli) -> anyhow::Result<Option<Self>> {
        if !cli.sleep.gate {
            return Ok(None);
        }
        let (reader, writer) =
            io::pipe().map_err(|e| explain("make the pipe that they wait at", 0, e, cli))?;
        Ok(Some(Gate {
            muster: Muster::of(cli.run.tasks),
            reader: Arc::new(reader),
            writer,
        }))
    }

    /// Tells so many threads what to do. One by one: the end of the file would wake all of them at once,
    /// to wait for each other.
    fn open(&mut self, word: Word, threads: u32) -> anyhow::Result<()> {
        const WORDS: usize = 4096;
        let words = [word as u8; WORDS];
        let mut left = threads as usize;
        while left > 0 {
            let some = left.min(WORDS);
            let written = self.writer.write(&words[..some]);
            left -= written.context("cannot wake the threads")?;
        }
        Ok(())
    }
}
