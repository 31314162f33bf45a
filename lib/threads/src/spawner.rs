//! Threads on the stacks that the command line asks for.
//!
//! `std::thread` gives each thread a guard page and an alternate signal stack: four memory maps, of which the
//! kernel allows a process 65,530 unless told otherwise (vm.max_map_count). Threads of [`Stacks::Arena`] do
//! without: pthread_create(3) creates them.

#![expect(unsafe_code, reason = "sysconf is called")]

use std::rc::Rc;
use std::thread::{self, JoinHandle};

use anyhow::Context;
use clap::ValueEnum;
use contract::limits;
use contract::message::{Need, Needs};
use contract::units::Bytes;

use crate::arena::Arena;
use crate::pthread;

/// Stacks of threads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct StackFlags {
    /// Size of a thread's stack; from 2MiB on each needs a page table of its own (4 KiB)
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = stack_size, help_heading = "Advanced")]
    pub stack_size: Bytes,

    /// Kind of the stacks
    #[arg(long, value_enum, default_value_t = Stacks::Std, help_heading = "Advanced")]
    pub stacks: Stacks,
}

/// Kind of the stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Stacks {
    /// those of std::thread, with a guard page and a signal stack: four memory maps each
    Std,
    /// out of one mapping made beforehand, without guard pages
    Arena,
}

/// Smallest stack that the C library accepts on x86-64 (PTHREAD_STACK_MIN).
const SMALLEST_STACK: Bytes = Bytes(16 * 1024);

fn stack_size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        size if size < SMALLEST_STACK => Err(format!("a thread needs at least {SMALLEST_STACK}")),
        Bytes(size) if size > 1 << 46 => Err("that is more than the address space".to_owned()),
        size => Ok(size),
    }
}

/// Memory maps of a thread of std: stack, guard page, signal stack and its guard page.
const STD_MAPS: u64 = 4;

/// Stack of a thread of std, unless it is told otherwise.
const STD_STACK: u64 = 2 << 20;

/// From this size on a stack has a page table of its own.
const PAGE_TABLE_SPAN: u64 = 2 << 20;

/// Bytes of a thread that has worked: its stack as far as it is used, queues, and the kernel's share.
const WORKER_BYTES: u64 = 100 << 10;

/// Address space that the C library reserves for each of its arenas, in which threads allocate
/// (`HEAP_MAX_SIZE`, malloc/arena.c in glibc).
const ARENA: u64 = 64 << 20;

/// Most arenas: eight for each CPU (`M_ARENA_MAX`, mallopt(3)).
fn arenas() -> u64 {
    thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64) * 8
}

/// Needs of so many workers, however many tasks they run.
pub fn worker_needs(workers: u32) -> Needs {
    let workers = u64::from(workers);
    Needs {
        threads: Need::new(workers, 0),
        maps: Need::new(workers * STD_MAPS, 0),
        bytes: Need::new(workers * WORKER_BYTES, 0),
        space: Need::new(workers * STD_STACK + workers.min(arenas()) * ARENA, 0),
        ..Needs::default()
    }
}

impl StackFlags {
    /// Needs of threads that wait, their kernel stacks and task structures included: about 40 KiB
    /// each, a tenth more than was seen.
    pub fn needs(&self) -> Needs {
        let tables = u64::from(self.bytes_each() >= PAGE_TABLE_SPAN) * (4 << 10);
        let maps = if self.stacks == Stacks::Std { STD_MAPS } else { 0 };
        Needs {
            threads: Need::new(0, 1),
            // Those of the arenas, and of the threads.
            maps: Need::new(64, maps),
            bytes: Need::new(0, (40 << 10) + tables),
            space: Need::new(arenas() * ARENA, self.bytes_each()),
            ..Needs::default()
        }
    }

    /// Bytes of address space of each stack, its guard page not counted. In an arena they are an odd number of
    /// pages, as std's are with their guard page: stacks that lie a power of two apart share few sets of the
    /// TLB.
    pub(crate) fn bytes_each(self) -> u64 {
        let Bytes(asked) = self.stack_size;
        if self.stacks == Stacks::Std {
            return asked;
        }
        let pages = asked.max(libc::PTHREAD_STACK_MIN as u64).div_ceil(page());
        (pages | 1).saturating_mul(page())
    }
}

/// Creates threads. Made once, before anything is timed: with [`Stacks::Arena`] it maps the stacks.
#[derive(Debug)]
pub struct Spawner {
    source: Source,
    tasks: u32,
}

#[derive(Debug)]
enum Source {
    /// Size of each stack.
    Std(usize),
    Arena(Rc<Arena>),
}

/// A thread that is awaited by [`Thread::join`], or else when it is dropped, so that its stack can be used
/// again. [`Thread::leave`] does not await it.
#[derive(Debug)]
pub struct Thread<T>(Option<Inner<T>>);

#[derive(Debug)]
enum Inner<T> {
    Std(JoinHandle<T>),
    Own(pthread::Handle<T>),
}

impl Spawner {
    /// For `tasks` threads at once at most.
    pub fn new(stack: StackFlags, tasks: u32) -> anyhow::Result<Self> {
        let size = stack.bytes_each() as usize;
        let source = match stack.stacks {
            Stacks::Std => Source::Std(size),
            Stacks::Arena => {
                Source::Arena(Arena::map(size, tasks).context("cannot map the stacks")?)
            }
        };
        Ok(Spawner { source, tasks })
    }

    /// Creates a thread that runs `body`.
    pub fn spawn<F, T>(&self, body: F) -> anyhow::Result<Thread<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let inner = match &self.source {
            Source::Std(size) => {
                thread::Builder::new().stack_size(*size).spawn(body).map(Inner::Std)
            }
            Source::Arena(arena) => {
                Arena::take(arena).and_then(|slot| pthread::create(slot, body)).map(Inner::Own)
            }
        };
        let inner = inner.with_context(|| limits::refused("create a thread", self.tasks))?;
        Ok(Thread(Some(inner)))
    }
}

impl<T> Thread<T> {
    /// Awaits the thread and returns what its body returned.
    pub fn join(mut self) -> thread::Result<T> {
        self.finish().expect("a thread is joined once")
    }

    /// Leaves the thread and its stack to the end of the process.
    pub fn leave(mut self) {
        std::mem::forget(self.0.take());
    }

    fn finish(&mut self) -> Option<thread::Result<T>> {
        self.0.take().map(|inner| match inner {
            Inner::Std(thread) => thread.join(),
            Inner::Own(thread) => thread.join(),
        })
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        // Whoever drops it does not want to know.
        let _ = self.finish();
    }
}

/// Bytes of a page of memory.
fn page() -> u64 {
    // SAFETY: sysconf only returns a number.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(size).unwrap_or(4096)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
