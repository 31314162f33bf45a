//! A token travels through N tasks of compio, chained by pipes, on io_uring.
//!
//! One iteration is the one of `uring-brigade`: the loop is the same, with compio in place of its executor.
//!
//! Timed: compio's and the kernel's work in a hop: a read and a write are each an operation that compio
//! allocates, submits and awaits. Left out: creating and awaiting the tasks, and the check of the bytes.
//!
//! Not to be taken for the least that tasks on io_uring cost: `uring-brigade` measures that. The ring has
//! compio's defaults, the same as `uring-brigade --setup plain`.

mod runtime;

use std::process::ExitCode;

use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Program};
use runtime::Compio;
use uring_brigade::{ChainFlags, ChainsFlags, brigade};

/// Time switching between compio's async tasks on io_uring: pass a byte along a chain of tasks joined by pipes
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in the chain")))]
struct Cli {
    #[command(flatten)]
    chain: ChainFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let (one, needs) = (ChainsFlags::default(), self.chain.needs(1) + runtime::needs());
        let tasks = self.chain.describe("compio-brigade", one, Claim::UserSwitch, needs)?;
        Ok(Description { runtime: Some(runtime::describe()), ..tasks })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| brigade(&cli.chain, &Compio::open()?, run))
}
