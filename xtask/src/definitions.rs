//! docs/figures.toml: what names in documents stand for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use crate::Fault;
use crate::claims::Claims;

const FILE: &str = "docs/figures.toml";

/// A table or another block of lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Block {
    /// Headlines of docs/claims.toml.
    Claims(Headlines),
    /// Settings that a duel found to change something.
    Duel { file: String, without: Vec<String> },
    /// The answer of a file, as a terminal shows it.
    Answer(String),
    #[serde(untagged)]
    Table(Table),
}

/// The claims that a document shows; docs/claims.csv has all.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Headlines {
    Headlines,
}

/// A table: a line for each row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    /// The name of each row, and texts for its cells or the cells themselves.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// What each row's cells are made of.
    pub(crate) cells: Option<Cells>,
}

/// Cells in which `{0}` is the row's name, `{1}` its next text, and `{head}` the column's heading.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Cells {
    /// One for all columns.
    Alike(String),
    /// One for each column after the first.
    Each(Vec<Cell>),
}

/// A definition, nothing if it is empty, or a text.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    Figure(String),
    Text { text: String },
}

/// What a plot shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Picture {
    /// `MACHINE/FILE: NAME`, a plot of `switchcost report FILE --svg FOLDER`.
    Report(String),
    Table(TablePlot),
}

/// A plot of a page's table: its rows on one common axis, a series for each of some columns.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TablePlot {
    /// `PAGE.NAME`.
    pub(crate) table: String,
    pub(crate) columns: Vec<String>,
    pub(crate) title: String,
    pub(crate) axis: String,
}

/// What a page's names stand for.
#[derive(Debug, Default)]
struct PageNames {
    figures: BTreeMap<String, String>,
    blocks: BTreeMap<String, Block>,
}

/// All definitions.
pub(crate) struct Definitions {
    pages: BTreeMap<String, PageNames>,
    /// Plots by their paths, and what they show.
    pub(crate) plots: BTreeMap<String, Picture>,
    pub(crate) claims: Claims,
    /// Text of docs/figures.toml, by which lines are told.
    text: String,
    /// Page and name of what was asked for.
    used: RefCell<BTreeSet<(String, String)>>,
}

impl Definitions {
    /// Reads docs/figures.toml and docs/claims.toml, and returns the definitions that cannot be read.
    pub(crate) fn read(root: &Path) -> anyhow::Result<(Self, Vec<Fault>)> {
        let text =
            fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        let mut all: BTreeMap<String, toml::Table> = toml::from_str(&text).context(FILE)?;
        let plots = all.remove("plots").unwrap_or_default();
        let mut definitions = Definitions {
            pages: BTreeMap::new(),
            plots: plots.try_into().context("docs/figures.toml: [plots]")?,
            claims: Claims::read(root)?,
            text,
            used: RefCell::default(),
        };
        let mut faults = Vec::new();
        for (page, table) in all {
            let mut names = PageNames::default();
            for (name, what) in names.add("", table) {
                faults.push(definitions.fault(&page, &name, what));
            }
            definitions.pages.insert(page, names);
        }
        Ok((definitions, faults))
    }

    /// The definition of a figure.
    pub(crate) fn figure(&self, page: &str, name: &str) -> Option<&str> {
        self.used.borrow_mut().insert((page.to_owned(), name.to_owned()));
        self.pages.get(page)?.figures.get(name).map(String::as_str)
    }

    pub(crate) fn block(&self, page: &str, name: &str) -> Option<&Block> {
        self.used.borrow_mut().insert((page.to_owned(), name.to_owned()));
        self.pages.get(page)?.blocks.get(name)
    }

    /// Definitions that no document uses.
    pub(crate) fn unused(&self) -> Vec<Fault> {
        let used = self.used.borrow();
        let all = self.pages.iter().flat_map(|(page, names)| {
            let names = names.figures.keys().chain(names.blocks.keys());
            names.map(move |name| (page.clone(), name.clone()))
        });
        let unused = all.filter(|key| !used.contains(key));
        let unused =
            unused.map(|(page, name)| self.fault(&page, &name, "no document uses it".to_owned()));
        unused.collect()
    }

    /// A fault of a definition, on its line as far as it can be found.
    pub(crate) fn fault(&self, page: &str, name: &str, what: String) -> Fault {
        let lines = self.text.lines().enumerate();
        let heading = [format!("[{page}]"), format!("[{page}.{name}]")];
        let mut from = lines.clone().skip_while(|(_, line)| !line.starts_with(&format!("[{page}")));
        let line = from.find(|(_, line)| {
            let key = line.split_once('=').map_or("", |(key, _)| key.trim());
            key == name || line.trim() == heading[1]
        });
        let line = line.or_else(|| lines.clone().find(|(_, line)| line.trim() == heading[0]));
        let line = line.map_or(1, |(number, _)| number + 1);
        Fault { file: FILE.to_owned(), line, what: format!("{name}: {what}") }
    }
}

impl PageNames {
    /// Adds a table's names; dotted keys are tables in tables. What is wrong with which.
    fn add(&mut self, before: &str, table: toml::Table) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        for (name, value) in table {
            let name = format!("{before}{name}");
            match value {
                toml::Value::String(definition) => {
                    self.figures.insert(name, definition);
                }
                toml::Value::Table(inner)
                    if ["head", "claims", "duel", "answer"]
                        .iter()
                        .any(|key| inner.contains_key(*key)) =>
                {
                    match inner.try_into() {
                        Ok(block) => {
                            self.blocks.insert(name, block);
                        }
                        Err(_) => {
                            let what = "a table has head, rows and cells, and no other keys";
                            faults.push((name, what.to_owned()));
                        }
                    }
                }
                toml::Value::Table(inner) => faults.extend(self.add(&format!("{name}."), inner)),
                _ => faults.push((name, "neither a definition nor a table".to_owned())),
            }
        }
        faults
    }
}
