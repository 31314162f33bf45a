//! What a chain is made of: pipes, socket pairs and eventfds.

#![expect(unsafe_code, reason = "a descriptor is closed that no type owns")]

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{FromRawFd, OwnedFd};

use anyhow::{Context, bail};
use clap::ValueEnum;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::pipe2;
use serde::Serialize;

use crate::BadUsage;
use crate::payload::Payload;
use crate::units::Bytes;

pub mod eventfd;
pub mod pipes;
#[cfg(test)]
mod tests;

/// The flags of a chain over I/O, whose links are of a kind `T`.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Chain<T: Kind = Transport> {
    /// What a link is made of
    #[arg(long, value_enum, default_value_t = T::default())]
    pub transport: T,

    /// How many tokens are in flight at once
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub tokens: u32,
}

/// What links can be made of.
pub trait Kind: ValueEnum + Copy + Default + Serialize + Send + Sync + 'static {
    /// How many tokens an empty link holds before a write would block.
    ///
    /// # Errors
    /// Where that has to be found out and cannot.
    fn capacity(self, payload: Payload) -> anyhow::Result<u64>;

    /// How many tokens can be sent into a chain of `tasks` tasks before the first one is taken back:
    /// as many as one link holds, or one for each task, which reads the whole of it before it
    /// passes any of it on. A chain holds more than that, but not reliably: a socket whose buffer
    /// was full is reported as writable only when three quarters of it are free again
    /// (`unix_writable` in the kernel's net/unix/af_unix.c).
    ///
    /// # Errors
    /// As [`Kind::capacity`].
    fn capacity_along(self, tasks: u32, payload: Payload) -> anyhow::Result<u64> {
        Ok(self.capacity(payload)?.max(tasks.into()))
    }

    /// What else to do where more tokens of a byte are asked for than that.
    fn roomier(self) -> &'static str;

    /// Whether a link carries one number, and no bytes.
    fn is_a_number(self) -> bool {
        false
    }
}

/// A pair of descriptors that carries bytes, in one process or between two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// pipe(2)
    #[default]
    Pipe,
    /// a connected pair of Unix stream sockets
    Socketpair,
}

/// What a link inside one process is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Local {
    /// pipe(2)
    #[default]
    Pipe,
    /// a connected pair of Unix stream sockets
    Socketpair,
    /// eventfd(2): a counter instead of a buffer, one descriptor for both ends; holds one token
    Eventfd,
}

impl From<Transport> for Local {
    fn from(transport: Transport) -> Self {
        match transport {
            Transport::Pipe => Local::Pipe,
            Transport::Socketpair => Local::Socketpair,
        }
    }
}

/// The two ends of a link.
#[derive(Debug)]
pub struct Link {
    /// The end that is read from.
    pub reader: OwnedFd,
    /// The end that is written to.
    pub writer: OwnedFd,
}

/// Whether a read of an empty link waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The calling thread sleeps.
    Blocking,
    /// The call returns EAGAIN.
    NonBlocking,
}

impl Transport {
    /// Makes one link. Both ends close on exec, so that no child keeps a chain open.
    ///
    /// # Errors
    /// What pipe2(2) or socketpair(2) reports: EMFILE and ENFILE mean too few descriptors.
    pub fn link(self, mode: Mode) -> io::Result<Link> {
        let link = self.make(mode)?;
        if self == Transport::Pipe {
            pipes::count(&link.writer);
        }
        Ok(link)
    }

    fn make(self, mode: Mode) -> io::Result<Link> {
        let blocking = mode == Mode::Blocking;
        let (reader, writer) = match self {
            Transport::Pipe => {
                let flags = if blocking {
                    OFlag::empty()
                } else {
                    OFlag::O_NONBLOCK
                };
                pipe2(OFlag::O_CLOEXEC | flags)?
            }
            Transport::Socketpair => {
                let flags = if blocking {
                    SockFlag::empty()
                } else {
                    SockFlag::SOCK_NONBLOCK
                };
                socketpair(
                    AddressFamily::Unix,
                    SockType::Stream,
                    None,
                    SockFlag::SOCK_CLOEXEC | flags,
                )?
            }
        };
        Ok(Link { reader, writer })
    }
}

impl Kind for Transport {
    /// Found by filling one with tokens. A pipe merges small ones into pages; a socket keeps a
    /// buffer with its own overhead for each, so the figure differs a hundredfold and is not to be
    /// computed from any documented size.
    fn capacity(self, payload: Payload) -> anyhow::Result<u64> {
        fill(self.make(Mode::NonBlocking)?, payload)
    }

    fn roomier(self) -> &'static str {
        match self {
            Transport::Pipe => "",
            Transport::Socketpair => ", or use --transport pipe, which holds more",
        }
    }
}

/// Fills a link that does not wait with whole tokens, and counts them.
fn fill(link: Link, payload: Payload) -> anyhow::Result<u64> {
    let mut writer = File::from(link.writer);
    let token = vec![0; payload.size()];
    let mut held = 0;
    loop {
        match writer.write(&token) {
            Ok(written) if written == token.len() => held += 1,
            Ok(_) => return Ok(held),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(held),
            Err(e) => return Err(e).context("cannot fill a link to learn its capacity"),
        }
    }
}

impl Kind for Local {
    fn capacity(self, payload: Payload) -> anyhow::Result<u64> {
        match self {
            Local::Pipe => Transport::Pipe.capacity(payload),
            Local::Socketpair => Transport::Socketpair.capacity(payload),
            Local::Eventfd => Ok(1),
        }
    }

