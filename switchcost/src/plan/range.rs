//! The range of a sweep, and the points of it that are measured.

use std::ops::RangeInclusive;

/// Reads a range of a numeric flag, both ends included, such as `2..100000`.
pub fn parse(text: &str) -> Result<RangeInclusive<u64>, String> {
    let ends = text.split_once("..");
    let ends = ends.and_then(|(from, to)| Some((from.parse::<u64>().ok()?, to.parse().ok()?)));
    match ends.ok_or_else(|| format!("'{text}' is not a range: write one such as 2..1000"))? {
        (from, to) if from > to => Err(format!("{from}..{to} is backwards: write {to}..{from}")),
        (from, to) if from == to => {
            Err(format!("{from}..{to} is a single number: a sweep needs two or more"))
        }
        (from, to) => Ok(from..=to),
    }
}

/// At most `count` different whole numbers in ascending order, by equal factors, both ends among
/// them. There are fewer if small numbers fall together. After 0 the factors begin at 1.
pub fn points(range: &RangeInclusive<u64>, count: u32) -> Vec<u64> {
    let mut points = vec![*range.start()];
    let (mut from, mut steps) = (*range.start(), count.max(2) - 1);
    if from == 0 && steps > 1 {
        points.push(1);
        (from, steps) = (1, steps - 1);
    }
    let factor = *range.end() as f64 / from as f64;
    points.extend((1..steps).map(|step| {
        (from as f64 * factor.powf(f64::from(step) / f64::from(steps))).round() as u64
    }));
    points.push(*range.end());
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read() {
        assert_eq!(parse("2..100000"), Ok(2..=100_000));
        for (text, reason) in
            [("5..2", "is backwards"), ("3..3", "single number"), ("1..2..3", "not a range")]
        {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn points_are_spaced_by_equal_factors() {
        assert_eq!(points(&(1..=10_000), 5), [1, 10, 100, 1000, 10_000]);
        assert_eq!(points(&(0..=1000), 5), [0, 1, 10, 100, 1000]);
        assert_eq!((points(&(0..=9), 2), points(&(0..=1), 12)), (vec![0, 9], vec![0, 1]));
        // Python: [round(2 * 50000 ** (i / 11)) for i in range(12)]
        assert_eq!(
            points(&(2..=100_000), 12),
            [2, 5, 14, 38, 102, 273, 731, 1956, 5230, 13_984, 37_396, 100_000]
        );
    }
}
