//! Answers of several files side by side: ratios, which may be compared between machines, and figures, which
//! are of one machine each.

use std::collections::BTreeSet;
use std::path::Path;

use facts::Record;
use serde::Serialize;

use super::answer::{Answer, AnswerRow};
use crate::figures::known::Beside;
use crate::figures::{provenance, unique};

/// Files side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Fleet {
    pub(crate) machines: Vec<Machine>,
    /// Rows of all answers, in the order of the first that has each; one item for each file.
    pub(crate) rows: Vec<Vec<Option<AnswerRow>>>,
}

/// A file, usually one machine's.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    /// Name that tells it from the others.
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) facts: String,
    /// Day of its first process.
    pub(crate) date: Option<String>,
    pub(crate) doubts: Vec<String>,
    pub(crate) trust: Vec<String>,
    /// Rows of other files that it does not have.
    pub(crate) absent: Vec<String>,
}

impl Fleet {
    /// Joins the answers of these files; `None` if no file has one.
    pub fn of(files: &[(&Path, &[Record])], answers: &[Option<&Answer>]) -> Option<Fleet> {
        let all = answers.iter().flatten().flat_map(|answer| &answer.rows);
        let keys = unique(all.map(AnswerRow::key));
        let own = |key, answer: &Option<&Answer>| answer.as_ref()?.row(key).cloned();
        let rows: Vec<Vec<Option<AnswerRow>>> = keys
            .iter()
            .map(|key| answers.iter().map(|answer| own(*key, answer)).collect())
            .collect();
        if rows.is_empty() {
            return None;
        }
        let paths: Vec<&Path> = files.iter().map(|(path, _)| *path).collect();
        let mut machines = Vec::new();
        for (index, name) in names(&paths).into_iter().enumerate() {
            let (path, records) = &files[index];
            let answer = answers[index];
            let doubts = answer.into_iter().flat_map(|answer| &answer.doubts);
            let beside = answer.and_then(|answer| answer.beside.as_ref()).map(Beside::alarm);
            let absent = rows.iter().zip(&keys).filter(|(row, _)| row[index].is_none());
            let started = provenance::started(records);
            machines.push(Machine {
                name,
                file: path.display().to_string(),
                facts: provenance::machine(records),
                date: started.and_then(|time| Some(time.split_once('T')?.0.to_owned())),
                doubts: beside.into_iter().chain(doubts.map(ToString::to_string)).collect(),
                trust: answer.iter().map(|answer| answer.conditions.to_string()).collect(),
                absent: absent.map(|(_, (name, _))| (*name).to_owned()).collect(),
            });
        }
        Some(Fleet { machines, rows })
    }
}

/// Names of files: their own without the ending; if some are equal, their folders', as in
/// `results/NAME/answer.jsonl`, or else the whole paths.
fn names(paths: &[&Path]) -> Vec<String> {
    let own = paths.iter().map(|path| path.file_stem());
    let folders = paths.iter().map(|path| path.parent()?.file_name());
    for names in [own.collect::<Option<Vec<_>>>(), folders.collect()].into_iter().flatten() {
        if names.iter().collect::<BTreeSet<_>>().len() == paths.len() {
            return names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        }
    }
    paths.iter().map(|path| path.display().to_string()).collect()
}
