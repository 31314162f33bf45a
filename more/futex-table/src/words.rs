//! Words to sleep on, and the threads that sleep there all the time.

#![expect(
    unsafe_code,
    reason = "memory is shared with the kernel, and threads are as small as they can be"
)]

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use clap::ValueEnum;
use contract::limits;
use threads::futex::{self, Kind};

/// Where the words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// 4,096 for the operations and one for each idle thread, in a cache line each
    Spread,
    /// 512 for the operations and 512 that idle threads share, on one page
    Page,
}

/// Stack of a thread that only sleeps. It has no guard page, so that the kernel has one memory map for all.
pub(crate) const STACK: usize = 64 << 10;

/// Upper bound of the bytes of such a thread: the kernel's stack and structures, and pages of its own.
pub(crate) const SLEEPER_BYTES: u64 = 40 << 10;

/// Words, which are there until the process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    all: &'static [AtomicU32],
    /// Words from one to the next.
    stride: usize,
    /// Those of the operations, which come first.
    operations: usize,
    /// Those of idle threads.
    idle: usize,
    kind: Kind,
}

impl Words {
    /// Words in memory that processes could share, since shared futexes mostly are there.
    pub(crate) fn new(layout: Layout, idle: u32, kind: Kind) -> anyhow::Result<Self> {
        let (stride, operations, idle) = match layout {
            Layout::Spread => (16, 4096, idle as usize),
            Layout::Page => (1, 512, 512),
        };
        let count = (operations + idle) * stride;
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: new memory at an address of the kernel's choice, which nothing else uses.
        let base = unsafe { libc::mmap(ptr::null_mut(), count * 4, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("cannot map the words");
        }
        // SAFETY: the mapping holds so many, all zero, and it is never unmapped.
        let all = unsafe { slice::from_raw_parts(base.cast(), count) };
        Ok(Words { all, stride, operations, idle, kind })
    }

    /// The word of an operation.
    fn at(&self, place: usize) -> &'static AtomicU32 {
        &self.all[place % self.operations * self.stride]
    }

    /// Wakes a thread that sleeps on a word, and returns how many it was.
    pub(crate) fn wake(&self, place: usize) -> i64 {
        futex::wake(self.at(place), self.kind)
    }

    /// Has the thread go on that sleeps on a word, or will.
    pub(crate) fn signal(&self, place: usize) {
        self.at(place).store(1, Ordering::Release);
        futex::wake(self.at(place), self.kind);
    }

    /// Sleeps until the signal of a word.
    pub(crate) fn sleep(&self, place: usize) {
        let word = self.at(place);
        while word.swap(0, Ordering::Acquire) == 0 {
            futex::wait(word, 0, self.kind);
        }
    }

    /// Starts the idle threads, which end with the process.
    pub(crate) fn start_sleepers(&self, idle: u32) -> anyhow::Result<()> {
        let body = if self.kind == Kind::Private { sleep_private } else { sleep_shared };
        let mut attributes = MaybeUninit::uninit();
        let mut id = MaybeUninit::uninit();
        // SAFETY: the first call makes the attributes, which the next ones change; they are valid sizes.
        unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            libc::pthread_attr_setguardsize(attributes.as_mut_ptr(), 0);
        }
        for k in 0..idle as usize {
            let word = &self.all[(self.operations + k % self.idle) * self.stride];
            let own = ptr::from_ref(word).cast_mut().cast();
            // SAFETY: the body takes the word, which is there for ever.
            let code =
                unsafe { libc::pthread_create(id.as_mut_ptr(), attributes.as_ptr(), body, own) };
            if code != 0 {
                let error = io::Error::from_raw_os_error(code);
                return Err(error).context(limits::refused("create a thread", idle));
            }
        }
        Ok(())
    }
}

extern "C" fn sleep_private(word: *mut c_void) -> *mut c_void {
    sleep(word, Kind::Private)
}

extern "C" fn sleep_shared(word: *mut c_void) -> *mut c_void {
    sleep(word, Kind::Shared)
}

/// The life of an idle thread.
fn sleep(word: *mut c_void, kind: Kind) -> *mut c_void {
    // SAFETY: `start_sleepers` has passed it.
    let word = unsafe { &*word.cast::<AtomicU32>() };
    loop {
        futex::wait(word, 0, kind);
    }
}
