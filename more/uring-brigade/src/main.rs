//! A token travels through N async tasks chained by pipes, on io_uring.
//!
//! One iteration: the driver writes a byte into the first link; each task reads it, adds one, and writes
//! it into the next link; the driver reads it from the last link: N + 1 hops. The driver is a task like
//! the others, and all of them run on one thread. The loop is in `brigade.rs`.
//!
//! Timed: the executor's and the kernel's work in a hop. A task begins a read or a write and goes on
//! when that is complete; when no task can go on, one io_uring_enter submits what was begun, a write and
//! the read of the next task, and waits for a completion. Left out: creating and awaiting the tasks, and
//! the check of the bytes.
//!
//! Not to be taken for the price of a runtime that a server could use: the executor (`ring.rs`) is
//! the least that tasks on io_uring need. Nor for the price of switching tasks, which
//! `async-mem-brigade` measures.

use std::process::ExitCode;

use chain::{ChainFlags, ChainsFlags};
use clap::Parser;
use contract::message::{Claim, Description, Runtime};
use contract::{Flags, Program};

mod brigade;
mod ring;
mod setup;

use brigade::brigade;
use ring::Ring;
use setup::{Setup, entries};

/// Time switching between async tasks on io_uring: pass a byte along a chain of tasks joined by pipes
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in the chain")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
    /// How the ring is set up
    #[arg(long, value_enum, default_value = "deferred")]
    setup: Setup,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let (one, runtime) = (ChainsFlags::default(), Runtime::one_thread("io_uring", None));
        let needs = self.chain.needs(1) + self.setup.needs(self.entries());
        let tasks = self.chain.describe("uring-brigade", one, Claim::UserSwitch, needs)?;
        Ok(Description { runtime: Some(runtime), ..tasks })
    }
}

impl Cli {
    fn entries(&self) -> u32 {
        entries(self.chain.tasks(), self.chain.tokens)
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| {
        let ring = Ring::new(cli.setup.open(cli.entries())?);
        brigade(&cli.chain, &ring, run)
    })
}
