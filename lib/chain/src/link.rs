//! Links between tasks: pairs of descriptors that carry bytes, and a task that blocks on them.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use anyhow::Context;
use clap::ValueEnum;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
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
    /// a TCP connection over loopback, with TCP_NODELAY
    Tcp,
}

impl Transport {
    /// The end to read from and the end to write to. Both close on exec, so that no child keeps a
    /// chain open.
    pub fn descriptors(self) -> io::Result<(OwnedFd, OwnedFd)> {
        Ok(match self {
            Transport::Pipe => pipe2(OFlag::O_CLOEXEC)?,
            Transport::Socketpair => {
                socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?
            }
            Transport::Tcp => connection()?,
        })
    }

    /// The same, with reads and writes that do not wait.
    pub fn nonblocking_descriptors(self) -> io::Result<(OwnedFd, OwnedFd)> {
        let (reader, writer) = self.descriptors()?;
        for end in [&reader, &writer] {
            fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok((reader, writer))
    }

    /// Upper bound of the kernel memory for both ends of a link: inodes, buffers, waiters.
    pub(crate) fn kernel_bytes(self) -> u64 {
        match self {
            Transport::Pipe => 8 << 10,
            Transport::Socketpair => 6 << 10,
            Transport::Tcp => 24 << 10,
        }
    }

    /// Number of tokens that an empty link holds, found by filling one: a pipe merges small writes into pages, while a
    /// socket keeps a buffer, with overhead, for each write.
    pub(crate) fn capacity(self) -> anyhow::Result<u32> {
        let link = self.nonblocking_descriptors();
        let (_reader, writer) = link.context("cannot learn a link's capacity")?;
        let mut writer = File::from(writer);
        let mut held = 0;
        loop {
            match writer.write(&[0]) {
                Ok(_) => held += 1,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(held),
                Err(e) => return Err(e).context("cannot learn a link's capacity"),
            }
        }
    }
}

fn connection() -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let writer = TcpStream::connect(listener.local_addr()?)?;
    let address = writer.local_addr()?;
    loop {
        // Somebody else may have connected in between.
        let (reader, from) = listener.accept()?;
        if from == address {
            writer.set_nodelay(true)?;
            return Ok((reader.into(), writer.into()));
        }
    }
}

/// Reading end of a link in a thread, with a fault if a test asks for one.
#[derive(Debug)]
pub struct Reader {
    file: File,
    fault: Option<Misbehaviour>,
}

impl Reader {
    /// The end with this descriptor.
    pub fn new(fd: OwnedFd, fault: Option<Fault>) -> Self {
        Reader { file: fd.into(), fault: fault.map(Misbehaviour::new) }
    }

    /// The descriptor.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Read for Reader {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.fault {
            None => self.file.read(buffer),
            Some(fault) => fault.read(buffer, |buffer| self.file.read(buffer)),
        }
    }
}

/// Until the end of file, reads a token, adds one and writes it on. Returns the number of tokens.
pub fn pass_on(from: OwnedFd, to: OwnedFd, fault: Option<Fault>) -> io::Result<u64> {
    if fault.is_none() {
        pass_bytes(File::from(from), to.into())
    } else {
        pass_bytes(Reader::new(from, fault), to.into())
    }
}

fn pass_bytes(mut from: impl Read, mut to: File) -> io::Result<u64> {
    let mut passed = 0;
    let mut token = [0];
    while from.read(&mut token)? == 1 {
        token[0] = token[0].wrapping_add(1);
        to.write_all(&token)?;
        passed += 1;
    }
    Ok(passed)
}
