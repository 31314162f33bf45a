//! Samples, and their distribution.

use hdrhistogram::Histogram;

use crate::message::Distribution;

/// Longest time that the histogram tells apart, in ns: one hour.
const LONGEST: u64 = 3_600_000_000_000;

/// Distribution of integers of any unit: percentiles by an HDR histogram; mean and standard deviation by
/// Welford's method, since a histogram's own mean is rounded.
#[derive(Clone, Debug)]
pub struct Recorder {
    histogram: Histogram<u64>,
    mean: f64,
    /// Sum of the squared deviations from the mean.
    squares: f64,
    min: u64,
    max: u64,
}

impl Default for Recorder {
    fn default() -> Self {
        Recorder {
            histogram: Histogram::new_with_bounds(1, LONGEST, 3)
                .expect("the bounds and the precision are constants in range"),
            mean: 0.0,
            squares: 0.0,
            min: u64::MAX,
            max: 0,
        }
    }
}

impl Recorder {
    /// Takes one sample.
    pub fn record(&mut self, sample: u64) {
        self.histogram.saturating_record(sample);
        let from_old_mean = sample as f64 - self.mean;
        self.mean += from_old_mean / self.count() as f64;
        self.squares += from_old_mean * (sample as f64 - self.mean);
        self.min = self.min.min(sample);
        self.max = self.max.max(sample);
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Summary of the samples; `None` if there are none. Percentiles are exact to three digits.
    pub fn distribution(&self) -> Option<Distribution> {
        let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| self.histogram.value_at_quantile(q));
        (self.count() > 0).then(|| Distribution {
            count: self.count(),
            mean: self.mean,
            stddev: (self.count() > 1).then(|| (self.squares / self.count() as f64).sqrt()),
            min: self.min,
            p50: p50.clamp(self.min, self.max),
            p90: p90.clamp(self.min, self.max),
            p99: p99.clamp(self.min, self.max),
            max: self.max,
        })
    }
}

impl FromIterator<u64> for Recorder {
    fn from_iter<T: IntoIterator<Item = u64>>(samples: T) -> Self {
        let mut recorder = Recorder::default();
        samples.into_iter().for_each(|sample| recorder.record(sample));
        recorder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(samples: &[u64]) -> Option<Distribution> {
        samples.iter().copied().collect::<Recorder>().distribution()
    }

    #[test]
    fn moments_are_exact() {
        // numpy.mean and numpy.std of the same numbers.
        let d = distribution(&[2, 4, 4, 4, 5, 5, 7, 9]).unwrap();
        assert_eq!((d.count, d.mean, d.stddev), (8, 5.0, Some(2.0)));
        assert_eq!((d.min, d.p50, d.max), (2, 4, 9));
        // A spread of one beside a mean of 1e12: sums of squares in floats would say 0 or worse.
        let d = distribution(&[1_000_000_000_000, 1_000_000_000_002]).unwrap();
        assert_eq!(d.stddev, Some(1.0));
        assert_eq!(distribution(&[7]).unwrap().stddev, None);
        assert_eq!(distribution(&[]), None);
    }

    #[test]
    fn huge_samples_neither_overflow_nor_panic() {
        let d = distribution(&[u64::MAX; 5]).unwrap();
        assert_eq!((d.count, d.max, d.p99, d.stddev), (5, u64::MAX, u64::MAX, Some(0.0)));
    }
}
