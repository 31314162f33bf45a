//! The reads and writes of a brigade, all done by one thread: the baseline.
//!
//! One iteration: the thread writes a byte into the first of N + 1 links; for each of the N links
//! between, it reads the byte, adds one, and writes it into the next; it reads it from the last
//! one. No read ever waits, so nothing is switched to: what is left is the I/O.
//!
//! Two baselines, for two brigades:
//! - blocking (the default): one write and one read a hop, as in `thread-brigade`;
//! - `--nonblocking`: one write, one epoll_wait, one read and a second read that finds nothing, as
//!   in `async-brigade`, where the second read is what tells the runtime to wait.
//!
//! Timed: those system calls. Left out: making the links, the check of the byte, and bookkeeping.

mod doctored;

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::process::ExitCode;
use std::slice;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{self, Chain, Link, Mode};
use harness::placement::{Layout, Place};
use harness::{Program, Session};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use serde::Serialize;

/// Do all the reads and writes of a brigade in one thread, and time it: the baseline
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    #[command(flatten)]
    #[serde(flatten)]
    chain: Chain,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    /// Non-blocking links, with an epoll wait before each read: the baseline of async-brigade
    #[arg(long)]
    nonblocking: bool,
    /// Wait this many ns in each hop, for a test of the runner: it must find them again
    #[arg(long, value_name = "NS", hide = true, conflicts_with = "nonblocking")]
    test_busy_wait: Option<u64>,
}

impl Program for Cli {
    fn run(&self) -> &Run {
        &self.run
    }
}

fn main() -> ExitCode {
    harness::main(measure)
}

fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    cli.place.confine(Layout::Single)?;
    session.carries(cli.chain.tokens);
    let links = Demand::links(cli.chain.transport);
    let demand = match cli.nonblocking {
        true => links + Demand::watched(1),
        false => links,
    };
    session.require(&demand)?;
    cli.chain.check_room()?;

    let links = form(cli, &demand)?;
    let mut laps = session.laps();
    let result = match cli.test_busy_wait.map(Duration::from_nanos) {
        Some(delay) => doctored::drive(cli, &links, &mut laps, delay),
        None if cli.nonblocking => drive_nonblocking(cli, &links, &mut laps),
        None => drive(cli, &links, &mut laps),
    };
    session.timed(laps);
    result?;
    session.at_rest();
    Ok(())
}

/// The two ends of a link as files.
struct Ends {
    reader: File,
    writer: File,
}

/// Makes the N + 1 links.
fn form(cli: &Cli, demand: &Demand) -> anyhow::Result<Vec<Ends>> {
    let mode = if cli.nonblocking {
        Mode::NonBlocking
    } else {
        Mode::Blocking
    };
    (0..=cli.run.tasks)
        .map(|k| {
            let Link { reader, writer } = cli
                .chain
                .transport
                .link(mode)
                .map_err(|e| limits::explain("make a link", k, cli.run.tasks, e, demand))?;
            Ok(Ends {
                reader: reader.into(),
                writer: writer.into(),
            })
        })
        .collect()
}

/// Carries the tokens along the chain with blocking calls, and times that.
fn drive(cli: &Cli, links: &[Ends], laps: &mut Laps) -> anyhow::Result<()> {
    let mut tokens = vec![0u8; cli.chain.tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            (&links[0].writer).write_all(&[start.wrapping_add(k as u8)])?;
        }
        for pair in links.windows(2) {
            for _ in 0..cli.chain.tokens {
                let mut byte = 0;
                (&pair[0].reader).read_exact(slice::from_mut(&mut byte))?;
                (&pair[1].writer).write_all(&[byte.wrapping_add(1)])?;
            }
        }
        for token in &mut tokens {
            (&links[links.len() - 1].reader).read_exact(slice::from_mut(token))?;
        }
        laps.record(clock.elapsed());

        links::verify(&tokens, start, cli.run.tasks)?;
    }
    Ok(())
}

/// Carries the tokens along the chain with non-blocking calls, waiting by epoll before each link
/// is read and reading it until nothing is left, and times that.
fn drive_nonblocking(cli: &Cli, links: &[Ends], laps: &mut Laps) -> anyhow::Result<()> {
    // Edge-triggered, as Tokio's I/O driver uses it.
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    for (i, link) in (0u64..).zip(links) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, i);
        epoll
            .add(&link.reader, event)
            .context("cannot watch a link by epoll")?;
    }
    let mut tokens = vec![0u8; cli.chain.tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            (&links[0].writer).write_all(&[start.wrapping_add(k as u8)])?;
        }
        for (i, pair) in (0u64..).zip(links.windows(2)) {
            wait_for(&epoll, i)?;
            let mut byte = 0;
            while read_some(&pair[0].reader, &mut byte)? {
                (&pair[1].writer).write_all(&[byte.wrapping_add(1)])?;
            }
        }
        let last = links.len() - 1;
        wait_for(&epoll, last as u64)?;
        let mut received = tokens.iter_mut();
        let mut byte = 0;
        while read_some(&links[last].reader, &mut byte)? {
            match received.next() {
                Some(token) => *token = byte,
                None => bail!("more tokens came out than went in"),
            }
        }
        laps.record(clock.elapsed());

        if received.next().is_some() {
            bail!("fewer tokens came out than went in");
        }
        links::verify(&tokens, start, cli.run.tasks)?;
    }
    Ok(())
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

/// Reads one byte; `false` where none is left.
fn read_some(mut reader: &File, byte: &mut u8) -> anyhow::Result<bool> {
    match reader.read(slice::from_mut(byte)) {
        Ok(1) => Ok(true),
        Ok(_) => Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(false),
        Err(e) => Err(e.into()),
    }
}
