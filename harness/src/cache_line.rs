//! How long a cache line takes from one CPU to another and back.
//!
//! What crosses CPUs waits for this, and on a virtual machine it changes within seconds, as the
//! host moves the CPUs about: a figure that crosses them says little without it.
//!
//! The peer is a process that shares this one's memory, made by clone(2), and not a thread: a
//! thread would leave its stack and its allocator's arena behind in the memory that is measured,
//! and fork(2) would copy the page tables of every stack.

#![expect(
    unsafe_code,
    reason = "the peer is made by clone(2) on memory of its own"
)]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The round trip of a cache line between two CPUs, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheLine {
    /// The first two CPUs that the run may use: those between which `--placement half` crosses.
    pub cpus: [u32; 2],
    /// Before anything was built; null where it could not be measured.
    pub before: Option<f64>,
    /// After the last iteration, with every task alive and at rest.
    pub after: Option<f64>,
}

impl CacheLine {
    /// Measures for the first time; `None` where the calling thread may use one CPU only.
    pub(crate) fn measure(cpus: &[usize]) -> Option<Self> {
        let &[a, b, ..] = cpus else {
            return None;
        };
        Some(CacheLine {
            cpus: [u32::try_from(a).ok()?, u32::try_from(b).ok()?],
            before: round_trip(a, b),
            after: None,
        })
    }

    /// Measures for the second time.
    pub(crate) fn measure_again(&mut self) {
        let [a, b] = self.cpus.map(|cpu| cpu as usize);
        self.after = round_trip(a, b);
    }

    /// By how much the slower of the two was slower.
    pub fn ratio(&self) -> Option<f64> {
        let (before, after) = self.before.zip(self.after)?;
        Some(before.max(after) / before.min(after))
    }
}

/// Round trips between two readings of the clock.
const BATCH: u32 = 500;

/// Batches, of which the median counts: one that was interrupted is no matter.
const BATCHES: usize = 9;

/// When to make do with the batches so far: a peer that does not run answers nothing.
const PATIENCE: Duration = Duration::from_millis(10);

/// How often the peer looks for the next word before it gives up: longer than [`PATIENCE`], and no
/// longer than 200 ms without optimisation. It need not wait for a process that was stopped.
const LOOKS: u32 = 1 << 24;

/// The word that ends the peer.
const STOP: u32 = u32::MAX;

/// What the two share: a word that is alone in its cache line, between lines that nobody uses.
#[repr(C, align(256))]
struct Line(AtomicU32);

/// The mapping: a guard page, the peer's stack, and the line above it.
const PAGE: usize = 64 * 1024;
const SIZE: usize = 3 * PAGE;

/// The median time of a round trip in ns; `None` where a CPU may not be used, where no peer can be
/// made, or where it does not answer in time.
fn round_trip(a: usize, b: usize) -> Option<f64> {
    let this = Pid::from_raw(0);
    let home = sched_getaffinity(this).ok()?;
    sched_setaffinity(this, &only(a)?).ok()?;
    let time = Peer::start(b, &home).and_then(|peer| peer.play());
    // It was so a moment ago; a CPU that has gone offline meanwhile is noted elsewhere.
    let _ = sched_setaffinity(this, &home);
    time
}

fn only(cpu: usize) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    set.set(cpu).ok()?;
    Some(set)
}

/// The process at the other end.
struct Peer {
    pid: Pid,
    memory: *mut c_void,
    home: CpuSet,
}

impl Peer {
    /// Starts it and sends it to its CPU.
    fn start(cpu: usize, home: &CpuSet) -> Option<Self> {
        let memory = map()?;
        // A handler of this process must not run in the peer, which shares its memory: no signal
        // is let in while it is made, and it keeps that.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK);
        let flags = libc::CLONE_VM | libc::SIGCHLD;
        let pid = match mask {
            // SAFETY: `answer` runs on a stack of its own, which is unmapped when it has ended. It
            // calls nothing that uses the thread-local memory that it shares with this thread.
            Ok(_) => unsafe { libc::clone(answer, memory.byte_add(2 * PAGE), flags, memory) },
            Err(_) => -1,
        };
        if let Ok(mask) = mask {
            let _ = mask.thread_set_mask();
        }
        if pid < 0 {
            unmap(memory);
            return None;
        }
        let peer = Peer {
            pid: Pid::from_raw(pid),
            memory,
            home: *home,
        };
        sched_setaffinity(peer.pid, &only(cpu)?).ok()?;
        Some(peer)
    }

    /// Sends the line to and fro.
    fn play(&self) -> Option<f64> {
        let deadline = Instant::now() + PATIENCE;
        let line = line(self.memory);
        let mut word = 0;
        // The first batch finds the peer on its way to its CPU, and is no part of it.
        batch(line, &mut word, deadline)?;
        let mut times: Vec<u64> = Vec::with_capacity(BATCHES);
        while times.len() < BATCHES
            && let Some(time) = batch(line, &mut word, deadline)
        {
            times.push(time.as_nanos() as u64);
        }
        times.sort_unstable();
        let median = *times.get(times.len() / 2)?;
        Some(median as f64 / f64::from(BATCH))
    }
}

