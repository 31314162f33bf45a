//! Sessions: several runs of one plan on one machine. An interval over the processes of one holds for that session
//! alone, since sessions differ by more; what is said of a machine takes each as a sample.

use facts::{Quantity, Record};
use stats::{Estimate, Interval, MIN_ROUNDS};

use super::basis::CONFIDENCE;
use super::cube::Figures;
use super::figure::{Figure, Outcome, Reading};
use super::grade::{Grade, Graded};

/// Records of each session, in the file's order.
pub(crate) fn of(records: &[Record]) -> Vec<&[Record]> {
    records.chunk_by(|a, b| a.run == b.run && a.header.seed == b.header.seed).collect()
}

/// Median over sessions, with Student's t interval from five sessions on: on logarithms, unless a value is not positive.
/// Fewer have the span of their own intervals.
pub(crate) fn over(sessions: &[Estimate]) -> Option<Estimate> {
    combined(sessions, |values| {
        Estimate::geometric_mean(values, CONFIDENCE)
            .or_else(|| Estimate::mean(values, CONFIDENCE))?
            .interval
    })
}

fn combined(
    sessions: &[Estimate],
    interval: impl Fn(&[f64]) -> Option<Interval>,
) -> Option<Estimate> {
    let values: Vec<f64> = sessions.iter().map(|session| session.value).collect();
    let value = stats::median(&values)?;
    let interval = if values.len() < MIN_ROUNDS { span(sessions) } else { interval(&values) };
    let interval = interval.map(|interval| Interval { estimate: value, ..interval });
    Some(Estimate { value, n: values.len(), interval })
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
pub(crate) fn grade(grades: impl Iterator<Item = Grade>) -> Grade {
    let mut grades: Vec<Grade> = grades.collect();
    grades.sort_unstable();
    match grades.last() {
        Some(Grade::Contradicted) => Grade::Contradicted,
        _ => grades.get(grades.len() / 2).copied().unwrap_or_default(),
    }
}

/// Makes each session a sample of a figure that more than half of them measured; sizes are those of all processes.
pub(super) fn combine(figure: &mut Figure<'_>, sessions: &[Figures<'_>]) {
    let own = sessions.iter().filter_map(|session| session.get(&figure.key));
    let own: Vec<&Figure<'_>> = own.filter(|figure| figure.reading().is_some()).collect();
    let readings: Vec<&Reading> = own.iter().filter_map(|figure| figure.reading()).collect();
    if 2 * readings.len() <= sessions.len() {
        return;
    }
    let is_arithmetic = matches!(figure.quantity(), Quantity::Count | Quantity::Share);
    let grade_of_all = grade(own.iter().map(|figure| figure.grade));
    let Outcome::Measured(reading) = &mut figure.outcome else { return };
    let means: Vec<Estimate> = readings.iter().map(|reading| reading.mean).collect();
    let mean = if is_arithmetic {
        combined(&means, |values| Estimate::mean(values, CONFIDENCE)?.interval)
    } else {
        over(&means)
    };
    reading.mean = mean.unwrap_or(reading.mean);
    // Sessions apart are no modes.
    if 2 * readings.iter().filter(|reading| reading.modes.is_some()).count() < readings.len() {
        reading.modes = None;
    }
    let graded = |part: fn(&Reading) -> Option<Graded>| {
        let parts: Vec<Graded> = readings.iter().filter_map(|reading| part(reading)).collect();
        let estimates: Vec<Estimate> = parts.iter().map(|part| part.estimate).collect();
        Some(Graded {
            estimate: over(&estimates)?,
            grade: grade(parts.iter().map(|part| part.grade)),
        })
    };
    reading.net = graded(|reading| reading.net);
    reading.ratio = graded(|reading| reading.ratio);
    reading.net_ratio = graded(|reading| reading.net_ratio);
    figure.grade = grade_of_all;
}
