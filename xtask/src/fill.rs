//! Puts figures and tables into a document.
//!
//! A figure stands before its name: `17 µs<!--= thread.unpinned -->`; a text stands in backticks. The lines of a block
//! stand between `<!--table: NAME -->` and `<!--/table-->`.

use std::sync::LazyLock;

use anyhow::{Context, bail, ensure};
use figures::number::{number, percent};
use figures::quotient::{Kind, Quotient};
use figures::unique;
use figures::verdict::Verdict;
use regex::Regex;
use switchcost::render::answer;
use switchcost::views::comparison::Comparison;

use crate::definitions::{Block, Cell, Cells, Definitions, Table};
use crate::query::{self, signed};
use crate::records::{File, Records};
use crate::{Fault, Page};

const FIGURE: &str = "<!--= ";
const TABLE: &str = "<!--table: ";
const END_OF_NAME: &str = " -->";
const END_OF_TABLE: &str = "<!--/table-->";

/// A number at the end of a text, with its mark, its unit and its interval, behind a space or a sign.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"[~!]?-?\d(?:[\d.,]*\d)?(?: (?:ns|µs|ms|s|%|[KMGT]?i?B(?:/s)?))?";
    let interval = r"(?: \[-?[\d.,]+, -?[\d.,]+\])?";
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new(&format!(r"(?:^|[\s(\[*|÷×])({number}{interval})$")).unwrap()
});

/// A document with its figures and tables in place.
pub(crate) struct Filled {
    pub(crate) text: String,
    /// What is wrong with it.
    pub(crate) faults: Vec<Fault>,
    /// The comments that were taken for names.
    pub(crate) comments: Vec<String>,
}

/// Fills a document.
pub(crate) fn fill(page: &Page, definitions: &Definitions, records: &Records) -> Filled {
    let mut filled = Filled { text: String::new(), faults: Vec::new(), comments: Vec::new() };
    let mut is_code = false;
    let mut rest = page.text.split_inclusive('\n').enumerate();
    while let Some((number, line)) = rest.next() {
        is_code ^= line.trim_start().starts_with("```");
        let mut fault = |what: String| filled.faults.push(page.fault(number + 1, what));
        let table = line.trim_end().strip_prefix(TABLE).filter(|_| !is_code);
        let Some(name) = table.and_then(|name| name.strip_suffix(END_OF_NAME)) else {
            let figures = Figures { page: page.name(), definitions, records };
            let line = if is_code {
                line.to_owned()
            } else {
                figures.fill(line, &mut filled.comments, fault)
            };
            filled.text += &line;
            continue;
        };
        filled.text += line;
        filled.comments.extend([line.trim_end().to_owned(), END_OF_TABLE.to_owned()]);
        let is_end = |line: &str| line.trim_end() == END_OF_TABLE;
        if !rest.clone().any(|(_, line)| is_end(line)) {
            fault(format!("no {END_OF_TABLE} ends this table"));
            continue;
        }
        let old = rest.by_ref().map(|(_, line)| line).take_while(|line| !is_end(line));
        let old: String = old.collect();
        let block = definitions.block(page.name(), name);
        let block = block.context("docs/figures.toml has no such table of this page");
        let lines = block.and_then(|block| block.lines(definitions, records));
        filled.text += &lines.unwrap_or_else(|error| {
            fault(format!("{name}: {error:#}"));
            old
        });
        filled.text += END_OF_TABLE;
        filled.text.push('\n');
    }
    filled
}

/// What the names of a page stand for.
struct Figures<'a> {
    page: &'a str,
    definitions: &'a Definitions,
    records: &'a Records,
}

