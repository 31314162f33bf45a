//! Output formats.

use std::io::{self, Write};

use clap::ValueEnum;

use super::layout::width;
use super::report::Report;

mod csv;
pub(super) mod html;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// for a terminal
    Text,
    /// for a README
    Markdown,
    /// for a browser: a page that needs no other file
    Html,
    /// for a spreadsheet: one line per figure, unrounded, with times in ns and sizes in bytes
    Csv,
    /// for programs: the estimates, unrounded
    Json,
}

impl Format {
    /// Writes a report.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(self, report: &(impl Report + ?Sized), out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Format::Text => {
                for (index, document) in report.documents().iter().enumerate() {
                    if index > 0 {
                        writeln!(out)?;
                    }
                    document.text(width(), out)?;
                }
                Ok(())
            }
            Format::Markdown => {
                report.documents().iter().try_for_each(|document| document.markdown(out))
            }
            Format::Html => html::write(&report.pages(), out),
            Format::Csv => csv::write(&report.spreadsheet(), out),
            Format::Json => {
                serde_json::to_writer(&mut *out, report)?;
                writeln!(out)
            }
        }
    }
}
