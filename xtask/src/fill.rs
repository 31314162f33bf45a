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
use regex_lite::Regex;
use switchcost::render::answer;
use switchcost::views::comparison::Comparison;

use crate::check;
use crate::definitions::{Block, Definition, Definitions, Table};
use crate::found::signed;
use crate::markdown::{NUMBERS, table};
use crate::page::{Fault, Page};
use crate::query;
use crate::records::{File, Records};

const FIGURE: &str = "<!--= ";
const TABLE: &str = "<!--table: ";
const END: &str = " -->";
const END_OF_TABLE: &str = "<!--/table-->";

/// A number at the end of a text, with its mark, its unit and its interval, behind a space or a sign.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"[~!]?-?\d(?:[\d.,]*\d)?(?: (?:ns|µs|ms|s|%|[KMGT]?i?B(?:/s)?))?";
    let interval = r"(?: \[-?[\d.,]+, -?[\d.,]+\])?";
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new(&format!(r"(?:^|[\s(\[*|÷×])({number}{interval})$")).unwrap()
});

/// Start of a comment that is meant as a marker.
static MARKER: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::unwrap_used, reason = "a constant")]
    Regex::new(r"<!--\s*(?:=|/?\s*[tT]able\b)").unwrap()
});

/// A document with its figures and tables in place.
pub(crate) fn fill(
    page: &Page,
    definitions: &Definitions,
    records: &Records,
    faults: &mut Vec<Fault>,
) -> String {
    let mut filled = String::new();
    // The text before this place is in `filled`.
    let mut done = 0;
    let mut is_in_table = false;
    let full = |name: &str| format!("{}.{name}", page.name());
    // A block that was replaced may have held the next ones.
    for place in check::comments(page) {
        if place.start < done {
            continue;
        }
        let (line, comment) = (page.line(place.start), &page.text[place.clone()]);
        let name = |begin| comment.strip_prefix(begin)?.strip_suffix(END);
        if let Some(name) = name(FIGURE) {
            filled += &page.text[done..place.start];
            let figure = put(&full(name), definitions, records, &mut filled);
            faults.extend(figure.err().map(|why| page.fault(line, format!("{name}: {why:#}"))));
            filled += comment;
            done = place.end;
        } else if let Some(name) = name(TABLE) {
            filled += &page.text[done..place.end];
            done = place.end;
            let rest = &page.text[done..];
            let next = MARKER.find(rest).map_or(rest.len(), |marker| marker.start());
            is_in_table = rest[next..].starts_with(END_OF_TABLE);
            match lines(&full(name), definitions, records) {
                Err(why) => faults.push(page.fault(line, format!("{name}: {why:#}"))),
                // Up to the end of another table there is text as well.
                Ok(_) if !is_in_table => {
                    faults.push(page.fault(line, format!("no {END_OF_TABLE} ends this table")));
                }
                Ok(lines) => {
                    filled.push('\n');
                    filled += &lines;
                    done += next;
                }
            }
        } else if comment == END_OF_TABLE && is_in_table {
            is_in_table = false;
        } else if MARKER.is_match(comment) {
            let what = format!(
                "this marks nothing: {comment}: write {FIGURE}NAME{END}, or {TABLE}NAME{END} and {END_OF_TABLE}"
            );
            faults.push(page.fault(line, what));
        }
    }
    filled + &page.text[done..]
}

