//! The runtime that a user would pick: compio, on its io_uring driver. One thread, as the other
//! executor, and a ring of the same shape.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::anyhow;
use compio::BufResult;
use compio::driver::ProactorBuilder;
use compio::io::{AsyncRead, AsyncWrite};
use compio::runtime::fd::AsyncFd;
use compio::runtime::{JoinError, JoinHandle, Runtime};
use harness::panics;
use harness::waits::Waits;

use crate::executor::{Executor, Sink, Source};
use crate::setup::{Poller, Setup, Shape};

/// The runtime.
#[derive(Clone)]
pub(crate) struct Compio(Runtime);

impl Compio {
    /// A runtime with a ring of this shape.
    ///
    /// # Errors
    /// What compio reports.
    pub(crate) fn new(shape: Shape) -> anyhow::Result<Self> {
        let mut driver = ProactorBuilder::new();
        driver.capacity(shape.entries);
        match shape.setup {
            Setup::Plain => {}
            Setup::Cooperative => {
                driver.coop_taskrun(true);
            }
            Setup::SingleIssuer => {
                driver.single_issuer(true);
            }
            Setup::Deferred => {
                driver.single_issuer(true).defer_taskrun(true);
            }
            Setup::Sqpoll => {
                let poller = Poller::new()?;
                let idle = Duration::from_millis(poller.idle.into());
                driver.sqpoll_idle(idle).sqpoll_cpu(poller.cpu);
            }
        }
        let runtime = Runtime::builder().with_proactor(driver).build()?;
        Ok(Compio(runtime))
    }
}

impl Executor for Compio {
    type Reader = Reader;
    type Writer = Writer;
    type Task<T: 'static> = Task<T>;

    fn block_on<T>(&self, future: impl Future<Output = T>) -> io::Result<T> {
        Ok(self.0.block_on(future))
    }

    fn spawn<T: 'static>(
        &self,
        future: impl Future<Output = anyhow::Result<T>> + 'static,
    ) -> Task<T> {
        Task(self.0.spawn(future))
    }

    fn reader(&self, fd: OwnedFd) -> io::Result<Reader> {
        Ok(Reader(AsyncFd::new(fd)?))
    }

    fn writer(&self, fd: OwnedFd) -> io::Result<Writer> {
        Ok(Writer(AsyncFd::new(fd)?))
    }

    /// It does not count.
    fn waits(&self) -> Option<Waits> {
        None
    }
}

/// A task that was spawned.
pub(crate) struct Task<T>(JoinHandle<anyhow::Result<T>>);

impl<T> Future for Task<T> {
    type Output = anyhow::Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map(|joined| match joined {
            Ok(result) => result,
            Err(JoinError::Panicked(panic)) => Err(panics::error(&*panic)),
            Err(JoinError::Cancelled) => Err(anyhow!("the task was cancelled")),
        })
    }
}

/// The end of a link that is read from.
pub(crate) struct Reader(AsyncFd<OwnedFd>);

/// The end of a link that is written to.
pub(crate) struct Writer(AsyncFd<OwnedFd>);

impl Source for Reader {
    async fn read(&mut self) -> io::Result<Option<u8>> {
        let BufResult(read, [token]) = self.0.read([0]).await;
        Ok((read? == 1).then_some(token))
    }
}

impl Sink for Writer {
    async fn write(&mut self, token: u8) -> io::Result<()> {
        match self.0.write([token]).await.0? {
            0 => Err(ErrorKind::WriteZero.into()),
            _ => Ok(()),
        }
    }
}
