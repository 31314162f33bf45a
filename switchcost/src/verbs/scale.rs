//! `switchcost scale`: more and more tasks, up to the limit that stops each program.

use record::Metric;

use super::kept::Kept;
use crate::plan::range::Range;
use crate::plan::sweep::{self, curve_of, placed};
use crate::plan::{Over, RowTable, Section};
use crate::system::console::BadUsage;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Largest number of tasks, if the limits allow it; the smallest is a 2000th of it, but at most 1000
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 2_000_000, value_parser = clap::value_parser!(u32).range(2..))]
    to: u32,

    /// Program to measure, with or without flags, such as "thread-brigade --stack-size 64KiB"; repeatable
    #[arg(long, value_name = "PROGRAM", value_parser = sweep::row, default_values = ["thread-brigade", "async-brigade", "thread-mem-brigade", "async-mem-brigade", "thread-creation", "async-creation"])]
    program: Vec<RowTable>,

    #[command(flatten)]
    keep: Kept,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let to = u64::from(args.to);
    let range = Range::new((to / 2000).clamp(1, 1000), to).map_err(BadUsage::new)?;
    let also = [Metric::SetUp, Metric::FirstIteration, Metric::Teardown, Metric::SystemPerTask];
    let sweep = Section {
        over: Some(Over::of("tasks", range.points(12), "")),
        also: also.map(curve_of).to_vec(),
        columns: vec![placed(false)],
        rows: args.program.clone(),
        rounds: Some(5),
        hops: Some(1),
        alone: true,
        ..Section::default()
    };
    args.keep.sweep(sweep, &[], args.keep.budget)
}
