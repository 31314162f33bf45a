//! `switchcost compare`: what has changed between two results files.

use std::path::PathBuf;

use anyhow::ensure;
use figures::Figures;
use figures::verdict::MARGIN;

use super::gate::{End, GatedKinds, Limit};
use super::output::{self, Format};
use crate::measure::store;
use crate::system::console::BadUsage;
use crate::views::comparison::Comparison;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Old results; - is standard input
    old: PathBuf,

    /// New results
    new: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    #[command(flatten)]
    limit: Limit,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let mut files = Vec::new();
    let mut is_whole = true;
    for path in [&args.old, &args.new] {
        // Status 1 would say that something is worse.
        let contents = store::read(path).map_err(|e| match args.limit.fail_above {
            Some(_) => End::untested(e.to_string()).into(),
            None => e,
        })?;
        store::tell(path, &contents);
        is_whole &= contents.faults.is_empty();
        if contents.records.iter().any(|record| record.header.sides.is_some()) {
            let file = path.display();
            let why =
                format!("{file} is a duel, and compares its own sides: switchcost report {file}");
            return Err(BadUsage::new(why));
        }
        files.push(contents.records);
    }
    let figures = [Figures::of(&files[0]), Figures::of(&files[1])];
    let names = [&args.old, &args.new].map(|path| path.display().to_string());
    let margin = args.limit.margin(MARGIN);
    let comparison =
        Comparison::of_files(names.each_ref().map(String::as_str), figures.each_ref(), margin);
    output::print(&comparison, args.format)?;
    if args.limit.fail_above.is_none() {
        return Ok(());
    }
    let skipped = "lines were skipped, as said above: copy the files again, or measure again";
    ensure!(is_whole, End::untested(skipped.to_owned()));
    let other_cpus = "the files come from different CPUs; compare files from one machine";
    ensure!(comparison.is_one_cpu, End::nothing_said(other_cpus));
    GatedKinds::All.judge(
        &comparison.rows,
        args.limit,
        "`switchcost duel`, which measures both in turns, may have one",
    )
}
