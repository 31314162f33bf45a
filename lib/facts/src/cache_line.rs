//! Round trip of a cache line between two CPUs. Whatever crosses CPUs waits for it, and on a virtual machine it
//! changes within seconds: the runner measures it before a program starts and after it has ended.

use std::iter;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::{Pid, gettid};
use serde::{Deserialize, Serialize};

/// Round trip of a cache line between two CPUs, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheLine {
    /// First two CPUs that the run may use.
    pub cpus: [u32; 2],
    /// Before the program started; absent if it could not be measured.
    pub before: Option<f64>,
    /// After the program ended.
    pub after: Option<f64>,
}

impl CacheLine {
    /// Slower of the two measurements divided by the faster.
    pub fn ratio(&self) -> Option<f64> {
        let (before, after) = self.before.zip(self.after)?;
        Some(before.max(after) / before.min(after))
    }
}

/// Round trips between two readings of the clock.
const BATCH: u32 = 500;

/// Batches, of which the median counts: an interrupted one does no harm.
const BATCHES: usize = 9;

/// Longest time for the batches. A thread whose CPU is taken by a higher priority never answers.
const PATIENCE: Duration = Duration::from_millis(20);

/// Word that ends the answering thread.
const STOP: u32 = u32::MAX;

/// A word alone in its cache line, and in the lines that a CPU fetches along with it.
#[repr(align(256))]
struct Line(AtomicU32);

/// Measures between the first two CPUs that a run may use, before it starts; `None` if it has one.
pub fn measure(cpus: &[usize]) -> Option<CacheLine> {
    let &[one, other, ..] = cpus else {
        return None;
    };
    Some(CacheLine {
        cpus: [u32::try_from(one).ok()?, u32::try_from(other).ok()?],
        before: round_trip(one, other),
        after: None,
    })
}

/// Measures between the same CPUs, after the run.
pub fn measure_again(line: &mut CacheLine) {
    let [one, other] = line.cpus.map(|cpu| cpu as usize);
    line.after = round_trip(one, other);
}

/// Median round trip in ns; `None` if a CPU may not be used, or does not answer in time.
pub fn round_trip(one: usize, other: usize) -> Option<f64> {
    let home = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let line = Line(AtomicU32::new(0));
    let threads = [AtomicI32::new(0), AtomicI32::new(0)];
    let deadline = Instant::now() + PATIENCE;
    thread::scope(|scope| {
        let spawn = || thread::Builder::new().name("cache-line".to_owned());
        let asker = spawn().spawn_scoped(scope, || {
            let time = pin(one, &threads[0]).and_then(|()| ask(&line.0, deadline));
            line.0.store(STOP, Ordering::Relaxed);
            time
        });
        let answerer = spawn().spawn_scoped(scope, || {
            if pin(other, &threads[1]).is_some() {
                answer(&line.0, deadline);
            }
        });
        let (asker, answerer) = (asker.ok()?, answerer.ok()?);
        while !asker.is_finished() || !answerer.is_finished() {
            thread::sleep(Duration::from_millis(1));
            if Instant::now() > deadline + PATIENCE {
                // A thread must run to end: on any CPU, if it cannot run on its own.
                for thread in &threads {
                    let _ = sched_setaffinity(Pid::from_raw(thread.load(Ordering::Relaxed)), &home);
                }
            }
        }
        asker.join().ok()?
    })
}

/// Binds the calling thread to a CPU, after it has told its number.
fn pin(cpu: usize, thread: &AtomicI32) -> Option<()> {
    thread.store(gettid().as_raw(), Ordering::Relaxed);
    let mut set = CpuSet::new();
    set.set(cpu).ok()?;
    sched_setaffinity(Pid::from_raw(0), &set).ok()
}

/// Sends the line to and fro: median time of a round trip in ns.
fn ask(line: &AtomicU32, deadline: Instant) -> Option<f64> {
    let mut word = 0;
    // The first batch finds the other thread on its way to its CPU.
    batch(line, &mut word, deadline)?;
    let batches = iter::from_fn(|| batch(line, &mut word, deadline));
    let mut times: Vec<Duration> = batches.take(BATCHES).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2)?;
    Some(median.as_nanos() as f64 / f64::from(BATCH))
}

/// Round trips of a batch: an odd word out, an even one back. `None` after the deadline.
fn batch(line: &AtomicU32, word: &mut u32, deadline: Instant) -> Option<Duration> {
    let clock = Instant::now();
    for _ in 0..BATCH {
        line.store(*word + 1, Ordering::Release);
        *word += 2;
        wait(deadline, || line.load(Ordering::Acquire) == *word)?;
    }
    Some(clock.elapsed())
}

/// Answers each odd word by the even one after it.
fn answer(line: &AtomicU32, deadline: Instant) {
    let mut expected = 1;
    loop {
        let mut word = 0;
        let arrived = wait(deadline, || {
            word = line.load(Ordering::Acquire);
            word == expected || word == STOP
        });
        if arrived.is_none() || word == STOP {
            return;
        }
        line.store(expected + 1, Ordering::Release);
        expected += 2;
    }
}

/// Spins until something has happened; `None` after the deadline.
fn wait(deadline: Instant, mut happened: impl FnMut() -> bool) -> Option<()> {
    let mut looks = 0u32;
    while !happened() {
        looks = looks.wrapping_add(1);
        if looks.is_multiple_of(1024) && Instant::now() > deadline {
            return None;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Vec<usize> {
        let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let cpus = 0..CpuSet::count();
        cpus.filter(|&cpu| set.is_set(cpu).unwrap()).collect()
    }

    #[test]
    fn a_line_travels_and_an_absent_cpu_does_not_hang() {
        let cpus = allowed();
        let (cpu, absent) = (cpus[0], CpuSet::count() - 1);
        assert_eq!((round_trip(cpu, absent), round_trip(absent, cpu)), (None, None));
        // Under load a thread may not get its CPU in time, which is no error.
        if let Some(time) = cpus.get(1).and_then(|other| round_trip(cpu, *other)) {
            assert!(time > 0.0 && time < 20e6, "{time} ns");
        }
        assert_eq!(allowed(), cpus);
    }
}
