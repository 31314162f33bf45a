//! The reads and writes of a brigade, all done by one thread: the baseline.
//!
//! One iteration: the thread writes a byte into the first of N + 1 links; for each of the N links
//! between, it reads the byte, adds one, and writes it into the next; it reads it from the last
//! one. No read ever waits, so nothing is switched to: what is left is the I/O. With `--bytes` a
//! token has more of them, and a link must hold it, since nobody reads while it is written.
//!
//! Two baselines, for two brigades:
//! - blocking (the default): one write and one read a hop, as in `thread-brigade`;
//! - `--nonblocking`: one write, one epoll_wait, one read and a second read that finds nothing, as
//!   in `async-brigade`, where the second read is what tells the runtime to wait (see
//!   `--read-buffer`).
//!
//! Timed: those system calls; with `--touch`, between the read and the write of each link, what the
//! task that would stand there does with its memory. Left out: making the links, the check of the
//! bytes, and bookkeeping.

mod doctored;

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use clap::Parser;
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::links::{Chain, Link, Local, Mode, ReadBuffer, Transport, eventfd, pipes};
use harness::order::Order;
use harness::payload::{Intake, Parts, Pattern, Payload};
use harness::placement::{Layout, Place};
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::{Post, Wiring};
use harness::{BadUsage, Program, Session};
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
    chain: Chain<Local>,
    #[command(flatten)]
    #[serde(flatten)]
    payload: Payload,
    #[command(flatten)]
    #[serde(flatten)]
    read_buffer: ReadBuffer,
    #[command(flatten)]
    #[serde(flatten)]
    touch: Touch,
    #[command(flatten)]
    #[serde(flatten)]
    order: Order,
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
    session.hands_over(cli.payload.of(cli.chain.tokens));
    if cli.read_buffer.size() > 1 && !cli.nonblocking {
        return Err(BadUsage::new(
            "--read-buffer: a blocking read takes one token and never a second look: drop it, or use --nonblocking",
        ));
    }
    let read_size = cli.payload.read_size(cli.read_buffer.size())?;
    let demand = demand(cli, read_size);
    session.require(&demand)?;
    cli.chain.check_room(cli.payload)?;
    match cli.touch.is_none() {
        true => with::<()>(cli, session, &demand, read_size),
        false => with::<WorkingSet>(cli, session, &demand, read_size),
    }
}

/// What the run needs of the system.
fn demand(cli: &Cli, read_size: usize) -> Demand {
    let demand = Demand::links(cli.chain.transport)
        + cli.payload.demand_reading(read_size, cli.chain.tokens)
        + cli.touch.demand();
    match cli.nonblocking {
        true => demand + Demand::watched(1),
        false => demand,
    }
}

/// The chain at whose links this work is done, with tokens and reads of the size that was asked for.
fn with<T: Work>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    read_size: usize,
) -> anyhow::Result<()> {
    match (cli.payload.is_a_byte(), read_size) {
        (true, 1) => over::<T, _>(cli, session, demand, [0u8; 1]),
        (true, _) => over::<T, _>(cli, session, demand, vec![0u8; read_size]),
        (false, _) => over::<T, _>(cli, session, demand, Parts::new(cli.payload, read_size)),
    }
}

/// The chain over links of the kind that was asked for.
fn over<T: Work, I: Intake>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    intake: I,
) -> anyhow::Result<()> {
    let mode = match cli.nonblocking {
        true => Mode::NonBlocking,
        false => Mode::Blocking,
    };
    let files = |transport: Transport| {
        move || {
            let Link { reader, writer } = transport.link(mode)?;
            Ok((File::from(reader), File::from(writer)))
        }
    };
    match cli.chain.transport {
        Local::Pipe => carry::<T, I, _, _>(cli, session, demand, intake, files(Transport::Pipe)),
        Local::Socketpair => {
            carry::<T, I, _, _>(cli, session, demand, intake, files(Transport::Socketpair))
        }
        Local::Eventfd => carry::<T, I, _, _>(cli, session, demand, intake, || eventfd::link(mode)),
    }
}

/// Builds the chain out of links (the end to read from, the end to write to) and has it driven.
fn carry<T: Work, I: Intake, R: Read + AsFd, W: Write>(
    cli: &Cli,
    session: &mut Session,
    demand: &Demand,
    intake: I,
    link: impl Fn() -> io::Result<(R, W)>,
) -> anyhow::Result<()> {
    let mut chain = form::<T, I, R, W>(cli, demand, intake, link)?;
    pipes::check_room(cli.chain.tokens, cli.payload)?;
    let mut laps = session.laps();
    let result = match cli.test_busy_wait.map(Duration::from_nanos) {
        Some(delay) => doctored::drive(cli, &mut chain, &mut laps, delay),
        None if cli.nonblocking => drive_nonblocking(cli, &mut chain, &mut laps),
        None => drive(cli, &mut chain, &mut laps),
    };
    session.timed(laps);
    result?;
    session.at_rest();
    Ok(())
}

/// All of a brigade but its tasks: the driver's ends of the links, and between them, in the order of
/// the chain, what each task would have.
struct Brigade<T, I, R, W> {
    first: W,
    stations: Vec<Station<T, I, R, W>>,
    last: R,
    /// What the driver would read by.
    intake: I,
}

