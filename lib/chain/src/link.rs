//! Links between tasks: descriptors that carry bytes, or a counter.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;

use clap::ValueEnum;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::pipe2;

use crate::fault::{Fault, Misbehaviour};

/// Kind of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// pipe(2)
    #[default]
    Pipe,
    /// a connected pair of Unix stream sockets
    Socketpair,
    /// a TCP connection over the loopback, without delay (TCP_NODELAY)
    Tcp,
    /// eventfd(2): a counter in place of a buffer; holds one token; for threads only
    Eventfd,
}

impl Transport {
    /// Bytes of an eventfd's counter.
    pub const COUNTER_SIZE: usize = 8;

    /// Name as a flag has it.
    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or(String::new(), |value| value.get_name().to_owned())
    }

    /// The end to read from and the end to write to. Both close on exec, so that no child keeps a
    /// chain open.
    ///
    /// # Errors
    /// What the system reports: EMFILE and ENFILE mean too few descriptors.
    pub fn descriptors(self) -> io::Result<(OwnedFd, OwnedFd)> {
        Ok(match self {
            Transport::Pipe => pipe2(OFlag::O_CLOEXEC)?,
            Transport::Socketpair => {
                socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?
            }
            Transport::Tcp => {
                let (reader, writer) = connection()?;
                (reader.into(), writer.into())
            }
            Transport::Eventfd => {
                let counter = EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?;
                let counter = OwnedFd::from(counter);
                (counter.try_clone()?, counter)
            }
        })
    }

    /// Upper bound of the kernel memory of a link, both ends: inodes, buffers, what waits.
    pub(crate) fn kernel_bytes(self) -> u64 {
        match self {
            Transport::Pipe => 8 << 10,
            Transport::Socketpair | Transport::Eventfd => 6 << 10,
            Transport::Tcp => 24 << 10,
        }
    }
}

fn connection() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let writer = TcpStream::connect(listener.local_addr()?)?;
    let address = writer.local_addr()?;
    loop {
        // Somebody else may have connected in between.
        let (reader, from) = listener.accept()?;
        if from == address {
            writer.set_nodelay(true)?;
            return Ok((reader, writer));
        }
    }
}

/// End of a link that a thread reads from.
#[derive(Debug)]
pub enum Reader {
    /// Bytes.
    Stream(File),
    /// A counter, in tokens of eight bytes, and whether its writer has gone.
    Counter(File, bool),
    /// Bytes or a counter, and a fault that a test asks for.
    Faulty(Box<Reader>, Misbehaviour),
}

/// End of a link that a thread writes to. When it is dropped the reader finds the end of file.
#[derive(Debug)]
pub enum Writer {
    /// Bytes.
    Stream(File),
    /// A counter.
    Counter(File),
}

/// Second byte of a counter at its writer's end: an eventfd has no end of file.
const COUNTER_ENDS: u8 = 1;

/// Last byte of a counter that holds a token: it keeps the counter from being 0, which would wake
/// nobody, and a second token from being added, since the sum is more than a counter holds.
pub(crate) const COUNTER_HAS_TOKEN: u8 = 0x80;

impl Transport {
    /// A link between threads.
    ///
    /// # Errors
    /// As [`Transport::descriptors`].
    pub fn link(self) -> io::Result<(Reader, Writer)> {
        let (reader, writer) = self.descriptors()?;
        let (reader, writer) = (File::from(reader), File::from(writer));
        Ok(match self {
            Transport::Eventfd => (Reader::Counter(reader, false), Writer::Counter(writer)),
            _ => (Reader::Stream(reader), Writer::Stream(writer)),
        })
    }
}

impl Transport {
    /// A link whose reads and writes do not wait.
    ///
    /// # Errors
    /// As [`Transport::descriptors`].
    pub fn nonblocking_link(self) -> io::Result<(Reader, Writer)> {
        let (reader, writer) = self.link()?;
        for end in [reader.file(), writer.file()] {
            fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok((reader, writer))
    }
}

impl Reader {
    /// The descriptor.
    pub fn file(&self) -> &File {
        match self {
            Reader::Stream(file) | Reader::Counter(file, _) => file,
            Reader::Faulty(reader, _) => reader.file(),
        }
    }

    /// The same end with a fault in it.
    #[must_use]
    pub fn with(self, fault: Option<Fault>) -> Self {
        match fault {
            None => self,
            Some(fault) => Reader::Faulty(Box::new(self), Misbehaviour::new(fault)),
        }
    }
}

impl Writer {
    /// The descriptor.
    pub fn file(&self) -> &File {
        match self {
            Writer::Stream(file) | Writer::Counter(file) => file,
        }
    }
}

impl Read for Reader {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Reader::Stream(file) => file.read(buffer),
            Reader::Counter(_, true) => Ok(0),
            Reader::Counter(file, ended) => {
                let read = file.read(buffer)?;
                *ended = buffer[1] == COUNTER_ENDS;
                buffer[1] = 0;
                // A token may have been there when the writer went.
                Ok(if buffer[7] == COUNTER_HAS_TOKEN { read } else { 0 })
            }
            Reader::Faulty(reader, misbehaviour) => {
                if misbehaviour.hangs() {
                    loop {
                        thread::park();
                    }
                }
                misbehaviour.before_read()?;
                let read = match misbehaviour.closes() {
                    true => 0,
                    false => reader.read(buffer)?,
                };
                misbehaviour.after_read(&mut buffer[..read]);
                Ok(read)
            }
        }
    }
}

impl Write for Writer {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Writer::Stream(file) => file.write(bytes),
            Writer::Counter(file) => match file.write(bytes) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => Err(ErrorKind::BrokenPipe.into()),
                other => other,
            },
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Writer::Counter(file) = self {
            // Beside a token there is always room for this.
            let _ = file.write_all(&[0, COUNTER_ENDS, 0, 0, 0, 0, 0, 0]);
        }
    }
}

impl Drop for Reader {
    /// An eventfd has no broken pipe either: who writes to it must not wait for ever.
    fn drop(&mut self) {
        if let Reader::Counter(file, _) = self {
            // Both ends share the setting. Whoever waits already is woken by the read.
            let _ = fcntl(&*file, FcntlArg::F_SETFL(OFlag::O_NONBLOCK));
            let _ = file.read(&mut [0; Transport::COUNTER_SIZE]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_kind_carries_tokens_and_ends() {
        for &transport in Transport::value_variants() {
            let (mut reader, mut writer) = transport.link().unwrap();
            let token = [7, 0, 0, 0, 0, 0, 0, COUNTER_HAS_TOKEN];
            let mut came = [0; 8];
            for _ in 0..3 {
                writer.write_all(&token).unwrap();
                reader.read_exact(&mut came).unwrap();
                assert_eq!(came, token, "{transport:?}");
            }
            drop(writer);
            assert_eq!(reader.read(&mut came).unwrap(), 0, "{transport:?}");
        }
    }

    #[test]
    fn who_writes_to_nobody_is_told() {
        for &transport in Transport::value_variants() {
            let (reader, mut writer) = transport.link().unwrap();
            let token = [7, 0, 0, 0, 0, 0, 0, COUNTER_HAS_TOKEN];
            writer.write_all(&token).unwrap();
            let writing = thread::spawn(move || while writer.write_all(&token).is_ok() {});
            thread::sleep(Duration::from_millis(10));
            drop(reader);
            writing.join().unwrap();
        }
    }
}