impl Drop for Peer {
    /// Ends the peer and gives its memory back, unless it does not end: then it never runs again,
    /// and its memory is left alone.
    fn drop(&mut self) {
        line(self.memory).store(STOP, Ordering::Relaxed);
        // Its CPU may be taken by somebody of a higher priority, and to end it must run.
        let _ = sched_setaffinity(self.pid, &self.home);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE * 20 {
            if begun.elapsed() > PATIENCE {
                let _ = kill(self.pid, Signal::SIGKILL);
            }
            match waitpid(self.pid, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => {}
                // Gone, or reaped by a parent's SIG_IGN for SIGCHLD.
                Ok(_) | Err(_) => return unmap(self.memory),
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// So many round trips: an odd word out, an even one back. `None` after the deadline.
fn batch(line: &AtomicU32, word: &mut u32, deadline: Instant) -> Option<Duration> {
    let clock = Instant::now();
    for _ in 0..BATCH {
        line.store(*word + 1, Ordering::Release);
        *word += 2;
        let mut looks = 0u32;
        while line.load(Ordering::Acquire) != *word {
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(1024) && Instant::now() > deadline {
                return None;
            }
        }
    }
    Some(clock.elapsed())
}

/// The peer: answers each odd word by the even one after it. It shares the memory of its parent's
/// thread, thread-local variables too, so that it must neither allocate nor panic nor fail in a
/// call of the C library.
extern "C" fn answer(memory: *mut c_void) -> c_int {
    // SAFETY: a number and a constant text. The peer ends with the thread that made it, and it is
    // told from the program in a list of processes; neither call can fail and touch errno.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::prctl(libc::PR_SET_NAME, c"cache-line".as_ptr());
    };
    let line = line(memory);
    let (mut expected, mut looks) = (1u32, 0u32);
    while looks < LOOKS {
        let word = line.load(Ordering::Acquire);
        if word == expected {
            line.store(expected.wrapping_add(1), Ordering::Release);
            expected = expected.wrapping_add(2);
            looks = 0;
        } else if word == STOP {
            return 0;
        }
        looks = looks.wrapping_add(1);
    }
    0
}

fn map() -> Option<*mut c_void> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: new memory at an address of the kernel's choice, which nothing else uses.
    let memory = unsafe { libc::mmap(ptr::null_mut(), SIZE, access, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: the lowest part of the mapping just made, which nothing uses.
    unsafe { libc::mprotect(memory, PAGE, libc::PROT_NONE) };
    Some(memory)
}

fn unmap(memory: *mut c_void) {
    // SAFETY: the mapping that `map` made; neither the peer nor anything else uses it any more.
    unsafe { libc::munmap(memory, SIZE) };
}

/// The shared word, which the kernel has made zero.
fn line<'a>(memory: *mut c_void) -> &'a AtomicU32 {
    // SAFETY: it lies within the mapping, above the stack, at a page's start, and is only ever
    // used as this type; it is mapped for as long as a peer is.
    unsafe { &(*memory.byte_add(2 * PAGE).cast::<Line>()).0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::allowed;

    #[test]
    fn a_line_travels_between_two_cpus() {
        let cpus = allowed(Pid::from_raw(0)).unwrap();
        let Some(line) = CacheLine::measure(&cpus) else {
            assert_eq!(cpus.len(), 1);
            return;
        };
        // Under load the peer may not get its CPU in time, which is no error.
        let times = line.before.into_iter();
        for time in times.chain(round_trip(cpus[0], cpus[1])) {
            assert!(time > 0.0 && time < 10_000_000.0, "{time} ns");
        }
        assert_eq!(allowed(Pid::from_raw(0)).unwrap(), cpus, "it is home again");
    }

    #[test]
    fn one_cpu_has_no_other() {
        assert_eq!(CacheLine::measure(&[3]), None);
        assert_eq!(CacheLine::measure(&[]), None);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_no_hang() {
        let cpus = allowed(Pid::from_raw(0)).unwrap();
        assert_eq!(round_trip(cpus[0], CpuSet::count() - 1), None);
        assert_eq!(round_trip(CpuSet::count() - 1, cpus[0]), None);
        assert_eq!(allowed(Pid::from_raw(0)).unwrap(), cpus);
    }

    #[test]
    fn a_peer_that_gets_no_answer_ends_with_its_parent() {
        let cpus = allowed(Pid::from_raw(0)).unwrap();
        let home = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let peer = Peer::start(*cpus.last().unwrap(), &home).unwrap();
        let pid = peer.pid;
        drop(peer);
        assert_eq!(kill(pid, None), Err(Errno::ESRCH));
    }

    #[test]
    fn the_ratio_is_that_of_the_slower_to_the_faster() {
        let line = |before, after| CacheLine {
            cpus: [0, 1],
            before,
            after,
        };
        assert_eq!(line(Some(50.0), Some(150.0)).ratio(), Some(3.0));
        assert_eq!(line(Some(150.0), Some(50.0)).ratio(), Some(3.0));
        assert_eq!(line(None, Some(50.0)).ratio(), None);
    }
}