/// What a task would have.
struct Station<T, I, R, W> {
    upstream: R,
    intake: I,
    work: T,
    downstream: W,
}

/// Makes the N + 1 links, and the working sets, in the order in which a brigade would.
fn form<T: Work, I: Intake, R, W>(
    cli: &Cli,
    demand: &Demand,
    intake: I,
    link: impl Fn() -> io::Result<(R, W)>,
) -> anyhow::Result<Brigade<T, I, R, W>> {
    let tasks = cli.run.tasks;
    let mut wiring = Wiring::new(cli.order, tasks, |k| {
        link().map_err(|e| limits::explain("make a link", k, tasks, e, demand))
    })?;
    let mut placed = Vec::new();
    while let Some(post) = wiring.next_task() {
        let Post {
            place,
            upstream,
            downstream,
        } = post?;
        let station = Station {
            upstream,
            intake: intake.clone(),
            work: T::new(cli.touch),
            downstream,
        };
        placed.push((place, station));
    }
    placed.sort_unstable_by_key(|&(place, _)| place);
    let (first, last) = wiring.ends();
    Ok(Brigade {
        first,
        stations: placed.into_iter().map(|(_, station)| station).collect(),
        last,
        intake,
    })
}

/// Carries the tokens along the chain with blocking calls, and times that.
fn drive<T: Work, I: Intake, R: Read, W: Write>(
    cli: &Cli,
    chain: &mut Brigade<T, I, R, W>,
    laps: &mut Laps,
) -> anyhow::Result<()> {
    let pattern = Pattern::new(cli.payload);
    let mut received = pattern.room_for(cli.chain.tokens);
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            let token = pattern.token(start.wrapping_add(k as u8));
            chain.first.write_all(token)?;
        }
        for station in &mut chain.stations {
            for _ in 0..cli.chain.tokens {
                let room = station.intake.room();
                let read = room.len();
                station.upstream.read_exact(room)?;
                for token in station.intake.whole(read) {
                    token[0] = token[0].wrapping_add(1);
                    station.work.work();
                    station.downstream.write_all(token)?;
                }
            }
        }
        for token in pattern.tokens(&mut received) {
            chain.last.read_exact(token)?;
        }
        laps.record(clock.elapsed());

        pattern.verify(&received, start, cli.run.tasks)?;
    }
    Ok(())
}

/// Carries the tokens along the chain with non-blocking calls, waiting by epoll before each link
/// is read and reading it until nothing is left, and times that.
fn drive_nonblocking<T: Work, I: Intake, R: Read + AsFd, W: Write>(
    cli: &Cli,
    chain: &mut Brigade<T, I, R, W>,
    laps: &mut Laps,
) -> anyhow::Result<()> {
    let epoll = watch(chain)?;
    let pattern = Pattern::new(cli.payload);
    let all = cli.payload.of(cli.chain.tokens) as usize;
    let mut received = pattern.room_to_read(cli.chain.tokens, chain.intake.ask(0));
    while let Some(lap) = laps.advance()? {
        let start = lap as u8;

        let clock = Instant::now();
        for k in 0..cli.chain.tokens {
            let token = pattern.token(start.wrapping_add(k as u8));
            chain.first.write_all(token)?;
        }
        for (i, station) in (0u64..).zip(&mut chain.stations) {
            wait_for(&epoll, i)?;
            loop {
                let room = station.intake.room();
                let asked = room.len();
                let Some(read) = read_some(&mut station.upstream, room)? else {
                    break;
                };
                for token in station.intake.whole(read) {
                    token[0] = token[0].wrapping_add(1);
                    station.work.work();
                    station.downstream.write_all(token)?;
                }
                if read < asked {
                    break;
                }
            }
        }
        wait_for(&epoll, chain.stations.len() as u64)?;
        let mut came = 0;
        loop {
            let asked = chain.intake.ask(came);
            let room = &mut received[came..came + asked];
            let Some(read) = read_some(&mut chain.last, room)? else {
                break;
            };
            came += read;
            ensure!(came <= all, "more tokens came out than went in");
            if read < asked {
                break;
            }
        }
        laps.record(clock.elapsed());

        ensure!(came == all, "fewer tokens came out than went in");
        pattern.verify(&received[..all], start, cli.run.tasks)?;
    }
    Ok(())
}

/// Has epoll watch the links, each known by its place: edge-triggered, as Tokio's I/O driver does.
fn watch<T, I, R: AsFd, W>(chain: &Brigade<T, I, R, W>) -> anyhow::Result<Epoll> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let readers = chain.stations.iter().map(|station| &station.upstream);
    for (i, reader) in (0u64..).zip(readers.chain([&chain.last])) {
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, i);
        epoll
            .add(reader, event)
            .context("cannot watch a link by epoll")?;
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

/// Reads what there is, as far as the buffer goes; `None` where nothing is left.
fn read_some(reader: &mut impl Read, buffer: &mut [u8]) -> anyhow::Result<Option<usize>> {
    match reader.read(buffer) {
        Ok(0) => Err(io::Error::from(ErrorKind::UnexpectedEof).into()),
        Ok(read) => Ok(Some(read)),
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e.into()),
    }
}
