//! Lower bounds: what a thread, an async task and a hop cost without what the C library or the runtime adds.
//!
//! Each floor is a file, which says what an iteration is and what is timed: `clone.rs` creates threads by the system call
//! alone, `boxed.rs` creates futures without a runtime, and `executor.rs` passes a number along a chain of tasks on an
//! executor that does only what it must.
//!
//! Two of them are yardsticks: neither a kernel nor a runtime changes them, so that they tell how fast a machine is.

mod boxed;
mod clone;
mod executor;

use std::process::ExitCode;

use brigade::StackFlags;
use clap::ValueEnum;
use contract::message::{Claim, Description, Need, Needs, Runtime};
use contract::{Flags, Program};

/// Time lower bounds: threads by clone(2) alone, futures without a runtime, tasks on a minimal executor
#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// What is timed
    #[arg(long, value_enum, default_value = "executor")]
    of: Floor,
    #[command(flatten)]
    stack: StackFlags,
}

/// A lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Floor {
    /// creating threads by clone(2), without the C library's preparations
    Clone,
    /// creating futures in boxes, without a runtime
    BoxedFuture,
    /// a hop between tasks on one thread, first in, first out, without locks and atomic operations
    Executor,
}

impl Program for Cli {
    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let describe = |claim| Description::new("floors", &self.flags, claim);
        // A task or a future, with its places in lists.
        let needs = Needs { bytes: Need::new(4 << 20, 512), ..Needs::default() };
        Ok(match self.of {
            Floor::Clone => {
                Description { needs: clone::needs(self.stack), ..describe(Claim::KernelSwitch) }
            }
            Floor::BoxedFuture => Description { needs, ..describe(Claim::NoSwitch) },
            Floor::Executor => Description {
                needs,
                hops: Some(u64::from(self.flags.tasks) + 1),
                runtime: Some(Runtime::one_thread("minimal", Some(env!("CARGO_PKG_VERSION")))),
                ..describe(Claim::UserSwitch)
            },
        })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run| match cli.of {
        Floor::Clone => clone::measure(cli.flags.tasks, cli.stack, run),
        Floor::BoxedFuture => boxed::measure(cli.flags.tasks, run),
        Floor::Executor => executor::measure(cli.flags.tasks, run),
    })
}
