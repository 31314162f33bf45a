//! Tables with sentences around them, for a terminal or as Markdown.

use std::io::{self, Write};

use super::grid::Grid;
use super::layout::wrapped;
use super::markdown::escaped;

/// A result as people read it.
#[derive(Debug, Default)]
pub struct Document {
    /// Lines before the tables.
    pub(super) head: Vec<String>,
    pub(super) sections: Vec<Section>,
    /// Lines behind them.
    pub(super) foot: Vec<String>,
}

/// A table and what is said of it.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) grid: Grid,
    /// Sentences below it.
    pub(super) lines: Vec<String>,
}

impl Document {
    /// Writes it for a terminal of so many columns: what does not fit abreast comes below.
    pub fn text(&self, width: usize, out: &mut impl Write) -> io::Result<()> {
        self.head.iter().try_for_each(|line| wrapped(line, 2, width, out))?;
        for (index, section) in self.sections.iter().enumerate() {
            if index > 0 || !self.head.is_empty() {
                writeln!(out)?;
            }
            wrapped(&section.title, 2, width, out)?;
            section.grid.write_text(width, out)?;
            section.lines.iter().try_for_each(|line| wrapped(line, 2, width, out))?;
        }
        if !self.foot.is_empty() {
            writeln!(out)?;
        }
        self.foot.iter().try_for_each(|line| wrapped(line, 2, width, out))
    }

    /// Writes it as Markdown.
    pub fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        self.head.iter().try_for_each(|line| writeln!(out, "{}  ", escaped(line)))?;
        for section in &self.sections {
            writeln!(out, "\n**{}**\n", escaped(&section.title))?;
            section.grid.write_markdown(out)?;
            if !section.grid.head.is_empty() && !section.lines.is_empty() {
                writeln!(out)?;
            }
            section.lines.iter().try_for_each(|line| writeln!(out, "- {}", escaped(line)))?;
        }
        if !self.foot.is_empty() {
            writeln!(out)?;
        }
        self.foot.iter().try_for_each(|line| writeln!(out, "{}", escaped(line)))
    }
}
