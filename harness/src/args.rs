//! The flags that every program has.

use std::fmt;

use clap::ValueEnum;
use clap::builder::{ArgPredicate, NonEmptyStringValueParser};
use serde::Serialize;

use crate::units::Bytes;

/// How much to measure, and what to do with the result. Programs flatten it into their own
/// arguments; a program whose usual size differs says so in [`crate::Program::DEFAULTS`].
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Run {
    /// How many tasks
    #[arg(long, visible_alias = "threads", value_name = "N", allow_negative_numbers = true, default_value = "500", value_parser = clap::value_parser!(u32).range(1..))]
    pub tasks: u32,

    /// How many iterations to time
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "10000", value_parser = clap::value_parser!(u64).range(1..))]
    pub iters: u64,

    /// How many iterations to run first, untimed
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value = "100"
    )]
    pub warmups: u64,

    /// Print no result
    #[arg(long, short)]
    pub quiet: bool,

    /// How to print the result on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Run this by sh -c after the measurement, while every task is still alive; {pid} is
    /// replaced by this process's id. With --format json its output goes to standard error
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub command: Option<String>,

    /// Run a tenth of the iterations again (100 at least, where there are as many), untimed, with
    /// counters: context switches, migrations, page faults, system calls, cycles, instructions and
    /// cache misses, each for user and kernel, and interrupts. What this system does not let be
    /// counted is named with the setting that would. The kernel's memory for these counters is in
    /// the kernel's figures at rest
    #[arg(long)]
    pub counters: bool,

    /// Measure nothing: say whether the limits of this system allow the run, print the commands
    /// that raise those that do not, and exit with status 0 or 1
    #[arg(long)]
    pub check_limits: bool,

    /// Raise for this run the limits that are too low and may be raised: those of this process
    /// (hard ones take CAP_SYS_RESOURCE) and, as root, the kernel parameters, which are put back
    /// when the last run that needs them ends. Control groups are not touched. A run that is
    /// killed (kill -9, or a second Ctrl-C), or whose runtime cannot start a worker after all,
    /// leaves the parameters raised, and the next run with this flag puts them back: until then
    /// /run/switchcost/ledger has their values from before.
    /// With --check-limits: raise them, check, and put them back
    #[arg(long)]
    pub raise_limits: bool,
}

/// The stacks of the threads.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct Stack {
    /// Stack of each thread. Only touched pages become resident, but from 2MiB on each stack
    /// needs a page table of its own (4 KiB). With --stacks unguarded or arena it is made an odd
    /// number of pages, as those of std lie apart by, so that they do not all share a few sets of the TLB
    #[arg(long, value_name = "BYTES", default_value = "1MiB", value_parser = stack_size)]
    pub stack_size: Bytes,

    /// What the stacks are made of
    #[arg(long, value_enum, default_value_t = Stacks::Std)]
    pub stacks: Stacks,
}

/// What the stacks of threads are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stacks {
    /// as std::thread has them: each with a guard page and a signal stack, so that an overflow is
    /// caught and named. Four memory maps a thread: the usual vm.max_map_count of 65530 ends near
    /// 16,000 threads
    Std,
    /// as pthread_create(3) has them with a guard size of 0, and no signal stack: neighbours merge
    /// into one memory map, so that vm.max_map_count does not matter. An overflow overwrites a
    /// neighbour's stack and goes unnoticed. So that the merged stacks get no huge pages, the
    /// whole process goes without (PR_SET_THP_DISABLE), and so does --command
    Unguarded,
    /// like unguarded, but out of one mapping made before the clock starts: creating a thread maps
    /// nothing, and a stack that an earlier thread has used is resident already. An overflow goes
    /// unnoticed here too
    Arena,
}

/// The smallest stack that the C library accepts for a thread: PTHREAD_STACK_MIN, on x86-64.
/// (On other architectures the system's own check may ask for more.)
const SMALLEST_STACK: Bytes = Bytes(16 * 1024);

fn stack_size(text: &str) -> Result<Bytes, String> {
    match text.parse()? {
        size if size < SMALLEST_STACK => Err(format!("a thread needs at least {SMALLEST_STACK}")),
        Bytes(size) if size > 1 << 46 => Err("that is more than the address space".to_owned()),
        size => Ok(size),
    }
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// for people
    Text,
    /// one line, a record
    Json,
}

/// How large a program's usual run is.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// `--tasks`
    pub tasks: u32,
    /// `--iters`
    pub iters: u64,
    /// `--warmups`
    pub warmups: u64,
}

impl Defaults {
    /// What the original experiment used for its brigades.
    pub const BRIGADE: Defaults = Defaults {
        tasks: 500,
        iters: 10_000,
        warmups: 100,
    };

    /// Puts these defaults into a command that has the flags of [`Run`].
    pub(crate) fn apply(self, command: clap::Command) -> clap::Command {
        let set = |command: clap::Command, flag: &'static str, value: u64| {
            command.mut_arg(flag, |arg| arg.default_value(value.to_string()))
        };
        let command = set(command, "tasks", u64::from(self.tasks));
        let command = set(command, "iters", self.iters);
        let command = set(command, "warmups", self.warmups);
        // One iteration of sleepers takes longer than a whole run without.
        if !command.get_arguments().any(|arg| arg.get_id() == "sleep") {
            return command;
        }
        let sleeping = |command: clap::Command, flag: &'static str, value: &'static str| {
            command.mut_arg(flag, |arg| {
                arg.default_value_if("sleep", ArgPredicate::IsPresent, value)
            })
        };
        let command = sleeping(command, "iters", "1");
        sleeping(command, "warmups", "0")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Text => "text",
            Format::Json => "json",
        })
    }
}
