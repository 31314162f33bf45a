//! A number travels through N async tasks chained in memory: no I/O, no system call.
//!
//! One iteration: the driver puts a number into the first link; each task takes it, adds one, and
//! puts it into the next link; the driver takes it from the last one. That is N + 1 hops, each a
//! put, a wake-up by the executor and a take. The driver is a spawned task like the others.
//!
//! Timed: those operations and the executor's work to run the next task. Left out: creating and
//! awaiting the tasks, the check of the number, and all bookkeeping.
//!
//! On the current-thread scheduler this is what a switch between async tasks costs with a channel
//! in between. On the multi-thread scheduler tasks may move between CPUs, and the time per hop
//! then contains that. `--executor one-page --transport slot` is the floor: what is left where both
//! do only what they cannot do without, and no figure for a real runtime.

mod executors;
mod faulty;
mod links;
mod one_page;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::{Parser, ValueEnum};
use executors::Executor;
use harness::args::Run;
use harness::laps::Laps;
use harness::limits::Demand;
use harness::machine::Build;
use harness::order::Order;
use harness::placement::{Layout, Place, Placement};
use harness::ready::{Arrival, Muster};
use harness::record;
use harness::tally::Tally;
use harness::test_fault::TestFault;
use harness::touch::{Touch, Work, WorkingSet};
use harness::wiring::Wiring;
use harness::{BadUsage, Program, Session, link_ended};
use links::{Link, Put, Take};
use runtime::{Flavor, Plan, Workers};
use serde::Serialize;
use tokio::task::yield_now;

/// Pass a number through a chain of async tasks joined in memory, and time it
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
    /// How many numbers are in flight at once
    #[arg(long, value_name = "K", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    tokens: u32,
    /// How many numbers each channel holds, with --transport mpsc [default: 1]
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_if("transport", "mpsc", "1"), value_parser = clap::value_parser!(u32).range(1..=1 << 28))]
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
    /// tokio::sync::mpsc::channel, with room for --capacity numbers
    Mpsc,
    /// tokio::sync::mpsc::unbounded_channel, which holds any number of them
    Unbounded,
    /// tokio::sync::oneshot, a new one for each hop: a number carries the receiver of the next one.
    /// Holds any number of them
    Oneshot,
    /// a number in an atomic, with tokio::sync::Notify to wait by. Holds one
    Notify,
    /// a number and a waker behind a std::sync::Mutex: the least that works on every executor.
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
    session.carries(cli.tokens);
    check_room(cli)?;
    match cli.executor {
        Kind::Tokio => {
            session.runs_on(plan.describe());
            session.require(&(demand(cli) + plan.demand()))?;
            over_links(cli, session, &plan.build(false)?)
        }
        Kind::OnePage => {
            session.runs_on(record::Runtime {
                name: "one-page".to_owned(),
                version: Build::current().package_version,
                flavor: "current-thread".to_owned(),
                workers: 1,
            });
            session.require(&demand(cli))?;
            over_links(cli, session, &one_page::Executor::new())
        }
    }
}

/// Which flags go together.
fn check_together(cli: &Cli) -> anyhow::Result<()> {
    let one_page = cli.executor == Kind::OnePage;
    if cli.capacity.is_some() && cli.transport != Transport::Mpsc {
        return Err(BadUsage::new(
            "--capacity: what the links of this --transport hold is not to be chosen: drop it, or use --transport mpsc",
        ));
    }
    if cli.transport == Transport::Slot && !one_page {
        return Err(BadUsage::new(
            "--transport slot: nothing keeps two threads apart in it: add --executor one-page, or use --transport mutex",
        ));
    }
    let apart = matches!(cli.place.placement, Placement::Half | Placement::Spread);
    let unlike_one_page = [
        ("--flavor", cli.flavor != Flavor::CurrentThread),
        ("--workers", cli.workers.workers.is_some()),
        ("--placement", apart),
    ];
    match unlike_one_page.iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) if one_page => Err(BadUsage::new(format!(
            "{flag}: --executor one-page has one thread and one scheduler: drop {flag}, or use --executor tokio",
        ))),
        _ => Ok(()),
    }
}

/// The driver sends all tokens before it takes the first one back: with more than the links hold
/// it would wait for ever.
fn check_room(cli: &Cli) -> anyhow::Result<()> {
    let (each, remedy) = match cli.transport {
        Transport::Mpsc => (cli.capacity(), "raise --capacity or --tasks"),
        Transport::Notify | Transport::Mutex | Transport::Slot => (1, "raise --tasks"),
        Transport::Unbounded | Transport::Oneshot => return Ok(()),
    };
    let most = (u64::from(cli.run.tasks) + 1) * u64::from(each);
    if u64::from(cli.tokens) > most {
        return Err(BadUsage::new(format!(
            "--tokens {} is more than the links hold (at most {most}): lower it, or {remedy}",
            cli.tokens
        )));
    }
    Ok(())
}

impl Cli {
    /// Numbers that a channel holds.
    fn capacity(&self) -> u32 {
        self.capacity.unwrap_or(1)
    }
}

