//! Samples: every one in a histogram and in exact moments, and a series in their order.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longest time that the histogram tells apart, in ns: one hour. A longer sample counts as this
/// in the percentiles; minimum, maximum and moments stay exact.
const LONGEST: u64 = 3_600_000_000_000;

/// Up to so many samples are kept one by one.
const KEPT: u64 = 10_000;

/// Past [`KEPT`], the series holds about so many batches.
const BATCHES: u64 = 100;

/// Records integer nanoseconds without allocating once it is made.
#[derive(Clone, Debug)]
pub struct Recorder {
    histogram: Histogram<u64>,
    moments: Moments,
    series: Series,
    /// How many samples the last element of the series adds up so far.
    filled: u64,
}

/// Exact sums: an HDR histogram's own mean is rounded.
#[derive(Clone, Debug)]
struct Moments {
    count: u64,
    sum: u128,
    squares: u128,
    min: u64,
    max: u64,
}

/// Samples in their order: each by itself, or the sums of batches, so that drift stays visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// How many samples each element adds up; the last element may have fewer.
    pub batch: u64,
    /// The sum of each batch, in ns.
    pub sums: Vec<u64>,
}

/// What the samples of one distribution come to. All times are in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many samples.
    pub count: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Population standard deviation.
    pub stddev: f64,
    /// The shortest sample.
    pub min: u64,
    /// 50th percentile. Percentiles are exact to three significant figures.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// The longest sample.
    pub max: u64,
    /// The samples in order.
    pub series: Series,
}

impl Recorder {
    /// A recorder for `expected` samples; more may come.
    pub fn new(expected: u64) -> Self {
        let batch = if expected <= KEPT {
            1
        } else {
            expected.div_ceil(BATCHES)
        };
        Recorder {
            histogram: Histogram::new_with_bounds(1, LONGEST, 3)
                .expect("the bounds and the precision are constants in range"),
            moments: Moments {
                count: 0,
                sum: 0,
                squares: 0,
                min: u64::MAX,
                max: 0,
            },
            series: Series {
                batch,
                sums: Vec::with_capacity(expected.div_ceil(batch) as usize),
            },
            filled: 0,
        }
    }

    /// Takes one sample.
    pub fn record(&mut self, sample: Duration) {
        let ns = u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(ns);
        let m = &mut self.moments;
        m.count += 1;
        m.sum += u128::from(ns);
        m.squares = m.squares.saturating_add(u128::from(ns) * u128::from(ns));
        m.min = m.min.min(ns);
        m.max = m.max.max(ns);
        self.append(ns);
    }

    /// Adds a sample to the series.
    fn append(&mut self, ns: u64) {
        let Series { batch, sums } = &mut self.series;
        if self.filled == 0 || self.filled == *batch {
            self.filled = 0;
            sums.push(ns);
        } else if let Some(last) = sums.last_mut() {
            *last = last.saturating_add(ns);
        }
        self.filled += 1;
    }

    /// How many samples there are.
    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// What the samples come to; `None` where there are none.
    pub fn summary(&self) -> Option<Summary> {
        let m = &self.moments;
        if m.count == 0 {
            return None;
        }
        let percentile = |q| self.histogram.value_at_quantile(q).clamp(m.min, m.max);
        Some(Summary {
            count: m.count,
            mean: m.sum as f64 / m.count as f64,
            stddev: m.stddev(),
            min: m.min,
            p50: percentile(0.5),
            p90: percentile(0.9),
            p99: percentile(0.99),
            p999: percentile(0.999),
            max: m.max,
            series: self.series.clone(),
        })
    }
}

impl Moments {
    /// Population standard deviation, `sqrt(n Σx² - (Σx)²) / n`. The difference is taken in
    /// integers, where it loses nothing, unless the products leave 128 bits.
    fn stddev(&self) -> f64 {
        let n = u128::from(self.count);
        let difference = match (n.checked_mul(self.squares), self.sum.checked_mul(self.sum)) {
            (Some(a), Some(b)) => a.saturating_sub(b) as f64,
            _ => {
                let (n, sum) = (self.count as f64, self.sum as f64);
                (n * self.squares as f64 - sum * sum).max(0.0)
            }
        };
        difference.sqrt() / self.count as f64
    }
}

