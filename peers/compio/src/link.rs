//! Links between tasks: descriptors that compio reads and writes.

use std::future::pending;
use std::io;
use std::mem;
use std::os::fd::OwnedFd;

use chain::{ChainFlags, Fault, Misbehaviour, Transport};
use compio::buf::{BufResult, IntoInner, IoBuf};
use compio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use compio::runtime::fd::AsyncFd;

/// A token, which an operation takes and gives back.
pub(crate) type Token = Box<[u8]>;

/// Room for a token, written, so that it is resident before anything is timed.
pub(crate) fn token(chain: &ChainFlags) -> Token {
    vec![u8::MAX; chain.token_size()].into_boxed_slice()
}

/// End of a link that a task reads from.
#[derive(Debug)]
pub(crate) struct Reader {
    end: AsyncFd<OwnedFd>,
    /// A fault that a test asks for.
    fault: Option<Misbehaviour>,
}

/// End of a link that a task writes to.
#[derive(Debug)]
pub(crate) struct Writer(AsyncFd<OwnedFd>);

/// A link between tasks. Call it within a runtime.
///
/// # Errors
/// What the system reports.
pub(crate) fn link(transport: Transport) -> io::Result<(Reader, Writer)> {
    let (reader, writer) = transport.descriptors()?;
    Ok((Reader { end: AsyncFd::new(reader)?, fault: None }, Writer(AsyncFd::new(writer)?)))
}

impl Reader {
    /// The same end with a fault in it.
    #[must_use]
    pub(crate) fn with(self, fault: Option<Fault>) -> Self {
        Reader { fault: fault.map(Misbehaviour::new), ..self }
    }

    /// Fills a token, in several reads where it comes in parts; `false` at the end of file.
    ///
    /// # Errors
    /// What the kernel reports, and an end of file in the middle of a token.
    pub(crate) async fn read(&mut self, token: &mut Token) -> io::Result<bool> {
        if let Some(misbehaviour) = &mut self.fault {
            if misbehaviour.hangs() {
                return pending().await;
            }
            misbehaviour.before_read()?;
            if misbehaviour.closes() {
                return Ok(false);
            }
        }
        let BufResult(read, mut bytes) = self.end.read(mem::take(token)).await;
        let is_token = match read {
            Ok(count) if 0 < count && count < bytes.len() => {
                let BufResult(rest, slice) = self.end.read_exact(bytes.slice(count..)).await;
                bytes = slice.into_inner();
                rest.map(|()| true)
            }
            other => other.map(|count| count > 0),
        };
        *token = bytes;
        if let (Some(misbehaviour), Ok(true)) = (&mut self.fault, &is_token) {
            misbehaviour.after_read(token);
        }
        is_token
    }
}

impl Writer {
    /// Writes a token, in several writes where it goes in parts.
    ///
    /// # Errors
    /// What the kernel reports.
    pub(crate) async fn write(&mut self, token: &mut Token) -> io::Result<()> {
        let BufResult(written, bytes) = self.0.write_all(mem::take(token)).await;
        *token = bytes;
        written
    }
}
