//! Answers of several files side by side: ratios, which may be compared between machines, and figures, which
//! are of one machine each.

use std::collections::BTreeSet;
use std::path::Path;

use figures::known::Beside;
use figures::number::number;
use figures::value::Value;
use figures::{provenance, unique};
use record::{Metric, Record};
use serde::Serialize;

use super::answer::{Answer, AnswerRow};

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
    /// Machine, kernel and Tokio in a line.
    pub(crate) facts: String,
    pub(crate) cpu: Option<String>,
    /// The number of CPUs, such as `8` or `2 of 8`.
    pub(crate) cpus: Option<String>,
    /// The kernel's release, such as `6.18`.
    pub(crate) kernel: Option<String>,
    pub(crate) idle_driver: Option<String>,
    /// Day of its first process.
    pub(crate) date: Option<String>,
    /// Number of sessions that its answer is made of; `None` without an answer.
    pub(crate) sessions: Option<usize>,
    /// Whether waking another CPU is cheap or expensive there; `None` if its answer has no hops through pipes.
    pub(crate) waking: Option<String>,
    /// That a yardstick is slow, and what may be the cause; `None` if none is.
    pub(crate) yardsticks: Option<String>,
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
            let absent = rows.iter().zip(&keys).filter(|(row, _)| row[index].is_none());
            let absent = absent.map(|(_, (name, _))| (*name).to_owned()).collect();
            machines.push(Machine::of(name, files[index], answers[index], absent));
        }
        Some(Fleet { machines, rows })
    }
}

impl Machine {
    /// What a file and its answer say of the machine.
    fn of(
        name: String,
        (path, records): (&Path, &[Record]),
        answer: Option<&Answer>,
        absent: Vec<String>,
    ) -> Self {
        let machine = records.first().map(Record::machine);
        let beside = answer.and_then(|answer| answer.beside.as_ref());
        let doubts = answer.into_iter().flat_map(|answer| &answer.doubts);
        let started = provenance::started(records);
        Machine {
            name,
            file: path.display().to_string(),
            facts: provenance::machine(records),
            cpu: machine.and_then(record::Machine::model),
            cpus: machine.and_then(record::Machine::usable_cpus),
            kernel: machine.and_then(record::Machine::kernel).map(series),
            idle_driver: machine.and_then(|machine| Some(machine.text("idle_driver")?.to_owned())),
            date: started.and_then(|time| Some(time.split_once('T')?.0.to_owned())),
            sessions: answer.map(|answer| answer.sessions),
            waking: answer.and_then(waking),
            yardsticks: beside.map(Beside::in_short),
            doubts: beside
                .map(Beside::alarm)
                .into_iter()
                .chain(doubts.map(ToString::to_string))
                .collect(),
            trust: answer.iter().map(|answer| answer.conditions.to_string()).collect(),
            absent,
        }
    }
}

/// The first two numbers of a release, which name its series: `6.18` of `6.18.44`.
fn series(release: &str) -> String {
    release.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Waking another CPU is cheap if an unpinned hop takes at most this many times as long as a hop on one CPU. Of seven
/// machines, four have 1.0 to 1.7 times and three have 2.8 to 5.9.
const CHEAP: f64 = 2.0;

/// Whether waking another CPU is cheap, by the thread's hops through pipes.
fn waking(answer: &Answer) -> Option<String> {
    let hop = |name: &str| Some(&answer.row((name, &Metric::Hop))?.thread);
    let unpinned = hop("switch through pipes, unpinned")?;
    let on_one_cpu = hop("switch through pipes, one CPU")?;
    Some(compared(unpinned, on_one_cpu))
}

/// The words for an unpinned hop beside a hop on one CPU.
fn compared(unpinned: &Value, on_one_cpu: &Value) -> String {
    let times = unpinned.estimate.value / on_one_cpu.estimate.value;
    let words = if times <= CHEAP {
        "cheap".to_owned()
    } else {
        format!("expensive ({} times)", number(times))
    };
    unpinned.grade.max(on_one_cpu.grade).mark(&words)
}

/// Name of a results file without what tells its format.
fn without_ending(name: &str) -> &str {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.strip_suffix(".jsonl").unwrap_or(name)
}

/// Names of files: their own without the ending; if some are equal, their folders', as in
/// `results/NAME/answer.jsonl.gz`, or else the whole paths.
fn names(paths: &[&Path]) -> Vec<String> {
    let own = paths.iter().map(|path| Some(without_ending(path.file_name()?.to_str()?)));
    let folders = paths.iter().map(|path| path.parent()?.file_name()?.to_str());
    for names in [own.collect::<Option<Vec<_>>>(), folders.collect()].into_iter().flatten() {
        if names.iter().collect::<BTreeSet<_>>().len() == paths.len() {
            return names.into_iter().map(str::to_owned).collect();
        }
    }
    paths.iter().map(|path| path.display().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use figures::grade::Grade;
    use record::Quantity;
    use stats::Estimate;

    #[test]
    fn a_machine_is_told_by_what_waking_another_cpu_costs() {
        let hop = |value, grade| {
            let estimate = Estimate { value, n: 1, interval: None };
            Value::estimated(estimate, Some(Quantity::Time), grade)
        };
        for (unpinned, grade, words) in [
            (15.0, Grade::Disturbed, "~cheap"),
            (30.0, Grade::Sure, "cheap"),
            (31.0, Grade::Sure, "expensive (2.1 times)"),
            (88.0, Grade::Disturbed, "~expensive (5.9 times)"),
        ] {
            assert_eq!(compared(&hop(unpinned, grade), &hop(15.0, Grade::Sure)), words);
        }
    }
}
