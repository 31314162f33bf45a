//! A number, or a buffer (`--bytes`), travels through N async tasks chained in memory: no I/O, no
//! system call.
//!
//! One iteration: the driver puts a number into the first link; each task takes it, adds one, and
//! puts it into the next link; the driver takes it from the last one. That is N + 1 hops, each a
//! put, a wake-up by the executor and a take. The driver is a spawned task like the others. With
//! several tokens and `--feed first-task` the driver sends one, and the first task the others: a
//! stream.
//!
//! Timed: those operations and the executor's work to run the next task. Left out: creating and
//! awaiting the tasks, the check of the number, and all bookkeeping.
//!
//! On the current-thread scheduler this is what a switch between async tasks costs with a channel
//! in between. On the multi-thread scheduler tasks may move between CPUs, and the time per hop
//! then contains that. `--executor one-page --transport slot` is the floor: what is left where both
//! do only what they cannot do without, and no figure for a real runtime.

extern crate old_runtime as runtime;

mod executors;
mod faulty;
mod links;
mod one_page;
mod smol;

use std::mem;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::{Parser, ValueEnum};
use executors::Executor;
use harness::args::Run;
use harness::feed::{Feed, Stock, Tokens};
use harness::laps::Laps;
use harness::limits::Demand;
use harness::machine::{Build, runtime_version};
use harness::message::{Buffer, Message};
use harness::order::Order;
use harness::payload::Payload;
use harness::placement::{Layout, Place, Placement};
use harness::ready::{Arrival, Muster};
use harness::record;
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::{Post, Wiring};
use harness::{BadUsage, Program, Session, link_ended};
use links::{Link, Put, Stocked, Take};
use runtime::{Flavor, Plan, Workers};
use serde::Serialize;
use tokio::task::yield_now;

/// Pass a number or a buffer through a chain of async tasks joined in memory, and time it
#[derive(Parser, Serialize)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    #[serde(flatten)]
    run: Run,
    #[command(flatten)]
    #[serde(flatten)]
    place: Place,
    /// What a link is made of
    #[arg(long, value_enum, default_value_t = Transport::Mpsc)]
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
    /// How many tokens each channel holds, with --transport mpsc or async-channel [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_ifs([("transport", "mpsc", "1"), ("transport", "async-channel", "1")]), value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
    capacity: Option<u32>,
    #[command(flatten)]
    #[serde(flatten)]
    touch: Touch,
    #[command(flatten)]
    #[serde(flatten)]
    order: Order,
    /// What runs the tasks
    #[arg(long, value_enum, default_value_t = Kind::Tokio)]
    executor: Kind,
    /// Tokio's scheduler
    #[arg(long, value_enum, default_value = "current-thread")]
    flavor: Flavor,
    #[command(flatten)]
    #[serde(flatten)]
    workers: Workers,
    #[command(flatten)]
    #[serde(flatten)]
    fault: TestFault,
}

/// What a link is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    /// tokio::sync::mpsc::channel, with room for --capacity tokens
    Mpsc,
    /// tokio::sync::mpsc::unbounded_channel, which holds any number of them
    Unbounded,
    /// async_channel::bounded, smol's, with room for --capacity tokens
    AsyncChannel,
    /// tokio::sync::oneshot, a new one for each hop: a token carries the receiver of the next one.
    /// Holds any number of them
    Oneshot,
    /// a token beside an atomic, with tokio::sync::Notify to wait by. Holds one
    Notify,
    /// a token and a waker behind a std::sync::Mutex: the least that works on every executor.
    /// Holds one
    Mutex,
    /// the same without the mutex, only with --executor one-page. Holds one
    Slot,
}

/// What runs the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// the runtime, with the scheduler that --flavor names
    Tokio,
    /// async_executor::LocalExecutor, which smol runs tasks by: one thread
    Smol,
    /// the floor: one thread, first in first out, no lock and no atomic operation
    /// (src/one_page.rs)
    OnePage,
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
    check_together(cli)?;
    let plan = Plan::new(cli.flavor, cli.workers, cli.place.confine(Layout::Chain)?)?;
    cli.fault.check(cli.run.tasks)?;
    session.carries_fed(cli.tokens, cli.feed);
    session.hands_over(cli.payload.of(cli.tokens));
    check_room(cli)?;
    match cli.executor {
        Kind::Tokio => {
            session.runs_on(plan.describe());
            session.require(&(demand(cli) + plan.demand()))?;
            with_work(cli, session, &plan.build(false)?)
        }
        Kind::Smol => {
            let version = runtime_version("async-executor");
            session.runs_on(one_thread("async-executor", version));
            session.require(&demand(cli))?;
            with_work(cli, session, &smol::Executor::default())
        }
        Kind::OnePage => {
            let version = Build::current().package_version;
            session.runs_on(one_thread("one-page", version));
            session.require(&demand(cli))?;
            with_work(cli, session, &one_page::Executor::new())
        }
    }
}

