//! The reads and writes of a brigade, all done by one thread: the baseline.
//!
//! One iteration: the thread writes a byte into the first of N + 1 pipes; for each of the N tasks that it stands in for,
//! it reads the byte, adds one, and writes it into the next pipe; at the end it reads the byte from the last pipe. Every
//! read finds its byte, so the kernel switches to no other thread, and only the I/O is timed.
//!
//! There are two baselines, for two brigades:
//! - blocking (the default): one write and one read per hop, as in `thread-brigade`;
//! - `--nonblocking`: one write, one epoll_wait, one read, and a second read that finds nothing, as in `async-brigade`,
//!   where the second read tells the task to wait.
//!
//! Timed: those system calls. Left out: making the pipes, and the check of the bytes.
//!
//! Not to be taken for the I/O's exact share of a brigade: this thread keeps its caches warm, so the difference also has
//! the brigade's cache misses.
//!
//! To trust a figure, read this page and lib/contract/src/{pass,samples}.rs, lib/brigade/src/{link,proof,token}.rs: the
//! rest of what it links is outside of the timed spans.

use std::io::{ErrorKind, Read, Write};
use std::{fs::File, mem, process::ExitCode, time::Instant};

use anyhow::{Context, Result, bail, ensure};
use brigade::{LinkFlags, Tokens};
use contract::message::{Claim, Description, Needs};
use contract::{Pass, Program};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::unistd::{read, write};

/// Time the reads and writes of a brigade without its switches: one thread does them all (the baseline)
#[derive(clap::Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of tasks that the one thread stands in for")))]
struct Cli {
    #[command(flatten)]
    links: LinkFlags,
    /// Use non-blocking links, with an epoll_wait before each read: the baseline of async-brigade
    #[arg(long)]
    nonblocking: bool,
}

impl Program for Cli {
    fn describe(&self) -> Result<Description> {
        self.links.describe("one-thread-brigade", Claim::NoSwitch, Needs::default())
    }
}

/// All links: the first end to write to, the ends of each task, and the last end to read from.
struct Links {
    first: File,
    tasks: Vec<(File, File)>,
    last: File,
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| {
        let mut links = links(cli)?;
        let mut tokens = Tokens::new(&cli.links.chain);
        let epoll = cli.nonblocking.then(|| watch(&links)).transpose()?;
        while let Some(mut pass) = run.next_pass()? {
            match &epoll {
                None => drive(&mut pass, &mut links, &mut tokens)?,
                Some(epoll) => drive_nonblocking(&mut pass, &mut links, &mut tokens, epoll)?,
            }
            run.finish(pass)?;
        }
        Ok(())
    })
}

/// Makes the links of a chain.
fn links(cli: &Cli) -> Result<Links> {
    let (n, transport) = (cli.links.tasks(), cli.links.transport);
    let link = || if cli.nonblocking { transport.nonblocking_link(n) } else { transport.link(n) };
    let (mut last, first) = link()?;
    let mut tasks = Vec::new();
    for _ in 0..n {
        let (reader, to) = link()?;
        tasks.push((mem::replace(&mut last, reader), to));
    }
    Ok(Links { first, tasks, last })
}

/// Carries the bytes along the chain by blocking calls, and times that.
fn drive(pass: &mut Pass, links: &mut Links, tokens: &mut Tokens<u8>) -> Result<()> {
    let Links { first, tasks, last } = links;
    while let Some(iteration) = pass.next_iteration() {
        let (bytes, mut byte) = (tokens.set_out(iteration), [0]);

        let clock = Instant::now();
        bytes.chunks(1).try_for_each(|byte| first.write_all(byte))?;
        for (from, to) in &mut *tasks {
            for _ in 0..bytes.len() {
                // Bare calls, as in C: read_exact and write_all would make a hop 3 % longer.
                ensure!(read(&*from, &mut byte)? == 1, "a link ended early");
                ensure!(write(&*to, &[byte[0].wrapping_add(1)])? == 1, "a link took no byte");
            }
        }
        bytes.chunks_mut(1).try_for_each(|byte| last.read_exact(byte))?;
        pass.record(clock.elapsed());

        tokens.verify(iteration)?;
    }
    Ok(())
}

/// The same through non-blocking links: calls epoll_wait once for each link, and then reads until the link is empty.
fn drive_nonblocking(
    pass: &mut Pass,
    links: &mut Links,
    tokens: &mut Tokens<u8>,
    epoll: &Epoll,
) -> Result<()> {
    let Links { first, tasks, last } = links;
    while let Some(iteration) = pass.next_iteration() {
        let (bytes, mut byte, mut came) = (tokens.set_out(iteration), [0], 0);

        let clock = Instant::now();
        bytes.chunks(1).try_for_each(|byte| first.write_all(byte))?;
        for (place, (from, to)) in (0..).zip(&mut *tasks) {
            wait_for(epoll, place)?;
            while take_byte(from, &mut byte)? {
                to.write_all(&[byte[0].wrapping_add(1)])?;
            }
        }
        wait_for(epoll, tasks.len() as u64)?;
        while take_byte(last, &mut byte)? {
            *bytes.get_mut(came).context("more bytes came out than went in")? = byte[0];
            came += 1;
        }
        pass.record(clock.elapsed());

        ensure!(came == bytes.len(), "{came} bytes came out, and {} went in", bytes.len());
        tokens.verify(iteration)?;
    }
    Ok(())
}

/// Makes an epoll that watches every link edge-triggered, as Tokio does. An event carries the place of its link.
fn watch(links: &Links) -> Result<Epoll> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let readers = links.tasks.iter().map(|(from, _)| from).chain([&links.last]);
    for (place, reader) in (0..).zip(readers) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, place);
        epoll.add(reader, event).context("cannot watch a link by epoll")?;
    }
    Ok(epoll)
}

/// Waits for an event, and fails if it is not for this link.
fn wait_for(epoll: &Epoll, place: u64) -> Result<()> {
    let mut events = [EpollEvent::empty()];
    while let Err(error) = epoll.wait(&mut events, EpollTimeout::NONE) {
        ensure!(error == Errno::EINTR, "cannot wait by epoll: {error}");
    }
    ensure!(events[0].data() == place, "link {} is ready, expected link {place}", events[0].data());
    Ok(())
}

/// Takes a byte; false if nothing is left.
fn take_byte(from: &mut File, byte: &mut [u8; 1]) -> Result<bool> {
    match from.read(byte) {
        Ok(0) => bail!("a link ended early"),
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error.into()),
    }
}
