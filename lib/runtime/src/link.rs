//! Links between tasks: Tokio's own types in an enum, for which no cost was measured.

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll};

use brigade::{LinkFlags, Transport};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;
use tokio::net::{TcpStream, UnixStream};

/// End of a link that a task reads from.
#[derive(Debug)]
pub enum AsyncReader {
    Pipe(pipe::Receiver),
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// End of a link that a task writes to.
#[derive(Debug)]
pub enum AsyncWriter {
    Pipe(pipe::Sender),
    Unix(UnixStream),
    Tcp(TcpStream),
}

/// A link of a chain: the end to read from and the end to write to. Call it within a runtime.
pub fn link(links: &LinkFlags) -> anyhow::Result<(AsyncReader, AsyncWriter)> {
    let (reader, writer): (OwnedFd, OwnedFd) = links.transport.nonblocking_link(links.tasks())?;
    Ok(match links.transport {
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
