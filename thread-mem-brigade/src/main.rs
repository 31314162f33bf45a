//! A number, or a buffer (`--bytes`), travels through N OS threads chained in memory: no I/O, no
//! descriptor.
//!
//! One iteration: the driver puts a number into the first link; each thread of the chain takes it,
//! adds one, and puts it into the next link; the driver takes it from the last one. That is N + 1
//! hops, each a wake-up of the next thread and a sleep until the next number. With several tokens
//! and `--feed first-task` the driver sends one, and the first thread the others: a stream.
//!
//! Timed: those, which with the default transport are two futex(2) calls a hop, and what the
//! kernel does to run the next thread; with `--touch`, what each thread does with its memory in
//! between. Left out: creating and joining the threads, the check of the number, and all bookkeeping.
//!
//! This is `async-mem-brigade` with threads, and `thread-brigade` without its pipes. The time per
//! hop is not the price of a context switch alone: it contains the system calls that put a thread
//! to sleep and wake it, and a woken thread on another CPU may start while its waker still runs.
//! A transport that spins before it sleeps (see `--transport`) may hand over without any switch:
//! the line of switches tells.

mod faulty;
mod links;

use std::io;
use std::mem;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use harness::args::{Run, Stack};
use harness::feed::{Feed, Stock, Tokens};
use harness::futex::FutexHash;
use harness::laps::Laps;
use harness::limits::{self, Demand};
use harness::message::{Buffer, Message};
use harness::order::Order;
use harness::payload::Payload;
use harness::placement::{Layout, Place, Seat, Seats};
use harness::ready::{Arrival, Muster};
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::threads::{Spawner, Thread};
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::{Post, Wiring};
use harness::{BadUsage, Program, Session};
use links::{Link, Put, Stocked, Take};
use serde::Serialize;

/// Pass a number or a buffer through a chain of OS threads joined in memory, and time it
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    /// What a link is made of; each holds one token, unless --capacity says otherwise
    #[arg(long, value_enum, default_value_t = Transport::Futex)]
    transport: Transport,
    /// How many tokens are in flight at once
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tokens: u32,
    #[command(flatten)]
    #[serde(flatten)]
    payload: Payload,
    /// Who feeds the tokens of an iteration in
    #[arg(long, value_enum, default_value_t = Feed::Driver)]
    feed: Feed,
    /// How many tokens each channel holds, with --transport mpsc; with 0 a sender waits until its
    /// token is taken [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_if("transport", "mpsc", "1"), value_parser = clap::value_parser!(u32).range(0..=1 << 28))]
    capacity: Option<u32>,
    #[command(flatten)]
    #[serde(flatten)]
    touch: Touch,
    #[command(flatten)]
    #[serde(flatten)]
    order: Order,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    #[command(flatten)]
    #[serde(flatten)]
    stack: Stack,
    #[command(flatten)]
    #[serde(flatten)]
    futex_hash: FutexHash,
    #[command(flatten)]
    #[serde(flatten)]
    fault: TestFault,
}

/// What a link is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    /// a word in memory on which threads sleep by futex(2), without spinning first: one call to
    /// wake and one to sleep a hop
    Futex,
    /// the same word, with std::thread::park and unpark in place of futex(2)
    Park,
    /// std::sync::mpsc::sync_channel, with room for --capacity tokens, which spins and yields before
    /// it sleeps
    Mpsc,
    /// a slot behind a Mutex, with a Condvar to sleep on
    Condvar,
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
    let seats = cli.place.confine(Layout::Chain)?;
    cli.fault.check(cli.run.tasks)?;
    session.carries_fed(cli.tokens, cli.feed);
    session.hands_over(cli.payload.of(cli.tokens));
    check_room(cli)?;
    cli.futex_hash.set()?;
    session.require(&demand(cli))?;
    match cli.payload.is_a_byte() {
        true => with_work::<usize>(cli, &seats, session),
        false => with_work::<Buffer>(cli, &seats, session),
    }
}

/// The brigade whose threads do this work.
fn with_work<M: Message>(cli: &Cli, seats: &Seats, session: &mut Session) -> anyhow::Result<()> {
    match cli.touch.is_none() {
        true => over::<M, ()>(cli, seats, session),
        false => over::<M, WorkingSet>(cli, seats, session),
    }
}

/// The brigade over links of the kind that was asked for.
fn over<M: Message, T: Work>(
    cli: &Cli,
    seats: &Seats,
    session: &mut Session,
) -> anyhow::Result<()> {
    match cli.transport {
        Transport::Futex => brigade::<M, links::Futex, T>(cli, seats, session),
        Transport::Park => brigade::<M, links::Park, T>(cli, seats, session),
        Transport::Mpsc => brigade::<M, links::Mpsc, T>(cli, seats, session),
        Transport::Condvar => brigade::<M, links::Condvar, T>(cli, seats, session),
    }
}

/// The driver's feed waits for ever where the links have no room for all tokens. Without any, a
/// task still holds the one that it hands on.
fn check_room(cli: &Cli) -> anyhow::Result<()> {
    if cli.capacity.is_some() && cli.transport != Transport::Mpsc {
        return Err(BadUsage::new(
            "--capacity: each link of this --transport holds one token: drop it, or use --transport mpsc",
        ));
    }
    let tasks = u64::from(cli.run.tasks);
    let most = ((tasks + 1) * u64::from(cli.capacity())).max(tasks);
    let roomier = match cli.transport {
        Transport::Mpsc => "raise --capacity or --tasks",
        _ => "raise --tasks",
    };
    cli.feed.check_room(cli.tokens, most, roomier)
}

