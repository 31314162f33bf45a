//! The command line, and what it needs.

use clap::Parser;
use clap::builder::ArgPredicate;
use contract::message::{Claim, Description, Need, Needs};
use contract::units::Bytes;
use contract::{BadUsage, Defaults, Flags, Program};
use creation::{DepthFlags, SleepFlags};
use threads::StackFlags;
use threads::raw::RawThreads;

/// Time the creation of OS threads
#[derive(Parser)]
#[command(mut_arg("iters", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "1")))]
#[command(mut_arg("warmup", |arg| arg.default_value_if("sleep", ArgPredicate::IsPresent, "0")))]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) flags: Flags,
    /// Create threads by clone(2) alone, without what the C library prepares for them: a lower bound
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
                "--stack-depth {depth}: it leaves less than {UNUSED_STACK} of the stack: lower it, or raise --stack-size"
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

/// Bytes of a stack beside what a thread is asked to use.
const UNUSED_STACK: Bytes = Bytes(12 << 10);

/// Lower bound of the time that the creation of a thread takes, in ns.
const FASTEST_SPAWN: u64 = 4_000;

/// Bytes that a thread keeps until it is joined: what it used of its stack.
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

/// Needs of the driver: the gate and some descriptors to spare, and its lists of threads and times.
fn driver() -> Needs {
    Needs { descriptors: Need::new(10, 0), bytes: Need::new(4 << 20, 128), ..Needs::default() }
}
