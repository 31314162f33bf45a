//! Samples of a run, and what they come to.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::message::{Distribution, MOST_SAMPLES};

/// Longest time that the histogram tells apart, in ns: one hour. The exact moments go on beyond it.
const LONGEST: u64 = 3_600_000_000_000;

/// Samples of one pass.
#[derive(Clone, Debug)]
pub enum Samples {
    /// Each by itself, for a runner. The room is allocated and touched beforehand.
    Each(Vec<u64>),
    /// As many as come, for people.
    Summed(Box<Recorder>),
}

impl Samples {
    /// Samples for a runner.
    pub fn each() -> Self {
        let mut room = vec![u64::MAX; MOST_SAMPLES as usize];
        room.clear();
        Samples::Each(room)
    }

    /// Samples for people.
    pub fn summed() -> Self {
        Samples::Summed(Box::default())
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        match self {
            Samples::Each(samples) => samples.len() as u64,
            Samples::Summed(recorder) => recorder.count(),
        }
    }

    /// Takes one sample.
    pub fn record(&mut self, sample: Duration) {
        let ns = u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX);
        match self {
            Samples::Each(samples) => samples.push(ns),
            Samples::Summed(recorder) => recorder.record(ns),
        }
    }
}

/// Percentiles by an HDR histogram, mean and standard deviation by exact sums: a histogram's own mean
/// is rounded. Takes integers of any unit.
#[derive(Clone, Debug)]
pub struct Recorder {
    histogram: Histogram<u64>,
    count: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder {
            histogram: Histogram::new_with_bounds(1, LONGEST, 3)
                .expect("the bounds and the precision are constants in range"),
            count: 0,
            sum: 0,
            squares: 0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Recorder {
    /// Takes one sample.
    pub fn record(&mut self, sample: u64) {
        self.histogram.saturating_record(sample);
        self.count += 1;
        self.sum += u128::from(sample);
        self.squares = self.squares.saturating_add(u128::from(sample) * u128::from(sample));
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Summary of the samples; `None` where there are none. Percentiles are exact to three digits.
    pub fn distribution(&self) -> Option<Distribution> {
        if self.count == 0 {
            return None;
        }
        let n = self.count as f64;
        let mean = self.sum as f64 / n;
        let percentile = |q| {
            let value = self.histogram.value_at_quantile(q);
            value.clamp(self.min, self.max)
        };
        Some(Distribution {
            count: self.count,
            mean,
            stddev: self.stddev(),
            min: self.min,
            p50: percentile(0.5),
            p90: percentile(0.9),
            p99: percentile(0.99),
            max: self.max,
        })
    }

    /// Population standard deviation: n times the sum of squares less the square of the sum, in
    /// integers where they suffice, since the difference of two large floats would lose all digits.
    fn stddev(&self) -> f64 {
        let n = u128::from(self.count);
        let products = n.checked_mul(self.squares).zip(self.sum.checked_mul(self.sum));
        let spread = match products {
            Some((squares, square)) => squares.saturating_sub(square) as f64,
            None => (n as f64 * self.squares as f64 - (self.sum as f64).powi(2)).max(0.0),
        };
        spread.sqrt() / n as f64
    }
}

impl FromIterator<u64> for Recorder {
    fn from_iter<T: IntoIterator<Item = u64>>(samples: T) -> Self {
        let mut recorder = Recorder::default();
        samples.into_iter().for_each(|s| recorder.record(s));
        recorder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact() {
        // numpy.mean and numpy.std of the same numbers.
        let recorder: Recorder = [2, 4, 4, 4, 5, 5, 7, 9].into_iter().collect();
        let d = recorder.distribution().unwrap();
        assert_eq!((d.count, d.mean, d.stddev), (8, 5.0, 2.0));
        assert_eq!((d.min, d.p50, d.max), (2, 4, 9));
        // A spread of one beside a mean of 1e12: floats alone would say 0 or worse.
        let far = [1_000_000_000_000, 1_000_000_000_002].into_iter();
        let d = far.collect::<Recorder>().distribution().unwrap();
        assert_eq!(d.stddev, 1.0);
        assert!(Recorder::default().distribution().is_none());
    }

    #[test]
    fn huge_samples_neither_overflow_nor_panic() {
        let d: Recorder = [u64::MAX; 5].into_iter().collect();
        let d = d.distribution().unwrap();
        assert_eq!((d.count, d.max, d.p99), (5, u64::MAX, u64::MAX));
        assert!(d.stddev.is_finite());
    }

    #[test]
    fn a_runner_gets_each_sample() {
        let mut samples = Samples::each();
        (1..=3).for_each(|ns| samples.record(Duration::from_nanos(ns)));
        assert!(matches!(samples, Samples::Each(each) if each == [1, 2, 3]));
    }
}