/// How the record names an executor that has one thread.
fn one_thread(name: &str, version: Option<String>) -> record::Runtime {
    record::Runtime {
        name: name.to_owned(),
        version,
        flavor: "current-thread".to_owned(),
        workers: 1,
    }
}

/// Which flags go together.
fn check_together(cli: &Cli) -> anyhow::Result<()> {
    if cli.capacity.is_some() && !cli.has_capacity() {
        return Err(BadUsage::new(
            "--capacity: what the links of this --transport hold is not to be chosen: drop it, or use --transport mpsc or async-channel",
        ));
    }
    if cli.transport == Transport::Slot && cli.executor != Kind::OnePage {
        return Err(BadUsage::new(
            "--transport slot: nothing keeps two threads apart in it: add --executor one-page, or use --transport mutex",
        ));
    }
    let apart = matches!(cli.place.placement, Placement::Half | Placement::Spread);
    let unlike_one_thread = [
        ("--flavor", cli.flavor != Flavor::CurrentThread),
        ("--workers", cli.workers.workers.is_some()),
        ("--placement", apart),
    ];
    let executor = match cli.executor {
        Kind::Tokio => return Ok(()),
        Kind::Smol => "smol",
        Kind::OnePage => "one-page",
    };
    match unlike_one_thread.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => Err(BadUsage::new(format!(
            "{flag}: --executor {executor} has one thread and one scheduler here: drop {flag}, or use --executor tokio",
        ))),
        _ => Ok(()),
    }
}

/// The driver's feed waits for ever where the links have no room for all tokens.
fn check_room(cli: &Cli) -> anyhow::Result<()> {
    let (each, roomier) = match cli.transport {
        Transport::Mpsc | Transport::AsyncChannel => {
            (cli.capacity(), "raise --capacity or --tasks")
        }
        Transport::Notify | Transport::Mutex | Transport::Slot => (1, "raise --tasks"),
        Transport::Unbounded | Transport::Oneshot => return Ok(()),
    };
    let most = (u64::from(cli.run.tasks) + 1) * u64::from(each);
    cli.feed.check_room(cli.tokens, most, roomier)
}

impl Cli {
    /// Whether what a link holds is to be chosen.
    fn has_capacity(&self) -> bool {
        matches!(self.transport, Transport::Mpsc | Transport::AsyncChannel)
    }

    /// Tokens that a channel holds.
    fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }
}

/// What the run needs of the system, but for the runtime. Bytes are rounded up from measured ones.
fn demand(cli: &Cli) -> Demand {
    let task = match (cli.transport, cli.executor) {
        // A channel has blocks of 32 slots, and two of them after 32 numbers.
        (Transport::Mpsc | Transport::Unbounded, _) => 2048,
        (Transport::Notify, Kind::Tokio | Kind::Smol) => 768,
        (Transport::Notify, Kind::OnePage) => 512,
        (Transport::AsyncChannel, _) => 1792,
        (_, Kind::Tokio | Kind::Smol) => 640,
        (_, Kind::OnePage) => 384,
    };
    let token = match cli.transport {
        // An allocation of its own.
        Transport::Oneshot => 128,
        _ => 24,
    };
    let slots = match cli.transport {
        // All of them are made with it.
        Transport::AsyncChannel => Demand::slots(cli.capacity()),
        _ => Demand::default(),
    };
    Demand::memory_tasks(task)
        + slots
        + Demand::tokens_of(cli.tokens, token)
        + cli.feed.demand(cli.tokens)
        + cli.payload.demand_in_memory(cli.tokens)
        + cli.touch.demand()
}

/// Picks the loop that is compiled for what the tasks do at a hop.
fn with_work(cli: &Cli, session: &mut Session, executor: &impl Executor) -> anyhow::Result<()> {
    match cli.touch.is_none() {
        true => with_messages::<(), _>(cli, session, executor),
        false => with_messages::<WorkingSet, _>(cli, session, executor),
    }
}

/// Picks the loop that is compiled for what travels.
fn with_messages<W: Work, E: Executor>(
    cli: &Cli,
    session: &mut Session,
    executor: &E,
) -> anyhow::Result<()> {
    match cli.payload.is_a_byte() {
        true => over_links::<usize, W, E>(cli, session, executor),
        false => over_links::<Buffer, W, E>(cli, session, executor),
    }
}

/// Picks the loop that is compiled for these links.
fn over_links<M: Message, W: Work, E: Executor>(
    cli: &Cli,
    session: &mut Session,
    on: &E,
) -> anyhow::Result<()> {
    match cli.transport {
        Transport::Mpsc => run::<M, links::Mpsc, W>(cli, session, on),
        Transport::AsyncChannel => run::<M, links::AsyncChannel, W>(cli, session, on),
        Transport::Unbounded => run::<M, links::Unbounded, W>(cli, session, on),
        Transport::Oneshot => run::<M, links::Oneshot, W>(cli, session, on),
        Transport::Notify => run::<M, links::Notify, W>(cli, session, on),
        Transport::Mutex => run::<M, links::Mutex, W>(cli, session, on),
        Transport::Slot => run::<M, links::Slot, W>(cli, session, on),
    }
}