impl Cli {
    /// Tokens that a link holds.
    fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }
}

/// What the run needs of the system.
fn demand(cli: &Cli) -> Demand {
    Demand::memory_links()
        + Demand::slots(cli.capacity())
        + Demand::tokens(cli.tokens)
        + cli.feed.demand(cli.tokens)
        + cli.payload.demand_in_memory(cli.tokens)
        + Demand::threads(cli.stack)
        + cli.touch.demand()
}

/// Builds the chain, drives it, and takes it down.
fn brigade<M: Message, L: Link<M>, T: Work>(
    cli: &Cli,
    seats: &Seats,
    session: &mut Session,
) -> anyhow::Result<()> {
    let mut laps = session.laps();
    let mut threads = Vec::new();
    let stock = cli.feed.stock();
    let formed = form::<M, L, T>(cli, seats, stock.as_ref(), &mut threads);
    let result = formed.and_then(|(mut first, mut last)| {
        let tokens = Tokens::new(cli.tokens, cli.payload, stock);
        drive(cli, &mut first, &mut last, tokens, &mut laps)?;
        session.at_rest();
        Ok(())
    });
    // Both ends of the chain are dropped now, and its end runs down it.
    threads.sort_unstable_by_key(|&(place, _)| place);
    let mut tally = Tally::default();
    for (_, thread) in threads {
        tally.add_thread(thread.join());
    }
    let sent = laps.begun() * u64::from(cli.tokens);
    session.timed(laps);
    tally.settle(result, cli.run.tasks, sent)
}

/// Builds the chain and waits until each of its threads runs. Returns the end that the driver
/// puts tokens into and the end that it takes them from; `threads` gets each thread with its place.
fn form<M: Message, L: Link<M>, T: Work>(
    cli: &Cli,
    seats: &Seats,
    stock: Option<&Stock<M>>,
    threads: &mut Vec<(u32, Thread<io::Result<u64>>)>,
) -> anyhow::Result<(L::Sender, L::Receiver)> {
    let tasks = cli.run.tasks;
    let explain = |what, k, e| limits::explain(what, k, tasks, e, &demand(cli));
    let spawner = Spawner::new(cli.stack, tasks).map_err(|e| explain("map the stacks", 0u32, e))?;
    let mut muster = Muster::of(tasks);
    let mut wiring = Wiring::new(cli.order, tasks, |_| {
        let (sender, receiver) = L::link(cli.capacity());
        Ok((receiver, sender))
    })?;
    while let Some(post) = wiring.next_task() {
        let post = post?;
        let place = post.place;
        let (arrival, seat) = (muster.arrival(), seats.seat(place + 1, tasks + 1));
        let thread = match stock.filter(|_| place == 0) {
            None => start::<M, _, _, T>(cli, &spawner, post, arrival, seat),
            Some(stock) => {
                let post = Stocked::at(post, stock.clone());
                start::<M, _, _, T>(cli, &spawner, post, arrival, seat)
            }
        };
        let thread = thread.map_err(|e| explain("create a thread", threads.len() as u32, e))?;
        threads.push((place, thread));
    }
    seats.seat(0, tasks + 1).take()?;
    muster.wait()?;
    Ok(wiring.ends())
}

/// Starts the thread of a post.
fn start<M: Message, R: Take<M>, S: Put<M>, T: Work>(
    cli: &Cli,
    spawner: &Spawner,
    post: Post<R, S>,
    arrival: Arrival,
    seat: Seat,
) -> io::Result<Thread<io::Result<u64>>> {
    let (upstream, downstream, work) = (post.upstream, post.downstream, T::new(cli.touch));
    match cli.fault.of(post.place) {
        None => spawner.spawn(move || {
            seat.take()?;
            pass_on(upstream, downstream, work, arrival)
        }),
        Some(ending) => {
            spawner.spawn(move || faulty::pass_on(upstream, downstream, arrival, ending))
        }
    }
}

/// A thread of the chain: takes a token, adds one, does its work, hands the token on, until the
/// link ends.
fn pass_on<M: Message>(
    mut upstream: impl Take<M>,
    mut downstream: impl Put<M>,
    mut work: impl Work,
    arrival: Arrival,
) -> io::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    while let Some(token) = upstream.take() {
        work.work();
        downstream.put(token.passed())?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
fn drive<M: Message>(
    cli: &Cli,
    first: &mut impl Put<M>,
    last: &mut impl Take<M>,
    mut tokens: Tokens<M>,
    laps: &mut Laps,
) -> anyhow::Result<()> {
    while let Some(lap) = laps.advance()? {
        let (sent, all) = tokens.set_out(lap);

        let clock = Instant::now();
        for token in &mut all[..sent] {
            first
                .put(mem::take(token))
                .context("the chain ended early")?;
        }
        for token in all {
            *token = last.take().context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        tokens.verify(lap, cli.run.tasks)?;
    }
    Ok(())
}
