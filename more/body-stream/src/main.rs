//! N HTTP bodies are received at once by tasks of a runtime; each is kept somewhere and summarised.
//!
//! One iteration: N tasks are spawned. Each asks for a body over a connection of its own, which is kept
//! alive from one iteration to the next, keeps the body as it comes in, as `--store` says, finds its
//! length and its largest byte, lets it go, and returns both. What blocks is done as `--strategy` says
//! (strategy.rs of blocking-strategies).
//!
//! Timed: all of that, and what the server does meanwhile. Left out: connecting, drawing the bytes, and
//! the check of the summaries.
//!
//! All strategies have the same number of threads besides the main one; the program counts them at the
//! end. The pass `neighbours` times the same iterations beside a heartbeat on the same runtime.
//!
//! The server is another process: CPU time, page faults and memory are the client's. Not to be taken for the client's
//! work alone: the server shares the CPUs, and the time includes both. Nor for a network: loopback copies each byte
//! twice and loses none.

mod cli;
mod client;
mod content;
mod folder;
mod server;
mod store;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use blocking::{Driven, Progress};
use contract::{Pass, Run};
use runtime::DriverKind;
use tokio::task::JoinHandle;

use cli::Cli;
use client::Client;
use content::{Content, Summary};
use server::Server;
use store::Keeper;

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let folder = cli.folder()?.map(Arc::new);
    // While there is one thread.
    let server = Server::fork(Content::new(cli.size.0))?;
    let address = server.address;
    let connect_all = async |offload| {
        let keeper = Keeper { store: cli.store, folder: folder.clone(), offload };
        connect(cli, address, keeper).await
    };
    let served = blocking::serve(&cli.blocking, DriverKind::Spawned, run, connect_all, drive);
    served.map_err(|e| server.process.explain(e))
}

/// Makes all connections, one after the other.
async fn connect(cli: &Cli, address: SocketAddr, keeper: Keeper) -> anyhow::Result<Batch> {
    let tasks = cli.flags.tasks;
    let mut batch = Batch {
        size: cli.size.0,
        next: 0,
        clients: Vec::with_capacity(tasks as usize),
        tasks: Vec::with_capacity(tasks as usize),
        summaries: Vec::with_capacity(tasks as usize),
    };
    for k in 0..tasks {
        let client = runtime::join(tokio::spawn(Client::connect(address, keeper.clone()))).await;
        let client = client.with_context(|| format!("cannot connect task {k} of {tasks}"))?;
        batch.clients.push(client);
    }
    Ok(batch)
}

type Fetch = JoinHandle<anyhow::Result<(Client, Summary)>>;

/// The tasks of an iteration, and their results.
struct Batch {
    size: u64,
    next: u64,
    clients: Vec<Client>,
    tasks: Vec<Fetch>,
    summaries: Vec<Summary>,
}

impl Batch {
    /// The timed part: asks for one body over each connection, in a task each, and awaits all.
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

    fn verify(&mut self) -> anyhow::Result<()> {
        for summary in self.summaries.drain(..) {
            let number = self.next;
            let expected = Summary::expected(number, self.size);
            ensure!(summary == expected, "body {number}: {summary:?}, expected {expected:?}");
            self.next += 1;
        }
        Ok(())
    }
}

/// The driver: has N bodies received in each iteration, and times that.
async fn drive(mut batch: Batch, mut pass: Pass, progress: Option<Arc<Progress>>) -> Driven<Batch> {
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
