//! N HTTP responses are received at once by tasks of a runtime, and each body is kept somewhere and
//! summarised.
//!
//! One iteration: N tasks are spawned, each asks for a body over a connection of its own, which is kept
//! alive from one iteration to the next, takes the body in as it comes, keeps it as `--store` says, finds
//! its length and its largest byte, lets it go, and returns both. What blocks is done as `--strategy`
//! says: in the task, there with a permit, on a pool of threads, or on Tokio's.
//!
//! Timed: all of that, and what the server does meanwhile, which is another process (`--server`). Left
//! out: connecting, making the bytes, the check of the summaries, and all bookkeeping.
//!
//! All strategies have the same number of threads besides the main one, which only waits. Nobody can
//! start more, and the program counts them. After the timed iterations follow untimed ones beside two
//! other tasks of the same runtime, a heartbeat and an echo (`runtime::neighbours`), which notice what the
//! strategy does to them.
//!
//! The CPU time, the page faults and the memory are this process's. The server's part of the work is not
//! in them, but it takes its share of the CPUs: the time of an iteration is that of both. No network is
//! in it: loopback copies each byte twice and loses none.

extern crate old_runtime as runtime;

mod cli;
mod client;
mod content;
mod folder;
mod misdeed;
mod process;
mod progress;
mod server;
mod store;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use harness::laps::Laps;
use harness::placement::{Layout, Seats};
use harness::recorder::Recorder;
use harness::{Session, signals};
use runtime::blocking::{Offload, Strategy, Threads};
use runtime::neighbours::{BEATS, Progress};
use runtime::pool::{Bound, Pool};
use runtime::{Flavor, Plan, Workers};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use cli::Cli;
use client::Client;
use content::{Outline, Summary};
use folder::Folder;
use process::Server;
use progress::Watch;
use store::{Faults, Keeper};

fn main() -> ExitCode {
    harness::main(measure)
}

fn measure(cli: &Cli, session: &mut Session) -> anyhow::Result<()> {
    cli.check()?;
    let seats = cli.place.confine(Layout::Single)?;
    let folder = cli.folder()?;
    let files = folder.as_deref().map(Folder::file_system).transpose()?;
    let workers = |workers| Workers {
        workers: Some(workers),
    };
    let threads = cli.threads();
    let plan = Plan::new(Flavor::MultiThread, workers(threads.workers), seats.clone())?;
    let plan = plan.blocking(threads.of_runtime).timers();
    let servers = cli.server_workers.unwrap_or(seats.cpus() as u32);
    let servers = Plan::new(Flavor::MultiThread, workers(servers), seats.clone())?;
    session.runs_on(plan.describe());
    session.hands_over(u64::from(cli.run.tasks) * cli.size.0);
    let mut demand = cli.demand(files.as_ref()) + plan.demand();
    if cli.server == process::Place::Process {
        demand = demand + servers.demand().in_one_child("--server-workers");
    }
    if let Some(files) = files {
        session.keeps_files_on(files);
    }
    session.require(&demand)?;

    let begun = Instant::now();
    // While there is one thread.
    let forked = match cli.server {
        process::Place::Process => Some(Server::fork(cli.order(), &servers, &demand)?),
        process::Place::SameRuntime => None,
    };
    let runtime = plan.build(true)?;
    let mut server = match forked {
        Some(server) => server,
        None => Server::among(&runtime, cli.order())?,
    };
    let (offload, pool) = offload(cli, threads, &seats)?;
    let stage = Stage {
        cli,
        session,
        runtime: &runtime,
        begun,
    };
    let outcome = stage.play(&mut server, folder, offload);
    // Whatever still runs has the pool's queue.
    drop(runtime);
    outcome.and(pool.map_or(Ok(()), Pool::join))
}

/// Makes the strategy ready.
fn offload(cli: &Cli, threads: Threads, seats: &Seats) -> anyhow::Result<(Offload, Option<Pool>)> {
    Ok(match cli.strategy {
        Strategy::Direct => (Offload::Direct, None),
        Strategy::Permit => (Offload::permit(threads.of_runtime), None),
        Strategy::Dispatch => {
            let bound = cli.queue.unwrap_or(Bound::Unbounded);
            let pool = Pool::start(threads.of_pool, bound, seats)?;
            (Offload::Dispatch(pool.queue()), Some(pool))
        }
        Strategy::SpawnBlocking => (Offload::SpawnBlocking, None),
    })
}

/// A runtime that is ready, and what is to happen on it.
struct Stage<'a> {
    cli: &'a Cli,
    session: &'a mut Session,
    runtime: &'a Runtime,
    begun: Instant,
}