impl Figures<'_> {
    /// A line with its figures in place.
    fn fill(
        &self,
        line: &str,
        comments: &mut Vec<String>,
        mut fault: impl FnMut(String),
    ) -> String {
        let mut filled = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once(FIGURE) {
            filled += before;
            let Some((name, behind)) = after.split_once(END_OF_NAME) else { break };
            rest = behind;
            let comment = format!("{FIGURE}{name}{END_OF_NAME}");
            // Behind an odd number of backticks it is code.
            if filled.matches('`').count().is_multiple_of(2) {
                if filled.trim().is_empty() {
                    fault(format!("{name}: a name begins a line: put it behind its figure"));
                }
                if name.contains('|') {
                    fault(format!("{name}: a | in a name ends a table's cell"));
                }
                if let Err(error) = self.put(name, &mut filled) {
                    fault(format!("{name}: {error:#}"));
                }
                comments.push(comment.clone());
            }
            filled += &comment;
        }
        filled + rest
    }

    /// Puts a figure in the place of the one at the end of a text.
    fn put(&self, name: &str, text: &mut String) -> anyhow::Result<()> {
        let definition = self.definitions.figure(self.page, name);
        let definition = definition.context("docs/figures.toml has no such figure of this page")?;
        let (shown, is_number) = query::shown(definition, self.records)?;
        // The next time only its end would be taken for it.
        ensure!(!shown.contains(" or "), "two modes need a table: {shown}");
        let start = if is_number {
            NUMBER.captures(text).and_then(|found| Some(found.get(1)?.start()))
        } else {
            ensure!(!shown.contains('`'), "a text with a backtick: {shown}");
            text.strip_suffix('`').and_then(|text| Some(text.rfind('`')? + 1))
        };
        let what = if is_number { "a number" } else { "a text in backticks" };
        let start = start.with_context(|| format!("{what} has to stand before it: {shown}"))?;
        text.truncate(start);
        *text += &shown;
        *text += if is_number { "" } else { "`" };
        Ok(())
    }
}

impl Block {
    /// Its lines.
    fn lines(&self, definitions: &Definitions, records: &Records) -> anyhow::Result<String> {
        match self {
            Block::Claims(_) => definitions.claims.headlines(records),
            Block::Table(table) => table.lines(records),
            Block::Duel { file, without } => match records.get(file)? {
                File::Duel(comparison) => settings(comparison, without),
                _ => bail!("{file} is no duel"),
            },
            Block::Answer(file) => match records.get(file)? {
                File::Figures { answer: Some(answer), .. } => {
                    let mut lines = Vec::new();
                    answer::text(answer, None, 80, &mut lines)?;
                    Ok(format!("```text\n{}```\n", String::from_utf8(lines)?))
                }
                _ => bail!("{file} has no answer"),
            },
        }
    }
}

impl Table {
    fn lines(&self, records: &Records) -> anyhow::Result<String> {
        let mut lines = Vec::new();
        for (name, cells) in self.cells()? {
            let mut shown = vec![name.clone()];
            for cell in cells {
                shown.push(match cell {
                    Cell::Text { text } => text,
                    Cell::Figure(text) if text.is_empty() => text,
                    Cell::Figure(text) => {
                        query::shown(&text, records).with_context(|| name.clone())?.0
                    }
                });
            }
            lines.push(shown);
        }
        table(&self.head, &lines)
    }

    /// Name of each row, and its cells with their texts in place.
    pub(crate) fn cells(&self) -> anyhow::Result<Vec<(String, Vec<Cell>)>> {
        let [_, heads @ ..] = &self.head[..] else { bail!("a table has headings") };
        let mut rows = Vec::new();
        for texts in &self.rows {
            let Some((Cell::Figure(name), others)) = texts.split_first() else {
                bail!("a row has no name")
            };
            let mut cells: Vec<Cell> = match &self.cells {
                None => others.to_vec(),
                Some(Cells::Each(cells)) => cells.clone(),
                Some(Cells::Alike(cell)) => vec![Cell::Figure(cell.clone()); heads.len()],
            };
            let (own, all) = (cells.len(), heads.len());
            ensure!(own == all, "{name}: {own} cells for {all} columns");
            for (cell, head) in cells.iter_mut().zip(heads) {
                let (Cell::Figure(text) | Cell::Text { text }) = cell;
                *text = with_texts(text, texts).replace("{head}", head);
                ensure!(!text.contains('{'), "{name}: the row has no text for {text}");
            }
            rows.push((name.clone(), cells));
        }
        Ok(rows)
    }
}

