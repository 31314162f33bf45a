//! Threads on stacks of the size that the command line asks for.

use std::thread::{self, JoinHandle};

use anyhow::Context;
use contract::message::{Need, Needs};
use contract::units::Bytes;
use contract::{console, limits};

/// Stacks of threads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct StackFlags {
    /// Stack size per thread; a stack of 2MiB or more also needs a page table of its own (4 KiB)
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, default_value = "1MiB", value_parser = stack_size, help_heading = "Advanced")]
    pub stack_size: Bytes,
}

/// Size of a stack unless the command line says otherwise.
const DEFAULT_STACK: u64 = 1 << 20;

/// Smallest stack that the C library accepts on x86-64 (PTHREAD_STACK_MIN).
const SMALLEST_STACK: Bytes = Bytes(16 * 1024);

fn stack_size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        size if size < SMALLEST_STACK => {
            Err(format!("a thread needs at least {SMALLEST_STACK}: raise it"))
        }
        Bytes(size) if size > 1 << 46 => {
            Err("a stack must fit the address space, 64 TiB: lower it".to_owned())
        }
        size => Ok(size),
    }
}

/// Memory maps of a thread: stack, guard page, signal stack and its guard page. The kernel allows a process
/// 65,530 unless told otherwise (vm.max_map_count).
const MAPS: u64 = 4;

/// Default stack size of a thread.
const STD_STACK: u64 = 2 << 20;

/// From this size on a stack has a page table of its own.
const PAGE_TABLE_SPAN: u64 = 2 << 20;

/// Bytes of a thread that has worked: its stack as far as it is used, queues, and the kernel's share.
const WORKER_BYTES: u64 = 100 << 10;

/// Needs of `workers` workers, however many tasks they run.
pub fn worker_needs(workers: u32) -> Needs {
    let workers = u64::from(workers);
    Needs {
        threads: Need::new(workers, 0),
        maps: Need::new(workers * MAPS, 0),
        bytes: Need::new(workers * WORKER_BYTES, 0),
        space: Need::new(workers * STD_STACK, 0),
        ..Needs::default()
    }
}

impl StackFlags {
    /// Needs of threads that wait, their kernel stacks and task structures included: about 40 KiB
    /// each, a tenth more than was seen. The heaps that the C library reserves for threads (arenas, mallopt(3)) are
    /// not counted: with less address space, it makes fewer of them.
    pub fn needs(self) -> Needs {
        let Bytes(stack) = self.stack_size;
        let tables = u64::from(stack >= PAGE_TABLE_SPAN) * (4 << 10);
        Needs {
            threads: Need::new(0, 1),
            // Those heaps do take maps.
            maps: Need::new(64, MAPS),
            bytes: Need::new(0, (40 << 10) + tables),
            space: Need::new(0, stack),
            ..Needs::default()
        }
    }

    /// True if the size is the usual one.
    pub fn is_default(self) -> bool {
        self.stack_size == Bytes(DEFAULT_STACK)
    }

    /// Creates one of `tasks` threads, which runs `body`.
    #[inline]
    pub fn spawn<F, T>(self, tasks: u32, body: F) -> anyhow::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_for("--tasks", tasks, body)
    }

    /// The same for another flag, which asks for so many threads.
    #[inline]
    pub fn spawn_for<F, T>(self, flag: &str, number: u32, body: F) -> anyhow::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let thread = thread::Builder::new().stack_size(self.stack_size.0 as usize).spawn(body);
        thread.with_context(|| match self.stack_size {
            Bytes(..=DEFAULT_STACK) => limits::refused("create a thread", flag, number),
            // One such stack may be too large.
            _ => limits::refused("create a thread", &format!("--stack-size or {flag}"), u32::MAX),
        })
    }
}

/// Awaits a thread, and returns what its body returned; one that panicked is an error.
pub fn join<T>(thread: JoinHandle<T>) -> anyhow::Result<T> {
    thread.join().map_err(|panic| console::panic_error(&*panic))
}
