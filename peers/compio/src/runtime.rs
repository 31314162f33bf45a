//! compio's runtime, its needs, and its reads and writes.

use std::io;
use std::os::fd::OwnedFd;

use anyhow::{Result, anyhow};
use compio::buf::BufResult;
use compio::io::{AsyncRead, AsyncWriteExt};
use compio::runtime::fd::AsyncFd;
use compio::runtime::{JoinError, JoinHandle, Runtime};
use contract::console;
use contract::message::{self, Need, Needs};
use uring_brigade::Executor;

/// Bytes of the ring, which has 1024 entries.
const RING_BYTES: u64 = 256 << 10;

/// Bytes of a task at rest: its operation, here and in the kernel.
const TASK_BYTES: u64 = 3 << 10;

/// Needs of the ring, of the descriptor that wakes it, and of the tasks.
pub(crate) fn needs() -> Needs {
    Needs {
        descriptors: Need::new(2, 0),
        maps: Need::new(4, 0),
        bytes: Need::new(RING_BYTES, TASK_BYTES),
        ..Needs::default()
    }
}

/// The runtime as a description names it.
pub(crate) fn describe() -> message::Runtime {
    message::Runtime::one_thread("compio", option_env!("COMPIO_VERSION"))
}

/// The runtime with its defaults.
pub(crate) struct Compio(Runtime);

impl Compio {
    /// Starts it, if io_uring is available.
    pub(crate) fn open() -> Result<Self> {
        Runtime::new().map(Compio).map_err(|e| {
            anyhow!("io_uring is not available: {e} (uring-brigade names the cause and the remedy)")
        })
    }
}

impl Executor for Compio {
    type Task<T> = JoinHandle<T>;
    type End = End;

    fn end(&self, fd: OwnedFd) -> io::Result<End> {
        self.0.enter(|| AsyncFd::new(fd)).map(End)
    }

    fn spawn<T: 'static>(&self, task: impl Future<Output = T> + 'static) -> JoinHandle<T> {
        self.0.spawn(task)
    }

    fn run_ready(&self) {
        self.0.enter(|| self.0.run());
    }

    fn join<T: 'static>(&self, task: JoinHandle<T>) -> Result<T> {
        self.0.block_on(task).map_err(|died| match died {
            JoinError::Panicked(panic) => console::panic_error(&*panic),
            cancelled => anyhow!("{cancelled}"),
        })
    }
}

/// End of a link.
pub(crate) struct End(AsyncFd<OwnedFd>);

impl uring_brigade::End for End {
    async fn read(&mut self) -> io::Result<Option<u8>> {
        let BufResult(read, [token]) = self.0.read([u8::MAX]).await;
        Ok((read? > 0).then_some(token))
    }

    async fn write(&mut self, token: u8) -> io::Result<()> {
        self.0.write_all([token]).await.0
    }
}
