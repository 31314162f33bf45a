//! `switchcost compare`: what has changed between files of records.

use std::io::Write;
use std::path::PathBuf;

use crate::plan::values;
use crate::system::console;
use anyhow::{Context, bail, ensure};

use super::report::Format;
use crate::figures::number;
use crate::measure::store;
use crate::render::compare as render;
use crate::views::compare::{self, Change, Comparison, Line, Source, Verdict};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Old results; - is standard input
    old: PathBuf,

    /// New results
    new: PathBuf,

    /// Further results, each compared with OLD, side by side
    more: Vec<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// End with status 1 where a verdict is slower or larger and the whole interval of the change lies
    /// above this. 5% and 5 are the same
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true, value_parser = values::percent)]
    fail_above: Option<f64>,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let paths: Vec<&PathBuf> = [&args.old, &args.new].into_iter().chain(&args.more).collect();
    let names = names(&paths);
    let mut files = Vec::new();
    for path in &paths {
        let contents = store::read(path)?;
        store::tell(path, &contents);
        ensure!(!contents.records.is_empty(), "{} holds no measured process", path.display());
        files.push(contents.records);
    }
    let sources: Vec<Source<'_>> =
        names.iter().zip(&files).map(|(name, records)| Source { name, records }).collect();
    let comparison = compare::compare(&sources);
    console::print(|out| match args.format {
        Format::Text => render::document(&comparison).text(out),
        Format::Markdown => render::document(&comparison).markdown(out),
        Format::Json => {
            serde_json::to_writer(&mut *out, &comparison)?;
            writeln!(out)
        }
    })
    .context("cannot print the comparison")?;
    match args.fail_above {
        Some(limit) => gate(&comparison, limit),
        None => Ok(()),
    }
}

/// The files by their last component, unless two share it.
fn names(paths: &[&PathBuf]) -> Vec<String> {
    let short: Vec<_> = paths.iter().map(|path| path.file_name()).collect();
    let unique = |name| short.iter().filter(|other| **other == name).count() == 1;
    paths
        .iter()
        .zip(&short)
        .map(|(path, &name)| match name.filter(|_| unique(name)) {
            Some(name) => name.to_string_lossy().into_owned(),
            None => path.display().to_string(),
        })
        .collect()
}

/// Fails where a case has become worse by more than `limit`.
fn gate(comparison: &Comparison, limit: f64) -> anyhow::Result<()> {
    // A gate that nothing goes through guards nothing.
    ensure!(comparison.family > 0, "--fail-above: there is no case that could be compared");
    let full_name = |(line, file, change): &(&Line, usize, &Change)| {
        let mut name = format!("{}: {}", line.key.section, line.name);
        if let Some(ratio) = change.shown() {
            name += &format!(" {}", number::change(ratio));
        }
        match comparison.files.len() {
            2 => name,
            _ => format!("{name} in {}", comparison.files[*file].name),
        }
    };
    // What worked before and does so no more is the worst that an upgrade can do.
    let lost: Vec<String> = comparison
        .changes()
        .filter(|(_, _, change)| matches!(change.verdict, Verdict::OnlyInOld | Verdict::Failed))
        .map(|lost| full_name(&lost))
        .collect();
    ensure!(lost.is_empty(), "--fail-above: failed or missing:\n  {}", lost.join("\n  "));
    for open in comparison.changes().filter(|(_, _, c)| c.verdict.is_open()) {
        console::say(format_args!("switchcost: --fail-above: not judged: {}", full_name(&open)));
    }
    let worse = comparison.worse_than(limit);
    if worse.is_empty() {
        return Ok(());
    }
    let worse: Vec<String> = worse.iter().map(full_name).collect();
    bail!("worse by more than --fail-above {}%:\n  {}", limit * 100.0, worse.join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart() {
        let paths = ["a/x.jsonl", "b/x.jsonl", "b/y.jsonl", "-"].map(PathBuf::from);
        let paths: Vec<&PathBuf> = paths.iter().collect();
        assert_eq!(names(&paths), ["a/x.jsonl", "b/x.jsonl", "y.jsonl", "-"]);
    }
}
