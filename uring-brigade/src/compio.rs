//! The runtime that a user would pick: compio, on its io_uring driver. One thread, as the other
//! executor, and a ring of the same shape.

use std::io::{self, ErrorKind};
use std::mem;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::anyhow;
use compio::buf::{BufResult, IntoInner, IoBuf};
use compio::driver::ProactorBuilder;
use compio::io::{AsyncRead, AsyncWrite};
use compio::runtime::fd::AsyncFd;
use compio::runtime::{JoinError, JoinHandle, Runtime};
use harness::panics;
use harness::waits::Waits;

use crate::executor::{Executor, Sink, Source, Token, cut_short};
use crate::setup::{Poller, Setup, Shape};

/// A token that compio reads into and writes from. One of a byte has nothing to go on with.
pub(crate) trait Buffer: Token {
    /// As [`Source::read`].
    async fn read_from(&mut self, fd: &mut AsyncFd<OwnedFd>) -> io::Result<bool>;

    /// As [`Sink::write`].
    async fn write_to(&mut self, fd: &mut AsyncFd<OwnedFd>) -> io::Result<()>;
}

impl Buffer for [u8; 1] {
    async fn read_from(&mut self, fd: &mut AsyncFd<OwnedFd>) -> io::Result<bool> {
        let BufResult(read, token) = fd.read(*self).await;
        *self = token;
        Ok(read? == 1)
    }

    async fn write_to(&mut self, fd: &mut AsyncFd<OwnedFd>) -> io::Result<()> {
        match fd.write(*self).await.0? {
            0 => Err(ErrorKind::WriteZero.into()),
            _ => Ok(()),
        }
    }
}

impl Buffer for Box<[u8]> {
    async fn read_from(&mut self, fd: &mut AsyncFd<OwnedFd>) -> io::Result<bool> {
        let mut done = 0;
        while done < self.len() {
            let BufResult(read, rest) = fd.read(mem::take(self).slice(done..)).await;
            *self = rest.into_inner();
            match read? {
                0 if done == 0 => return Ok(false),
                0 => return Err(cut_short()),
                count => done += count,
            }
        }
        Ok(true)
    }

    async fn write_to(&mut self, fd: &mut AsyncFd<OwnedFd>) -> io::Result<()> {
        let mut done = 0;
        while done < self.len() {
            let BufResult(written, rest) = fd.write(mem::take(self).slice(done..)).await;
            *self = rest.into_inner();
            match written? {
                0 => return Err(ErrorKind::WriteZero.into()),
                count => done += count,
            }
        }
        Ok(())
    }
}

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

impl<B: Buffer> Executor<B> for Compio {
    type Reader = Reader;
    type Writer = Writer;
    type Task<O: 'static> = Task<O>;

    fn block_on<O>(&self, future: impl Future<Output = O>) -> io::Result<O> {
        Ok(self.0.block_on(future))
    }

    fn spawn<O: 'static>(
        &self,
        future: impl Future<Output = anyhow::Result<O>> + 'static,
    ) -> Task<O> {
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
pub(crate) struct Task<O>(JoinHandle<anyhow::Result<O>>);

impl<O> Future for Task<O> {
    type Output = anyhow::Result<O>;

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

impl<B: Buffer> Source<B> for Reader {
    fn read(&mut self, token: &mut B) -> impl Future<Output = io::Result<bool>> {
        token.read_from(&mut self.0)
    }
}

impl<B: Buffer> Sink<B> for Writer {
    fn write(&mut self, token: &mut B) -> impl Future<Output = io::Result<()>> {
        token.write_to(&mut self.0)
    }
}
