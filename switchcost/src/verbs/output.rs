//! Output of the verbs that print figures.

use std::io::{self, Write};

use anyhow::Context;
use clap::ValueEnum;
use facts::Record;
use serde::Serialize;

use crate::figures::conditions::Conditions;
use crate::figures::doubt::{self, Stated};
use crate::figures::{Figure, Figures};
use crate::render;
use crate::render::layout::width;
use crate::system::console;
use crate::views::answer::Answer;
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
    answer: Option<Answer>,
}

/// Writes all figures as one object of JSON.
pub(crate) fn figures_json(figures: &Figures<'_>, out: &mut Vec<u8>) -> io::Result<()> {
    let all = All {
        records: figures.records.len(),
        doubts: doubt::of_all(
            figures.records,
            doubt::named(figures.iter()),
            Conditions::of(figures).doubts(figures),
        ),
        figures: figures.iter().collect(),
        curves: Tables::of(figures).curves,
        answer: Answer::of(figures),
    };
    json(&all, out)
}

/// Writes one object of JSON, and a newline.
pub(crate) fn json(found: &impl Serialize, out: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, found)?;
    writeln!(out)
}

/// Prints figures; for a terminal the answer alone, if there is one and not all is asked for.
pub(crate) fn print(records: &[Record], format: Format, full: bool) -> anyhow::Result<()> {
    let figures = Figures::of(records);
    console::print(|out| match format {
        Format::Text => match Answer::of(&figures).filter(|_| !full) {
            Some(answer) => render::answer::text(&answer, width(), out),
            None => render::document(&figures).text(width(), out),
        },
        Format::Markdown => render::document(&figures).markdown(out),
        Format::Json => figures_json(&figures, out),
    })
    .context("cannot print the figures")
}
