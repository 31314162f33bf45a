//! Output of the verbs.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use figures::{Figures, sessions};
use record::Record;
use serde::Serialize;

use super::args::{TextOrJson, newest_first};
use crate::measure::store;
use crate::render::Found;
use crate::system::console;
use crate::views::answer::{Answer, Earlier};

pub(crate) use crate::render::Format;

/// Prints what was found.
pub(crate) fn print_found(found: &Found<'_>, format: Format) -> anyhow::Result<()> {
    let printed = match format {
        Format::Text => console::show(|out| format.write(found, out)),
        _ => console::print(|out| format.write(found, out)),
    };
    printed.context("cannot print what was found")
}

/// Prints what is no figures of records, as text or as one object of JSON.
pub(crate) fn print_as(
    format: TextOrJson,
    found: &impl Serialize,
    text: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> anyhow::Result<()> {
    let printed = match format {
        TextOrJson::Text => console::show(text),
        TextOrJson::Json => console::print(|out| {
            serde_json::to_writer(&mut *out, found)?;
            writeln!(out)
        }),
    };
    printed.context("cannot print what was found")
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
    let more = in_full(&[file]);
    print_found(&Found::Figures { figures: &figures, answer: answer.as_ref(), full, more }, format)
}

/// The command that prints all of some files; `None` if one of them cannot be read again.
pub(crate) fn in_full(files: &[impl AsRef<Path>]) -> Option<String> {
    let names = files.iter().map(|file| file.as_ref().to_str().filter(|_| file.as_ref().is_file()));
    let names: Vec<Cow<'_, str>> =
        names.map(|name| name.map(console::shell_word)).collect::<Option<_>>()?;
    Some(format!("switchcost report {} --full", names.join(" ")))
}

/// Answers of the newest other results in the folder of a file that are of the same machine. What cannot be read is no
/// answer.
fn earlier(records: &[Record], file: &Path, is_void: bool) -> Vec<Answer> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = newest_first(folder.unwrap_or(Path::new(".")));
    let answers = files.iter().filter_map(|path| {
        let earlier = store::read(path).ok()?.records;
        // Without the own session.
        let both = sessions::joined(&[records, &earlier])?;
        let answer = Answer::of(&Figures::of(both.get(records.len()..)?))?;
        Some(answer).filter(|answer| is_void || !answer.is_void())
    });
    answers.collect()
}
