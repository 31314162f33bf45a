//! The range of a sweep, and the points of it that are measured.

use std::str::FromStr;

/// A range of a numeric flag, both ends included, written `2..100000` or `0..100000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    from: u64,
    to: u64,
}

/// The largest end of a range: up to here whole numbers and floats agree.
const LARGEST: u64 = 1 << 53;

impl Range {
    /// A range from `from` to `to`.
    ///
    /// # Errors
    /// When it runs backwards, or has one number only.
    pub fn new(from: u64, to: u64) -> Result<Self, String> {
        if from > to {
            return Err(format!("{from}..{to} runs backwards: write {to}..{from}"));
        }
        if from == to {
            return Err(format!("{from}..{to} is one number: a sweep needs two or more"));
        }
        if to > LARGEST {
            return Err(format!("{from}..{to} ends past {LARGEST}"));
        }
        Ok(Range { from, to })
    }

    /// Reads a range of a flag that cannot be 0.
    ///
    /// # Errors
    /// When it is no range, or begins at 0.
    pub fn positive(text: &str) -> Result<Self, String> {
        match text.parse::<Range>()? {
            Range { from: 0, to } => Err(format!("0..{to} begins at 0: begin at 1 or later")),
            range => Ok(range),
        }
    }

    /// Reads a range whose ends `number` reads.
    ///
    /// # Errors
    /// When it is no range, as [`Range::new`] says.
    pub fn parse(text: &str, number: impl Fn(&str) -> Option<u64>) -> Result<Self, String> {
        let ends = text.split_once("..").and_then(|(from, to)| Some((number(from)?, number(to)?)));
        match ends {
            Some((from, to)) => Range::new(from, to),
            None => Err(format!("'{text}' is not a range: write one such as 2..1000")),
        }
    }

    /// At most `count` different whole numbers in ascending order, by equal factors, both ends among
    /// them. There are fewer where the range has fewer, or where small numbers fall together. Behind 0
    /// the factors begin at 1.
    pub fn points(self, count: u32) -> Vec<u64> {
        if self.from == 0 {
            let rest = match count {
                0..=2 => vec![self.to],
                _ => Range { from: 1, ..self }.points(count - 1),
            };
            return [0].into_iter().chain(rest).collect();
        }
        let (from, to) = (self.from as f64, self.to as f64);
        let steps = count.max(2) - 1;
        let between = (1..steps).map(|step| {
            let share = f64::from(step) / f64::from(steps);
            (from * (to / from).powf(share)).round() as u64
        });
        let mut points: Vec<u64> =
            [self.from].into_iter().chain(between).chain([self.to]).collect();
        points.dedup();
        points
    }
}

impl FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Range::parse(text, |end| end.parse().ok())
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
        assert_eq!("2..100000".parse(), Range::new(2, 100_000));
        let kib = |end: &str| Some(end.strip_suffix('k')?.parse::<u64>().ok()? << 10);
        assert_eq!(Range::parse("16k..64k", kib), Range::new(16384, 65536));
        for (text, reason) in [
            ("5..2", "runs backwards"),
            ("a..b", "not a range"),
            ("3..3", "one number"),
            ("7", "not a range"),
            ("", "not a range"),
            ("..", "not a range"),
            ("1..2..3", "not a range"),
            ("-1..3", "not a range"),
            ("1..99999999999999999999", "not a range"),
            ("1..9999999999999999999", "ends past"),
        ] {
            let error = text.parse::<Range>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(Range::positive("0..3").unwrap_err().contains("begins at 0"));
        assert_eq!(Range::positive("1..3"), Range::new(1, 3));
    }

    #[test]
    fn points_are_spaced_by_equal_factors() {
        assert_eq!(points("1..10000", 5), [1, 10, 100, 1000, 10_000]);
        assert_eq!(points("2..9", 2), [2, 9]);
        assert_eq!(points("0..1000", 5), [0, 1, 10, 100, 1000]);
        assert_eq!((points("0..9", 2), points("0..1", 12)), (vec![0, 9], vec![0, 1]));
        // Python: [round(2 * 50000 ** (i / 11)) for i in range(12)]
        assert_eq!(
            points("2..100000", 12),
            [2, 5, 14, 38, 102, 273, 731, 1956, 5230, 13_984, 37_396, 100_000]
        );
    }

    #[test]
    fn points_are_distinct_and_both_ends_are_there() {
        for (range, count) in
            [("1..3", 12), ("0..3", 12), ("2..17", 12), ("1..9007199254740992", 50)]
        {
            let points = points(range, count);
            let (from, to) = range.split_once("..").unwrap();
            assert_eq!(points.first(), Some(&from.parse().unwrap()));
            assert_eq!(points.last(), Some(&to.parse().unwrap()));
            assert!(points.is_sorted_by(|a, b| a < b), "{points:?}");
            assert!(points.len() <= count as usize);
        }
        assert_eq!(points("1..3", 12), [1, 2, 3]);
    }
}