/// Puts the figure `PAGE.NAME` in the place of the one at the end of a text.
fn put(
    name: &str,
    definitions: &Definitions,
    records: &Records,
    text: &mut String,
) -> anyhow::Result<()> {
    let Some(Definition::Figure(definition)) = definitions.get(name) else {
        bail!("docs/figures.toml has no such figure of this page")
    };
    let (shown, is_number) = query::shown(definition, records)?;
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

/// Lines of the block `PAGE.NAME`.
fn lines(name: &str, definitions: &Definitions, records: &Records) -> anyhow::Result<String> {
    let Some(Definition::Block(block)) = definitions.get(name) else {
        bail!("docs/figures.toml has no such table of this page")
    };
    match block {
        Block::Claims(_) => definitions.claims.headlines(records),
        Block::Table(table) => table.lines(records),
        Block::Duel(file) => match records.get(file)? {
            File::Duel(comparison) => settings(comparison),
            _ => bail!("{file} is no duel"),
        },
        Block::Printed(queries) => {
            let shown = |query: &String| Ok(query::shown(query, records)?.0);
            let texts = queries.iter().map(shown).collect::<anyhow::Result<Vec<_>>>()?;
            Ok(format!("```text\n{}\n```\n", texts.join("\n")))
        }
        Block::Answer(file) => match records.get(file)? {
            File::Figures { answer: Some(answer), .. } => {
                let mut lines = Vec::new();
                answer::document(answer, None).text(80, &mut lines)?;
                Ok(format!("```text\n{}```\n", String::from_utf8(lines)?))
            }
            _ => bail!("{file} has no answer"),
        },
    }
}

impl Table {
    fn lines(&self, records: &Records) -> anyhow::Result<String> {
        let mut lines = Vec::new();
        for (name, cells) in self.cells()? {
            let mut shown = vec![name.clone()];
            for cell in cells {
                shown.push(if cell.is_empty() {
                    cell
                } else {
                    query::shown(&cell, records).with_context(|| name.clone())?.0
                });
            }
            lines.push(shown);
        }
        table(&self.head, NUMBERS, &lines)
    }

    /// Name of each row, and its cells with their texts in place.
    pub(crate) fn cells(&self) -> anyhow::Result<Vec<(String, Vec<String>)>> {
        let [_, heads @ ..] = &self.head[..] else { bail!("a table has headings") };
        let mut rows = Vec::new();
        for texts in &self.rows {
            let (name, others) = texts.split_first().context("a row has no name")?;
            let mut cells = match self.cells.as_deref() {
                None => others.to_vec(),
                Some([cell]) => vec![cell.clone(); heads.len()],
                Some(cells) => cells.to_vec(),
            };
            let (own, all) = (cells.len(), heads.len());
            ensure!(own == all, "{name}: {own} cells for {all} columns");
            for (cell, head) in cells.iter_mut().zip(heads) {
                *cell = with_texts(cell, texts).replace("{head}", head);
                ensure!(!cell.contains('{'), "{name}: the row has no text for {cell}");
            }
            rows.push((name.clone(), cells));
        }
        Ok(rows)
    }
}

/// A template with a row's texts: the last ones first, since they may name the row.
fn with_texts(template: &str, texts: &[String]) -> String {
    let texts = texts.iter().enumerate().rev();
    texts.fold(template.to_owned(), |template, (place, text)| {
        template.replace(&format!("{{{place}}}"), text)
    })
}

/// Settings of a duel that changed some program's time: a column for each program.
fn settings(comparison: &Comparison) -> anyhow::Result<String> {
    let programs = unique(comparison.rows.iter().map(|row| &*row.place.row));
    let mut rows = Vec::new();
    for setting in unique(comparison.rows.iter().filter_map(|row| row.place.setting.as_deref())) {
        let times: Vec<Option<&Quotient>> =
            programs.iter().map(|program| time_with(comparison, program, setting)).collect();
        if times.iter().flatten().any(|time| time.verdict.has_changed()) {
            let cells = times.iter().map(|time| time.map_or_else(|| "–".to_owned(), change));
            rows.push([format!("`{setting}`")].into_iter().chain(cells).collect());
        }
    }
    let head: Vec<&str> = ["setting"].into_iter().chain(programs).collect();
    table(&head, NUMBERS, &rows)
}

/// Time of a program with a setting.
fn time_with<'a>(comparison: &'a Comparison, program: &str, setting: &str) -> Option<&'a Quotient> {
    let mut rows = comparison.rows.iter().filter(|row| row.place.row == program);
    rows.find(|row| row.place.setting.as_deref() == Some(setting))?.quotient(Kind::Time)
}

/// A change in bold with its interval; how far from none it may be, if there is no change (±) or no verdict (?).
fn change(quotient: &Quotient) -> String {
    match (quotient.verdict, quotient.change) {
        (Verdict::More | Verdict::Less, Some(change)) => {
            let [low, high] = [change.low, change.high].map(|end| number(end * 100.0));
            let change = signed(change.estimate);
            format!("**{}** [{low}, {high}]", quotient.measured.grade.mark(&change))
        }
        (Verdict::Within(reach), _) => format!("± {}", percent(reach)),
        (Verdict::Open(reach), _) => format!("? {}", percent(reach)),
        _ => "?".to_owned(),
    }
}
