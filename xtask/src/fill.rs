//! Puts figures and tables into a document.
//!
//! A figure stands before its name: `17 µs<!--= thread.unpinned -->`; a text stands in backticks. Lines of a block stand
//! between `<!--table: NAME -->` and `<!--/table-->`.

use std::sync::LazyLock;

use anyhow::{Context, bail, ensure};
use regex::Regex;
use switchcost::render::answer;
use switchcost::views::comparison::Comparison;

use crate::definitions::{Block, Cell, Cells, Definitions, Row, Table};
use crate::query::{self, Shown};
use crate::records::{File, Records};
use crate::{Fault, Page};

const FIGURE: &str = "<!--= ";
const TABLE: &str = "<!--table: ";
const END_OF_NAME: &str = " -->";
const END_OF_TABLE: &str = "<!--/table-->";

/// A number at the end of a text, with its mark, its unit and its interval. A minus stands behind no letter or digit.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"[~!]?(?:\B-)?\d[\d.,]*(?: (?:ns|µs|ms|s|%|[KMGT]?i?B(?:/s)?))?";
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new(&format!(r"{number}(?: \[-?[\d.,]+, -?[\d.,]+\])?$")).unwrap()
});

/// A document with its figures and tables in place, and what is wrong with it.
pub(crate) fn filled(
    page: &Page,
    definitions: &Definitions,
    records: &Records,
) -> (String, Vec<Fault>) {
    let mut faults = Vec::new();
    let mut lines = String::new();
    let mut is_code = false;
    let mut rest = page.text.split_inclusive('\n').enumerate();
    while let Some((number, line)) = rest.next() {
        let number = number + 1;
        is_code ^= line.trim_start().starts_with("```");
        let Some(name) = line.trim_end().strip_prefix(TABLE).filter(|_| !is_code) else {
            let (line, whats) = if is_code {
                (line.to_owned(), Vec::new())
            } else {
                with_figures(line, page, definitions, records)
            };
            lines += &line;
            faults.extend(whats.into_iter().map(|what| page.fault(number, what)));
            continue;
        };
        lines += line;
        let is_end = |line: &str| line.trim_end() == END_OF_TABLE;
        if !rest.clone().any(|(_, line)| is_end(line)) {
            faults.push(page.fault(number, format!("no {END_OF_TABLE} ends this table")));
            continue;
        }
        let old: Vec<&str> =
            rest.by_ref().map(|(_, line)| line).take_while(|line| !is_end(line)).collect();
        let name = name.strip_suffix(END_OF_NAME).unwrap_or(name);
        let block = definitions.block(page.name(), name);
        let block = block.context("docs/figures.toml has no such table of this page");
        match block.and_then(|block| block.lines(definitions, records)) {
            Ok(block) => lines += &block,
            Err(error) => {
                faults.push(page.fault(number, format!("{name}: {error:#}")));
                lines.extend(old);
            }
        }
        lines += END_OF_TABLE;
        lines.push('\n');
    }
    (lines, faults)
}

/// A line with its figures, and what is wrong with them.
fn with_figures(
    line: &str,
    page: &Page,
    definitions: &Definitions,
    records: &Records,
) -> (String, Vec<String>) {
    let mut filled = String::new();
    let mut faults = Vec::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once(FIGURE) {
        filled += before;
        let Some((name, behind)) = after.split_once(END_OF_NAME) else {
            faults.push("a name has no ' -->' behind it on its line".to_owned());
            filled += FIGURE;
            rest = after;
            continue;
        };
        rest = behind;
        // What an odd number of backticks precedes is code.
        if filled.matches('`').count().is_multiple_of(2) {
            if before.trim().is_empty() && filled.trim_start() == before.trim_start() {
                faults.push(format!("{name}: a name begins a line: put it behind its figure"));
            }
            if name.contains('|') {
                faults.push(format!("{name}: a | in a name ends a table's cell"));
            }
            let definition = definitions.figure(page.name(), name);
            let definition =
                definition.context("docs/figures.toml has no such figure of this page");
            let shown = definition.and_then(|definition| query::shown(definition, records));
            match shown.and_then(|shown| put(&mut filled, &shown)) {
                Ok(()) => {}
                Err(error) => faults.push(format!("{name}: {error:#}")),
            }
        }
        filled += &format!("{FIGURE}{name}{END_OF_NAME}");
    }
    (filled + rest, faults)
}

/// Puts a figure in the place of the one at the end of a text.
fn put(text: &mut String, shown: &Shown) -> anyhow::Result<()> {
    // The next time it would be taken for one.
    ensure!(!shown.text.contains(" or "), "it has two modes, which need a table: {}", shown.text);
    let start = if shown.is_number {
        NUMBER.find(text).map(|old| old.start())
    } else {
        let inner = text.strip_suffix('`').and_then(|text| text.rfind('`'));
        inner.filter(|_| !shown.text.contains('`'))
    };
    let Some(start) = start else {
        let what = if shown.is_number { "a number" } else { "a text in backticks" };
        bail!("{what} has to stand before it: {}", shown.text)
    };
    text.truncate(start);
    *text += &if shown.is_number { shown.text.clone() } else { format!("`{}`", shown.text) };
    Ok(())
}

