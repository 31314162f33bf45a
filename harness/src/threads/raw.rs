//! Threads with nothing of the C library: the least that creating one can cost.
//!
//! A call of clone3(2) makes a thread of the kernel's, and that is all: no stack is mapped, no guard
//! page, no thread-local storage, no signal stack, no list of threads. What runs in it can therefore
//! be neither Rust nor C, which take thread-local storage for granted. It is a few instructions
//! that count the thread, make one system call if they are told to, and end. They never use the
//! stack, which is there all the same: a part of one mapping, as with [`Stacks::Arena`].
//!
//! A thread is gone when the kernel has cleared a word of its `Post` (`CLONE_CHILD_CLEARTID` in
//! clone(2)), which is also how pthread_join(3) learns of it.

#![expect(
    unsafe_code,
    reason = "threads are created by a system call, and work on memory by raw pointers"
)]

mod clone;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::arena::{Arena, Slot};
use crate::args::{Stack, Stacks};
use crate::limits::{Demand, Need};
use crate::signals::Deaf;

pub use clone::Call;

/// A thread's kernel stack and structures, and the driver's memory for it, rounded up from what is
/// measured.
const MEMORY: u64 = 26 << 10;

/// What a thread does besides counting itself.
#[derive(Clone, Copy, Debug)]
pub enum Errand<'a> {
    /// Nothing.
    None,
    /// It reads the clock.
    Clock,
    /// It reads one byte, and so sleeps where there is none. The descriptor should stay open until
    /// the thread is gone.
    Read(BorrowedFd<'a>),
}

/// What a thread has left behind.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// Its number among those created since the last join, from 0; `None` where it did not run.
    pub number: Option<u32>,
    /// The clock that it has read, as the time since these threads were prepared.
    time: Duration,
}

/// Threads that are created one by one and awaited together. Those that are left are awaited when
/// it is dropped.
#[derive(Debug)]
pub struct RawThreads {
    stacks: Vec<Slot>,
    posts: Box<[Post]>,
    /// How many were created since the last join.
    created: usize,
    call: Call,
    /// The same moment by two clocks, which are one to the kernel.
    prepared: Instant,
    prepared_at: Duration,
}

/// What a thread shares with its creator: in cache lines of its own, and laid out as the
/// instructions in `clone` expect it.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Post {
    /// 1 from before the thread is created until the kernel clears it.
    alive: AtomicU32,
    /// The thread's number, plus 1.
    counted: AtomicU32,
    /// Seconds and nanoseconds, or the byte that was read.
    result: [AtomicI64; 2],
}

impl RawThreads {
    /// Maps the stacks of `tasks` threads at once.
    ///
    /// # Errors
    /// `Unsupported` on a processor other than x86-64 and AArch64; `ENOMEM` from mmap(2).
    pub fn new(stack: Stack, tasks: u32) -> io::Result<Self> {
        let call = Call::first()?;
        let arena = Arena::map(on_one_mapping(stack).bytes_each() as usize, tasks)?;
        let stacks: io::Result<Vec<Slot>> = (0..tasks).map(|_| arena.take()).collect();
        let (prepared, prepared_at) = now_on_both();
        Ok(RawThreads {
            stacks: stacks?,
            posts: (0..tasks).map(|_| Post::default()).collect(),
            created: 0,
            call,
            prepared,
            prepared_at,
        })
    }

    /// What N of them need of the system.
    pub fn demand(stack: Stack) -> Demand {
        let size = on_one_mapping(stack).bytes_each();
        Demand {
            per_task: Need {
                memory: MEMORY,
                ..Need::unguarded_thread(size)
            },
            // None of their stacks is the C library's to keep.
            ..Demand::unguarded_threads(size, 0)
        }
    }

