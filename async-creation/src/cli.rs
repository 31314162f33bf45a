//! The command line, and what it needs.

use clap::Parser;
use clap::builder::ArgPredicate;
use contract::message::{Claim, Description, Need, Needs};
use contract::{Defaults, Flags, Program};
use creation::{DepthFlags, SleepFlags};
use runtime::RuntimeFlags;

/// Time the creation of Tokio tasks
#[derive(Parser)]
#[command(mut_arg("iters", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "1")))]
#[command(mut_arg("warmup", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "0")))]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    #[command(flatten)]
    pub(crate) runtime: RuntimeFlags,
    /// Create boxed futures without a runtime, each polled once and dropped: a lower bound
    #[arg(long, conflicts_with_all = ["flavor", "workers", "placement", "sleep", "gate"])]
    pub(crate) floor: bool,
    #[command(flatten)]
    pub(crate) sleep: SleepFlags,
    #[command(flatten)]
    pub(crate) depth: DepthFlags,
}

/// Upper bound of the bytes of a task, its places in the driver's lists included.
const TASK_BYTES: u64 = 512;

/// Bytes of the process besides its tasks.
const FIXED_BYTES: u64 = 4 << 20;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 10_000, iters: 100, warmup: 10 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let claim = if self.floor { Claim::NoSwitch } else { Claim::UserSwitch };
        let tasks = Description {
            passes: self.sleep.passes(),
            alone: self.sleep.sleep.is_some(),
            needs: Needs { bytes: Need::new(FIXED_BYTES, TASK_BYTES), ..Needs::default() },
            ..Description::new("async-creation", &self.flags, claim)
        };
        if self.floor { Ok(tasks) } else { self.runtime.describe(tasks) }
    }
}
