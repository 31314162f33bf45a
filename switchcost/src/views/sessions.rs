//! Answers of several sessions, and earlier answers beside a new one.

use figures::grade::Graded;
use figures::{Figures, doubt, doubts, provenance, sessions};
use record::Record;
use stats::Estimate;

use super::answer::{Answer, AnswerRow, Cost, Earlier, matters};

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
        let sessions = sessions::of(figures.records);
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

/// Records of several files as sessions, each once; `None` unless all are of one machine, and none is of a duel.
pub(crate) fn joined(files: &[&[Record]]) -> Option<Vec<Record>> {
    let mut all: Vec<Record> = Vec::new();
    for records in files {
        for session in sessions::of(records) {
            if !all.iter().any(|known| known.header == session[0].header) {
                all.extend_from_slice(session);
            }
        }
    }
    let runs = provenance::runs(&all);
    let is_one = provenance::differing_machines(runs.first(), &runs).is_empty()
        && !all.iter().any(|record| record.header.sides.is_some());
    is_one.then_some(all)
}

/// Rows of several sessions' answers, each session a sample: those that more than half of them have.
fn rows(answers: &[Answer]) -> Vec<AnswerRow> {
    let names = answers.iter().max_by_key(|answer| answer.rows.len());
    let rows = names.into_iter().flat_map(|answer| &answer.rows).filter_map(|row| {
        let all: Vec<&AnswerRow> =
            answers.iter().filter_map(|answer| answer.row(row.key())).collect();
        let ratios: Vec<Estimate> = all.iter().map(|row| row.ratio.estimate).collect();
        let grade = sessions::grade(all.iter().map(|row| row.ratio.grade));
        let cost = |cost: fn(&AnswerRow) -> Cost| {
            let costs: Vec<Estimate> = all.iter().map(|row| cost(row).estimate()).collect();
            let estimate = sessions::over(&costs)?;
            let cpu: Option<Vec<Estimate>> = all.iter().map(|row| cost(row).cpu).collect();
            Some(Cost {
                value: estimate.value,
                interval: estimate.interval,
                modes: None,
                grade: sessions::grade(all.iter().map(|row| cost(row).grade)),
                cpu: cpu.and_then(|times| sessions::over(&times)),
            })
        };
        Some(AnswerRow {
            thread: cost(|row| row.thread)?,
            task: cost(|row| row.task)?,
            ratio: Graded { estimate: sessions::over(&ratios)?, grade },
            ..row.clone()
        })
        .filter(|_| 2 * all.len() > answers.len())
    });
    rows.collect()
}

fn extremes(values: impl Iterator<Item = f64>) -> Option<[f64; 2]> {
    values.map(|value| [value; 2]).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])])
}