/// What the run needs of the system, but for the runtime. Bytes are rounded up from measured ones.
fn demand(cli: &Cli) -> Demand {
    let task = match (cli.transport, cli.executor) {
        // A channel has blocks of 32 slots, and two of them after 32 numbers.
        (Transport::Mpsc | Transport::Unbounded, _) => 2048,
        (Transport::Notify, Kind::Tokio) => 768,
        (Transport::Notify, Kind::OnePage) => 512,
        (_, Kind::Tokio) => 640,
        (_, Kind::OnePage) => 384,
    };
    let token = match cli.transport {
        // An allocation of its own.
        Transport::Oneshot => 128,
        _ => 24,
    };
    Demand::memory_tasks(task) + Demand::tokens_of(cli.tokens, token) + cli.touch.demand()
}

/// Picks the loop that is compiled for these links.
fn over_links(cli: &Cli, session: &mut Session, executor: &impl Executor) -> anyhow::Result<()> {
    match cli.transport {
        Transport::Mpsc => with_work::<links::Mpsc>(cli, session, executor),
        Transport::Unbounded => with_work::<links::Unbounded>(cli, session, executor),
        Transport::Oneshot => with_work::<links::Oneshot>(cli, session, executor),
        Transport::Notify => with_work::<links::Notify>(cli, session, executor),
        Transport::Mutex => with_work::<links::Mutex>(cli, session, executor),
        Transport::Slot => with_work::<links::Slot>(cli, session, executor),
    }
}

/// Picks the loop that is compiled for what the tasks do at a hop.
fn with_work<L: Link>(
    cli: &Cli,
    session: &mut Session,
    executor: &impl Executor,
) -> anyhow::Result<()> {
    match cli.touch.is_none() {
        true => executor.block_on(brigade::<L, ()>(cli, session, executor)),
        false => executor.block_on(brigade::<L, WorkingSet>(cli, session, executor)),
    }
}

/// Builds the chain, has it driven, and takes it down.
async fn brigade<L: Link, W: Work>(
    cli: &Cli,
    session: &mut Session,
    executor: &impl Executor,
) -> anyhow::Result<()> {
    let (n, tokens) = (cli.run.tasks, cli.tokens);
    let mut tasks = Vec::new();
    let mut sent = 0;
    let result = match form::<L, W, _>(cli, executor, &mut tasks).await {
        Err(e) => Err(e),
        Ok((mut first, mut last)) => {
            let mut laps = session.laps();
            let driver = executor.spawn(async move {
                let result = drive::<L>(&mut first, &mut last, &mut laps, n, tokens).await;
                Ok((first, last, laps, result))
            });
            executor
                .join(driver)
                .await
                .and_then(|(_first, _last, laps, result)| {
                    sent = laps.begun() * u64::from(tokens);
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

/// Spawns the tasks and waits until each has run. Returns the end that the driver puts numbers
/// into and the end that it takes them from.
async fn form<L: Link, W: Work, E: Executor>(
    cli: &Cli,
    executor: &E,
    tasks: &mut Vec<E::Handle<anyhow::Result<u64>>>,
) -> anyhow::Result<(L::Sender, L::Receiver)> {
    let mut muster = Muster::of(cli.run.tasks);
    let mut wiring = Wiring::new(cli.order, cli.run.tasks, |_| {
        let (sender, receiver) = L::link(cli.capacity());
        Ok((receiver, sender))
    })?;
    while let Some(post) = wiring.next_task() {
        let post = post?;
        let (upstream, downstream, arrival) = (post.upstream, post.downstream, muster.arrival());
        let work = W::new(cli.touch);
        tasks.push(match cli.fault.of(post.place) {
            None => executor.spawn(pass_on::<L, W>(upstream, downstream, arrival, work)),
            Some(ending) => {
                executor.spawn(faulty::pass_on::<L>(upstream, downstream, arrival, ending))
            }
        });
    }
    while !muster.complete()? {
        yield_now().await;
    }
    Ok(wiring.ends())
}

/// A task of the chain: takes a number, adds one, hands it on, until the link ends.
async fn pass_on<L: Link, W: Work>(
    mut upstream: L::Receiver,
    mut downstream: L::Sender,
    arrival: Arrival,
    mut work: W,
) -> anyhow::Result<u64> {
    arrival.arrive();
    let mut passed = 0;
    while let Some(number) = upstream.take().await {
        work.work();
        downstream.put(number + 1).await.map_err(link_ended)?;
        passed += 1;
    }
    Ok(passed)
}

/// The driver: sends the tokens in, takes them out, and times that.
async fn drive<L: Link>(
    first: &mut L::Sender,
    last: &mut L::Receiver,
    laps: &mut Laps,
    tasks: u32,
    tokens: u32,
) -> anyhow::Result<()> {
    let mut received = vec![0usize; tokens as usize];
    while let Some(lap) = laps.advance()? {
        let start = lap as usize;

        let clock = Instant::now();
        for k in 0..tokens {
            first
                .put(start + k as usize)
                .await
                .context("the chain ended early")?;
        }
        for token in &mut received {
            *token = last.take().await.context("the chain ended early")?;
        }
        laps.record(clock.elapsed());

        for (k, &token) in received.iter().enumerate() {
            let expected = start + k + tasks as usize;
            ensure!(
                token == expected,
                "token {k} came out as {token}, expected {expected}"
            );
        }
    }
    Ok(())
}
