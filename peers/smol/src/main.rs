//! A number travels through N tasks of smol's executor on one thread, chained in memory.
//!
//! One iteration is the one of `async-mem-brigade`: the loop is the same, with `async_executor::LocalExecutor` in
//! place of Tokio, and smol's channel.
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

/// Time switching between smol's async tasks without I/O: pass a number along a chain of tasks joined in memory
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of async tasks in the chain")))]
#[command(mut_arg("capacity", |arg| arg.help("Number of tokens that a link can hold [default: 1]")))]
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
