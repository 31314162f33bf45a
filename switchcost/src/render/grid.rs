//! Rows and columns of text, for a terminal or in Markdown.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::layout::lines;
use super::markdown::escaped;

/// A cell with nothing in it.
pub(super) const ABSENT: &str = "-";

/// A table as people see it: each line has the name of a row, or of what is derived from it and
/// then indented, and one text for each column.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    /// Headings of the columns, beginning with the names'; on a terminal they may have several lines.
    pub(super) head: Vec<String>,
    /// Lines, each as long as the head.
    pub(super) body: Vec<Vec<String>>,
}

/// A table without frames: only its head is underlined.
const RULE_BELOW_HEAD: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Spaces around a cell: two inside of it, one before the next.
const MARGIN: usize = 3;

/// Least room for names beside figures.
const NARROWEST_NAMES: usize = 20;

impl Grid {
    /// A grid with these headings.
    pub(super) fn new(
        head: impl IntoIterator<Item = impl Into<String>>,
        body: Vec<Vec<String>>,
    ) -> Self {
        Grid { head: head.into_iter().map(Into::into).collect(), body }
    }

    /// The grid of these lines, the head first.
    fn of_lines(mut lines: impl Iterator<Item = Vec<String>>) -> Self {
        Grid { head: lines.next().unwrap_or_default(), body: lines.collect() }
    }

    /// Its lines in aligned columns of at most `width` characters: columns that do not fit come below, with the names
    /// again.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let parts = self.folded(width).parts(width).into_iter();
        let parts =
            parts.map(|part| part.table().lines().map(|line| line.trim_end().to_owned()).collect());
        parts.collect::<Vec<Vec<String>>>().join(&String::new())
    }

    /// The grid with lines in its cells. Where names in lines leave room for all columns, only these change; else the
    /// names and any other column fit.
    fn folded(&self, width: usize) -> Grid {
        let widths: Vec<usize> = (1..self.head.len()).map(|column| self.width(column)).collect();
        let abreast = (width + 1).checked_sub(widths.iter().sum::<usize>() + MARGIN);
        let room = (width + 1).saturating_sub(2 * MARGIN);
        let widest = widths.iter().max().map_or(0, |widest| widest - MARGIN);
        let (names, figures) = match abreast.filter(|names| *names >= NARROWEST_NAMES) {
            Some(names) => (names, widest),
            None => {
                let figures = widest.min(room.saturating_sub(NARROWEST_NAMES));
                (room.saturating_sub(figures), figures)
            }
        };
        let lines = [&self.head].into_iter().chain(&self.body).map(|cells| {
            let (name, others) = cells.split_at(1.min(cells.len()));
            let name = name.iter().map(|name| folded(name, 4, names));
            name.chain(others.iter().map(|cell| folded(cell, 0, figures))).collect()
        });
        Grid::of_lines(lines)
    }

    /// Parts that fit, each with the names and at least one column.
    fn parts(&self, width: usize) -> Vec<Grid> {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut used = 0;
        for column in 1..self.head.len() {
            match parts.last_mut() {
                Some(part) if used + self.width(column) <= width + 1 => part.push(column),
                _ => {
                    parts.push(vec![0, column]);
                    used = self.width(0);
                }
            }
            used += self.width(column);
        }
        parts.iter().map(|columns| self.part(columns)).collect()
    }

    /// Width of a column with the space around it.
    fn width(&self, column: usize) -> usize {
        let lines = [&self.head].into_iter().chain(&self.body);
        let lines = lines.filter_map(|line| line.get(column)).flat_map(|cell| cell.lines());
        lines.map(|line| line.chars().count()).max().unwrap_or(0) + MARGIN
    }

    /// The grid without the columns of these headings.
    pub(super) fn without(&self, headings: &[&str]) -> Grid {
        let columns =
            (0..self.head.len()).filter(|&column| !headings.contains(&&*self.head[column]));
        self.part(&columns.collect::<Vec<_>>())
    }

    /// Some of the columns, without the lines that say nothing in them.
    fn part(&self, columns: &[usize]) -> Grid {
        let lines = [&self.head]
            .into_iter()
            .chain(&self.body)
            .map(|line| columns.iter().filter_map(|&column| line.get(column)).cloned().collect());
        let mut part = Grid::of_lines(lines);
        part.body.retain(|line| line[1..].iter().any(|cell| !cell.is_empty()));
        part
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table
            .load_style(RULE_BELOW_HEAD)
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_header(&self.head)
            .add_rows(&self.body);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }

    /// Writes it as a Markdown table.
    pub(super) fn write_markdown(&self, out: &mut impl Write) -> io::Result<()> {
        if self.head.is_empty() {
            return Ok(());
        }
        write_markdown_line(&self.head, out)?;
        writeln!(out, "| --- |{}", " ---: |".repeat(self.head.len().saturating_sub(1)))?;
        self.body.iter().try_for_each(|line| write_markdown_line(line, out))
    }
}

/// A cell in lines of at most so many characters; all but the first are indented, unless a word is longer.
fn folded(cell: &str, indent: usize, room: usize) -> String {
    let lines = cell.lines().flat_map(|line| match line.chars().count() <= room {
        true => vec![line.to_owned()],
        false => lines(line, indent, room),
    });
    let folded = lines.flat_map(|line| {
        let chars: Vec<char> = line.chars().collect();
        chars.chunks(room.max(1)).map(String::from_iter).collect::<Vec<_>>()
    });
    folded.collect::<Vec<_>>().join("\n")
}

fn write_markdown_line(cells: &[String], out: &mut impl Write) -> io::Result<()> {
    for cell in cells {
        let indent = if cell.starts_with(' ') { "&emsp;" } else { "" };
        write!(out, "| {indent}{} ", escaped(cell.trim_start()))?;
    }
    writeln!(out, "|")
}
