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
use contract::message::Description;
use contract::{Flags, Program};
use runtime::Compio;
use uring_brigade::{BrigadeFlags, brigade};

/// Pass a byte through a chain of compio tasks joined by pipes, and time it
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    brigade: BrigadeFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.brigade.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let tasks = self.brigade.describe("compio-brigade", runtime::needs())?;
        Ok(Description { runtime: Some(runtime::describe()), ..tasks })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| brigade(&cli.brigade, &Compio::open()?, run))
}
