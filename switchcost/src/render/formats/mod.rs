//! Output formats.

use std::io::{self, Write};

use clap::ValueEnum;

use super::answer;
use super::found::Found;
use super::layout::width;

mod csv;
mod json;

/// Output format.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    /// for a terminal
    Text,
    /// for a README
    Markdown,
    /// for a spreadsheet: one line per figure, unrounded, with times in ns and sizes in bytes
    Csv,
    /// for programs: the estimates, unrounded
    Json,
}

impl Format {
    /// Writes what was found.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(self, found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Format::Text => text(found, out),
            Format::Markdown => markdown(found, out),
            Format::Csv => csv::write(found, out),
            Format::Json => json::write(found, out),
        }
    }
}

fn text(found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    if let Some((answer, more)) = found.answer() {
        return answer::text(answer, more, width(), out);
    }
    for (index, document) in found.documents().iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        document.text(width(), out)?;
    }
    Ok(())
}

fn markdown(found: &Found<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    match found.answer() {
        Some((answer, _)) => answer::markdown(answer, out),
        None => found.documents().iter().try_for_each(|document| document.markdown(out)),
    }
}
