//! Sessions: several runs of one plan on one machine. An interval over the processes of one holds for that session
//! alone, since sessions differ by more; what is said of a machine takes each as a sample.

use facts::{Quantity, Record};
use stats::Estimate;

use super::basis::CONFIDENCE;
use super::cube::Figures;
use super::figure::{Figure, Outcome, Reading};
use super::grade::{Grade, Graded};

/// Records of each session, in the file's order.
pub(crate) fn of(records: &[Record]) -> Vec<&[Record]> {
    records.chunk_by(|a, b| a.run == b.run && a.header.seed == b.header.seed).collect()
}

/// Median over sessions, with Student's t interval on their logarithms from five sessions on.
pub(crate) fn over(values: &[f64]) -> Option<Estimate> {
    let interval = Estimate::geometric_mean(values, CONFIDENCE)?.interval;
    Some(Estimate { value: stats::median(values)?, n: values.len(), interval })
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
    let is_signed = matches!(figure.quantity(), Quantity::Count | Quantity::Share);
    let grade_of_all = grade(own.iter().map(|figure| figure.grade));
    let Outcome::Measured(reading) = &mut figure.outcome else { return };
    let means: Vec<f64> = readings.iter().map(|reading| reading.mean.value).collect();
    let mean = if is_signed { None } else { over(&means) };
    reading.mean = mean.or_else(|| Estimate::mean(&means, CONFIDENCE)).unwrap_or(reading.mean);
    // Sessions apart are no modes.
    if 2 * readings.iter().filter(|reading| reading.modes.is_some()).count() < readings.len() {
        reading.modes = None;
    }
    let graded = |part: fn(&Reading) -> Option<Graded>| {
        let parts: Vec<Graded> = readings.iter().filter_map(|reading| part(reading)).collect();
        let values: Vec<f64> = parts.iter().map(|part| part.estimate.value).collect();
        let estimate = over(&values).or_else(|| Estimate::mean(&values, CONFIDENCE))?;
        Some(Graded { estimate, grade: grade(parts.iter().map(|part| part.grade)) })
    };
    reading.net = graded(|reading| reading.net);
    reading.ratio = graded(|reading| reading.ratio);
    reading.net_ratio = graded(|reading| reading.net_ratio);
    figure.grade = grade_of_all;
}