/// A table in Markdown, the first column on the left and the others on the right.
fn table(head: &[String], rows: &[Vec<String>]) -> anyhow::Result<String> {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut lines = line(head) + &format!("| --- |{}\n", " ---: |".repeat(head.len() - 1));
    for row in rows {
        let broken = row.iter().find(|cell| cell.contains(['|', '\n']));
        ensure!(broken.is_none(), "a cell breaks its table: {}", broken.map_or("", |cell| cell));
        lines += &line(row);
    }
    Ok(lines)
}

/// A template with a row's texts: the last ones first, since they may name the row.
fn with_texts(template: &str, texts: &[Cell]) -> String {
    let texts = texts.iter().enumerate().rev();
    texts.fold(template.to_owned(), |template, (place, text)| {
        let (Cell::Figure(text) | Cell::Text { text }) = text;
        template.replace(&format!("{{{place}}}"), text)
    })
}

/// Settings of a duel that changed some program's time, but for some: a column for each program.
fn settings(comparison: &Comparison, without: &[String]) -> anyhow::Result<String> {
    let named = comparison.rows.iter().filter_map(|row| Some((row.name.split_once(": ")?, row)));
    let named: Vec<_> = named.collect();
    let programs = unique(named.iter().map(|((program, _), _)| *program));
    let mut rows = Vec::new();
    let all = unique(named.iter().map(|((_, setting), _)| *setting));
    for name in without {
        ensure!(all.contains(&&**name), "the duel has no setting {name}");
    }
    for setting in all.into_iter().filter(|setting| !without.iter().any(|name| name == setting)) {
        let row = |program: &str| {
            named.iter().find(|(name, _)| *name == (program, setting)).map(|(_, row)| row)
        };
        let times: Vec<_> =
            programs.iter().map(|program| row(program)?.quotient(Kind::Time)).collect();
        if times.iter().flatten().any(|time| time.verdict.has_changed()) {
            let cells = times.iter().map(|time| time.map_or_else(|| "–".to_owned(), change));
            rows.push([format!("`{setting}`")].into_iter().chain(cells).collect());
        }
    }
    let head: Vec<String> = ["setting"].iter().chain(&programs).map(ToString::to_string).collect();
    table(&head, &rows)
}

/// A change in bold with its interval; how far from none it may be, if there is no change (±) or no verdict (?).
fn change(quotient: &Quotient) -> String {
    match (quotient.verdict, quotient.change) {
        (Verdict::More | Verdict::Less, Some(change)) => {
            let [low, high] = [change.low, change.high].map(|end| number(end * 100.0));
            let change = signed(change.estimate);
            format!("**{}** [{low}, {high}]", quotient.grade.mark(&change))
        }
        (Verdict::Within(reach), _) => format!("± {}", percent(reach)),
        (Verdict::Open(reach), _) => format!("? {}", percent(reach)),
        _ => "?".to_owned(),
    }
}

/// Lines that differ from what their records say.
pub(crate) fn differences(page: &Page, filled: &str) -> Vec<Fault> {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (page.text.lines().collect(), filled.lines().collect());
    let unlike: Vec<usize> =
        (0..old.len().max(new.len())).filter(|&k| old.get(k) != new.get(k)).collect();
    let Some(first) = unlike.first() else {
        return vec![page.fault(1, "its lines end otherwise: run cargo run -p xtask -- documents")];
    };
    let says = |k: &usize| {
        let new = new.get(*k).unwrap_or(&"nothing more");
        page.fault(k + 1, format!("its records say: {new}"))
    };
    // Behind a line that is new or gone all others differ.
    let all = if old.len() == new.len() { &unlike[..] } else { std::slice::from_ref(first) };
    all.iter().map(says).collect()
}
