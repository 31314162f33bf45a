//! A number, or a buffer (`--bytes`), travels through N async tasks chained in memory: no I/O, no
//! system call.
//!
//! One iteration: the driver puts a number into the first link; each task takes it, adds one, and puts
//! it into the next link; the driver takes it from the last one: N + 1 hops, each a put, a wake-up by
//! the executor and a take. The driver is a spawned task like the others (or not: `--driver block-on`). With `--feed first-task` the
//! driver sends one token, and the first task the others: a stream.
//!
//! Timed: those operations, and the executor's work to run the next task; with `--touch`, the use of
//! memory in between. Left out: creating and awaiting the tasks, and the check of the tokens. The loop
//! is in `brigade.rs`, and `smol-mem-brigade` has it too.
//!
//! `--executor minimal --transport slot` is a lower bound: an executor and a link that do only what
//! they cannot do without.
//!
//! Not to be taken for a switch alone: a hop contains the work of a channel. On the multi-thread
//! scheduler tasks may move between CPUs, and the time per hop contains that.

use std::process::ExitCode;

use async_mem_brigade::links::{AsyncChannel, Mpsc, Mutex, Notify, Oneshot, Slot, Unbounded};
use async_mem_brigade::{BrigadeFlags, Measure, Tokio, Transport, measure, minimal, one_thread};
use clap::{Parser, ValueEnum};
use contract::message::Description;
use contract::{BadUsage, Flags, Program, Run};
use runtime::{DriverFlags, DriverKind, Flavor, IdleFlags, IdleIn, RuntimeFlags};
use threads::Placement;

/// Pass a number or a buffer through a chain of async tasks joined in memory, and time it
#[derive(Parser)]
#[command(mut_arg("flavor", |arg| arg.default_value("current-thread")))]
struct Cli {
    #[command(flatten)]
    brigade: BrigadeFlags,
    /// Executor of the tasks
    #[arg(long, value_enum, default_value_t = Kind::Tokio)]
    executor: Kind,
    #[command(flatten)]
    runtime: RuntimeFlags,
    #[command(flatten)]
    driver: DriverFlags,
    #[command(flatten)]
    idle: IdleFlags,
}

/// Executor of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Tokio, with the scheduler that --flavor names
    Tokio,
    /// a lower bound: one thread, first in first out, no lock and no atomic operation; with
    /// --transport slot, mutex or mpsc
    Minimal,
}

/// The loops that are compiled for Tokio.
fn on_tokio(transport: Transport) -> Option<Measure<Tokio>> {
    Some(match transport {
        Transport::Mpsc => measure::<Mpsc, _>,
        Transport::Unbounded => measure::<Unbounded, _>,
        Transport::AsyncChannel => measure::<AsyncChannel, _>,
        Transport::Oneshot => measure::<Oneshot, _>,
        Transport::Notify => measure::<Notify, _>,
        Transport::Mutex => measure::<Mutex, _>,
        Transport::Slot => return None,
    })
}

/// The loops that are compiled for the minimal executor.
fn on_minimal(transport: Transport) -> Option<Measure<minimal::Executor>> {
    Some(match transport {
        Transport::Slot => measure::<Slot, _>,
        Transport::Mutex => measure::<Mutex, _>,
        Transport::Mpsc => measure::<Mpsc, _>,
        _ => return None,
    })
}

impl Cli {
    fn on_tokio(&self) -> anyhow::Result<Measure<Tokio>> {
        on_tokio(self.brigade.transport).ok_or_else(|| {
            BadUsage::new("--transport slot: nothing keeps two threads apart in it: add --executor minimal, or use --transport mutex")
        })
    }

    fn on_minimal(&self) -> anyhow::Result<Measure<minimal::Executor>> {
        let runtime = &self.runtime;
        for (flag, is_given) in [
            ("--flavor", runtime.flavor != Flavor::CurrentThread),
            ("--workers", runtime.workers.is_some()),
            ("--placement", runtime.placement != Placement::Free),
            ("--driver", self.driver.driver != DriverKind::Spawned),
            ("--idle-in timer", self.idle.idle_in != IdleIn::Link),
        ] {
            if is_given {
                return Err(BadUsage::new(format!(
                    "{flag}: the minimal executor has one thread and no timers: drop it, or use --executor tokio"
                )));
            }
        }
        on_minimal(self.brigade.transport).ok_or_else(|| {
            BadUsage::new(
                "--executor minimal: it is compiled for --transport slot, mutex and mpsc: use one of them, or --executor tokio",
            )
        })
    }
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.brigade.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let mut brigade = self.brigade.clone();
        let timers = runtime::timer_needs(self.idle.timers(&mut brigade.chain.idle));
        let chain = brigade.describe("async-mem-brigade")?;
        match self.executor {
            Kind::Tokio => {
                self.on_tokio()?;
                self.runtime.describe(Description { needs: chain.needs + timers, ..chain })
            }
            Kind::Minimal => {
                self.on_minimal()?;
                Ok(Description {
                    runtime: Some(one_thread("minimal", Some(env!("CARGO_PKG_VERSION")))),
                    ..chain
                })
            }
        }
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| match cli.executor {
        Kind::Tokio => {
            let mut brigade = cli.brigade.clone();
            let timers = cli.idle.timers(&mut brigade.chain.idle);
            let (measure, runtime) = (cli.on_tokio()?, cli.idle.build(&cli.runtime, false)?);
            let tokio = Tokio { runtime, driver: cli.driver.driver };
            runtime::beside_timers(&tokio.runtime, timers, || measure(&brigade, &tokio, run))
        }
        Kind::Minimal => cli.on_minimal()?(&cli.brigade, &minimal::Executor::new(), run),
    })
}
