//! Files in results/, read when a query asks for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde_json::Value;
use switchcost::figures::{Figures, provenance};
use switchcost::measure::store;
use switchcost::views::answer::Answer;
use switchcost::views::comparison::Comparison;

use crate::law::Law;

/// What a file holds.
pub(crate) enum File {
    /// Figures of the runner, with the machine that they were measured on.
    Figures { figures: Figures<'static>, answer: Option<Answer>, machine: String },
    /// Two builds or settings.
    Duel { comparison: Comparison, machine: String },
    /// Lines that are no records of the runner.
    Lines(Vec<Value>),
    /// The fit to a machine's file `futex`.
    Law(Law),
}

/// All files of `results`.
pub(crate) struct Records {
    folder: PathBuf,
    /// Files that were read, for as long as this process lives.
    read: RefCell<BTreeMap<String, &'static File>>,
}

impl Records {
    pub(crate) fn new(root: &Path) -> Self {
        Records { folder: root.join("results"), read: RefCell::default() }
    }

    /// A file by its machine and name, such as `xeon6b/answer`.
    pub(crate) fn get(&self, name: &str) -> anyhow::Result<&'static File> {
        if let Some(file) = self.read.borrow().get(name) {
            return Ok(file);
        }
        let (machine, file) = name.split_once('/').context("a file is named MACHINE/FILE")?;
        let file = match file {
            "law" => File::Law(Law::of(self, machine)?),
            _ => File::read(&self.path(machine, file)?)?,
        };
        let file: &'static File = Box::leak(Box::new(file));
        self.read.borrow_mut().insert(name.to_owned(), file);
        Ok(file)
    }

    /// Path of a file: a machine is named by its folder up to the first hyphen.
    fn path(&self, machine: &str, file: &str) -> anyhow::Result<PathBuf> {
        let mut folders = Vec::new();
        for entry in self.folder.read_dir().context("cannot read results")? {
            let folder = entry?.file_name().into_string().unwrap_or_default();
            folders.extend(
                folder.split('-').next().filter(|name| *name == machine).map(|_| folder.clone()),
            );
        }
        let [folder] = &folders[..] else {
            bail!("{} folders in results are called {machine}-...", folders.len())
        };
        let path = self.folder.join(folder).join(format!("{file}.jsonl"));
        ensure!(path.is_file(), "there are no records results/{folder}/{file}.jsonl");
        Ok(path)
    }

    /// Paths of all answers.
    pub(crate) fn answers(&self) -> anyhow::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in self.folder.read_dir().context("cannot read results")? {
            paths.push(entry?.path().join("answer.jsonl"));
        }
        paths.retain(|path| path.is_file());
        paths.sort_unstable();
        Ok(paths)
    }
}

impl File {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(path)?;
        let first: Value = serde_json::from_str(text.lines().next().unwrap_or_default())?;
        if first.get("schema").is_none() {
            let lines: Result<_, _> = text.lines().map(serde_json::from_str).collect();
            return Ok(File::Lines(
                lines.with_context(|| format!("cannot read {}", path.display()))?,
            ));
        }
        let contents = store::read(path)?;
        if let Some((line, fault)) = contents.faults.first() {
            bail!("{} line {line}: {fault}", path.display());
        }
        let records = contents.records.leak();
        let machine = provenance::machine(records);
        if records.iter().any(|record| record.side.is_some()) {
            return Ok(File::Duel { comparison: Comparison::of_duel(records), machine });
        }
        let figures = Figures::of(records);
        let answer = Answer::of(&figures);
        Ok(File::Figures { figures, answer, machine })
    }
}
