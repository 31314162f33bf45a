//! A number travels through N async tasks chained in memory: no I/O, no system call.
//!
//! One iteration: the driver puts a number into the first link; each task takes it, adds one, and puts
//! it into the next link; the driver takes it from the last one: N + 1 hops, each a put, a wake-up by
//! the executor and a take. The driver is a spawned task like the others (or not: `--driver block-on`).
//! With `--feed first-task` the driver sends one token, and the first task the others: a stream.
//!
//! Timed: those operations, and the executor's work to run the next task. Left out: creating and awaiting
//! the tasks, and the check of the tokens. The loop is in `brigade.rs`.
//!
//! With `--chains C` there are C such chains, each with a driver of its own, and with `--trips R` each makes R
//! round trips per iteration. One multi-thread scheduler runs all chains; with current-thread schedulers, each chain has
//! its own scheduler on its own thread. The drivers start together, and the time runs from the first one's start to the
//! last one's end.
//!
//! `--executor minimal` is a lower bound: an executor and a link that do only what they must.
//!
//! Not to be taken for a switch alone: a hop contains the work of a channel. On the multi-thread
//! scheduler tasks may move between CPUs, and the time per hop contains that.

use std::process::ExitCode;

use crate::links::{MpscReceiver, SlotEnd};
use crate::{BrigadeFlags, ChainsFlags, Tokio, brigade, minimal};
use clap::{Parser, ValueEnum};
use contract::message::{Description, Runtime};
use contract::{BadUsage, Flags, Program, Run};
use runtime::{DriverKind, Flavor, RuntimeFlags};
use threads::Placement;

/// Time switching between async tasks without I/O: pass a number along a chain of tasks joined in memory
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in a chain")))]
#[command(mut_arg("flavor", |arg| arg.default_value("current-thread")))]
struct Cli {
    #[command(flatten)]
    brigade: BrigadeFlags,
    #[command(flatten)]
    chains: ChainsFlags,
    /// Executor that runs the tasks
    #[arg(long, value_enum, default_value_t = ExecutorKind::Tokio)]
    executor: ExecutorKind,
    #[command(flatten)]
    runtime: RuntimeFlags,
    /// Where the driver, which sends the tokens and takes them back, runs
    #[arg(long, value_enum, default_value = "spawned", help_heading = "Advanced")]
    driver: DriverKind,
}

/// Executor of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExecutorKind {
    /// Tokio, with the scheduler of --flavor; the links are tokio::sync::mpsc channels
    Tokio,
    /// a lower bound: one thread, first in, first out, without locks and atomic operations; a link holds one token and a
    /// waker
    Minimal,
}

impl Cli {
    /// Refuses flags that the minimal executor does not have.
    fn ensure_minimal(&self) -> anyhow::Result<()> {
        let runtime = self.runtime;
        for (flag, is_given) in [
            ("--flavor", runtime.flavor != Flavor::CurrentThread),
            ("--workers", runtime.workers.is_some()),
            ("--placement", runtime.placement != Placement::Free),
            ("--driver", self.driver != DriverKind::Spawned),
            ("--chains and --trips", !self.chains.is_one()),
            ("--capacity", self.brigade.capacity.is_some()),
        ] {
            if is_given {
                return Err(BadUsage::new(format!(
                    "{flag}: the minimal executor has one thread, and links that hold one token: drop it, or use --executor tokio"
                )));
            }
        }
        Ok(())
    }
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.brigade.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        if self.executor == ExecutorKind::Minimal {
            self.ensure_minimal()?;
            let chain = self.brigade.describe(self.chains, "raise --tasks")?;
            let runtime = Runtime::one_thread("minimal", Some(env!("CARGO_PKG_VERSION")));
            return Ok(Description { runtime: Some(runtime), ..chain });
        }
        let chain = self.brigade.describe(self.chains, "raise --capacity or --tasks")?;
        let drivers = runtime::chains_needs(&self.runtime, self.chains);
        self.runtime.describe(Description { needs: chain.needs + drivers, ..chain })
    }
}

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    if cli.executor == ExecutorKind::Minimal {
        let executor = minimal::Executor::new();
        return brigade::<SlotEnd, _>(&cli.brigade, cli.chains, &executor, run);
    }
    let runtimes = cli.runtime.build_for(cli.chains, false)?;
    let tokio = Tokio { runtimes: &runtimes, driver: cli.driver };
    brigade::<MpscReceiver, _>(&cli.brigade, cli.chains, &tokio, run)
}
