//! `switchcost report`: the tables of a file of records.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use harness::console;
use harness::record::Record;

use crate::analysis::{self, Analysis};
use crate::{render, store};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file of records; - is standard input
    file: PathBuf,

    /// How to print the tables
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Put the tables as Markdown into this file, between the lines
    /// `<!-- switchcost:begin -->` and `<!-- switchcost:end -->`, instead of printing them
    #[arg(long, value_name = "FILE")]
    splice: Option<PathBuf>,
}

/// How an analysis is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// for a terminal
    Text,
    /// for a README
    Markdown,
    /// for programs: the estimates, unrounded
    Json,
}

const BEGIN: &str = "<!-- switchcost:begin -->\n";
const END: &str = "<!-- switchcost:end -->";

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let contents = store::read(&args.file)?;
    for (line, fault) in &contents.faults {
        eprintln!(
            "switchcost: {} line {line} is skipped: {fault}",
            args.file.display()
        );
    }
    let analysis = analysis::analyse(&contents.records);
    ensure!(
        !(analysis.tables.is_empty() && analysis.curves.is_empty()),
        "{} holds no record of a plan: only `switchcost` itself writes those",
        args.file.display()
    );
    match &args.splice {
        Some(file) => splice(file, &analysis, &contents.records),
        None => print(&analysis, &contents.records, args.format),
    }
}

/// Prints an analysis.
pub(crate) fn print(analysis: &Analysis, records: &[Record], format: Format) -> anyhow::Result<()> {
    console::print(|out| match format {
        Format::Text => render::text(analysis, records, out),
        Format::Markdown => render::markdown(analysis, records, out),
        Format::Json => Ok(serde_json::to_writer(out, analysis)?),
    })
    .context("cannot print the tables")
}

/// Replaces what stands between the two marks.
fn splice(file: &Path, analysis: &Analysis, records: &[Record]) -> anyhow::Result<()> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let Some(((before, _), (_, after))) = text.split_once(BEGIN).zip(text.split_once(END)) else {
        bail!(
            "{} has no lines {} and {END}",
            file.display(),
            BEGIN.trim_end()
        );
    };
    let mut spliced = before.as_bytes().to_vec();
    spliced.extend_from_slice(BEGIN.as_bytes());
    render::markdown(analysis, records, &mut spliced)?;
    spliced.extend_from_slice(END.as_bytes());
    spliced.extend_from_slice(after.as_bytes());
    fs::write(file, spliced).with_context(|| format!("cannot write {}", file.display()))
}
