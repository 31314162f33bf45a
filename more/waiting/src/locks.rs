//! Locks: N operations, in equal shares by `--contenders`; each takes the lock, adds one to what it guards, computes
//! for `--held`, and lets it go. Those of std and parking_lot spin for a while before they sleep: the switches tell
//! how often one slept.
//!
//! A sample is the time from the first contender's first operation to the last one's last, and all of them run before
//! it begins ([`crate::team`]).

use std::hint;
use std::sync::atomic::{
    AtomicBool, AtomicU32, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed,
};
use std::sync::{Arc, Barrier, PoisonError, mpsc};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use anyhow::ensure;
use contract::Run;

use crate::place::{Place, Times};
use crate::team::{self, shares, span};
use crate::{Cli, STACK};

/// A lock that guards a number.
pub(crate) trait Lock: Default + Send + Sync + 'static {
    /// Does something while it is locked.
    fn with<T>(&self, work: impl FnOnce(&mut u64) -> T) -> T;
}

impl Lock for std::sync::Mutex<u64> {
    #[inline]
    fn with<T>(&self, work: impl FnOnce(&mut u64) -> T) -> T {
        work(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Lock for parking_lot::Mutex<u64> {
    #[inline]
    fn with<T>(&self, work: impl FnOnce(&mut u64) -> T) -> T {
        work(&mut self.lock())
    }
}

/// What is done while a lock is held: counts, and computes for so long by the clock.
#[inline]
fn count(number: &mut u64, held: Duration) {
    *number += 1;
    if held > Duration::ZERO {
        let begun = Instant::now();
        while begun.elapsed() < held {
            hint::spin_loop();
        }
    }
}

/// Checks what a lock guards: one for each operation.
fn check(number: u64, run: &Run) -> anyhow::Result<()> {
    let expected = run.visits();
    ensure!(
        number == expected,
        "the lock guards {number}, expected {expected}: it did not exclude others"
    );
    Ok(())
}

pub(crate) fn among_threads<L: Lock>(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (place, lock, contenders) =
        (Place::new(cli)?, Arc::new(L::default()), cli.contenders as usize);
    let (start, ended) = (Arc::new(Barrier::new(contenders + 1)), Arc::new(AtomicBool::new(false)));
    let (running, size) = (Arc::new(AtomicU32::new(0)), cli.contenders);
    let (done, times) = mpsc::channel();
    let contend = |share| {
        let (lock, start, ended) = (Arc::clone(&lock), Arc::clone(&start), Arc::clone(&ended));
        let (held, done, running) = (cli.held.into(), done.clone(), Arc::clone(&running));
        STACK.spawn_for("--contenders", size, move || {
            loop {
                start.wait();
                if ended.load(Relaxed) {
                    return;
                }
                running.fetch_add(1, AcqRel);
                while running.load(Acquire) < size {
                    yield_now();
                }
                let begun = Instant::now();
                for _ in 0..share {
                    lock.with(|number| count(number, held));
                }
                // The other end is there as long as the pass.
                let _ = done.send((begun, Instant::now()));
            }
        })
    };
    let threads: Vec<_> = shares(cli.flags.tasks, size).map(contend).collect();
    let threads = threads.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    place.serve_thread(run, || {
        running.store(0, Relaxed);
        start.wait();
        span(&times.iter().take(contenders).collect::<Vec<Times>>())
    })?;
    ended.store(true, Relaxed);
    start.wait();
    threads.into_iter().try_for_each(brigade::join)?;
    check(lock.with(|number| *number), run)
}

pub(crate) fn among_tasks(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (place, runtime, held) = (Place::new(cli)?, cli.runtime()?, cli.held.into());
    let lock = Arc::new(tokio::sync::Mutex::new(0));
    let contended = Arc::clone(&lock);
    team::measure(cli, run, (&place, &runtime), Run::held, move |share| {
        let lock = Arc::clone(&contended);
        async move {
            for _ in 0..share {
                count(&mut *lock.lock().await, held);
            }
            Ok(())
        }
    })?;
    check(*lock.blocking_lock(), run)
}
