//! N HTTP bodies are received at once by tasks of a runtime; each is kept somewhere and summarised.
//!
//! One iteration: N tasks are spawned. Each asks for a body over a connection of its own, which is kept
//! alive from one iteration to the next, keeps the body as it comes in, as `--store` says, finds its
//! length and its largest byte, lets it go, and returns both. What blocks is done as `--strategy` says
//! (`lib/blocking`).
//!
//! Timed: all of that, and what the server does meanwhile. Left out: connecting, drawing the bytes, and
//! the check of the summaries.
//!
//! All strategies have the same number of threads besides the main one; the program counts them at the
//! end. The pass `neighbours` times the same iterations beside a heartbeat and an echo on the same
//! runtime.
//!
//! The server is a process of its own: CPU time, page faults and memory are the client's. Not to be taken
//! for the client's work alone: the server shares the CPUs, and the time is that of both. Nor for a
//! network: loopback copies each byte twice and loses none.

mod cli;
mod client;
mod content;
mod folder;
mod map;
mod server;
mod store;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use blocking::{Direct, Offload, Progress, SpawnBlocking, Strategy};
use contract::{Interrupted, Pass, Run, signals};
use runtime::WorkerCounts;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use cli::Cli;
use client::Client;
use content::{Content, Outline, PIECE, Summary};
use server::Server;
use store::Keeper;

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    if let Some(folder) = cli.folder()? {
        folder.check_room(cli.flags.tasks, cli.size)?;
    }
    // While there is one thread.
    let mut server = Server::fork(Content::new(Outline(cli.size.0), PIECE))?;
    let threads = cli.threads()?;
    let runtime = threads.build()?;
    let address = server.address;
    let driven = match cli.blocking.strategy {
        Strategy::Direct => receive(cli, run, &runtime, address, Direct),
        Strategy::Permit => receive(cli, run, &runtime, address, threads.permits()),
        Strategy::SpawnBlocking => receive(cli, run, &runtime, address, SpawnBlocking),
        Strategy::Dispatch => {
            let pool = threads.start_pool()?;
            let driven = receive(cli, run, &runtime, address, pool.queue());
            // A task that is left has the pool's queue.
            drop(runtime);
            driven.and(pool.join())
        }
    };
    driven.map_err(|e| server.explain(e))
}

/// All passes, by one strategy.
fn receive(
    cli: &Cli,
    run: &mut Run,
    runtime: &Runtime,
    address: SocketAddr,
    offload: impl Offload,
) -> anyhow::Result<()> {
    let mut batch = runtime.block_on(connect(cli, address, offload))?;
    while let Some(mut pass) = run.next_pass()? {
        let progress = cli.neighbours.progress(&pass);
        let counted = cli.flags.controlled && progress.is_none();
        let counts = counted.then(|| WorkerCounts::now(runtime.handle()));
        let driver = runtime.spawn(drive(batch, pass, progress.clone()));
        let (driven, mut extra) = cli.neighbours.beside(runtime, progress, driver)?;
        let result;
        (batch, pass, result) = driven;
        pass.extra.append(&mut extra);
        if let Some(counts) = counts {
            counts.add_to(&mut pass.extra);
        }
        run.finish(pass)?;
        result?;
    }
    cli.threads()?.check_count()
}

/// Makes all connections, one after the other.
async fn connect<O: Offload>(
    cli: &Cli,
    address: SocketAddr,
    offload: O,
) -> anyhow::Result<Batch<O>> {
    let tasks = cli.flags.tasks;
    let keeper = Keeper { store: cli.store, folder: cli.folder()?.map(Arc::new), offload };
    let mut batch = Batch {
        outline: Outline(cli.size.0),
        next: 0,
        clients: Vec::with_capacity(tasks as usize),
        tasks: Vec::with_capacity(tasks as usize),
        summaries: Vec::with_capacity(tasks as usize),
    };
    for k in 0..tasks {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        let client = Client::connect(address, keeper.clone());
        let client = runtime::join(tokio::spawn(client)).await;
        let client = client.with_context(|| format!("cannot connect task {k} of {tasks}"))?;
        batch.clients.push(client);
    }
    Ok(batch)
}

type Fetch<O> = JoinHandle<anyhow::Result<(Client<O>, Summary)>>;

/// The tasks of an iteration, and their results.
struct Batch<O> {
    outline: Outline,
    /// Number of the next body.
    next: u64,
    clients: Vec<Client<O>>,
    tasks: Vec<Fetch<O>>,
    summaries: Vec<Summary>,
}

impl<O: Offload> Batch<O> {
    /// What is timed: asks for one body over each connection, in a task each, and awaits all.
    async fn run(&mut self) -> anyhow::Result<()> {
        for (number, client) in (self.next..).zip(self.clients.drain(..)) {
            self.tasks.push(tokio::spawn(client.fetch(number)));
        }
        for task in self.tasks.drain(..) {
            let (client, summary) = runtime::join(task).await?;
            self.clients.push(client);
            self.summaries.push(summary);
        }
        Ok(())
    }

    /// Checks that each body came to what it should.
    fn verify(&mut self) -> anyhow::Result<()> {
        for summary in self.summaries.drain(..) {
            let number = self.next;
            let expected = self.outline.summary(number);
            ensure!(
                summary == expected,
                "body {number} came out with {summary}, expected {expected}"
            );
            self.next += 1;
        }
        Ok(())
    }
}

/// The driver: has N bodies received in each iteration, and times that.
async fn drive<O: Offload>(
    mut batch: Batch<O>,
    mut pass: Pass,
    progress: Option<Arc<Progress>>,
) -> (Batch<O>, Pass, anyhow::Result<()>) {
    let result = async {
        while pass.next_iteration().is_some() {
            let clock = Instant::now();
            batch.run().await?;
            pass.record(clock.elapsed());

            batch.verify()?;
        }
        while progress.as_ref().is_some_and(|p| p.wants_more()) {
            batch.run().await?;
            batch.verify()?;
        }
        Ok(())
    };
    let result = result.await;
    (batch, pass, result)
}
