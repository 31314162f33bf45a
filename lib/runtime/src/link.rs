//! Links between tasks, of Tokio's own types: in an enum they cost nothing that can be seen.

use std::future::pending;
use std::io;
use std::net::TcpStream as StdTcpStream;
use std::os::unix::net::UnixStream as StdUnixStream;

use chain::{Fault, Misbehaviour, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
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

/// A link between tasks. Call it within a runtime.
///
/// # Errors
/// What the system reports; an eventfd is `Unsupported`.
pub fn link(transport: Transport) -> io::Result<(AsyncReader, AsyncWriter)> {
    let (reader, writer) = transport.descriptors()?;
    Ok(match transport {
        Transport::Pipe => (
            AsyncReader::Pipe(pipe::Receiver::from_owned_fd(reader)?),
            AsyncWriter::Pipe(pipe::Sender::from_owned_fd(writer)?),
        ),
        Transport::Socketpair => {
            let socket = |end| {
                let socket = StdUnixStream::from(end);
                socket.set_nonblocking(true)?;
                UnixStream::from_std(socket)
            };
            (
                AsyncReader::Unix(socket(reader)?),
                AsyncWriter::Unix(socket(writer)?),
            )
        }
        Transport::Tcp => {
            let socket = |end| {
                let socket = StdTcpStream::from(end);
                socket.set_nonblocking(true)?;
                TcpStream::from_std(socket)
            };
            (
                AsyncReader::Tcp(socket(reader)?),
                AsyncWriter::Tcp(socket(writer)?),
            )
        }
        Transport::Eventfd => return Err(io::ErrorKind::Unsupported.into()),
    })
}

impl AsyncReader {
    /// The same end with a fault in it.
    #[must_use]
    pub fn with(self, fault: Option<Fault>) -> Self {
        match fault {
            None => self,
            Some(fault) => AsyncReader::Faulty(Box::new((self, Misbehaviour::new(fault)))),
        }
    }

    /// Reads what there is, or waits for it.
    ///
    /// # Errors
    /// What the system reports.
    #[inline]
    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            AsyncReader::Pipe(end) => end.read(buffer).await,
            AsyncReader::Unix(end) => end.read(buffer).await,
            AsyncReader::Tcp(end) => end.read(buffer).await,
            AsyncReader::Faulty(faulty) => {
                let (end, misbehaviour) = &mut **faulty;
                if misbehaviour.hangs() {
                    pending::<()>().await;
                }
                misbehaviour.before_read()?;
                let read = match misbehaviour.closes() {
                    true => 0,
                    false => Box::pin(end.read(buffer)).await?,
                };
                misbehaviour.after_read(&mut buffer[..read]);
                Ok(read)
            }
        }
    }
}

impl AsyncWriter {
    /// Writes all of it, waiting for room where there is none.
    ///
    /// # Errors
    /// What the system reports.
    #[inline]
    pub async fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            AsyncWriter::Pipe(end) => end.write_all(bytes).await,
            AsyncWriter::Unix(end) => end.write_all(bytes).await,
            AsyncWriter::Tcp(end) => end.write_all(bytes).await,
        }
    }
}
