//! Links between tasks, of Tokio's own types: in an enum they cost nothing that can be seen.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use chain::{Fault, Misbehaviour, Transport};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;
use tokio::net::{TcpStream, UnixStream};

/// End of a link that a task reads from.
#[derive(Debug)]
pub enum AsyncReader {
    /// A pipe.
    Pipe(pipe::Receiver),
    /// A Unix socket.
    Unix(UnixStream),
    /// A TCP socket.
    Tcp(TcpStream),
    /// A link with a fault that a test asks for.
    Faulty(Box<(AsyncReader, Misbehaviour)>),
}

/// End of a link that a task writes to.
#[derive(Debug)]
pub enum AsyncWriter {
    /// A pipe.
    Pipe(pipe::Sender),
    /// A Unix socket.
    Unix(UnixStream),
    /// A TCP socket.
    Tcp(TcpStream),
}

/// Ends of links: the one to read from and the one to write to.
pub type Ends = (AsyncReader, AsyncWriter);

/// A link between tasks. Call it within a runtime.
pub fn link(transport: Transport) -> io::Result<Ends> {
    let (reader, writer) = transport.nonblocking_descriptors()?;
    Ok(match transport {
        Transport::Pipe => (
            AsyncReader::Pipe(pipe::Receiver::from_owned_fd(reader)?),
            AsyncWriter::Pipe(pipe::Sender::from_owned_fd(writer)?),
        ),
        Transport::Socketpair => (
            AsyncReader::Unix(UnixStream::from_std(reader.into())?),
            AsyncWriter::Unix(UnixStream::from_std(writer.into())?),
        ),
        Transport::Tcp => (
            AsyncReader::Tcp(TcpStream::from_std(reader.into())?),
            AsyncWriter::Tcp(TcpStream::from_std(writer.into())?),
        ),
    })
}

impl AsyncReader {
    /// The same end with a fault in it.
    #[must_use]
    pub fn with_fault(self, fault: Option<Fault>) -> Self {
        match fault {
            None => self,
            Some(fault) => AsyncReader::Faulty(Box::new((self, Misbehaviour::new(fault)))),
        }
    }
}

impl AsyncRead for AsyncReader {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            AsyncReader::Pipe(end) => Pin::new(end).poll_read(context, buffer),
            AsyncReader::Unix(end) => Pin::new(end).poll_read(context, buffer),
            AsyncReader::Tcp(end) => Pin::new(end).poll_read(context, buffer),
            AsyncReader::Faulty(faulty) => {
                let (end, misbehaviour) = &mut **faulty;
                if misbehaviour.hangs() {
                    return Poll::Pending;
                }
                misbehaviour.before_read()?;
                if misbehaviour.closes() {
                    return Poll::Ready(Ok(()));
                }
                ready!(Pin::new(end).poll_read(context, buffer))?;
                misbehaviour.after_read(buffer.filled_mut());
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl AsyncWrite for AsyncWriter {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            AsyncWriter::Pipe(end) => Pin::new(end).poll_write(context, bytes),
            AsyncWriter::Unix(end) => Pin::new(end).poll_write(context, bytes),
            AsyncWriter::Tcp(end) => Pin::new(end).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
