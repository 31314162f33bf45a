//! The range of a sweep, and the points of it that are measured.

use std::str::FromStr;

/// A range of a numeric flag, both ends included, written `2..100000` or `0..100000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    from: u64,
    to: u64,
}

impl Range {
    /// At most `count` different whole numbers in ascending order, by equal factors, both ends among
    /// them. There are fewer if small numbers fall together. After 0 the factors begin at 1.
    pub fn points(self, count: u32) -> Vec<u64> {
        let mut points = vec![self.from];
        let (mut from, mut steps) = (self.from, count.max(2) - 1);
        if from == 0 && steps > 1 {
            points.push(1);
            (from, steps) = (1, steps - 1);
        }
        let factor = self.to as f64 / from as f64;
        points.extend((1..steps).map(|step| {
            (from as f64 * factor.powf(f64::from(step) / f64::from(steps))).round() as u64
        }));
        points.push(self.to);
        points.dedup();
        points
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |end: &str| end.parse::<u64>().ok();
        let ends = text.split_once("..").and_then(|(from, to)| Some((number(from)?, number(to)?)));
        let no_range = || format!("'{text}' is not a range: write one such as 2..1000");
        match ends.ok_or_else(no_range)? {
            (from, to) if from > to => {
                Err(format!("{from}..{to} is backwards: write {to}..{from}"))
            }
            (from, to) if from == to => {
                Err(format!("{from}..{to} is a single number: a sweep needs two or more"))
            }
            (from, to) => Ok(Range { from, to }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str, count: u32) -> Vec<u64> {
        text.parse::<Range>().unwrap().points(count)
    }

    #[test]
    fn a_range_is_read() {
        assert_eq!("2..100000".parse(), Ok(Range { from: 2, to: 100_000 }));
        for (text, reason) in
            [("5..2", "is backwards"), ("3..3", "single number"), ("1..2..3", "not a range")]
        {
            let error = text.parse::<Range>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn points_are_spaced_by_equal_factors() {
        assert_eq!(points("1..10000", 5), [1, 10, 100, 1000, 10_000]);
        assert_eq!(points("0..1000", 5), [0, 1, 10, 100, 1000]);
        assert_eq!((points("0..9", 2), points("0..1", 12)), (vec![0, 9], vec![0, 1]));
        // Python: [round(2 * 50000 ** (i / 11)) for i in range(12)]
        assert_eq!(
            points("2..100000", 12),
            [2, 5, 14, 38, 102, 273, 731, 1956, 5230, 13_984, 37_396, 100_000]
        );
    }
}
