//! A number travels through N tasks of smol's executor on one thread, chained in memory.
//!
//! One iteration: that of `async-mem-brigade`, whose loop this is, with `async_executor::LocalExecutor`
//! in place of Tokio, and smol's channel.
//!
//! Timed: the operations of the links, and the executor's work to run the next task. Left out: creating
//! and awaiting the tasks, and the check of the tokens.
//!
//! Not to be taken for a comparison of executors alone: the default channel is smol's. `--transport
//! mpsc` has Tokio's channel here, and `async-mem-brigade --transport async-channel` smol's channel
//! there.

mod executor;

use std::process::ExitCode;

use async_mem_brigade::links::{AsyncChannelReceiver, MpscReceiver, MutexEnd};
use async_mem_brigade::{Brigade, BrigadeFlags, ChainsFlags, Transport, brigade};
use clap::Parser;
use contract::message::{Description, Runtime};
use contract::{BadUsage, Flags, Program, Run};
use executor::Executor;

/// Pass a number through a chain of smol tasks joined in memory, and time it
#[derive(Parser)]
#[command(mut_arg("transport", |arg| arg
    .default_value("async-channel")
    .hide_possible_values(true)
    .help("Kind of the links: async-channel, mpsc or mutex")))]
struct Cli {
    #[command(flatten)]
    brigade: BrigadeFlags,
}

impl Cli {
    /// The brigade over the links of `--transport`.
    fn brigade(&self) -> anyhow::Result<Brigade<Executor>> {
        Ok(match self.brigade.transport {
            Transport::AsyncChannel => brigade::<AsyncChannelReceiver, _>,
            Transport::Mpsc => brigade::<MpscReceiver, _>,
            Transport::Mutex => brigade::<MutexEnd, _>,
            _ => {
                return Err(BadUsage::new(
                    "--transport: this program is compiled for async-channel, mpsc and mutex: use one of them",
                ));
            }
        })
    }
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.brigade.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        self.brigade()?;
        Ok(Description {
            runtime: Some(Runtime::one_thread("async-executor", option_env!("EXECUTOR_VERSION"))),
            ..self.brigade.describe("smol-mem-brigade", ChainsFlags::default())?
        })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| {
        cli.brigade()?(&cli.brigade, ChainsFlags::default(), &Executor::default(), run)
    })
}