impl Summary {
    /// Whether the run drifted: the means of the first and of the last third of the series differ
    /// by more than three standard errors of that difference, which are those of batch means. `None` under nine elements.
    pub fn drift(&self) -> Option<Drift> {
        // A last batch that is not full would weigh like a full one: leave it out.
        let full = (self.count / self.series.batch) as usize;
        let values: Vec<f64> = self
            .series
            .sums
            .iter()
            .take(full)
            .map(|&sum| sum as f64 / self.series.batch as f64)
            .collect();
        let third = values.len() / 3;
        if third < 3 {
            return None;
        }
        let (first, first_error) = mean_and_error(&batch_means(&values[..third]));
        let (last, last_error) = mean_and_error(&batch_means(&values[values.len() - third..]));
        let error = first_error.hypot(last_error);
        Some(Drift {
            relative: last / first - 1.0,
            steady: (last - first).abs() <= 3.0 * error,
        })
    }
}

/// How the end of a run compares with its beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The last third's mean over the first third's, less one.
    pub relative: f64,
    /// Whether the difference is within three standard errors.
    pub steady: bool,
}

/// Neighbouring samples are alike, and an error that takes them for independent is far too small:
/// the means of ten batches are more nearly so.
fn batch_means(values: &[f64]) -> Vec<f64> {
    let mean = |batch: &[f64]| batch.iter().sum::<f64>() / batch.len() as f64;
    // The last batch may have fewer values; it counts like the others.
    values.chunks(values.len().div_ceil(10)).map(mean).collect()
}

/// The mean and its standard error.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(samples: impl IntoIterator<Item = u64>) -> Summary {
        let samples: Vec<u64> = samples.into_iter().collect();
        let mut recorder = Recorder::new(samples.len() as u64);
        for ns in samples {
            recorder.record(Duration::from_nanos(ns));
        }
        recorder.summary().unwrap()
    }

    #[test]
    fn moments_and_percentiles_of_one_to_a_thousand() {
        let s = recorded(1..1001);
        // (n + 1) / 2 and sqrt((n² - 1) / 12): the discrete uniform distribution.
        assert_eq!(s.mean, 500.5);
        assert!((s.stddev - (999_999.0f64 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!(
            (s.min, s.p50, s.p90, s.p99, s.p999, s.max),
            (1, 500, 900, 990, 999, 1000)
        );
        assert_eq!(s.series.batch, 1);
        assert_eq!(s.series.sums.len(), 1000);
    }

    #[test]
    fn the_deviation_keeps_its_digits_beside_a_large_mean() {
        let s = recorded([10_000_000_000_001, 10_000_000_000_002, 10_000_000_000_003]);
        assert_eq!(s.mean, 10_000_000_000_002.0);
        assert!((s.stddev - (2.0f64 / 3.0).sqrt()).abs() < 1e-9);
        assert_eq!(s.max, 10_000_000_000_003);
    }

    #[test]
    fn a_long_run_is_kept_as_batches() {
        let s = recorded(vec![7; 10_050]);
        assert_eq!(s.series.batch, 101);
        assert_eq!(s.series.sums.len(), 100);
        assert_eq!(s.series.sums[0], 707);
        assert_eq!(s.series.sums.iter().sum::<u64>(), 7 * 10_050);
    }

    #[test]
    fn no_samples_have_no_summary() {
        assert_eq!(Recorder::new(5).summary(), None);
    }

    #[test]
    fn drift_is_seen_and_noise_is_not() {
        let noise = |i: u64| 1000 + i * 7919 % 13;
        let steady = recorded((0..300).map(noise));
        assert!(steady.drift().unwrap().steady);
        let rising = recorded((0..300).map(|i| noise(i) + i));
        let drift = rising.drift().unwrap();
        assert!(!drift.steady && drift.relative > 0.15);
        assert_eq!(recorded(1..5).drift(), None);
    }
}
