//! Sessions: several runs of one plan on one machine. An interval over the processes of one holds for that session
//! alone, since sessions differ by more; what is said of a machine takes each as a sample.

use record::{Quantity, Record};
use stats::{Estimate, Interval, MIN_ROUNDS};

use super::basis::CONFIDENCE;
use super::doubt::Doubt;
use super::figure::{Figure, Outcome, Reading};
use super::grade::{Grade, Graded};
use super::grouped;

/// Records of each session, in the file's order.
pub fn of(records: &[Record]) -> Vec<&[Record]> {
    records.chunk_by(|a, b| a.run == b.run && a.header.seed == b.header.seed).collect()
}

/// Geometric mean over sessions of what is positive, so that a ratio stays the quotient of the times beside it; with
/// Student's t interval from five sessions on. Fewer have the span of their own intervals.
pub fn over(sessions: &[Estimate]) -> Option<Estimate> {
    combined(sessions, Estimate::geometric_mean)
}

/// The same of counts, shares and differences, with their arithmetic mean.
pub(crate) fn over_sums(sessions: &[Estimate]) -> Option<Estimate> {
    combined(sessions, Estimate::mean)
}

fn combined(sessions: &[Estimate], mean: fn(&[f64], f64) -> Option<Estimate>) -> Option<Estimate> {
    let values: Vec<f64> = sessions.iter().map(|session| session.value).collect();
    let mean = mean(&values, CONFIDENCE)?;
    if values.len() >= MIN_ROUNDS {
        return Some(mean);
    }
    let span = span(sessions);
    let interval = span.map(|span| Interval { estimate: mean.value, n: mean.n, ..span });
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

/// Figures of the sessions that are samples: those that measured it, if more than half of several did.
pub(crate) fn samples<'a, 'b>(tried: &[&'b Figure<'a>]) -> Option<Vec<&'b Figure<'a>>> {
    let measured: Vec<_> = tried.iter().filter(|own| own.reading().is_some()).copied().collect();
    (tried.len() > 1 && 2 * measured.len() > tried.len()).then_some(measured)
}

/// Makes each session a sample of a figure; sizes are those of all processes.
pub(crate) fn combine(figure: &mut Figure<'_>, tried: &[&Figure<'_>]) {
    let Some(own) = samples(tried) else { return };
    let readings: Vec<&Reading> = own.iter().filter_map(|own| own.reading()).collect();
    let sum = matches!(figure.quantity(), Quantity::Count | Quantity::Share);
    let Outcome::Measured(reading) = &mut figure.outcome else { return };
    let means: Vec<Estimate> = readings.iter().map(|reading| reading.mean).collect();
    reading.mean = if sum { over_sums(&means) } else { over(&means) }.unwrap_or(reading.mean);
    // Sessions apart are no modes.
    if 2 * readings.iter().filter(|reading| reading.modes.is_some()).count() < readings.len() {
        reading.modes = None;
    }
    let graded = |part: fn(&Reading) -> Option<Graded>,
                  over: fn(&[Estimate]) -> Option<Estimate>| {
        let parts: Vec<Graded> = readings.iter().filter_map(|reading| part(reading)).collect();
        let estimates: Vec<Estimate> = parts.iter().map(|part| part.estimate).collect();
        let grade = grade(parts.iter().map(|part| part.grade));
        Some(Graded { estimate: over(&estimates)?, grade })
    };
    reading.net = graded(|reading| reading.net, over_sums);
    reading.ratio = graded(|reading| reading.ratio, over);
    reading.net_ratio = graded(|reading| reading.net_ratio, over);
    figure.grade = grade(own.iter().map(|own| own.grade));
    figure.doubts = doubts(&own);
}

/// Doubts of at least half of the sessions, of each kind the median one; one contradiction is enough.
fn doubts(own: &[&Figure<'_>]) -> Vec<Doubt> {
    let all = own.iter().flat_map(|own| &own.doubts).map(|doubt| (doubt.kind, doubt.clone()));
    let of_kinds = grouped(all).into_iter().filter_map(|(kind, mut doubts)| {
        let counts = kind.grade() == Grade::Contradicted || 2 * doubts.len() >= own.len();
        doubts.sort_by(|a, b| a.size.total_cmp(&b.size));
        counts.then(|| doubts.swap_remove(doubts.len() / 2))
    });
    of_kinds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(value: f64, low: f64, high: f64) -> Estimate {
        Interval { estimate: value, low, high, n: 9, confidence: CONFIDENCE }.into()
    }

    #[test]
    fn few_sessions_have_the_span_of_their_intervals_and_five_their_own() {
        let few = over(&[session(10.0, 9.0, 11.0), session(14.4, 12.0, 17.0)]).unwrap();
        let interval = few.interval.unwrap();
        assert!((few.value - 12.0).abs() < 1e-9 && few.n == 2, "{few:?}");
        assert_eq!([interval.low, interval.high], [9.0, 17.0]);
        let unsure = Estimate { interval: None, ..few };
        assert_eq!(over(&[few, unsure]).unwrap().interval, None);
        // exp(x̄ ± 2.7764 · s / √5) of the logarithms: t(0.975, 4) of printed tables.
        let five = [90.0, 95.0, 100.0, 105.0, 110.0].map(|value| session(value, 1.0, 1000.0));
        let interval = over(&five).unwrap().interval.unwrap();
        assert_eq!(interval.n, 5);
        assert!((interval.low - 90.3937).abs() < 1e-3 && (interval.high - 110.0731).abs() < 1e-3);
        // Differences may be negative.
        let signed = [-1.0, 0.0, 1.0, 2.0, 3.0].map(|value| session(value, value, value));
        assert!((over_sums(&signed).unwrap().interval.unwrap().low + 0.9632).abs() < 1e-4);
    }
}
