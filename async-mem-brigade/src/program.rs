//! A number travels through N async tasks chained in memory: no I/O, no system call.
//!
//! One iteration: the driver puts a number into the first link; each task takes it, adds one, and puts
//! it into the next link; the driver takes it from the last one: N + 1 hops, each a put, a wake-up by
//! the executor and a take. The driver is a spawned task like the others (or not: `--driver block-on`).
//! With `--feed first-task` the driver sends one token, and the first task the others: a stream.
//!
//! Timed: those operations, and the executor's work to run the next task. Left out: creating and awaiting
//! the tasks, and the check of the tokens. The loop is in `brigade.rs`, and `smol-mem-brigade` has it too.
//!
//! With `--chains C` there are C such chains, each with a driver of its own, and with `--trips R` each makes R
//! round trips in an iteration. A multi-thread scheduler runs all of them; of current-thread ones
//! each chain has its own, on a thread of its own. The drivers start together; timed is from the first one's start
//! to the last one's end.
//!
//! `--executor minimal --transport slot` is a lower bound: an executor and a link that do only what
//! they cannot do without.
//!
//! Not to be taken for a switch alone: a hop contains the work of a channel. On the multi-thread
//! scheduler tasks may move between CPUs, and the time per hop contains that.

use std::process::ExitCode;

use crate::links::{
    AsyncChannelReceiver, MpscReceiver, MutexEnd, NotifyReceiver, OneshotReceiver, SlotEnd,
    UnboundedReceiver,
};
use crate::{Brigade, BrigadeFlags, ChainsFlags, Tokio, Transport, brigade, minimal};
use clap::{Parser, ValueEnum};
use contract::message::{Description, Runtime};
use contract::{BadUsage, Flags, Program, Run};
use runtime::{DriverKind, Flavor, IdleIn, TokioFlags};
use threads::Placement;

/// Pass a number through a chain of async tasks joined in memory, and time it
#[derive(Parser)]
#[command(mut_arg("flavor", |arg| arg.default_value("current-thread")))]
struct Cli {
    #[command(flatten)]
    brigade: BrigadeFlags,
    /// Kind of the links
    #[arg(long, value_enum, default_value = "mpsc")]
    transport: Transport,
    #[command(flatten)]
    chains: ChainsFlags,
    /// Executor of the tasks
    #[arg(long, value_enum, default_value_t = ExecutorKind::Tokio)]
    executor: ExecutorKind,
    #[command(flatten)]
    tokio: TokioFlags,
}

/// Executor of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExecutorKind {
    /// Tokio, with the scheduler that --flavor names
    Tokio,
    /// a lower bound: one thread, first in first out, no lock and no atomic operation; with
    /// --transport slot, mutex or mpsc
    Minimal,
}

impl Cli {
    /// The brigade on Tokio.
    fn on_tokio<'a>(&self) -> anyhow::Result<Brigade<Tokio<'a>>> {
        Ok(match self.transport {
            Transport::Mpsc => brigade::<MpscReceiver, _>,
            Transport::Unbounded => brigade::<UnboundedReceiver, _>,
            Transport::AsyncChannel => brigade::<AsyncChannelReceiver, _>,
            Transport::Oneshot => brigade::<OneshotReceiver, _>,
            Transport::Notify => brigade::<NotifyReceiver, _>,
            Transport::Mutex => brigade::<MutexEnd, _>,
            Transport::Slot => {
                return Err(BadUsage::new(
                    "--transport slot: nothing keeps two threads apart in it: add --executor minimal, or use --transport mutex",
                ));
            }
        })
    }

    /// The brigade on the minimal executor.
    fn on_minimal(&self) -> anyhow::Result<Brigade<minimal::Executor>> {
        let TokioFlags { runtime, driver, idle_in } = self.tokio;
        for (flag, is_given) in [
            ("--flavor", runtime.flavor != Flavor::CurrentThread),
            ("--workers", runtime.workers.is_some()),
            ("--placement", runtime.placement != Placement::Free),
            ("--driver", driver != DriverKind::Spawned),
            ("--idle-in timer", idle_in != IdleIn::Link),
            ("--chains and --trips", !self.chains.is_one()),
        ] {
            if is_given {
                return Err(BadUsage::new(format!(
                    "{flag}: the minimal executor has one thread and no timers: drop it, or use --executor tokio"
                )));
            }
        }
        Ok(match self.transport {
            Transport::Slot => brigade::<SlotEnd, _>,
            Transport::Mutex => brigade::<MutexEnd, _>,
            Transport::Mpsc => brigade::<MpscReceiver, _>,
            _ => {
                return Err(BadUsage::new(
                    "--executor minimal: it is compiled for --transport slot, mutex and mpsc: use one of them, or --executor tokio",
                ));
            }
        })
    }
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.brigade.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let mut brigade = self.brigade.clone();
        let timers = runtime::timer_needs(self.tokio.timers(&mut brigade.chain.idle));
        let chain = brigade.describe("async-mem-brigade", self.transport, self.chains)?;
        if self.executor == ExecutorKind::Minimal {
            self.on_minimal()?;
            let runtime = Runtime::one_thread("minimal", Some(env!("CARGO_PKG_VERSION")));
            return Ok(Description { runtime: Some(runtime), ..chain });
        }
        self.on_tokio()?;
        let drivers = runtime::chains_needs(&self.tokio, self.chains);
        self.tokio.runtime.describe(Description { needs: chain.needs + timers + drivers, ..chain })
    }
}

/// The program, as `main` of an executable.
pub fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    if cli.executor == ExecutorKind::Minimal {
        let executor = minimal::Executor::new();
        return cli.on_minimal()?(&cli.brigade, cli.chains, &executor, run);
    }
    let mut flags = cli.brigade.clone();
    let timers = cli.tokio.timers(&mut flags.chain.idle);
    let runtimes = cli.tokio.build_for(cli.chains, false)?;
    let tokio = Tokio { runtimes: &runtimes, driver: cli.tokio.driver };
    let brigade = cli.on_tokio()?;
    runtime::beside_timers(runtimes.of_chain(0), timers, || {
        brigade(&flags, cli.chains, &tokio, run)
    })
}
