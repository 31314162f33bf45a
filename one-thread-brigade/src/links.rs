//! All links of a brigade, held by one thread.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use anyhow::Context;
use chain::{ChainBuilder, Reader, TokenBuffer};
use contract::limits;

use crate::Cli;

/// The station of a task that is not there: its ends, its buffer.
pub(crate) struct Task {
    pub(crate) from: Reader,
    pub(crate) to: File,
    pub(crate) buffer: TokenBuffer,
}

/// All links: the first end to write to, the stations, the last end to read from.
pub(crate) struct Chain {
    pub(crate) first: File,
    pub(crate) tasks: Vec<Task>,
    pub(crate) last: File,
    /// Links that nobody writes to.
    pub(crate) idle: Vec<(OwnedFd, OwnedFd)>,
}

impl Chain {
    /// Makes the links; nothing but this thread will use them.
    pub(crate) fn new(cli: &Cli) -> anyhow::Result<Self> {
        let (flags, read_size) = (&cli.chain, cli.read_buffer.size(&cli.chain)?);
        let idle = (0..flags.idle).map(|_| link(cli)).collect::<io::Result<_>>();
        let idle = idle.with_context(|| limits::refused("make an idle link", cli.flags.tasks))?;
        let mut builder = ChainBuilder::new(cli.flags.tasks, flags.shuffle, || link(cli))?;
        let mut tasks = Vec::new();
        while let Some(station) = builder.next_station()? {
            let task = Task {
                from: Reader::new(station.upstream, flags.fault.of(station.place)),
                to: station.downstream.into(),
                buffer: TokenBuffer::new(flags, read_size),
            };
            tasks.push((station.place, task));
        }
        tasks.sort_unstable_by_key(|&(place, _)| place);
        let tasks = tasks.into_iter().map(|(_, task)| task).collect();
        let (last, first) = builder.driver_ends();
        Ok(Chain { first: first.into(), tasks, last: last.into(), idle })
    }
}

fn link(cli: &Cli) -> io::Result<(OwnedFd, OwnedFd)> {
    let transport = cli.chain.transport;
    if cli.nonblocking { transport.nonblocking_descriptors() } else { transport.descriptors() }
}
