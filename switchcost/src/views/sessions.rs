//! Sessions: several runs of one plan on one machine. An interval over the processes of one holds for that session
//! alone, since sessions differ by more; what is said of a machine takes each as a sample.

use facts::Record;
use stats::Estimate;

use super::answer::{Answer, AnswerRow, Cost, Earlier, matters};
use crate::figures::grade::{Grade, Graded};
use crate::figures::{CONFIDENCE, Figures, doubt, doubts, provenance};

impl Earlier {
    /// Ratios of earlier answers for each row of this one; `None` without any.
    pub(crate) fn of(answer: &Answer, earlier: &[Answer]) -> Option<Self> {
        let ratios = answer.rows.iter().map(|row| {
            let same = earlier.iter().filter_map(|earlier| earlier.row(row.key()));
            extremes(same.map(|row| row.ratio.value))
        });
        let sessions = earlier.iter().map(|answer| answer.sessions).sum();
        (sessions > 0).then(|| Earlier { sessions, ratios: ratios.collect() })
    }
}

impl Answer {
    /// The answer of some figures; `None` if their plan gives none, or its rows were not measured. Of several
    /// sessions each is a sample.
    pub fn of(figures: &Figures<'_>) -> Option<Answer> {
        let sessions = of(figures.records);
        if sessions.len() < 2 {
            return Answer::of_session(figures);
        }
        let answers = sessions.into_iter().map(|records| Answer::of_session(&Figures::of(records)));
        let answers: Vec<Answer> = answers.flatten().collect();
        let sessions = answers.len();
        if sessions < 2 {
            return answers.into_iter().next();
        }
        let rows = rows(&answers);
        let all = answers.into_iter().flat_map(|answer| answer.doubts);
        let doubts = doubt::merged(doubts::of_records(figures.records).into_iter().chain(all));
        let whole = Answer::of_session(figures)?;
        Some(Answer { doubts, sessions, matters: matters(figures, &rows), rows, ..whole })
    }
}

/// Records of each session, in the file's order.
pub(crate) fn of(records: &[Record]) -> Vec<&[Record]> {
    records.chunk_by(|a, b| a.run == b.run && a.header.seed == b.header.seed).collect()
}

/// Records of several files as sessions, each once; `None` unless all are of one machine, and none is of a duel.
pub(crate) fn joined(files: &[&[Record]]) -> Option<Vec<Record>> {
    let mut all: Vec<Record> = Vec::new();
    for records in files {
        for session in of(records) {
            if !all.iter().any(|known| known.header == session[0].header) {
                all.extend_from_slice(session);
            }
        }
    }
    let runs = provenance::runs(&all);
    let is_one = provenance::differing_machines(runs.first(), &runs).is_empty()
        && !all.iter().any(|record| record.side.is_some());
    is_one.then_some(all)
}

/// Rows of several sessions' answers, each session a sample: those that more than half of them have.
fn rows(answers: &[Answer]) -> Vec<AnswerRow> {
    let names = answers.iter().max_by_key(|answer| answer.rows.len());
    let rows = names.into_iter().flat_map(|answer| &answer.rows).filter_map(|row| {
        let all: Vec<&AnswerRow> =
            answers.iter().filter_map(|answer| answer.row(row.key())).collect();
        let ratio = over(&all, |row| row.ratio.value)?;
        let grade = grade(all.iter().map(|row| row.ratio.grade));
        let cost = |cost: fn(&AnswerRow) -> Cost| {
            let estimate = over(&all, |row| cost(row).value)?;
            Some(Cost {
                value: estimate.value,
                interval: estimate.interval,
                modes: None,
                grade: self::grade(all.iter().map(|row| cost(row).grade)),
            })
        };
        Some(AnswerRow {
            thread: cost(|row| row.thread)?,
            task: cost(|row| row.task)?,
            ratio: Graded { estimate: ratio, grade },
            range: extremes(all.iter().map(|row| row.ratio.value)),
            ..row.clone()
        })
        .filter(|_| 2 * all.len() > answers.len())
    });
    rows.collect()
}

/// Median of a figure over sessions, with Student's t interval on their logarithms from five sessions on.
fn over(all: &[&AnswerRow], figure: impl Fn(&AnswerRow) -> f64) -> Option<Estimate> {
    let values: Vec<f64> = all.iter().map(|row| figure(row)).collect();
    let interval = Estimate::geometric_mean(&values, CONFIDENCE)?.interval;
    Some(Estimate { value: stats::median(&values)?, n: values.len(), interval })
}

fn extremes(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.map(|value| [value; 2]).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
}

/// Grade that at least half of the sessions have, or a worse one; one contradiction is enough.
fn grade(grades: impl Iterator<Item = Grade>) -> Grade {
    let mut grades: Vec<Grade> = grades.collect();
    grades.sort_unstable();
    match grades.last() {
        Some(Grade::Contradicted) => Grade::Contradicted,
        _ => grades.get(grades.len() / 2).copied().unwrap_or_default(),
    }
}
