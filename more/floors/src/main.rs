//! Lower bounds: what an async task and a hop cost without what a runtime adds.
//!
//! Each floor is a file, which says what an iteration is and what is timed: `boxed.rs` creates futures without a runtime,
//! and `executor.rs` passes a number along a chain of tasks on an executor that does only what it must.
//!
//! Both are yardsticks: neither a kernel nor a runtime changes them, so that they tell how fast a machine is.

mod boxed;
mod executor;

use std::process::ExitCode;

use clap::ValueEnum;
use contract::message::{Claim, Description, Need, Needs, Runtime};
use contract::{Flags, Program};

/// Time lower bounds: futures without a runtime, tasks on a minimal executor
#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// What is timed
    #[arg(long, value_enum, default_value = "executor")]
    of: Floor,
}

/// A lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Floor {
    /// creating futures in boxes, without a runtime
    BoxedFuture,
    /// a hop between tasks on one thread, first in, first out, without locks and atomic operations
    Executor,
}

impl Program for Cli {
    fn describe(&self) -> anyhow::Result<Description> {
        // A task or a future, with its places in lists.
        let needs = Needs { bytes: Need::new(4 << 20, 512), ..Needs::default() };
        let describe =
            |claim| Description { needs, ..Description::new("floors", &self.flags, claim) };
        Ok(match self.of {
            Floor::BoxedFuture => describe(Claim::NoSwitch),
            Floor::Executor => Description {
                hops: Some(u64::from(self.flags.tasks) + 1),
                runtime: Some(Runtime::one_thread("minimal", Some(env!("CARGO_PKG_VERSION")))),
                ..describe(Claim::UserSwitch)
            },
        })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| match cli.of {
        Floor::BoxedFuture => boxed::measure(cli.flags.tasks, run),
        Floor::Executor => executor::measure(cli.flags.tasks, run),
    })
}
