//! `switchcost compare`: what has changed between two files of records.

use std::path::PathBuf;

use anyhow::{Context, ensure};
use contract::units::counted;

use super::output::{Format, NothingSaid, json};
use crate::figures::verdict::{MARGIN, Verdict};
use crate::figures::{Figures, number};
use crate::measure::store;
use crate::plan::values;
use crate::render;
use crate::render::layout::width;
use crate::system::console;
use crate::views::compare::{Case, Comparison, compare};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Old results; - is standard input
    old: PathBuf,

    /// New results
    new: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// End with status 1 if the whole interval of a change for the worse lies above this; it is the margin of
    /// 'unchanged', too [default: 5% for that alone]. 5% and 5 are the same
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = values::percent)]
    fail_above: Option<f64>,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let mut files = Vec::new();
    for path in [&args.old, &args.new] {
        let contents = store::read(path)?;
        store::tell(path, &contents);
        ensure!(!contents.records.is_empty(), "{} holds no measured process", path.display());
        files.push(contents.records);
    }
    let figures = [Figures::of(&files[0]), Figures::of(&files[1])];
    let names = [&args.old, &args.new].map(|path| path.display().to_string());
    let margin = args.fail_above.filter(|&limit| limit > 0.0).unwrap_or(MARGIN);
    let comparison = compare([&names[0], &names[1]], figures.each_ref(), margin);
    let document = render::compare::document(&comparison);
    console::print(|out| match args.format {
        Format::Text => document.text(width(), out),
        Format::Markdown => document.markdown(out),
        Format::Json => json(&comparison, out),
    })
    .context("cannot print the comparison")?;
    args.fail_above.map_or(Ok(()), |limit| gate(&comparison, limit))
}

/// Fails if a case has become worse by more than `limit`.
fn gate(comparison: &Comparison<'_>, limit: f64) -> anyhow::Result<()> {
    ensure!(
        comparison.is_one_cpu(),
        NothingSaid("the files are of different CPUs; compare those of one machine")
    );
    // What worked before and does so no more is the worst that an upgrade can do.
    let is_lost = |verdict| matches!(verdict, Verdict::OnlyInOld | Verdict::Failed);
    let lost = with_verdict(comparison, is_lost);
    for case in &lost {
        console::say(format_args!("switchcost: --fail-above: failed or missing: {case}"));
    }
    ensure!(lost.is_empty(), "--fail-above: failed or missing: {}", counted(lost.len(), "case"));
    for case in with_verdict(comparison, |verdict| matches!(verdict, Verdict::Inconclusive(_))) {
        console::say(format_args!("switchcost: --fail-above: not judged: {case}"));
    }
    let worse: Vec<String> = comparison.worse_than(limit).into_iter().map(full_name).collect();
    worse.iter().for_each(|case| console::say(format_args!("switchcost: worse: {case}")));
    ensure!(
        worse.is_empty(),
        "worse by more than --fail-above {}%: {}",
        limit * 100.0,
        counted(worse.len(), "case")
    );
    // A gate that nothing goes through guards nothing.
    ensure!(
        comparison.has_verdict(),
        NothingSaid("no change has a verdict; `switchcost duel` may tell, in turns")
    );
    Ok(())
}

fn with_verdict(comparison: &Comparison<'_>, is_wanted: fn(Verdict) -> bool) -> Vec<String> {
    let cases = comparison.cases.iter().filter(|case| is_wanted(case.change.verdict));
    cases.map(full_name).collect()
}

fn full_name(case: &Case<'_>) -> String {
    let change =
        case.change.shown().map_or(String::new(), |ratio| format!(" {}", number::change(ratio)));
    format!("{}: {}{change}", case.key.section, case.name)
}
