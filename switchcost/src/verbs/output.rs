//! Output of the verbs that print figures.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::ValueEnum;
use facts::Record;
use serde::Serialize;

use super::args::newest_first;
use crate::figures::conditions::all_doubts;
use crate::figures::doubt::Stated;
use crate::figures::{Figure, Figures};
use crate::measure::store;
use crate::render;
use crate::render::layout::width;
use crate::system::console;
use crate::views::answer::{Answer, Earlier};
use crate::views::comparison::Comparison;
use crate::views::sessions;
use crate::views::tables::{Curve, Tables};

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// for a terminal
    Text,
    /// for a README
    Markdown,
    /// for programs: the estimates, unrounded
    Json,
}

/// Everything that records say, for programs.
#[derive(Serialize)]
struct All<'a> {
    records: usize,
    doubts: Vec<Stated>,
    figures: Vec<&'a Figure<'a>>,
    curves: Vec<Curve<'a>>,
    answer: Option<&'a Answer>,
}

/// Writes all figures as one object of JSON.
pub(crate) fn figures_json(
    figures: &Figures<'_>,
    answer: Option<&Answer>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let all = All {
        records: figures.records.len(),
        doubts: all_doubts(figures),
        figures: figures.iter().collect(),
        curves: Tables::of(figures).curves,
        answer,
    };
    json(&all, out)
}

/// Writes one object of JSON, and a newline.
pub(crate) fn json(found: &impl Serialize, out: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, found)?;
    writeln!(out)
}

/// Prints the figures of a new file: its answer stands beside the earlier ones of its folder.
pub(crate) fn print_beside(
    records: &[Record],
    file: &Path,
    format: Format,
    full: bool,
) -> anyhow::Result<()> {
    let figures = Figures::of(records);
    let answer = Answer::of(&figures).map(|answer| {
        let earlier = earlier(records, file, answer.is_void());
        Answer { earlier: Earlier::of(&answer, &earlier), ..answer }
    });
    print_figures(&figures, answer, &[file], format, full)
}

/// Prints figures; for a terminal the answer alone, if there is one and not all is asked for.
pub(crate) fn print_figures(
    figures: &Figures<'_>,
    answer: Option<Answer>,
    files: &[impl AsRef<Path>],
    format: Format,
    full: bool,
) -> anyhow::Result<()> {
    console::print(|out| match format {
        Format::Text => match answer.as_ref().filter(|_| !full) {
            Some(answer) => render::answer::text(answer, in_full(files).as_deref(), width(), out),
            None => render::document(figures).text(width(), out),
        },
        Format::Markdown => render::document(figures).markdown(out),
        Format::Json => figures_json(figures, answer.as_ref(), out),
    })
    .context("cannot print the figures")
}

/// Prints comparisons, one below the other.
pub(crate) fn print_comparisons(all: &[Comparison], format: Format) -> anyhow::Result<()> {
    console::print(|out| {
        for (index, comparison) in all.iter().enumerate() {
            let document = render::verdicts::document(comparison);
            match format {
                Format::Json => return comparisons_json(all, out),
                Format::Markdown => document.markdown(out),
                Format::Text => {
                    if index > 0 {
                        writeln!(out)?;
                    }
                    document.text(width(), out)
                }
            }?;
        }
        Ok(())
    })
    .context("cannot print the comparison")
}

/// Writes comparisons as JSON: one as an object, several as an array.
pub(crate) fn comparisons_json(all: &[Comparison], out: &mut Vec<u8>) -> io::Result<()> {
    match all {
        [one] => json(one, out),
        several => json(&several, out),
    }
}

/// The command that prints all of some files; `None` if one of them cannot be read again.
fn in_full(files: &[impl AsRef<Path>]) -> Option<String> {
    let names = files.iter().map(|file| file.as_ref().to_str().filter(|name| *name != "-"));
    let names: Vec<Cow<'_, str>> =
        names.map(|name| name.map(console::shell_word)).collect::<Option<_>>()?;
    Some(format!("switchcost report {} --full", names.join(" ")))
}

/// Most files that are looked at for earlier answers, and the length of each in bytes.
const EARLIER: (usize, u64) = (12, 16 << 20);

/// Answers of the newest other results in the folder of a file that are of the same machine. What cannot be read is no
/// answer.
fn earlier(records: &[Record], file: &Path, is_void: bool) -> Vec<Answer> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut files = newest_first(folder.unwrap_or(Path::new(".")));
    let is_short = |path: &PathBuf| fs::metadata(path).is_ok_and(|facts| facts.len() <= EARLIER.1);
    files.retain(is_short);
    let answers = files.iter().take(EARLIER.0).filter_map(|path| {
        let earlier = store::read(path).ok()?.records;
        // Without the own session.
        let both = sessions::joined(&[records, &earlier])?;
        let answer = Answer::of(&Figures::of(both.get(records.len()..)?))?;
        Some(answer).filter(|answer| is_void || !answer.is_void())
    });
    answers.collect()
}
