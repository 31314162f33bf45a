//! The baseline of `async-brigade`: non-blocking calls, an epoll_wait before each link is read.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use chain::{ByteTokens, ChainFlags};
use contract::Pass;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::links::Chain;

/// Carries the tokens along the chain, reading each link until nothing is left, and times that.
pub(crate) fn drive(
    flags: &ChainFlags,
    read_size: usize,
    (chain, epoll): (&mut Chain, &Epoll),
    pass: &mut Pass,
) -> anyhow::Result<()> {
    let (mut tokens, all) = (ByteTokens::new(flags, 1), flags.tokens as usize);
    let mut received = vec![u8::MAX; all + read_size];
    while let Some(iteration) = pass.next_iteration() {
        let trip = tokens.set_out(iteration);

        let clock = Instant::now();
        for token in trip.chunks(1) {
            chain.first.write_all(token)?;
        }
        for (i, task) in (0..).zip(&mut chain.tasks) {
            wait_for(epoll, i)?;
            loop {
                let read = read_some(&mut task.from, &mut task.buffer);
                let read = read.with_context(|| format!("task {i}"))?;
                for token in task.buffer[..read].chunks_mut(1) {
                    token[0] = token[0].wrapping_add(1);
                    task.to.write_all(token)?;
                }
                if read < read_size {
                    break;
                }
            }
        }
        wait_for(epoll, chain.tasks.len() as u64)?;
        let mut came = 0;
        loop {
            let read = read_some(&mut chain.last, &mut received[came..came + read_size])?;
            came += read;
            if read < read_size {
                break;
            }
            ensure!(came <= all, "more tokens came out than went in");
        }
        pass.record(clock.elapsed());

        ensure!(came == all, "{came} tokens came out, and {all} went in");
        trip.copy_from_slice(&received[..all]);
        tokens.verify(iteration, flags.tasks())?;
    }
    Ok(())
}

/// Has epoll watch the links, each known by its place: edge-triggered, as Tokio's I/O driver does.
pub(crate) fn watch(chain: &Chain) -> anyhow::Result<Epoll> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let readers = chain.tasks.iter().map(|task| task.from.file().as_fd());
    for (i, reader) in (0..).zip(readers.chain([chain.last.as_fd()])) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, i);
        epoll.add(reader, event).context("cannot watch a link by epoll")?;
    }
    Ok(epoll)
}

/// Waits until a link can be read; nothing but link `index` may be ready.
fn wait_for(epoll: &Epoll, index: u64) -> anyhow::Result<()> {
    let mut events = [EpollEvent::empty()];
    loop {
        match epoll.wait(&mut events, EpollTimeout::NONE) {
            Ok(_) if events[0].data() == index => return Ok(()),
            Ok(_) => bail!("link {} is ready, expected link {index}", events[0].data()),
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e).context("cannot wait by epoll"),
        }
    }
}

/// Reads as much as there is and the buffer takes; 0 if nothing is left.
fn read_some(mut reader: impl Read, buffer: &mut [u8]) -> anyhow::Result<usize> {
    match reader.read(buffer) {
        Ok(0) => bail!("a link ended early"),
        Ok(read) => Ok(read),
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(0),
        Err(e) => Err(e.into()),
    }
}