fn run<M: Message, L: Link<M>, W: Work>(
    cli: &Cli,
    session: &mut Session,
    executor: &impl Executor,
) -> anyhow::Result<()> {
    executor.block_on(brigade::<M, L, W>(cli, session, executor))
}

/// Builds the chain, has it driven, and takes it down.
async fn brigade<M: Message, L: Link<M>, W: Work>(
    cli: &Cli,
    session: &mut Session,
    executor: &impl Executor,
) -> anyhow::Result<()> {
    let n = cli.run.tasks;
    let stock = cli.feed.stock();
    let mut tasks = Vec::new();
    let mut sent = 0;
    let result = match form::<M, L, W, _>(cli, executor, stock.as_ref(), &mut tasks).await {
        Err(e) => Err(e),
        Ok((mut first, mut last)) => {
            let mut laps = session.laps().on(executor.counts());
            let tokens = Tokens::new(cli.tokens, cli.payload, stock);
            let driver = executor.spawn(async move {
                let result = drive(&mut first, &mut last, tokens, &mut laps, n).await;
                Ok((first, last, laps, result))
            });
            executor
                .join(driver)
                .await
                .and_then(|(_first, _last, laps, result)| {
                    sent = laps.begun() * u64::from(cli.tokens);
                    session.timed(laps);
                    result.map(|()| session.at_rest())
                })
        }
    };
    // Both ends of the chain are dropped now, and its end runs down it.
    let mut tally = Tally::default();
    for task in cli.order.in_chain(n, tasks) {
        tally.add(executor.join(task).await);
    }
    tally.settle(result, n, sent)
}

/// Spawns the tasks and waits until each has run. Returns the end that the driver puts tokens
/// into and the end that it takes them from.
async fn form<M: Message, L: Link<M>, W: Work, E: Executor>(
    cli: &Cli,
    executor: &E,
    stock: Option<&Stock<M>>,
    tasks: &mut Vec<E::Handle<anyhow::Result<u64>>>,
) -> anyhow::Result<(L::Sender, L::Receiver)> {
    let mut muster = Muster::of(cli.run.tasks);
    let mut wiring = Wiring::new(cli.order, cli.run.tasks, |_| {
        let (sender, receiver) = L::link(cli.capacity());
        Ok((receiver, sender))
    })?;
    while let Some(post) = wiring.next_task() {
        let (post, arrival) = (post?, muster.arrival());
        tasks.push(match stock.filter(|_| post.place == 0) {
            None => start::<M, _, _, W, E>(cli, executor, post, arrival),
            Some(stock) => {
                let post = Stocked::at(post, stock.clone());
                start::<M, _, _, W, E>(cli, executor, post, arrival)
            }
        });
    }
    while !muster.complete()? {
        yield_now().await;
    }
    Ok(wiring.ends())
}

/// Starts the task of a post.
fn start<M: Message, R: Take<M>, S: Put<M>, W: Work, E: Executor>(
    cli: &Cli,
    executor: &E,
    post: Post<R, S>,
    arrival: Arrival,
) -> E::Handle<anyhow::Result<u64>> {
    let (upstream, downstream, work) = (post.upstream, post.downstream, W::new(cli.touch));
    match cli.fault.of(post.place) {
        None => executor.spawn(pass_on(upstream, downstream, arrival, work)),
        Some(ending) => executor.spawn(faulty::pass_on(upstream, downstream, arrival, ending)),
    }
}

/// A task of the chain: takes a token, adds one, hands it on, until the link ends.
async fn pass_on<M: Message>(
    mut upstream: impl Take<M>,
    mut downstream: impl Put<M>,
    arrival: Arrival,
    mut work: impl Work,
) -> anyhow::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    while let Some(token) = upstream.take().await {
        work.work();
        downstream.put(token.passed()).await.map_err(link_ended)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive<M: Message>(
    first: &mut impl Put<M>,
    last: &mut impl Take<M>,
    mut tokens: Tokens<M>,
    laps: &mut Laps,
    tasks: u32,
) -> anyhow::Result<()> {
    while let Some(lap) = laps.advance()? {
        let (sent, all) = tokens.set_out(lap);

        let clock = Instant::now();
        for token in &mut all[..sent] {
            first
                .put(mem::take(token))
                .await
                .context("the chain ended early")?;
        }
        for token in all {
            *token = last.take().await.context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        tokens.verify(lap, tasks)?;
    }
    Ok(())
}
