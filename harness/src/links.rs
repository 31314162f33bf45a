//! What a chain is made of: pipes, socket pairs and eventfds, and the check of what came through
//! them.

#![expect(unsafe_code, reason = "a descriptor is closed that no type owns")]

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{FromRawFd, OwnedFd};

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::pipe2;
use serde::Serialize;

use crate::BadUsage;
use crate::limits::Demand;
use crate::units::Bytes;

pub mod eventfd;
pub mod pipes;

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
    /// How many tokens a link holds before a write would block.
    ///
    /// # Errors
    /// Where that has to be found out and cannot.
    fn capacity(self) -> anyhow::Result<u64>;

    /// What else to do where more are asked for than that.
    fn roomier(self) -> &'static str;
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
    /// Found by filling one with one-byte tokens. A pipe merges them into pages; a socket keeps a
    /// buffer with its own overhead for each, so the figure differs a hundredfold and is not to be
    /// computed from any documented size.
    fn capacity(self) -> anyhow::Result<u64> {
        let Link {
            reader: _reader,
            writer,
        } = self.make(Mode::NonBlocking)?;
        let mut writer = File::from(writer);
        let mut held = 0;
        loop {
            match writer.write(&[0]) {
                Ok(_) => held += 1,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(held),
                Err(e) => return Err(e).context("cannot fill a link to learn its capacity"),
            }
        }
    }

    fn roomier(self) -> &'static str {
        match self {
            Transport::Pipe => "",
            Transport::Socketpair => ", or use --transport pipe, which holds more",
        }
    }
}

impl Kind for Local {
    fn capacity(self) -> anyhow::Result<u64> {
        match self {
            Local::Pipe => Transport::Pipe.capacity(),
            Local::Socketpair => Transport::Socketpair.capacity(),
            Local::Eventfd => Ok(1),
        }
    }

    fn roomier(self) -> &'static str {
        match self {
            Local::Pipe => "",
            Local::Socketpair | Local::Eventfd => Transport::Socketpair.roomier(),
        }
    }
}

impl<T: Kind> Chain<T> {
    /// Checks that the tokens in flight find room in a single link: the driver sends all of them
    /// before it takes the first one back, and with less room it could wait for ever. A chain holds
    /// more than one link does, but not reliably: a socket whose buffer was full is reported as
    /// writable only when three quarters of it are free again (`unix_writable` in the kernel's
    /// net/unix/af_unix.c).
    ///
    /// # Errors
    /// A [`BadUsage`] error that names the largest `--tokens` that fits.
    pub fn check_room(&self) -> anyhow::Result<()> {
        if self.tokens == 1 {
            return Ok(());
        }
        let most = self.transport.capacity()?;
        if u64::from(self.tokens) > most {
            return Err(BadUsage::new(format!(
                "--tokens {} is more than a link holds (at most {most}): lower it{}",
                self.tokens,
                self.transport.roomier()
            )));
        }
        Ok(())
    }
}

impl Chain<Local> {
    /// Checks that the tokens in flight find room where `tasks` tasks pass them on meanwhile: in a
    /// single link, or, over eventfds, which can be relied on, one in each link.
    ///
    /// # Errors
    /// As [`Chain::check_room`].
    pub fn check_room_along(&self, tasks: u32) -> anyhow::Result<()> {
        match self.transport {
            Local::Eventfd => check_one_each(self.tokens, tasks),
            Local::Pipe | Local::Socketpair => self.check_room(),
        }
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
    /// How many bytes each read asks for; a token is one. With 1, the original's, a read fills the
    /// buffer, so that it takes a second read to find that nothing is left. With more a read that
    /// comes back short tells that already. Where several tokens wait in a link one read may take
    /// them all; each is still passed on by a write of its own
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, default_value = "1", value_parser = buffer_size)]
    pub read_buffer: Bytes,
}

/// The largest buffer: what a pipe can hold at most by default, `fs.pipe-max-size`.
const LARGEST_BUFFER: u64 = 1 << 20;

fn buffer_size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        Bytes(0) => Err("a read of no bytes takes no token".to_owned()),
        Bytes(size) if size > LARGEST_BUFFER => Err(format!(
            "no link holds so many tokens: at most {}",
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

    /// What the buffers of N tasks need of the system. A single byte is in the task itself.
    pub fn demand(self) -> Demand {
        Demand::buffers(self.read_buffer.0)
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

/// Checks the tokens that came out of a chain of `tasks` tasks: the `k`th set out as
/// `start + k`, and each task added one.
///
/// # Errors
/// Says which token is wrong: some task was skipped, or visited twice.
pub fn verify(tokens: &[u8], start: u8, tasks: u32) -> anyhow::Result<()> {
    for (k, &token) in tokens.iter().enumerate() {
        let expected = start.wrapping_add(k as u8).wrapping_add(tasks as u8);
        ensure!(
            token == expected,
            "token {k} came out as {token}, expected {expected}: it did not visit each of the {tasks} tasks once"
        );
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_link_carries_bytes_one_way() {
        for transport in [Transport::Pipe, Transport::Socketpair] {
            let Link { reader, writer } = transport.link(Mode::Blocking).unwrap();
            let (mut reader, mut writer) = (File::from(reader), File::from(writer));
            writer.write_all(&[1, 2]).unwrap();
            drop(writer);
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            assert_eq!(all, [1, 2]);
        }
    }

    #[test]
    fn a_nonblocking_link_does_not_wait() {
        for transport in [Transport::Pipe, Transport::Socketpair] {
            let link = transport.link(Mode::NonBlocking).unwrap();
            let error = File::from(link.reader).read(&mut [0]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
        }
    }

    #[test]
    fn more_tokens_than_the_links_hold_are_refused() {
        let chain = |tokens| Chain {
            transport: Transport::Socketpair,
            tokens,
        };
        assert!(chain(2).check_room().is_ok());
        let error = chain(u32::MAX).check_room().unwrap_err();
        assert!(error.downcast_ref::<BadUsage>().is_some(), "{error}");
        assert!(error.to_string().contains("--tokens"), "{error}");
    }

    #[test]
    fn where_each_link_holds_one_there_is_room_for_as_many_as_there_are() {
        let room = |transport, tokens| Chain { transport, tokens }.check_room_along(3).is_ok();
        assert!(room(Local::Eventfd, 4) && !room(Local::Eventfd, 5));
        assert!(room(Local::Pipe, 5));
        let alone = |tokens| Chain {
            transport: Local::Eventfd,
            tokens,
        };
        assert!(alone(1).check_room().is_ok());
        assert!(alone(2).check_room().is_err(), "nobody passes them on");
    }

    #[test]
    fn a_token_that_skipped_a_task_is_found() {
        assert!(verify(&[250, 251], 245, 5).is_ok());
        assert!(verify(&[4], 255, 5).is_ok());
        assert!(verify(&[5], 255, 5).is_err());
        assert!(verify_passed(30, 5, 6).is_ok());
        assert!(verify_passed(29, 5, 6).is_err());
    }
}
