//! Files in results/, read when a query asks for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use figures::spread::MachineRows;
use figures::{Figures, provenance, sessions};
use record::Record;
use serde_json::Value;
use switchcost::measure::store;
use switchcost::views::answer::Answer;
use switchcost::views::comparison::Comparison;

/// What a file holds.
pub(crate) enum File {
    Figures {
        figures: Figures<'static>,
        answer: Option<Box<Answer>>,
    },
    /// Two builds or settings.
    Duel(Comparison),
    /// Lines that are no records of the runner.
    Lines(Vec<Value>),
}

/// Folder of a machine's files that are no records of the runner.
const OTHERS: &str = "others";

/// A machine's answer.
const ANSWER: &str = "answer.jsonl.gz";

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
        let file = File::read(&self.path(machine, file)?)?;
        let file: &'static File = Box::leak(Box::new(file));
        self.read.borrow_mut().insert(name.to_owned(), file);
        Ok(file)
    }

    /// The machines, each named by its folder up to the first hyphen, and their folders.
    fn folders(&self) -> anyhow::Result<Vec<(String, String)>> {
        let mut folders = Vec::new();
        for entry in self.folder.read_dir().context("cannot read results")? {
            let folder = entry?.file_name().into_string().unwrap_or_default();
            let machine = folder.split('-').next().unwrap_or_default();
            folders.push((machine.to_owned(), folder));
        }
        Ok(folders)
    }

    /// Path of a file.
    fn path(&self, machine: &str, file: &str) -> anyhow::Result<PathBuf> {
        let mut folders = self.folders()?;
        folders.retain(|(name, _)| name == machine);
        let [(_, folder)] = &folders[..] else {
            bail!(
                "{} folders in results are called {machine}-...: a machine is what precedes the first hyphen",
                folders.len()
            )
        };
        let folder = self.folder.join(folder);
        let records = folder.join(format!("{file}.jsonl.gz"));
        let others = folder.join(OTHERS).join(format!("{file}.jsonl"));
        let path = [records, others].into_iter().find(|path| path.is_file());
        path.with_context(|| format!("{} has no file called {file}", folder.display()))
    }

    /// The answers of all machines by their paths from the root.
    pub(crate) fn answers(&self) -> anyhow::Result<BTreeMap<PathBuf, &'static File>> {
        let mut answers = BTreeMap::new();
        for (machine, folder) in self.folders()? {
            if self.folder.join(&folder).join(ANSWER).is_file() {
                let path = Path::new("results").join(&folder).join(ANSWER);
                answers.insert(path, self.get(&format!("{machine}/answer"))?);
            }
        }
        Ok(answers)
    }

    /// The switches of all machines with several sessions, by their folders.
    pub(crate) fn machines(&self) -> anyhow::Result<BTreeMap<String, MachineRows>> {
        let mut machines: BTreeMap<String, MachineRows> = BTreeMap::new();
        for (machine, folder) in self.folders()? {
            for entry in self.folder.join(folder).read_dir().into_iter().flatten() {
                let name = entry?.file_name().into_string().unwrap_or_default();
                let Some(file) = name.strip_suffix(".jsonl.gz") else { continue };
                if let File::Figures { figures, .. } = self.get(&format!("{machine}/{file}"))?
                    && sessions::of(figures.records).len() > 1
                {
                    machines.entry(machine.clone()).or_default().add(figures.records);
                }
            }
        }
        Ok(machines)
    }
}

impl File {
    /// Machine, kernel and runtimes of a file of the runner.
    pub(crate) fn machine(&self) -> Option<String> {
        match self {
            File::Figures { figures, .. } => Some(provenance::machine(figures.records)),
            File::Duel(comparison) => Some(comparison.machine.clone()),
            File::Lines(_) => None,
        }
    }

    fn read(path: &Path) -> anyhow::Result<Self> {
        let named = || format!("cannot read {}", path.display());
        if path.parent().is_some_and(|folder| folder.ends_with(OTHERS)) {
            let text = fs::read_to_string(path).with_context(named)?;
            let lines: Result<_, _> = text.lines().map(serde_json::from_str).collect();
            return Ok(File::Lines(lines.with_context(named)?));
        }
        let contents = store::read(path)?;
        if let Some((line, fault)) = contents.faults.first() {
            bail!("{} line {line}: {fault}", path.display());
        }
        let records: &'static [Record] = contents.records.leak();
        if records.iter().any(|record| record.header.sides.is_some()) {
            let is_one = records.iter().all(|record| record.run == records[0].run);
            ensure!(is_one, "{} holds several duels", path.display());
            return Ok(File::Duel(Comparison::of_duel(records)));
        }
        let figures = Figures::of(records);
        let answer = Answer::of(&figures).map(Box::new);
        Ok(File::Figures { figures, answer })
    }
}