    /// Creates the next thread. It has no thread-local storage, so that a signal's handler would run
    /// with that of its creator: it is born deaf to signals, as its creator is meanwhile.
    ///
    /// # Errors
    /// Those of clone3(2): `EAGAIN` where a limit of threads is met. Where all stacks are in use.
    pub fn create(&mut self, _: &Deaf, errand: Errand<'_>) -> io::Result<()> {
        let k = self.created;
        let (Some(post), Some(stack)) = (self.posts.get(k), self.stacks.get(k)) else {
            return Err(io::Error::other(format!("all {k} stacks are in use")));
        };
        post.alive.store(1, Ordering::Relaxed);
        post.counted.store(0, Ordering::Relaxed);
        let order = clone::Order {
            stack: stack.lowest().addr() as u64,
            stack_size: stack.size() as u64,
            post: ptr::from_ref(post).addr() as u64,
            number: k as u64 + 1,
            errand: errand.call(),
        };
        // SAFETY: the stack is this thread's alone until `join` has seen it go, and so is the post.
        // Both outlive it, since `drop` awaits what is left.
        match unsafe { self.call.make(&order) } {
            Ok(()) => {
                self.created += 1;
                Ok(())
            }
            Err(e) => {
                post.alive.store(0, Ordering::Relaxed);
                Err(e)
            }
        }
    }

    /// How many of those created since the last join have counted themselves.
    pub fn started(&self) -> u32 {
        let posts = self.posts[..self.created].iter();
        posts
            .filter(|post| post.counted.load(Ordering::Relaxed) != 0)
            .count() as u32
    }

    /// Waits until all are gone, and returns what each of them has left, in the order in which they
    /// were created.
    pub fn join(&mut self) -> impl Iterator<Item = Trace> + use<'_> {
        let created = std::mem::take(&mut self.created);
        let posts = &self.posts[..created];
        posts.iter().for_each(Post::wait);
        posts.iter().map(|post| Trace {
            number: post.counted.load(Ordering::Relaxed).checked_sub(1),
            time: post.time().saturating_sub(self.prepared_at),
        })
    }

    /// How long after `called` a thread has read the clock.
    pub fn delay(&self, called: Instant, trace: Trace) -> Duration {
        trace.time.saturating_sub(called - self.prepared)
    }

    /// The system call that creates them.
    pub fn call(&self) -> Call {
        self.call
    }
}

impl Drop for RawThreads {
    fn drop(&mut self) {
        self.posts[..self.created].iter().for_each(Post::wait);
    }
}

/// The same with stacks of one mapping.
fn on_one_mapping(stack: Stack) -> Stack {
    Stack {
        stacks: Stacks::Arena,
        ..stack
    }
}

impl Errand<'_> {
    /// A system call's number and its first argument. The others are a place for the result, and 1.
    fn call(self) -> Option<(libc::c_long, i32)> {
        match self {
            Errand::None => None,
            Errand::Clock => Some((libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC)),
            Errand::Read(fd) => Some((libc::SYS_read, fd.as_raw_fd())),
        }
    }
}

impl Post {
    /// Sleeps until the thread is gone.
    fn wait(&self) {
        while self.alive.load(Ordering::Acquire) != 0 {
            let for_ever = ptr::null::<libc::timespec>();
            // Not FUTEX_WAIT_PRIVATE: the kernel wakes by FUTEX_WAKE (`mm_release`, kernel/fork.c).
            // SAFETY: the kernel only reads the word, which outlives the call. Whatever the call
            // returns, the word is looked at again.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.alive.as_ptr(),
                    libc::FUTEX_WAIT,
                    1,
                    for_ever,
                )
            };
        }
    }

    /// The clock that the thread has read.
    fn time(&self) -> Duration {
        let [seconds, ns] = [&self.result[0], &self.result[1]]
            .map(|number| number.load(Ordering::Relaxed).unsigned_abs());
        Duration::from_secs(seconds) + Duration::from_nanos(ns)
    }
}

/// The same moment on both clocks: the closest of several readings, since the thread may lose its
/// CPU between two.
fn now_on_both() -> (Instant, Duration) {
    let read = || {
        let before = Instant::now();
        let at = monotonic();
        (before.elapsed(), before, at)
    };
    let first = read();
    let (gap, before, at) =
        (0..20).map(|_| read()).fold(
            first,
            |best, next| {
                if next.0 < best.0 { next } else { best }
            },
        );
    (before + gap / 2, at)
}

/// The clock that `Instant` reads on Linux, as a number.
#[allow(
    clippy::unnecessary_cast,
    reason = "a timespec has smaller numbers on 32-bit systems"
)]
fn monotonic() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call writes to `time` alone. This clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