impl Stage<'_> {
    /// Connects, has the iterations driven, and closes the connections.
    fn play(
        self,
        server: &mut Server,
        folder: Option<Arc<Folder>>,
        offload: Offload,
    ) -> anyhow::Result<()> {
        let Stage {
            cli,
            session,
            runtime,
            begun,
        } = self;
        let batch = runtime.block_on(connect(cli, server, folder, offload));
        let mut batch = batch.map_err(|e| server.explain(e))?;
        session.built(begun.elapsed());
        let mut laps = session.laps();
        let driver = runtime.spawn(async move {
            let result = drive(&mut batch, &mut laps).await;
            Ok((batch, laps, result))
        });
        let (batch, laps, result) = runtime.block_on(runtime::join(driver))?;
        session.timed(laps);
        result.map_err(|e| server.explain(e))?;
        let (batch, iters) = (Arc::new(Mutex::new(batch)), cli.run.iters);
        let shared = Arc::clone(&batch);
        let beside = cli.neighbours.listen(session, runtime, |progress| {
            runtime.spawn(async move { repeat(&mut *shared.lock().await, iters, &progress).await })
        });
        if let Some(beside) = beside.map_err(|e| server.explain(e))? {
            session.distribution("batch_beside", &beside);
        }
        if let Some(threads) = session.threads_are_all_there() {
            ensure!(
                threads <= u64::from(cli.threads),
                "there are {threads} threads besides the main one, where --threads allows {}",
                cli.threads
            );
        }
        session.at_rest();
        let closed = runtime.block_on(async { batch.lock().await.close().await });
        closed.map_err(|e| server.explain(e))
    }
}

/// Makes every connection, one after the other.
async fn connect(
    cli: &Cli,
    server: &Server,
    folder: Option<Arc<Folder>>,
    offload: Offload,
) -> anyhow::Result<Batch> {
    let mut batch = Batch {
        outline: cli.outline(),
        next: 0,
        watch: Watch::new(cli.timeout.into()),
        clients: Vec::with_capacity(cli.run.tasks as usize),
        tasks: Vec::with_capacity(cli.run.tasks as usize),
        summaries: Vec::with_capacity(cli.run.tasks as usize),
    };
    for k in 0..cli.run.tasks {
        if signals::received().is_some() {
            return Err(harness::Interrupted.into());
        }
        let keeper = Keeper {
            store: cli.store,
            faults: cli.faults.unwrap_or(Faults::Operation),
            folder: folder.clone(),
            offload: offload.clone(),
            progress: batch.watch.progress(),
        };
        let client = Client::connect(server.address(), cli.framing, cli.size.0, keeper);
        let client = tokio::spawn(client);
        let client = batch.watch.over(runtime::join(client)).await;
        let client = client
            .with_context(|| format!("cannot connect after {k} of {} tasks", cli.run.tasks))?;
        batch.clients.push(client);
    }
    Ok(batch)
}

/// The tasks of an iteration, and what becomes of them.
struct Batch {
    outline: Outline,
    /// The number of the next body.
    next: u64,
    watch: Watch,
    /// Those who wait for the next iteration.
    clients: Vec<Client>,
    tasks: Vec<JoinHandle<anyhow::Result<(Client, Summary)>>>,
    summaries: Vec<Summary>,
}

impl Batch {
    /// What is timed: asks for one body over each connection, in a task each, and awaits all.
    async fn run(&mut self) -> anyhow::Result<()> {
        for (number, client) in (self.next..).zip(self.clients.drain(..)) {
            self.tasks.push(tokio::spawn(client.fetch(number)));
        }
        for task in self.tasks.drain(..) {
            let (client, summary) = self.watch.over(runtime::join(task)).await?;
            self.clients.push(client);
            self.summaries.push(summary);
        }
        Ok(())
    }

    /// Whether each body came to what it should.
    fn check(&mut self) -> anyhow::Result<()> {
        for summary in self.summaries.drain(..) {
            let number = self.next;
            let expected = self.outline.summary(number);
            ensure!(
                summary == expected,
                "body {number} came out with {summary}, and should have {expected}"
            );
            self.next += 1;
        }
        Ok(())
    }

    async fn close(&mut self) -> anyhow::Result<()> {
        for client in self.clients.drain(..) {
            self.watch.over(client.close()).await?;
        }
        Ok(())
    }
}

/// The driver: has N bodies received in each lap and times that.
async fn drive(batch: &mut Batch, laps: &mut Laps) -> anyhow::Result<()> {
    while let Some(_lap) = laps.advance()? {
        let clock = Instant::now();
        batch.run().await?;
        let elapsed = clock.elapsed();

        batch.check()?;
        laps.record(elapsed);
    }
    Ok(())
}

/// So many beats are enough, however many iterations were asked for.
const ENOUGH: u64 = 10 * BEATS;

/// The same beside the neighbours, untimed: how long each takes there is a distribution of its own.
async fn repeat(batch: &mut Batch, iters: u64, progress: &Progress) -> anyhow::Result<Recorder> {
    let mut took = Recorder::new(iters.min(ENOUGH));
    for iteration in 0.. {
        let beats = progress.beats();
        let enough = beats >= ENOUGH || (iteration >= iters && beats >= BEATS);
        if enough || progress.is_over() || signals::received().is_some() {
            break;
        }
        let clock = Instant::now();
        batch.run().await?;
        let elapsed = clock.elapsed();
        batch.check()?;
        took.record(elapsed);
    }
    Ok(took)
}
