//! Links between tasks: pairs of descriptors that carry bytes.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use anyhow::Context;
use clap::ValueEnum;
use contract::limits;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socketpair};
use nix::unistd::pipe2;

use crate::ChainFlags;

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
        let ends =
            self.descriptors().with_context(|| limits::refused("make a link", "--tasks", tasks))?;
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
