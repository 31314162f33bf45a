//! Answers of several files side by side: ratios, which may be compared between machines, and figures, which
//! are of one machine each.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use facts::Record;
use serde::Serialize;

use super::answer::{Answer, AnswerRow};
use crate::figures::known::Beside;
use crate::figures::provenance;
use crate::system::clock::utc;

/// Files side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Fleet {
    /// Files, in the order given.
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
    /// Machine, kernel and runtimes.
    pub(crate) facts: String,
    /// Day of its first process.
    pub(crate) date: Option<String>,
    pub(crate) doubts: Vec<String>,
    /// How far to trust it, a sentence each.
    pub(crate) trust: Vec<String>,
    /// Rows of other files that it does not have.
    pub(crate) absent: Vec<String>,
}

impl Fleet {
    /// Joins the answers of these files; `None` if no file has one.
    pub(crate) fn of(files: &[(&Path, Vec<Record>)], answers: &[Option<Answer>]) -> Option<Fleet> {
        let is_same = |one: &AnswerRow, other: &AnswerRow| {
            (&one.name, &one.metric) == (&other.name, &other.metric)
        };
        let mut rows: Vec<Vec<Option<AnswerRow>>> = Vec::new();
        for row in answers.iter().flatten().flat_map(|answer| &answer.rows) {
            if !rows.iter().flatten().flatten().any(|known| is_same(known, row)) {
                let own =
                    |answer: &Answer| answer.rows.iter().find(|own| is_same(own, row)).cloned();
                rows.push(answers.iter().map(|answer| answer.as_ref().and_then(own)).collect());
            }
        }
        if rows.is_empty() {
            return None;
        }
        let paths: Vec<&Path> = files.iter().map(|(path, _)| *path).collect();
        let mut machines = Vec::new();
        for (index, name) in names(&paths).into_iter().enumerate() {
            let (path, records) = &files[index];
            let answer = answers[index].as_ref();
            let doubts = answer.into_iter().flat_map(|answer| &answer.doubts);
            let beside = answer.into_iter().filter_map(|answer| answer.beside.as_ref());
            let absent = rows.iter().filter(|row| row[index].is_none());
            let absent = absent.filter_map(|row| Some(row.iter().flatten().next()?.name.clone()));
            machines.push(Machine {
                name,
                file: path.display().to_string(),
                facts: provenance::machine(records),
                date: date(records),
                doubts: beside.map(Beside::alarm).chain(doubts.map(ToString::to_string)).collect(),
                trust: answer.iter().map(|answer| answer.conditions.to_string()).collect(),
                absent: absent.collect(),
            });
        }
        Some(Fleet { machines, rows })
    }
}

/// Day of the first process, as in `2026-11-23`.
fn date(records: &[Record]) -> Option<String> {
    let started = records.iter().map(|record| record.started).min()?;
    let time = utc(UNIX_EPOCH.checked_add(Duration::from_millis(started))?)?;
    Some(time.split_once('T')?.0.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_files_apart() {
        for (paths, expected) in [
            (["a/x.jsonl", "y.jsonl"], ["x", "y"]),
            (["r/epyc/answer.jsonl", "r/arm/answer.jsonl"], ["epyc", "arm"]),
            (["x.jsonl", "a/x.jsonl"], ["x.jsonl", "a/x.jsonl"]),
            (["-", "x"], ["-", "x"]),
        ] {
            assert_eq!(names(&paths.map(Path::new)), expected);
        }
    }
}
