//! A result as people read it: tables with sentences around them. Each format writes it in its own way.

use std::io::{self, Write};

use host::units::counted;

use super::grid::Grid;
use super::layout;
use super::markdown::escaped;
use super::plot::Plot;

/// A result as people read it.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Heading of its page.
    pub(super) title: String,
    /// Why its figures are less sure, the loudest reason first.
    pub(super) doubts: Vec<TextLine>,
    pub(super) head: Vec<TextLine>,
    pub(super) sections: Vec<Section>,
    pub(super) foot: Vec<TextLine>,
    /// Names and targets of links, for a page.
    pub(super) links: Vec<(String, String)>,
    /// Command that prints more, if it can be typed: for a terminal alone.
    pub(super) more: Option<String>,
    pub(super) frame: Frame,
}

/// What a document may take of a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) columns: usize,
    pub(super) lines: usize,
    /// Indentation of all lines of a sentence but the first.
    pub(super) indent: usize,
}

impl Default for Frame {
    fn default() -> Self {
        Frame { columns: usize::MAX, lines: usize::MAX, indent: 2 }
    }
}

/// A sentence, or a command.
#[derive(Clone, Debug)]
pub(super) struct TextLine {
    pub(super) text: String,
    /// Stands as it is, to be copied.
    pub(super) is_command: bool,
    pub(super) rank: Rank,
    is_left_out: bool,
}

/// What goes first where a terminal has too few lines: the lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Always,
    First,
    /// A doubt: those that are left out are counted.
    Doubt,
    Last,
    /// Not on a terminal.
    Page,
}

impl TextLine {
    pub(super) fn ranked(text: String, rank: Rank) -> Self {
        TextLine { rank, ..text.into() }
    }

    pub(super) fn command(text: String) -> Self {
        TextLine { is_command: true, ..text.into() }
    }
}

impl From<String> for TextLine {
    fn from(text: String) -> Self {
        TextLine { text, is_command: false, rank: Rank::Always, is_left_out: false }
    }
}

/// Sentences as lines that are always shown.
pub(super) fn sentences(texts: impl IntoIterator<Item = String>) -> Vec<TextLine> {
    texts.into_iter().map(TextLine::from).collect()
}

/// A table, its plot, and what is said of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    pub(super) title: String,
    pub(super) grid: Grid,
    /// Sentences below it.
    pub(super) lines: Vec<TextLine>,
    /// For a page.
    pub(super) plot: Option<Plot>,
    /// A page shows its title alone, until that is clicked.
    pub(super) is_folded: bool,
}

impl Section {
    pub(super) fn new(title: &str, grid: Grid, lines: impl IntoIterator<Item = String>) -> Self {
        Section { title: title.to_owned(), grid, lines: sentences(lines), ..Section::default() }
    }
}

impl Document {
    /// A list of sentences, and one that sums them up.
    pub(crate) fn list(title: &str, lines: impl IntoIterator<Item = String>, sum: String) -> Self {
        Document {
            title: title.to_owned(),
            sections: vec![Section::new("", Grid::default(), lines)],
            foot: sentences([sum]),
            ..Document::default()
        }
    }

    /// Writes it for a terminal of so many columns: what does not fit abreast comes below, and what its frame has no
    /// room for is left out.
    pub fn text(&self, width: usize, out: &mut impl Write) -> io::Result<()> {
        let lines = self.fitted(width).terminal_lines(width);
        lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    }

    /// The document with the lines that its frame has room for, those of a low rank first.
    fn fitted(&self, width: usize) -> Document {
        let mut document = self.clone();
        if document.terminal_lines(width).len() <= self.frame.lines {
            return document;
        }
        document.ranked().for_each(|line| line.is_left_out = line.rank != Rank::Always);
        for rank in [Rank::First, Rank::Doubt, Rank::Last] {
            for index in 0..document.ranked().filter(|line| line.rank == rank).count() {
                document.leave_out(rank, index, false);
                if document.terminal_lines(width).len() > self.frame.lines {
                    document.leave_out(rank, index, true);
                    if rank == Rank::Doubt {
                        break;
                    }
                }
            }
        }
        document
    }

    fn ranked(&mut self) -> impl Iterator<Item = &mut TextLine> {
        self.doubts.iter_mut().chain(&mut self.head).chain(&mut self.foot)
    }

    fn leave_out(&mut self, rank: Rank, index: usize, is_left_out: bool) {
        let mut lines = self.ranked().filter(|line| line.rank == rank);
        lines.nth(index).into_iter().for_each(|line| line.is_left_out = is_left_out);
    }

    /// Its lines on a terminal of so many columns. Parts are set apart by empty lines.
    fn terminal_lines(&self, width: usize) -> Vec<String> {
        let mut doubts = self.shown(&self.doubts, width);
        let left_out = self.doubts.iter().filter(|doubt| doubt.is_left_out).count();
        let mut more = self.more.as_ref();
        if left_out > 0 {
            let noun = if doubts.is_empty() { "doubt" } else { "more doubt" };
            let command = more.take().map_or(String::new(), |more| format!(": {more}"));
            doubts.push(counted(left_out, noun) + &command);
        }
        let mut foot = self.shown(&self.foot, width);
        foot.extend(more.map(|more| format!("More: {more}")));
        let sections = self.sections.iter().map(|section| {
            let title = Some(&section.title).filter(|title| !title.is_empty());
            let title = title.map_or(Vec::new(), |title| self.wrap(title, width));
            [title, section.grid.lines(width), self.shown(&section.lines, width)].concat()
        });
        let parts = [doubts, self.shown(&self.head, width)].into_iter().chain(sections);
        let mut parts: Vec<Vec<String>> = parts.chain([foot]).collect();
        parts.retain(|part| !part.is_empty());
        parts.join(&String::new())
    }

    fn shown(&self, lines: &[TextLine], width: usize) -> Vec<String> {
        let shown = lines.iter().filter(|line| !line.is_left_out && line.rank != Rank::Page);
        let shown = shown.map(|line| match line.is_command {
            true => vec![format!("    {}", line.text)],
            false => self.wrap(&line.text, width),
        });
        shown.flatten().collect()
    }

    fn wrap(&self, text: &str, width: usize) -> Vec<String> {
        layout::lines(text, self.frame.indent, width.min(self.frame.columns))
    }

    /// Writes it as Markdown.
    pub fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        for doubt in &self.doubts {
            writeln!(out, "**{}**\n", escaped(&doubt.text))?;
        }
        for line in &self.head {
            writeln!(out, "{}  ", escaped(&line.text))?;
        }
        for section in &self.sections {
            if !section.title.is_empty() {
                writeln!(out, "\n**{}**", escaped(&section.title))?;
            }
            writeln!(out)?;
            section.grid.write_markdown(out)?;
            if !section.grid.head.is_empty() && !section.lines.is_empty() {
                writeln!(out)?;
            }
            for line in &section.lines {
                match line.is_command {
                    true => writeln!(out, "\n      {}\n", line.text)?,
                    false => writeln!(out, "- {}", escaped(&line.text))?,
                }
            }
        }
        if !self.foot.is_empty() {
            writeln!(out)?;
        }
        self.foot.iter().try_for_each(|line| writeln!(out, "{}", escaped(&line.text)))
    }
}
