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
use threads::futex::{self, Kind};

/// Stack of a thread that only sleeps: the least that the C library takes on all architectures. It has no guard page, so that the kernel has one memory map for all.
pub(crate) const STACK: usize = 128 << 10;

/// Upper bound of the bytes of such a thread: the kernel's stack and structures, and pages of its own.
pub(crate) const SLEEPER_BYTES: u64 = 40 << 10;

/// Words, which are there until the process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// Those of the operations, then those of idle threads.
    all: &'static [AtomicU32],
    /// Distance between words, in words.
    stride: usize,
    operations: usize,
    kind: Kind,
}

impl Words {
    /// Words in memory that processes could share, as most that use shared futexes do.
    pub(crate) fn new(one_page: bool, idle: u32, kind: Kind) -> anyhow::Result<Self> {
        let (stride, operations, idle) =
            if one_page { (1, 512, 512) } else { (16, 4096, idle as usize) };
        let count = (operations + idle) * stride;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: new memory at an address of the kernel's choice, which nothing else uses.
        let base = unsafe { libc::mmap(ptr::null_mut(), count * 4, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("cannot map the words");
        }
        // SAFETY: the mapping holds so many, all zero, and it is never unmapped.
        let all = unsafe { slice::from_raw_parts(base.cast(), count) };
        Ok(Words { all, stride, operations, kind })
    }

    /// The word of an operation.
    fn at(&self, place: usize) -> &'static AtomicU32 {
        &self.all[place % self.operations * self.stride]
    }

    /// Wakes a thread that sleeps on a word, and returns the number woken.
    pub(crate) fn wake(&self, place: usize) -> i64 {
        futex::wake(self.at(place), self.kind)
    }

    /// Wakes the word's sleeper; one that has yet to sleep does not.
    pub(crate) fn signal(&self, place: usize) {
        self.at(place).store(1, Ordering::Release);
        self.wake(place);
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
        let body = match self.kind {
            Kind::Private => sleep_private,
            Kind::Shared => sleep_shared,
        };
        let (mut attributes, mut id) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first call makes the attributes, which the next ones change; they are valid sizes.
        unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            libc::pthread_attr_setguardsize(attributes.as_mut_ptr(), 0);
        }
        let own = self.all[self.operations * self.stride..].iter().step_by(self.stride);
        for word in own.cycle().take(idle as usize) {
            let word = ptr::from_ref(word).cast_mut().cast();
            // SAFETY: the body takes the word, which is there for ever.
            let code =
                unsafe { libc::pthread_create(id.as_mut_ptr(), attributes.as_ptr(), body, word) };
            if code != 0 {
                let error = io::Error::from_raw_os_error(code);
                return Err(error).context("cannot create an idle thread: lower --idle");
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
fn sleep(word: *mut c_void, kind: Kind) -> ! {
    // SAFETY: `start_sleepers` has passed it.
    let word = unsafe { &*word.cast::<AtomicU32>() };
    loop {
        futex::wait(word, 0, kind);
    }
}
