//! Output of the verbs.

use std::borrow::Cow;
use std::path::Path;

use anyhow::Context;
use figures::Figures;
use record::Record;

use crate::render::{FiguresReport, Report};
use crate::system::console;
use crate::views::answer::Answer;

pub(crate) use crate::render::Format;

/// Prints a report.
pub(crate) fn print(report: &(impl Report + ?Sized), format: Format) -> anyhow::Result<()> {
    let printed = match format {
        Format::Text => console::show(|out| format.write(report, out)),
        _ => console::print(|out| format.write(report, out)),
    };
    printed.context("cannot print what was found")
}

/// Prints the figures of a new file.
pub(crate) fn print_new(
    records: &[Record],
    file: &Path,
    format: Format,
    full: bool,
) -> anyhow::Result<()> {
    let figures = Figures::of(records);
    let answer = Answer::of(&figures);
    let more = in_full(&[file]);
    print(&FiguresReport { figures: &figures, answer: answer.as_ref(), full, more }, format)
}

/// The command that prints all of some files; `None` if one of them cannot be read again.
pub(crate) fn in_full(files: &[impl AsRef<Path>]) -> Option<String> {
    let names = files.iter().map(|file| file.as_ref().to_str().filter(|_| file.as_ref().is_file()));
    let names: Vec<Cow<'_, str>> =
        names.map(|name| name.map(console::shell_word)).collect::<Option<_>>()?;
    Some(format!("switchcost report {} --full", names.join(" ")))
}
