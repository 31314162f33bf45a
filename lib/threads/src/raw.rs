//! Threads without anything of the C library: a lower bound of their creation.
//!
//! A call of clone3(2) creates a thread of the kernel, and that is all: no stack is mapped, no guard page,
//! no thread-local storage, no signal stack, no list of threads. Such a thread can run neither Rust nor C,
//! which expect thread-local storage. It runs a few instructions that write its number down, make one
//! system call if they are told to, and end it. They never use the stack, which is there all the same, in
//! one mapping as with [`Stacks::Arena`].
//!
//! A thread is gone when the kernel has cleared a word of its shared memory (`CLONE_CHILD_CLEARTID`,
//! clone(2)); pthread_join(3) waits for the same.

#![expect(
    unsafe_code,
    reason = "threads are created by a system call, and use memory by raw pointers"
)]

mod clone;
#[cfg(test)]
mod tests;

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use contract::message::{Need, Needs};
use nix::sys::signal::{SigSet, SigmaskHow};

use crate::arena::{Arena, Slot};
use crate::spawner::{StackFlags, Stacks};

pub use clone::CloneCall;

/// Bytes of a thread: its kernel stack and structures, and the creator's memory for it; more than was
/// seen.
const THREAD_BYTES: u64 = 26 << 10;

/// Action of a thread after it has written its number down.
#[derive(Clone, Copy, Debug)]
pub enum ThreadAction<'a> {
    /// None.
    None,
    /// Read the clock, by a system call.
    Clock,
    /// Read one byte, and so sleep until there is one. Keep the descriptor open until the thread is gone.
    Read(BorrowedFd<'a>),
}

/// What a thread has left behind.
#[derive(Clone, Copy, Debug)]
pub struct ThreadReport {
    /// Its number among those created since the last join, from 0; `None` where it did not run.
    pub number: Option<u32>,
    /// Clock that it has read, as the time since these threads were prepared.
    time: Duration,
}

/// Threads that are created one by one and joined together. Dropping it joins those that are left.
#[derive(Debug)]
pub struct RawThreads {
    stacks: Vec<Slot>,
    shared: Box<[Shared]>,
    /// Number of threads created since the last join.
    created: usize,
    call: CloneCall,
    /// The same moment on two clocks, which are one for the kernel.
    prepared: Instant,
    prepared_at: Duration,
}

/// Memory that a thread shares with its creator: in cache lines of its own, and laid out as the
/// instructions in `clone` expect it.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Shared {
    /// 1 from before the thread is created until the kernel clears it.
    alive: AtomicU32,
    /// The thread's number, plus 1.
    counted: AtomicU32,
    /// Seconds and nanoseconds, or the byte that was read.
    result: [AtomicI64; 2],
}

/// While it lives, signals wait: none interrupts the calling thread, nor any thread that it creates.
#[derive(Debug)]
pub struct SignalsBlocked {
    before: SigSet,
    /// A mask belongs to one thread.
    here: PhantomData<*const ()>,
}

impl SignalsBlocked {
    /// Blocks all signals.
    ///
    /// # Errors
    /// What pthread_sigmask(3) reports.
    pub fn new() -> nix::Result<Self> {
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        Ok(SignalsBlocked { before, here: PhantomData })
    }
}

impl Drop for SignalsBlocked {
    fn drop(&mut self) {
        // The mask was in force before, so it is not refused.
        let _ = self.before.thread_set_mask();
    }
}

impl RawThreads {
    /// Maps the stacks of `tasks` threads.
    ///
    /// # Errors
    /// `Unsupported` on other processors than x86-64 and AArch64; `ENOMEM` from mmap(2).
    pub fn new(stack: StackFlags, tasks: u32) -> io::Result<Self> {
        let call = CloneCall::first()?;
        let arena = Arena::map(in_one_mapping(stack).bytes_each() as usize, tasks)?;
        let stacks: io::Result<Vec<Slot>> = (0..tasks).map(|_| arena.take()).collect();
        let (prepared, prepared_at) = now_on_both();
        Ok(RawThreads {
            stacks: stacks?,
            shared: (0..tasks).map(|_| Shared::default()).collect(),
            created: 0,
            call,
            prepared,
            prepared_at,
        })
    }

    /// Needs of such threads.
    pub fn needs() -> Needs {
        Needs {
            threads: Need::new(0, 1),
            maps: Need::new(64, 0),
            bytes: Need::new(0, THREAD_BYTES),
            ..Needs::default()
        }
    }

