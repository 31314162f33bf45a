//! Chains at work at the same time: their drivers, each on a thread of its own, make an iteration together.
//! The first driver is the calling thread; where there is one chain it makes no system call between iterations.

use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::Context;
use contract::{Run, console, limits};

use crate::TaskResults;

/// Start and end of what a driver did.
pub type Times = (Instant, Instant);

/// Stack of a driver's thread, which calls little.
const STACK: usize = 256 << 10;

/// The driver of a chain.
pub trait ChainDriver: Send {
    /// Called once, on the driver's own thread, before anything else.
    fn start(&mut self) -> anyhow::Result<()>;

    /// Makes the round trips of an iteration: all tokens in, all tokens out.
    fn make_trips(&mut self, iteration: u64) -> anyhow::Result<Times>;

    /// Checks the tokens that came out. Called when all chains are at rest.
    fn verify(&self, iteration: u64) -> anyhow::Result<()>;
}

/// A driver, and what came of its work so far.
struct Seat<D> {
    driver: D,
    times: Option<Times>,
    result: anyhow::Result<()>,
}

/// Where the drivers wait for the next iteration, and the first one for the others.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    opened: Condvar,
    all_back: Condvar,
}

#[derive(Default)]
struct State {
    /// Iteration that it opened for last.
    iteration: Option<u64>,
    /// Drivers that are not back from it.
    away: usize,
    is_over: bool,
}

/// Drives chains through all passes of a run. An iteration lasts from the start of the first driver to the end of
/// the last one. Returns what came of each driver; an error is one of the run itself.
pub fn drive_together<D: ChainDriver>(
    run: &mut Run,
    drivers: Vec<D>,
) -> anyhow::Result<Vec<anyhow::Result<()>>> {
    let seat = |driver| Mutex::new(Seat { driver, times: None, result: Ok(()) });
    let seats: Vec<Mutex<Seat<D>>> = drivers.into_iter().map(seat).collect();
    let Some((first, others)) = seats.split_first() else { return Ok(Vec::new()) };
    let gate = Gate::default();
    thread::scope(|scope| {
        // However this ends, the others are told: the scope waits for them.
        let _closing = Closing(&gate);
        for seat in others {
            let thread = thread::Builder::new().stack_size(STACK);
            let spawned = thread.spawn_scoped(scope, || follow(&gate, seat));
            let tasks = run.description().tasks as u32;
            spawned.with_context(|| limits::refused("create a driver's thread", tasks))?;
        }
        lock(first).attempt(D::start);
        while let Some(mut pass) = run.next_pass()? {
            while let Some(iteration) = pass.next_iteration() {
                gate.open(iteration, others.len());
                lock(first).make_trips(iteration);
                gate.await_others();

                if let Some((begun, ended)) = span(&seats) {
                    pass.record(ended - begun);
                }
                for seat in &seats {
                    lock(seat).attempt(|driver| driver.verify(iteration));
                }
                if seats.iter().any(|seat| lock(seat).result.is_err()) {
                    return Ok(());
                }
            }
            run.finish(pass)?;
        }
        anyhow::Ok(())
    })?;
    let seats =
        seats.into_iter().map(|seat| seat.into_inner().unwrap_or_else(PoisonError::into_inner));
    Ok(seats.map(|seat| seat.result).collect())
}

/// From the start of the first driver to the end of the last one; `None` if one has failed.
fn span<D>(seats: &[Mutex<Seat<D>>]) -> Option<Times> {
    let times = seats.iter().map(|seat| lock(seat).times);
    times.reduce(|a, b| {
        let ((begun, ended), (other_begun, other_ended)) = (a?, b?);
        Some((begun.min(other_begun), ended.max(other_ended)))
    })?
}

/// A further driver's thread.
fn follow<D: ChainDriver>(gate: &Gate, seat: &Mutex<Seat<D>>) {
    lock(seat).attempt(D::start);
    let mut last = None;
    while let Some(iteration) = gate.await_opening(last) {
        lock(seat).make_trips(iteration);
        gate.come_back();
        last = Some(iteration);
    }
}

impl<D: ChainDriver> Seat<D> {
    /// Makes the round trips, unless the driver has failed.
    fn make_trips(&mut self, iteration: u64) {
        self.times = self.attempt(|driver| driver.make_trips(iteration));
    }

    /// Does something with the driver, unless it has failed. A panic is a failure: the others wait for it.
    fn attempt<T>(&mut self, work: impl FnOnce(&mut D) -> anyhow::Result<T>) -> Option<T> {
        if self.result.is_err() {
            return None;
        }
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut self.driver)));
        let done = done.unwrap_or_else(|panic| Err(console::panic_error(&*panic)));
        done.map_err(|error| self.result = Err(error)).ok()
    }
}

impl Gate {
    /// Lets so many drivers start an iteration: one call of the kernel wakes all.
    fn open(&self, iteration: u64, drivers: usize) {
        let mut state = lock(&self.state);
        (state.iteration, state.away) = (Some(iteration), drivers);
        drop(state);
        if drivers > 0 {
            self.opened.notify_all();
        }
    }

    /// Waits for the iteration after the last one; `None` if there is none.
    fn await_opening(&self, last: Option<u64>) -> Option<u64> {
        let is_shut = |state: &mut State| state.iteration == last && !state.is_over;
        let state = self.opened.wait_while(lock(&self.state), is_shut);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.iteration.filter(|_| !state.is_over)
    }

    /// Tells that a driver is back.
    fn come_back(&self) {
        let mut state = lock(&self.state);
        state.away -= 1;
        if state.away == 0 {
            self.all_back.notify_one();
        }
    }

    /// Waits until all drivers are back.
    fn await_others(&self) {
        drop(self.all_back.wait_while(lock(&self.state), |state| state.away > 0));
    }
}

/// Ends the wait of the drivers when it is dropped.
struct Closing<'a>(&'a Gate);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).is_over = true;
        self.0.opened.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Result of chains: what their tasks report, what came of their drivers, and the tokens sent into each. An error is
/// the first true cause, with its chain if there are several.
pub fn conclude(
    chains: Vec<TaskResults>,
    driven: anyhow::Result<Vec<anyhow::Result<()>>>,
    sent: u64,
) -> anyhow::Result<()> {
    let (drivers, run) = driven.map_or_else(|e| (Vec::new(), Err(e)), |all| (all, Ok(())));
    let is_one = chains.len() == 1;
    let drivers = drivers.into_iter().chain(iter::repeat_with(|| Ok(())));
    for (chain, (tasks, driver)) in chains.into_iter().zip(drivers).enumerate() {
        let result = tasks.into_result(driver, sent);
        if is_one {
            result?;
        } else {
            result.with_context(|| format!("chain {chain}"))?;
        }
    }
    run
}
