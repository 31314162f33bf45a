//! docs/figures.toml: what names in documents stand for.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::claims::Claims;
use crate::page::Fault;

const FILE: &str = "docs/figures.toml";

/// What a name stands for.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Definition {
    Figure(String),
    Block(Block),
    /// Names behind a dot.
    Group(BTreeMap<String, Definition>),
}

/// A table or another block of lines.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Block {
    /// The headlines of docs/claims.toml, which docs/claims.csv has with all others.
    Claims(IgnoredAny),
    /// Settings that a duel found to change something.
    Duel(String),
    /// The answer of a file, as a terminal shows it.
    Answer(String),
    /// What commands printed, each by its query.
    Printed(Vec<String>),
    #[serde(untagged)]
    Table(Table),
}

/// A table: a line for each row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    /// The name of each row, and texts for its cells or the cells themselves.
    pub(crate) rows: Vec<Vec<String>>,
    /// What each row's cells are made of: `{0}` is the row's name, `{1}` its next text, and `{head}` the column's heading.
    /// One serves for all columns.
    pub(crate) cells: Option<Vec<String>>,
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

/// All definitions.
pub(crate) struct Definitions {
    /// By `PAGE.NAME`.
    names: BTreeMap<String, Definition>,
    /// Plots by their paths, and what they show.
    pub(crate) plots: BTreeMap<String, Picture>,
    pub(crate) claims: Claims,
    used: RefCell<BTreeSet<String>>,
}

impl Definitions {
    /// Reads docs/figures.toml and docs/claims.toml, and names the definitions that cannot be read.
    pub(crate) fn read(root: &Path, faults: &mut Vec<Fault>) -> anyhow::Result<Self> {
        let text =
            fs::read_to_string(root.join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
        let mut tables: BTreeMap<String, toml::Table> = toml::from_str(&text).context(FILE)?;
        let plots = tables.remove("plots").unwrap_or_default();
        let mut definitions = Definitions {
            names: BTreeMap::new(),
            plots: plots.try_into().context("docs/figures.toml: [plots]")?,
            claims: Claims::read(root)?,
            used: RefCell::default(),
        };
        for (page, table) in tables {
            for (name, value) in table {
                let name = format!("{page}.{name}");
                match value.try_into() {
                    Ok(definition) => definitions.add(name, definition),
                    Err(_) => faults.push(fault(&format!(
                        "{name}: neither a query nor a table, which has head, rows and cells"
                    ))),
                }
            }
        }
        Ok(definitions)
    }

    fn add(&mut self, name: String, definition: Definition) {
        if let Definition::Group(group) = definition {
            for (key, definition) in group {
                self.add(format!("{name}.{key}"), definition);
            }
        } else {
            self.names.insert(name, definition);
        }
    }

    /// What `PAGE.NAME` stands for.
    pub(crate) fn get(&self, name: &str) -> Option<&Definition> {
        self.used.borrow_mut().insert(name.to_owned());
        self.names.get(name)
    }

    /// Definitions that no document uses.
    pub(crate) fn unused(&self) -> Vec<Fault> {
        let used = self.used.borrow();
        let unused = self.names.keys().filter(|name| !used.contains(*name));
        unused.map(|name| fault(&format!("{name}: no document uses it"))).collect()
    }
}

/// A fault of a definition.
pub(crate) fn fault(what: &str) -> Fault {
    Fault { file: FILE.to_owned(), line: 1, what: what.to_owned() }
}
