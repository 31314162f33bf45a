//! The command line, and what it needs.

use clap::Parser;
use clap::builder::ArgPredicate;
use contract::message::{Claim, Description, Need, Needs};
use contract::units::Bytes;
use contract::{BadUsage, Defaults, Flags, Program};
use creation::{DepthFlags, SleepFlags};
use threads::StackFlags;
use threads::raw::RawThreads;

/// Time how long it takes to create OS threads
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of threads to create per iteration")))]
#[command(mut_arg("iters", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "1")))]
#[command(mut_arg("warmup", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "0")))]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    /// Create threads by a bare clone(2), without the C library's preparations: a lower bound
    #[arg(long, conflicts_with_all = ["sleep", "gate"])]
    pub(crate) floor: bool,
    #[command(flatten)]
    pub(crate) sleep: SleepFlags,
    #[command(flatten)]
    pub(crate) stack: StackFlags,
    #[command(flatten)]
    pub(crate) depth: DepthFlags,
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1000, iters: 100, warmup: 10 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let depth = self.depth.stack_depth;
        if depth.0 + UNUSED_STACK.0 > self.stack.stack_size.0 {
            return Err(BadUsage::new(format!(
                "--stack-depth {depth}: less than {UNUSED_STACK} of the stack would be left: lower it, or raise --stack-size"
            )));
        }
        Ok(Description {
            passes: self.sleep.passes(),
            alone: self.sleep.sleep.is_some(),
            needs: if self.floor { RawThreads::needs() + driver() } else { self.needs() },
            ..Description::new("thread-creation", &self.flags, Claim::KernelSwitch)
        })
    }
}

/// Bytes of stack that a thread needs in addition to --stack-depth.
const UNUSED_STACK: Bytes = Bytes(12 << 10);

/// Lower bound of the time that it takes to create a thread, in ns.
const FASTEST_SPAWN: u64 = 4_000;

/// Bytes that a thread keeps until it is joined: the part of its stack that it has used.
const ENDED_BYTES: u64 = 10 << 10;

impl Cli {
    /// Needs of N threads that are all alive.
    pub(crate) fn needs_of_all(&self) -> Needs {
        let used = Needs { bytes: Need::new(0, self.depth.stack_depth.0), ..Needs::default() };
        self.stack.needs() + used + driver()
    }

    /// Needs of a pass: the first threads may exit before the last ones start.
    fn needs(&self) -> Needs {
        let all = self.needs_of_all();
        let tasks = u64::from(self.flags.tasks);
        let alive = match self.sleep.sleep {
            Some(sleep) if !self.sleep.gate => sleep.0 / FASTEST_SPAWN,
            _ => tasks,
        };
        if alive >= tasks {
            return all;
        }
        let bytes = all.bytes.each.saturating_sub(ENDED_BYTES);
        Needs {
            threads: Need::new(alive, 0),
            bytes: Need::new(all.bytes.fixed + alive * bytes, ENDED_BYTES),
            ..all
        }
    }
}

/// Needs of the driver: the gate, some descriptors to spare, and lists of threads and times.
fn driver() -> Needs {
    Needs { descriptors: Need::new(10, 0), bytes: Need::new(4 << 20, 128), ..Needs::default() }
}
