//! Answers of several files side by side: ratios, which may be compared between machines, and figures, which
//! are of one machine each.

use std::collections::BTreeSet;
use std::path::Path;

use facts::Record;
use serde::Serialize;

use super::answer::{Answer, Row};
use crate::figures::{Figures, doubt, grouped, provenance};

/// Files side by side.
#[derive(Clone, Debug, Serialize)]
pub struct Fleet {
    /// Files, in the order given.
    pub machines: Vec<Machine>,
    /// Rows of all answers, in the order of the first that has each; one item for each file.
    pub rows: Vec<Vec<Option<Row>>>,
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
    /// Doubts, a sentence each.
    pub doubts: Vec<String>,
    /// How far to trust it, a sentence each.
    pub trust: Vec<String>,
    /// Rows of other files that it does not have.
    pub absent: Vec<String>,
}

impl Fleet {
    /// Joins the answers of these files; `None` if no file has one.
    pub fn of(files: &[(&Path, Vec<Record>)]) -> Option<Fleet> {
        let answers: Vec<Option<Answer>> =
            files.iter().map(|(_, records)| Answer::of(&Figures::of(records))).collect();
        let all = answers.iter().enumerate();
        let all = all.flat_map(|(file, answer)| answer.iter().map(move |answer| (file, answer)));
        let all = all.flat_map(|(file, answer)| answer.rows.iter().map(move |row| (file, row)));
        let rows = grouped(all.map(|(file, row)| ((&row.name, &row.metric), (file, row))));
        let paths: Vec<&Path> = files.iter().map(|(path, _)| *path).collect();
        let machines = names(&paths).into_iter().zip(files).zip(&answers).enumerate();
        let machines = machines.map(|(k, ((name, (path, records)), answer))| {
            let has_it = |row: &Vec<(usize, &Row)>| row.iter().any(|(file, _)| *file == k);
            let absent = rows.iter().filter(|(_, row)| !has_it(row));
            let pooled = doubt::of_records(records).into_iter().filter(|doubt| doubt.is_loud());
            let doubts = answer.iter().flat_map(|answer| &answer.doubts).cloned();
            Machine {
                name,
                file: path.display().to_string(),
                facts: provenance::machine(records),
                doubts: pooled.chain(doubts).map(|doubt| doubt.to_string()).collect(),
                trust: answer.iter().map(|answer| answer.conditions.to_string()).collect(),
                absent: absent.map(|((name, _), _)| (*name).clone()).collect(),
            }
        });
        let machines: Vec<Machine> = machines.collect();
        let of_files = |row: Vec<(usize, &Row)>| {
            let of_file =
                |k| row.iter().find(|(file, _)| *file == k).map(|(_, row)| (*row).clone());
            (0..files.len()).map(of_file).collect()
        };
        let rows: Vec<Vec<Option<Row>>> = rows.into_iter().map(|(_, row)| of_files(row)).collect();
        (!rows.is_empty()).then_some(Fleet { machines, rows })
    }
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
