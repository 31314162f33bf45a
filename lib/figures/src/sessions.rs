//! Sessions: several runs of one plan on one machine. An interval over the processes of one holds for that session
//! alone, since sessions differ by more; what is said of a machine takes each as a sample.

use record::Record;
use stats::{Estimate, Interval};

use super::grade::Grade;
use super::provenance;

/// Records of each session, in the file's order.
pub fn of(records: &[Record]) -> Vec<&[Record]> {
    records.chunk_by(|a, b| a.session() == b.session()).collect()
}

/// Records of several files as sessions, each once; `None` unless all are of one machine, and none is of a duel.
pub fn joined(files: &[&[Record]]) -> Option<Vec<Record>> {
    let records = record::once(files.concat());
    let runs = provenance::runs(&records);
    let is_one = provenance::differing_machines(runs.first(), &runs).is_empty()
        && !records.iter().any(|record| record.header.sides.is_some());
    is_one.then_some(records)
}

/// Mean over sessions: the geometric one of what is positive, so that a ratio stays the quotient of the times beside it,
/// and the arithmetic one of counts, shares and differences. It has Student's t interval from five sessions on; fewer have
/// the span of their own intervals.
pub(crate) fn across(
    sessions: &[Estimate],
    mean: fn(&[f64]) -> Option<Estimate>,
) -> Option<Estimate> {
    let values: Vec<f64> = sessions.iter().map(|session| session.value).collect();
    let mean = mean(&values)?;
    let interval = mean
        .interval
        .or_else(|| Some(Interval { estimate: mean.value, n: mean.n, ..span(sessions)? }));
    Some(Estimate { interval, ..mean })
}

/// From the lowest to the highest end of the sessions' intervals; `None` if one has none.
fn span(sessions: &[Estimate]) -> Option<Interval> {
    let intervals = sessions.iter().map(|session| session.interval);
    let intervals: Vec<Interval> = intervals.collect::<Option<_>>()?;
    intervals.into_iter().reduce(|all, one| Interval {
        low: all.low.min(one.low),
        high: all.high.max(one.high),
        ..all
    })
}

/// Grade that at least half of the sessions have, or a worse one; one contradiction is enough.
pub fn grade(grades: impl Iterator<Item = Grade>) -> Grade {
    let mut grades: Vec<Grade> = grades.collect();
    grades.sort_unstable();
    match grades.last() {
        Some(Grade::Contradicted) => Grade::Contradicted,
        _ => grades.get(grades.len() / 2).copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(value: f64, low: f64, high: f64) -> Estimate {
        Interval { estimate: value, low, high, n: 9, confidence: stats::CONFIDENCE }.into()
    }

    #[test]
    fn half_of_the_sessions_grade_a_figure_and_one_contradicts_it() {
        use Grade::{Contradicted, Disturbed, Sure};
        for (grades, expected) in [
            ([Sure, Sure, Disturbed], Sure),
            ([Disturbed, Sure, Disturbed], Disturbed),
            ([Contradicted, Sure, Sure], Contradicted),
        ] {
            assert_eq!(grade(grades.into_iter()), expected, "{grades:?}");
        }
        assert_eq!(grade([Sure, Disturbed].into_iter()), Disturbed);
    }

    #[test]
    fn few_sessions_have_the_span_of_their_intervals_and_five_their_own() {
        let few = across(
            &[session(10.0, 9.0, 11.0), session(14.4, 12.0, 17.0)],
            Estimate::geometric_mean,
        )
        .unwrap();
        let interval = few.interval.unwrap();
        assert!((few.value - 12.0).abs() < 1e-9 && few.n == 2, "{few:?}");
        assert_eq!([interval.low, interval.high], [9.0, 17.0]);
        let unsure = Estimate { interval: None, ..few };
        assert_eq!(across(&[few, unsure], Estimate::mean).unwrap().interval, None);
        // exp(x̄ ± 2.7764 · s / √5) of the logarithms: t(0.975, 4) of printed tables.
        let five = [90.0, 95.0, 100.0, 105.0, 110.0].map(|value| session(value, 1.0, 1000.0));
        let interval = across(&five, Estimate::geometric_mean).unwrap().interval.unwrap();
        assert_eq!(interval.n, 5);
        assert!((interval.low - 90.3937).abs() < 1e-3 && (interval.high - 110.0731).abs() < 1e-3);
        // Differences may be negative.
        let signed = [-1.0, 0.0, 1.0, 2.0, 3.0].map(|value| session(value, value, value));
        assert!(
            (across(&signed, Estimate::mean).unwrap().interval.unwrap().low + 0.9632).abs() < 1e-4
        );
    }
}
