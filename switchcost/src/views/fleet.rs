//! Answers of several machines side by side: ratios, which may be compared between machines, and figures, which
//! are of one machine each.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use figures::known::Beside;
use figures::number::number;
use figures::value::Value;
use figures::{provenance, unique};
use record::{Metric, Record};
use serde::Serialize;

use super::answer::{Answer, AnswerRow, HOPS_THROUGH_PIPES};

/// The results of one machine beside others.
#[derive(Clone, Debug, Serialize)]
pub struct MachineResults<'a> {
    /// Name that tells it from the others.
    pub(crate) name: String,
    /// The first file that they are from.
    pub file: String,
    #[serde(skip)]
    pub records: Cow<'a, [Record]>,
    /// Their answer; `None` if they are of a plan without one.
    pub answer: Option<Answer>,
}

/// Gives each of several machines a name of its own; `None` if none has an answer.
pub fn side_by_side(mut machines: Vec<MachineResults<'_>>) -> Option<Vec<MachineResults<'_>>> {
    let files: Vec<&Path> = machines.iter().map(|machine| Path::new(&machine.file)).collect();
    let names = names(&files);
    machines.iter_mut().zip(names).for_each(|(machine, name)| machine.name = name);
    (!questions(&machines).is_empty()).then_some(machines)
}

/// What the rows of all answers are told apart by, in the order of the first answer that has each.
pub(crate) fn questions<'a>(machines: &'a [MachineResults<'_>]) -> Vec<(&'a str, &'a Metric)> {
    let answers = machines.iter().filter_map(|machine| machine.answer.as_ref());
    unique(answers.flat_map(|answer| &answer.rows).map(AnswerRow::key))
}

impl<'a> MachineResults<'a> {
    /// Results whose machine has no other name than their file.
    pub fn new(file: &Path, records: Cow<'a, [Record]>, answer: Option<Answer>) -> Self {
        let file = file.display().to_string();
        MachineResults { name: file.clone(), file, records, answer }
    }

    /// Its answer to a question.
    pub(crate) fn row(&self, question: (&str, &Metric)) -> Option<&AnswerRow> {
        self.answer.as_ref()?.row(question)
    }

    /// Yardstick that takes longer than on bare metal.
    pub(crate) fn beside(&self) -> Option<&Beside> {
        self.answer.as_ref()?.beside.as_ref()
    }

    /// Reasons why its answer is less certain, a sentence each.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let doubts = self.answer.iter().flat_map(|answer| &answer.doubts);
        self.beside()
            .map(Beside::alarm)
            .into_iter()
            .chain(doubts.map(ToString::to_string))
            .collect()
    }

    /// A fact about it, if its records have that.
    pub(crate) fn fact(&self, fact: fn(&record::Machine) -> Option<String>) -> Option<String> {
        fact(self.records.first()?.machine())
    }

    /// Day of its first process.
    pub(crate) fn date(&self) -> Option<String> {
        Some(provenance::started(&self.records)?.split_once('T')?.0.to_owned())
    }

    /// Whether waking another CPU is cheap or expensive, by the thread's hops through pipes; `None` if its answer has none.
    pub(crate) fn waking(&self) -> Option<String> {
        let [unpinned, on_one_cpu] = HOPS_THROUGH_PIPES.map(|name| self.row((name, &Metric::Hop)));
        Some(compared(&unpinned?.thread, &on_one_cpu?.thread))
    }
}

/// Waking another CPU is cheap if an unpinned hop takes at most this many times as long as a hop on one CPU. Of seven
/// machines, four have 1.0 to 1.7 times and three have 2.8 to 5.9.
const CHEAP: f64 = 2.0;

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
    let files = paths.iter().map(|path| Some(without_ending(path.file_name()?.to_str()?)));
    let folders = paths.iter().map(|path| path.parent()?.file_name()?.to_str());
    for names in [files.collect::<Option<Vec<_>>>(), folders.collect()].into_iter().flatten() {
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
