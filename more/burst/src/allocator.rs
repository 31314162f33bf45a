//! The allocator of the process. It has to be known before the first allocation, which is before main: an environment
//! variable names it, and the program executes itself anew if that does not fit its flag.

#![expect(unsafe_code, reason = "an allocator, and calls of C")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::env;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::{Context, Result};
use clap::ValueEnum;
use mimalloc::MiMalloc;
use tikv_jemallocator::Jemalloc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[repr(u8)]
pub(crate) enum Allocator {
    /// the C library's
    Glibc = b'g',
    /// the C library's with at most two arenas, as by MALLOC_ARENA_MAX=2
    #[value(name = "glibc-2-arenas")]
    Glibc2Arenas = b'2',
    Jemalloc = b'j',
    Mimalloc = b'm',
}

/// Its first letter names the allocator; without it, it is the C library's.
const VARIABLE: &str = "SWITCHCOST_BURST_ALLOCATOR\0";

#[global_allocator]
static CHOSEN: Chosen = Chosen;

/// Letter of the variable, 0 before it was read.
static LETTER: AtomicU8 = AtomicU8::new(0);

fn letter() -> u8 {
    match LETTER.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the name ends in 0; nobody changes the environment before the first allocation.
            let value = unsafe { libc::getenv(VARIABLE.as_ptr().cast()) };
            // SAFETY: a value ends in 0, so it has a first byte.
            let letter = if value.is_null() { b'g' } else { unsafe { *value.cast() } };
            LETTER.store(letter.max(1), Ordering::Relaxed);
            letter
        }
        letter => letter,
    }
}

impl Allocator {
    /// Executes the program anew if this is not the allocator that it has.
    pub(crate) fn choose(self) -> Result<()> {
        if self as u8 == letter() {
            return Ok(());
        }
        let mut itself = Command::new(env::current_exe().context("cannot find this program")?);
        let letter = char::from(self as u8).to_string();
        itself.args(env::args_os().skip(1)).env(VARIABLE.trim_end_matches('\0'), letter);
        if self == Allocator::Glibc2Arenas {
            itself.env("MALLOC_ARENA_MAX", "2");
        }
        Err(itself.exec()).context("cannot execute this program anew")
    }

    /// Asks it to give back what it can.
    pub(crate) fn trim(self) {
        match self {
            // SAFETY: it only gives back pages that hold nothing.
            Allocator::Glibc | Allocator::Glibc2Arenas => drop(unsafe { libc::malloc_trim(0) }),
            Allocator::Jemalloc => {
                // All arenas (MALLCTL_ARENAS_ALL).
                let name = c"arena.4096.purge".as_ptr();
                // SAFETY: the name ends in 0; the operation reads and writes no value.
                unsafe { tikv_jemalloc_sys::mallctl(name, null_mut(), null_mut(), null_mut(), 0) };
            }
            // SAFETY: it only gives back pages that hold nothing.
            Allocator::Mimalloc => unsafe { libmimalloc_sys::mi_collect(true) },
        }
    }
}

/// Passes each call on to the chosen allocator.
struct Chosen;

fn allocator() -> &'static dyn GlobalAlloc {
    match letter() {
        b'j' => &Jemalloc,
        b'm' => &MiMalloc,
        _ => &System,
    }
}

// SAFETY: each block is freed by the allocator that gave it, since there is one for the whole life of the process.
unsafe impl GlobalAlloc for Chosen {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the allocator wants.
        unsafe { allocator().alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { allocator().dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { allocator().alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { allocator().realloc(block, layout, size) }
    }
}
