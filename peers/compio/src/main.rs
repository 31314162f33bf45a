//! A token travels through N tasks of compio, chained by pipes, on io_uring.
//!
//! One iteration: that of `uring-brigade`, whose loop this is, with compio in place of its executor.
//!
//! Timed: what a hop takes of compio and of the kernel: a read and a write are each an operation that
//! compio allocates, submits and awaits. Left out: creating and awaiting the tasks, and the check of the bytes.
//!
//! Not to be taken for the least that tasks on io_uring cost: `uring-brigade` measures that. The ring has
//! compio's defaults, which are those of `uring-brigade --setup plain`.

mod runtime;

use std::process::ExitCode;

use clap::Parser;
use contract::message::{Claim, Description};
use contract::{Flags, Program};
use runtime::Compio;
use uring_brigade::{ChainFlags, ChainsFlags, brigade};

/// Pass a byte through a chain of compio tasks joined by pipes, and time it
#[derive(Parser)]
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