    /// Creates the next thread. It has no thread-local storage, and would run a signal's handler with that
    /// of its creator: it starts with all signals blocked, as its creator has them meanwhile.
    ///
    /// # Errors
    /// Those of clone3(2): `EAGAIN` where a limit of threads is met. Where all stacks are in use.
    pub fn create(&mut self, _: &SignalsBlocked, action: ThreadAction<'_>) -> io::Result<()> {
        let k = self.created;
        let (Some(shared), Some(stack)) = (self.shared.get(k), self.stacks.get(k)) else {
            return Err(io::Error::other(format!("all {k} stacks are in use")));
        };
        shared.alive.store(1, Ordering::Relaxed);
        shared.counted.store(0, Ordering::Relaxed);
        let request = clone::CloneRequest {
            stack: stack.lowest().addr() as u64,
            stack_size: stack.size() as u64,
            shared: ptr::from_ref(shared).addr() as u64,
            number: k as u64 + 1,
            action: action.call(),
        };
        // SAFETY: nothing else uses the stack and the shared memory until `join` has seen the thread go.
        // Both outlive it, since `drop` joins what is left.
        match unsafe { self.call.make(&request) } {
            Ok(()) => {
                self.created += 1;
                Ok(())
            }
            Err(e) => {
                shared.alive.store(0, Ordering::Relaxed);
                Err(e)
            }
        }
    }

    /// Number of threads that have started since the last join.
    pub fn started(&self) -> u32 {
        let shared = self.shared[..self.created].iter();
        shared.filter(|shared| shared.counted.load(Ordering::Relaxed) != 0).count() as u32
    }

    /// Waits until all are gone. Returns what each has left behind, in the order of their creation.
    pub fn join(&mut self) -> impl Iterator<Item = ThreadReport> + use<'_> {
        let created = std::mem::take(&mut self.created);
        let shared = &self.shared[..created];
        shared.iter().for_each(Shared::wait);
        shared.iter().map(|shared| ThreadReport {
            number: shared.counted.load(Ordering::Relaxed).checked_sub(1),
            time: shared.time().saturating_sub(self.prepared_at),
        })
    }

    /// Time from `called` until a thread has read the clock.
    pub fn delay(&self, called: Instant, report: ThreadReport) -> Duration {
        report.time.saturating_sub(called - self.prepared)
    }

    /// System call that creates them.
    pub fn call(&self) -> CloneCall {
        self.call
    }
}

impl Drop for RawThreads {
    fn drop(&mut self) {
        self.shared[..self.created].iter().for_each(Shared::wait);
    }
}

/// The same with stacks in one mapping.
fn in_one_mapping(stack: StackFlags) -> StackFlags {
    StackFlags { stacks: Stacks::Arena, ..stack }
}

impl ThreadAction<'_> {
    /// Number of a system call and its first argument. The others are a place for the result, and 1.
    fn call(self) -> Option<(libc::c_long, i32)> {
        match self {
            ThreadAction::None => None,
            ThreadAction::Clock => Some((libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC)),
            ThreadAction::Read(fd) => Some((libc::SYS_read, fd.as_raw_fd())),
        }
    }
}

impl Shared {
    /// Sleeps until the thread is gone.
    fn wait(&self) {
        while self.alive.load(Ordering::Acquire) != 0 {
            let no_timeout = ptr::null::<libc::timespec>();
            // Not FUTEX_WAIT_PRIVATE: the kernel wakes by FUTEX_WAKE (`mm_release`, kernel/fork.c).
            // SAFETY: the kernel only reads the word, which outlives the call. Whatever the call returns,
            // the word is looked at again.
            unsafe {
                libc::syscall(libc::SYS_futex, self.alive.as_ptr(), libc::FUTEX_WAIT, 1, no_timeout)
            };
        }
    }

    /// Clock that the thread has read.
    fn time(&self) -> Duration {
        let [seconds, ns] = [&self.result[0], &self.result[1]]
            .map(|number| number.load(Ordering::Relaxed).unsigned_abs());
        Duration::from_secs(seconds) + Duration::from_nanos(ns)
    }
}

/// The same moment on both clocks: the closest of several readings, since the thread may lose its CPU
/// between two.
fn now_on_both() -> (Instant, Duration) {
    let read = || {
        let before = Instant::now();
        let at = monotonic();
        (before.elapsed(), before, at)
    };
    let first = read();
    let (gap, before, at) =
        (0..20).map(|_| read()).fold(first, |best, next| if next.0 < best.0 { next } else { best });
    (before + gap / 2, at)
}

/// The clock that `Instant` reads on Linux, as a number.
#[allow(clippy::unnecessary_cast, reason = "a timespec has smaller numbers on 32-bit systems")]
fn monotonic() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time` alone. This clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
