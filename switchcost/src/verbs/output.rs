//! Output of the verbs.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use figures::Figures;
use record::Record;
use serde::Serialize;

use super::args::TextOrJson;
use crate::render::Found;
use crate::system::console;
use crate::views::answer::Answer;

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
    print_found(&Found::Figures { figures: &figures, answer: answer.as_ref(), full, more }, format)
}

/// The command that prints all of some files; `None` if one of them cannot be read again.
pub(crate) fn in_full(files: &[impl AsRef<Path>]) -> Option<String> {
    let names = files.iter().map(|file| file.as_ref().to_str().filter(|_| file.as_ref().is_file()));
    let names: Vec<Cow<'_, str>> =
        names.map(|name| name.map(console::shell_word)).collect::<Option<_>>()?;
    Some(format!("switchcost report {} --full", names.join(" ")))
}