    fn roomier(self) -> &'static str {
        match self {
            Local::Pipe => "",
            Local::Socketpair | Local::Eventfd => Transport::Socketpair.roomier(),
        }
    }

    fn is_a_number(self) -> bool {
        self == Local::Eventfd
    }
}

impl<T: Kind> Chain<T> {
    /// Checks that the tokens in flight find room in each of the links by itself, where a single
    /// thread writes all of them before it reads one: with less room it would wait for ever.
    ///
    /// # Errors
    /// A [`BadUsage`] error that names the largest `--tokens` that fits, or where not even one does,
    /// the size of it.
    pub fn check_room(&self, payload: Payload) -> anyhow::Result<()> {
        self.check_carries(payload)?;
        if payload.of(self.tokens) == 1 {
            return Ok(());
        }
        self.check_most(self.transport.capacity(payload)?, payload, "a link holds")
    }

    /// Checks that the tokens in flight find room where `tasks` tasks pass them on meanwhile: the
    /// driver sends all of them before it takes the first one back. A single one always does,
    /// however large: while it is written its reader does nothing but read.
    ///
    /// # Errors
    /// As [`Chain::check_room`].
    pub fn check_room_along(&self, tasks: u32, payload: Payload) -> anyhow::Result<()> {
        self.check_carries(payload)?;
        if self.tokens == 1 {
            return Ok(());
        }
        if self.transport.is_a_number() {
            return check_one_each(self.tokens, tasks);
        }
        let most = self.transport.capacity_along(tasks, payload)?;
        self.check_most(most, payload, "a link holds, and than there are tasks")
    }

    fn check_carries(&self, payload: Payload) -> anyhow::Result<()> {
        match self.transport.is_a_number() && !payload.is_a_byte() {
            true => Err(BadUsage::new(format!(
                "--bytes {}: an eventfd carries a number and no bytes: drop it, or use --transport pipe",
                payload.size()
            ))),
            false => Ok(()),
        }
    }

    fn check_most(&self, most: u64, payload: Payload, holds: &str) -> anyhow::Result<()> {
        let (tokens, size) = (self.tokens, payload.size());
        if u64::from(tokens) <= most {
            return Ok(());
        }
        let roomier = self.transport.roomier();
        Err(BadUsage::new(match (most, payload.is_a_byte()) {
            (0, _) => format!(
                "--bytes {size} is more than a link holds, and nobody reads while it is written: lower it"
            ),
            (_, true) => format!(
                "--tokens {tokens} is more than {holds} (at most {most}): lower it{roomier}"
            ),
            (_, false) => format!(
                "--tokens {tokens} of --bytes {size} is more than {holds} (at most {most}): lower either"
            ),
        }))
    }
}

/// Checks that the tokens in flight find room in the links of a chain of `tasks` tasks, each of which
/// holds one: the driver sends all of them before it takes the first one back.
///
/// # Errors
/// A [`BadUsage`] error that names the largest `--tokens` that fits.
pub fn check_one_each(tokens: u32, tasks: u32) -> anyhow::Result<()> {
    let most = u64::from(tasks) + 1;
    if u64::from(tokens) > most {
        return Err(BadUsage::new(format!(
            "--tokens {tokens} is more than the links hold, one each (at most {most}): lower it, or raise --tasks"
        )));
    }
    Ok(())
}

/// The flag for how much a non-blocking read asks for.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct ReadBuffer {
    /// How many bytes each read asks for; with 1, as many as a token has (see --bytes). In the
    /// original that is one byte: a read fills the buffer, so that it takes a second read to find
    /// that nothing is left. With more than a token a read that comes back short tells that
    /// already. Where several tokens wait in a link one read may take them all; each is still
    /// passed on by a write of its own
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "1", value_parser = buffer_size)]
    pub read_buffer: Bytes,
}

/// The largest buffer: what a pipe can hold at most by default, `fs.pipe-max-size`.
const LARGEST_BUFFER: u64 = 1 << 20;

fn buffer_size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        Bytes(0) => Err("a read of no bytes takes no token".to_owned()),
        Bytes(size) if size > LARGEST_BUFFER => Err(format!(
            "no link holds so much: at most {}",
            Bytes(LARGEST_BUFFER)
        )),
        size => Ok(size),
    }
}

impl ReadBuffer {
    /// Its size in bytes.
    pub fn size(self) -> usize {
        self.read_buffer.0 as usize
    }
}

/// Makes the kernel's table of this process's descriptors as large as it is going to be.
///
/// The table doubles when it is full, and once the process has threads each doubling waits until
/// no CPU reads the old one (`expand_fdtable` in the kernel's fs/file.c calls `synchronize_rcu`):
/// tens of milliseconds, which would make up most of the set-up of a small chain.
pub(crate) fn make_room(descriptors: u64) {
    let Ok(highest) = i32::try_from(descriptors) else {
        return;
    };
    // Nothing depends on it: where it fails, the table grows as it always does.
    if let Ok(fd) = fcntl(io::stderr(), FcntlArg::F_DUPFD_CLOEXEC(highest)) {
        // SAFETY: the call has just made this descriptor, and nobody else knows of it.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
}

/// Checks that the tasks together passed on what was sent through each of them.
///
/// # Errors
/// Where a token was lost or made up on the way.
pub(crate) fn verify_passed(passed: u64, tasks: u32, sent: u64) -> anyhow::Result<()> {
    let expected = u128::from(tasks) * u128::from(sent);
    if u128::from(passed) != expected {
        bail!("the tasks passed on {passed} tokens, expected {expected}");
    }
    Ok(())
}
