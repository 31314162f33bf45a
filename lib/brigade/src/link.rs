//! Links between tasks: pairs of descriptors that carry bytes.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use anyhow::Context;
use clap::ValueEnum;
use contract::limits;
use contract::message::{Claim, Description, Need, Needs};
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::pipe2;

use crate::ChainFlags;

/// Descriptors that are not part of a link: the standard three, an epoll, a timer, and a few for a runtime.
const DESCRIPTORS_TO_SPARE: u64 = 16;

/// Size, tokens and links of a brigade that uses descriptors as links.
#[derive(Clone, Debug, clap::Args)]
pub struct LinkFlags {
    #[command(flatten)]
    #[expect(missing_docs, reason = "flags with docs of their own")]
    pub chain: ChainFlags,

    /// Kind of link between tasks
    #[arg(long, value_enum, default_value_t = Transport::Pipe)]
    pub transport: Transport,
}

impl LinkFlags {
    /// Number of tasks.
    pub fn tasks(&self) -> u32 {
        self.chain.tasks()
    }

    /// A link of the chain: the end to read from and the end to write to.
    pub fn link<E: From<OwnedFd>>(&self) -> anyhow::Result<(E, E)> {
        self.transport.link(self.tasks())
    }

    /// Describes a chain with its links; `needs` is what its tasks take.
    pub fn describe(
        &self,
        program: &str,
        claim: Claim,
        needs: Needs,
    ) -> anyhow::Result<Description> {
        let links = self.transport.needs(&self.chain, claim)?;
        Ok(self.chain.describe(program, claim, links + needs))
    }
}

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
    /// A link of a chain of so many tasks: the end to read from and the end to write to. Both close on exec, so that
    /// no child keeps a chain open.
    pub fn link<E: From<OwnedFd>>(self, tasks: u32) -> anyhow::Result<(E, E)> {
        let refused = || limits::refused("make a link", "--tasks", tasks);
        let ends = self.descriptors().with_context(refused)?;
        Ok((ends.0.into(), ends.1.into()))
    }

    /// The same, with reads and writes that do not wait.
    pub fn nonblocking_link<E: From<OwnedFd>>(self, tasks: u32) -> anyhow::Result<(E, E)> {
        let (reader, writer): (OwnedFd, OwnedFd) = self.link(tasks)?;
        for end in [&reader, &writer] {
            fcntl(end, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("fcntl(F_SETFL)")?;
        }
        Ok((reader.into(), writer.into()))
    }

    fn descriptors(self) -> io::Result<(OwnedFd, OwnedFd)> {
        Ok(match self {
            Transport::Pipe => pipe2(OFlag::O_CLOEXEC)?,
            Transport::Socketpair => {
                socketpair(AddressFamily::Unix, SockType::Stream, None, SockFlag::SOCK_CLOEXEC)?
            }
            Transport::Tcp => connection()?,
        })
    }

    /// Needs of the links of a chain. An error if they cannot hold its tokens: in a program of one thread, one link has
    /// to hold all of them; in other programs, each task can also hold one.
    pub fn needs(self, chain: &ChainFlags, claim: Claim) -> anyhow::Result<Needs> {
        if chain.tokens > 1 {
            let tasks = if claim == Claim::NoSwitch { 0 } else { chain.tasks() };
            chain.ensure_room(self.capacity()?.max(tasks).into())?;
        }
        Ok(Needs {
            descriptors: Need::new(2 + DESCRIPTORS_TO_SPARE, 2),
            maps: Need::new(64, 0),
            bytes: Need::new(0, self.kernel_bytes()),
            ..Needs::default()
        })
    }

    /// Upper bound of the kernel memory for both ends of a link: inodes, buffers, waiters.
    fn kernel_bytes(self) -> u64 {
        match self {
            Transport::Pipe => 8 << 10,
            Transport::Socketpair => 6 << 10,
            Transport::Tcp => 24 << 10,
        }
    }

    /// Number of tokens that an empty link holds, found by filling one: a pipe merges small writes into pages, while a
    /// socket keeps a buffer, with overhead, for each write.
    fn capacity(self) -> anyhow::Result<u32> {
        let (_reader, mut writer): (File, File) = self.nonblocking_link(1)?;
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
