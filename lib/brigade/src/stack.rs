//! Threads on stacks of the size that the command line asks for.

use std::thread::{self, JoinHandle};

use anyhow::Context;
use contract::limits;
use host::console;
use host::units::Bytes;

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

impl StackFlags {
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
