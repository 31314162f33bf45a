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
use brigade::futex;

/// Stack of a thread that only sleeps: the least that the C library takes on all architectures. It has no guard page,
/// so that the kernel has one memory map for all.
pub(crate) const STACK: usize = 128 << 10;

/// Upper bound of the bytes of such a thread: the kernel's stack and structures, and pages of its own.
pub(crate) const SLEEPER_BYTES: u64 = 40 << 10;

/// Words, which are there until the process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words {
    /// The words of the operations, then the words of idle threads.
    words: &'static [AtomicU32],
}

/// Words of operations: a sample of the slots.
const OPERATIONS: usize = 4096;

/// Distance between words, in words: each is alone in its cache line.
const STRIDE: usize = 16;

impl Words {
    /// Words for operations and so many idle threads.
    pub(crate) fn new(idle: u32) -> anyhow::Result<Self> {
        let count = (OPERATIONS + idle as usize) * STRIDE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // As when the records were made: a private mapping would be other memory.
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: new memory at an address of the kernel's choice, which nothing else uses.
        let base = unsafe { libc::mmap(ptr::null_mut(), count * 4, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error()).context("cannot map the words");
        }
        // SAFETY: the mapping holds so many, all zero, and it is never unmapped.
        let words = unsafe { slice::from_raw_parts(base.cast(), count) };
        Ok(Words { words })
    }

    /// The word of an operation.
    fn at(&self, place: usize) -> &'static AtomicU32 {
        &self.words[place % OPERATIONS * STRIDE]
    }

    /// Wakes a thread that sleeps on a word, and returns the number woken.
    pub(crate) fn wake(&self, place: usize) -> i64 {
        futex::wake(self.at(place))
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
            futex::wait(word, 0);
        }
    }

    /// Starts the idle threads, which end with the process.
    pub(crate) fn start_sleepers(&self, idle: u32) -> anyhow::Result<()> {
        let (mut attributes, mut id) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: the first call makes the attributes, which the next ones change; they are valid sizes.
        unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            libc::pthread_attr_setguardsize(attributes.as_mut_ptr(), 0);
        }
        for word in self.words[OPERATIONS * STRIDE..].iter().step_by(STRIDE).take(idle as usize) {
            let word = ptr::from_ref(word).cast_mut().cast();
            // SAFETY: the body takes the word, which is there for ever.
            let code =
                unsafe { libc::pthread_create(id.as_mut_ptr(), attributes.as_ptr(), sleep, word) };
            if code != 0 {
                let error = io::Error::from_raw_os_error(code);
                return Err(error).context("cannot create an idle thread: lower --idle");
            }
        }
        Ok(())
    }
}

/// The life of an idle thread.
extern "C" fn sleep(word: *mut c_void) -> *mut c_void {
    // SAFETY: `start_sleepers` has passed it.
    let word = unsafe { &*word.cast::<AtomicU32>() };
    loop {
        futex::wait(word, 0);
    }
}
