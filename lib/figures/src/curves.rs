//! What is said of curves: where one overtakes another.

use serde::Serialize;

use super::value::Value;
use super::verdict::Verdict;

/// A point from which one series takes less time than the other, which took less before.
#[derive(Clone, Debug, Serialize)]
pub struct Overtaking {
    /// The series that takes less from there on, and the other one.
    pub names: [String; 2],
    /// The first point of those up to the right end at which the whole interval of the ratio is below one.
    pub from: u64,
    /// The quotient of the two at the right end.
    pub end: Value,
}

impl Overtaking {
    /// Compares two series by the ratios of their times, of the first by the second, in ascending order;
    /// `None` if no interval tells that one was behind before and ahead up to the end.
    pub fn of(names: [&str; 2], ratios: &[(u64, Value)]) -> Option<Self> {
        let verdicts: Vec<Verdict> = ratios.iter().map(|(_, ratio)| ratio.verdict()).collect();
        let end = *verdicts.last().filter(|end| end.has_changed())?;
        let reverse = if end == Verdict::Less { Verdict::More } else { Verdict::Less };
        let before = verdicts.iter().rposition(|verdict| *verdict != end)?;
        let was_behind = verdicts[..=before].contains(&reverse);
        let ([first, second], ratio) = (names, ratios.last()?.1.clone());
        let (names, end) = match end {
            Verdict::More => ([second, first], Value::exact(1.0, None).divided_by(&ratio).ok()?),
            _ => ([first, second], ratio),
        };
        let from = ratios.get(before + 1)?.0;
        was_behind.then(|| Overtaking { names: names.map(str::to_owned), from, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::Grade;
    use stats::{Estimate, Interval};

    #[test]
    fn one_series_overtakes_another_if_the_intervals_tell() {
        for (values, expected) in [
            (&[2.0, 1.5, 1.05, 0.8, 0.5][..], Some(("threads", 8, 0.5))),
            (&[0.5, 0.95, 1.6, 4.0], Some(("tasks", 4, 0.25))),
            // One is ahead all the time, or nobody knows who is at the end, or was at the beginning.
            (&[0.5, 0.8], None),
            (&[2.0, 0.5, 0.95], None),
            (&[1.05, 0.5], None),
            (&[], None),
        ] {
            let points = values.iter().enumerate().map(|(place, &value)| {
                let (low, high) = (value - 0.1, value + 0.1);
                let interval = Interval { estimate: value, low, high, n: 5, confidence: 0.95 };
                let ratio = Estimate { value, n: 5, interval: Some(interval) };
                (1 << place, Value::estimated(ratio, None, Grade::Sure))
            });
            let found = Overtaking::of(["threads", "tasks"], &points.collect::<Vec<_>>());
            let found = found.as_ref().map(|o| (&*o.names[0], o.from, o.end.estimate.value));
            assert_eq!(found, expected, "{values:?}");
        }
    }
}
