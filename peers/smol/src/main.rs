//! A number travels through N tasks of smol's executor on one thread, chained in memory.
//!
//! One iteration: that of `async-mem-brigade`, whose loop this is, with `async_executor::LocalExecutor`
//! in place of Tokio, and smol's channel.
//!
//! Timed: the operations of the links, and the executor's work to run the next task. Left out: creating
//! and awaiting the tasks, and the check of the tokens.
//!
//! Not to be taken for a comparison of executors alone: the channel is smol's, which `async-mem-brigade --transport
//! async-channel` has too.

mod executor;

use std::process::ExitCode;

use async_mem_brigade::links::AsyncChannelReceiver;
use async_mem_brigade::{BrigadeFlags, ChainsFlags, Transport, brigade};
use clap::Parser;
use contract::message::{Description, Runtime};
use contract::{Flags, Program};
use executor::Executor;

/// Pass a number through a chain of smol tasks joined in memory, and time it
#[derive(Parser)]
#[command(mut_arg("capacity", |arg| arg.help("Tokens that a link holds [default: 1]")))]
struct Cli {
    #[command(flatten)]
    brigade: BrigadeFlags,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.brigade.chain.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let one = ChainsFlags::default();
        Ok(Description {
            runtime: Some(Runtime::one_thread("async-executor", option_env!("EXECUTOR_VERSION"))),
            ..self.brigade.describe("smol-mem-brigade", Transport::AsyncChannel, one)?
        })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| {
        let executor = Executor::default();
        brigade::<AsyncChannelReceiver, _>(&cli.brigade, ChainsFlags::default(), &executor, run)
    })
}
