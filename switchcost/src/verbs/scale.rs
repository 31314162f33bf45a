//! `switchcost scale`: more and more tasks, up to the limit that stops each program.

use facts::Metric;

use super::kept::Kept;
use crate::plan::Over;
use crate::plan::range::Range;
use crate::plan::sweep::{CommandLine, Sweep, distinct};
use crate::system::console::BadUsage;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Largest number of tasks, if the limits allow it; the first is a 2000th of it, or 1000
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 2_000_000, value_parser = clap::value_parser!(u32).range(2..))]
    to: u32,

    /// A program with its flags, such as "thread-brigade --stack-size 64KiB"; give it several
    /// times for several
    #[arg(long, value_name = "PROGRAM", default_values = ["thread-brigade", "async-brigade", "thread-mem-brigade", "async-mem-brigade", "thread-creation", "async-creation"])]
    program: Vec<CommandLine>,

    #[command(flatten)]
    keep: Kept,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let to = u64::from(args.to);
    let range = Range::new((to / 2000).clamp(1, 1000), to).map_err(BadUsage::new)?;
    let plan = Sweep {
        over: Over::of("tasks", range.points(12), ""),
        programs: distinct(&args.program),
        pins: vec![false],
        also: vec![Metric::SetUp, Metric::FirstIteration, Metric::Teardown, Metric::SystemPerTask],
        flags: Vec::new(),
        hops: 1,
        rounds: 5,
        alone: true,
    };
    args.keep.sweep(&plan, args.keep.budget)
}
