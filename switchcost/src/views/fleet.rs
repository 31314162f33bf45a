//! Answers of several files side by side: ratios, which may be compared between machines, and figures,
//! which are of one machine each.

use std::collections::BTreeSet;
use std::path::Path;

use record::{Metric, Quantity, Record};
use serde::Serialize;
use stats::Estimate;

use crate::figures::notes;
use crate::views::answer::{self, Answer};
use crate::views::compare::pooled;

/// Files side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Fleet {
    /// Files, in the order given.
    pub machines: Vec<Machine>,
    /// Rows of all answers, in the order of the first that has each.
    pub rows: Vec<Row>,
}

/// A file, usually one machine's.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Name that tells it from the others.
    pub name: String,
    /// Its file.
    pub file: String,
    /// Machine, kernel and runtimes.
    pub facts: String,
    /// Reasons not to trust it: records that do not belong together, a busy machine.
    pub warnings: Vec<String>,
    /// How far to trust it, a sentence each.
    pub trust: Vec<String>,
    /// Rows of other files that it does not have.
    pub absent: Vec<String>,
}

/// A question with the figures of each file.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Question.
    pub name: String,
    /// Metric of the figures.
    pub metric: Metric,
    /// One for each file.
    pub figures: Vec<Option<Figures>>,
}

/// A thread's figure and a task's: times in ns, sizes in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figures {
    /// Thread's figure.
    pub thread: f64,
    /// Task's figure.
    pub task: f64,
    /// The one divided by the other.
    pub ratio: Estimate,
}

impl Row {
    /// Kind and unit of the figures.
    pub fn quantity(&self) -> Quantity {
        self.metric.quantity()
    }
}

impl Fleet {
    /// The answers of these files; `None` where no file has one.
    pub fn of(files: &[(&Path, Vec<Record>)]) -> Option<Fleet> {
        let answers: Vec<Option<Answer>> =
            files.iter().map(|(_, records)| Answer::of(records)).collect();
        let rows = rows(&answers);
        let paths: Vec<&Path> = files.iter().map(|(path, _)| *path).collect();
        let machines = names(&paths).into_iter().zip(files).zip(&answers).enumerate();
        let machines = machines.map(|(k, ((name, (path, records)), answer))| {
            let absent = rows.iter().filter(|row| row.figures[k].is_none());
            let mut warnings = pooled(&notes::runs(records));
            let doubts = answer.iter().flat_map(|answer| &answer.doubts);
            warnings.extend(doubts.map(ToString::to_string));
            Machine {
                name,
                file: path.display().to_string(),
                facts: answer::machine(records),
                warnings,
                trust: answer.iter().map(|answer| answer.conditions.to_string()).collect(),
                absent: absent.map(|row| row.name.clone()).collect(),
            }
        });
        let machines = machines.collect();
        (!rows.is_empty()).then_some(Fleet { machines, rows })
    }
}

fn rows(answers: &[Option<Answer>]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (k, answer) in answers.iter().enumerate() {
        for found in answer.iter().flat_map(|answer| &answer.rows) {
            let is_its = |row: &&mut Row| (&row.name, &row.metric) == (&found.name, &found.metric);
            let figures = Some(Figures {
                thread: found.thread.value,
                task: found.task.value,
                ratio: found.ratio,
            });
            match rows.iter_mut().find(is_its) {
                Some(row) => row.figures[k] = figures,
                None => {
                    let mut row = Row {
                        name: found.name.clone(),
                        metric: found.metric.clone(),
                        figures: vec![None; answers.len()],
                    };
                    row.figures[k] = figures;
                    rows.push(row);
                }
            }
        }
    }
    rows
}

/// Names of files: their own without the ending; where some are equal, their folders', as in
/// `results/NAME/answer.jsonl`; else both, or the whole paths.
fn names(paths: &[&Path]) -> Vec<String> {
    let own = |path: &&Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let folder = |path: &&Path| Some(path.parent()?.file_name()?.to_string_lossy().into_owned());
    let both = |path: &&Path| Some(format!("{}/{}", folder(path)?, own(path)?));
    let distinct = |names: Option<Vec<String>>| {
        names.filter(|names| names.iter().collect::<BTreeSet<_>>().len() == paths.len())
    };
    distinct(paths.iter().map(own).collect())
        .or_else(|| distinct(paths.iter().map(folder).collect()))
        .or_else(|| distinct(paths.iter().map(both).collect()))
        .unwrap_or_else(|| paths.iter().map(|path| path.display().to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(paths: &[&str]) -> Vec<String> {
        names(&paths.iter().map(Path::new).collect::<Vec<_>>())
    }

    #[test]
    fn names_tell_files_apart() {
        assert_eq!(named(&["a/x.jsonl", "y.jsonl"]), ["x", "y"]);
        assert_eq!(named(&["r/epyc/answer.jsonl", "r/arm/answer.jsonl"]), ["epyc", "arm"]);
        assert_eq!(named(&["r/a/x.jsonl", "r/a/y.jsonl", "r/b/x.jsonl"]), ["a/x", "a/y", "b/x"]);
        assert_eq!(named(&["x.jsonl", "a/x.jsonl"]), ["x.jsonl", "a/x.jsonl"]);
        assert_eq!(named(&["-", "x"]), ["-", "x"]);
    }
}