impl Block {
    /// Its lines.
    fn lines(&self, definitions: &Definitions, records: &Records) -> anyhow::Result<String> {
        match self {
            Block::Claims(name) => definitions.claims.table(name, records),
            Block::Table(table) => table.lines(records),
            Block::Duel(file) => match records.get(file)? {
                File::Duel { comparison, .. } => Ok(settings(comparison)),
                _ => bail!("{file} is no duel"),
            },
            Block::Answer(file) => match records.get(file)? {
                File::Figures { answer: Some(answer), .. } => {
                    let mut lines = Vec::new();
                    answer::markdown(answer, &mut lines)?;
                    Ok(format!("{}\n{}", answer::PICTURE, String::from_utf8(lines)?))
                }
                _ => bail!("{file} has no answer"),
            },
        }
    }
}

impl Table {
    fn lines(&self, records: &Records) -> anyhow::Result<String> {
        let mut lines = line(&self.head);
        lines += &format!("| --- |{}\n", " ---: |".repeat(self.head.len().saturating_sub(1)));
        for row in &self.rows {
            let texts = match row {
                Row::Name(name) => vec![Cell::Figure(name.clone())],
                Row::Full(cells) => cells.clone(),
            };
            let Some((Cell::Figure(name), others)) = texts.split_first() else {
                bail!("a row has no name")
            };
            let cells: Vec<Cell> = match &self.cells {
                None => others.to_vec(),
                Some(Cells::Each(cells)) => cells.clone(),
                Some(Cells::Alike(cell)) => vec![Cell::Figure(cell.clone()); self.head.len() - 1],
            };
            ensure!(
                cells.len() + 1 == self.head.len(),
                "{name}: {} cells for {} columns",
                cells.len(),
                self.head.len() - 1
            );
            let mut shown = vec![name.clone()];
            for (cell, head) in cells.iter().zip(&self.head[1..]) {
                let put = |template: &str| with_texts(template, &texts).replace("{head}", head);
                shown.push(match cell {
                    Cell::Text { text } => put(text),
                    Cell::Figure(definition) => match &*put(definition) {
                        "" => String::new(),
                        definition => {
                            query::shown(definition, records).with_context(|| name.clone())?.text
                        }
                    },
                });
            }
            lines += &line(&shown);
        }
        Ok(lines)
    }
}

/// A template with a row's texts: the last ones first, since they may name the row.
fn with_texts(template: &str, texts: &[Cell]) -> String {
    let texts = texts.iter().enumerate().rev();
    texts.fold(template.to_owned(), |template, (place, text)| {
        let (Cell::Figure(text) | Cell::Text { text }) = text;
        template.replace(&format!("{{{place}}}"), text)
    })
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Settings of a duel that changed some program's time: a column for each program.
fn settings(comparison: &Comparison) -> String {
    let named = comparison.rows.iter().filter_map(|row| Some((row.name.split_once(": ")?, row)));
    let named: Vec<_> = named.collect();
    let programs = switchcost::figures::unique(named.iter().map(|((program, _), _)| *program));
    let settings = switchcost::figures::unique(named.iter().map(|((_, setting), _)| *setting));
    let mut head = vec!["setting".to_owned()];
    head.extend(programs.iter().map(|program| (*program).to_owned()));
    let mut lines = line(&head) + &format!("| --- |{}\n", " ---: |".repeat(programs.len()));
    for setting in settings {
        let row = |program: &str| {
            named.iter().find(|(name, _)| *name == (program, setting)).map(|(_, row)| row)
        };
        let times = || programs.iter().map(|program| row(program)?.time());
        if !times().flatten().any(|time| time.verdict.has_changed()) {
            continue;
        }
        let mut cells = vec![format!("`{setting}`")];
        cells.extend(times().map(|time| time.map_or_else(|| "–".to_owned(), |time| time.brief())));
        lines += &line(&cells);
    }
    lines
}

/// Figures and lines that differ from what their records say.
pub(crate) fn differences(page: &Page, filled: &str) -> Vec<Fault> {
    let both = page.text.lines().zip(filled.lines()).enumerate();
    let unlike = both.filter(|(_, (old, new))| old != new);
    let mut faults: Vec<Fault> = unlike
        .map(|(number, (_, new))| page.fault(number + 1, format!("its records say: {new}")))
        .collect();
    if faults.is_empty() || page.text.lines().count() != filled.lines().count() {
        faults.push(page.fault(1, "it has not as many lines as its records give"));
    }
    faults
}
