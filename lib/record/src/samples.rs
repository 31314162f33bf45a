//! The timed iterations of one process, summed up.

use std::ops::Deref;

use contract::message::{Distribution, Extra};
use serde::{Deserialize, Serialize};

/// Fewest samples that have a 99.9th percentile.
const MANY: u64 = 10_000;

/// Summary of the timed iterations, in ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Samples {
    /// Count, moments and percentiles.
    #[serde(flatten)]
    pub distribution: Distribution,
    /// 99.9th percentile; absent under ten thousand samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999: Option<u64>,
}

/// Iterations at the beginning and at the end of the turns of a process: in their first and in their last thirds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thirds {
    /// Mean of the first thirds, in ns.
    pub first: f64,
    /// Mean of the last thirds, in ns.
    pub last: f64,
    /// Standard error of their difference, from the means of ten batches in each: neighbouring
    /// samples are alike, and an error that takes them for independent is far too small. `None` of one sample in each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

impl Thirds {
    /// Those of the samples of each turn; `None` if no turn has three.
    pub fn of<'a>(turns: impl Iterator<Item = &'a [u64]>) -> Option<Self> {
        let (mut firsts, mut lasts) = (Vec::new(), Vec::new());
        for turn in turns {
            let third = turn.len() / 3;
            firsts.extend(&turn[..third]);
            lasts.extend(&turn[turn.len() - third..]);
        }
        if firsts.is_empty() {
            return None;
        }
        let (first, first_error) = mean_and_error(&firsts);
        let (last, last_error) = mean_and_error(&lasts);
        let error = (firsts.len() > 1).then(|| first_error.hypot(last_error));
        Some(Thirds { first, last, error })
    }

    /// Logarithm of last ÷ first.
    pub fn change(&self) -> f64 {
        (self.last / self.first).ln()
    }
}

/// Mean of the batch means, and its standard error.
fn mean_and_error(samples: &[u64]) -> (f64, f64) {
    let batches: Vec<f64> = samples
        .chunks(samples.len().div_ceil(10))
        .map(|batch| batch.iter().map(|&ns| ns as f64).sum::<f64>() / batch.len() as f64)
        .collect();
    let n = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / n;
    let variance = batches.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

impl Samples {
    /// Exact summary of samples in their order: sums in integers, percentiles by nearest rank. `None` if there are none.
    pub fn of(samples: &[u64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len() as u64;
        let sum: u128 = sorted.iter().map(|&ns| u128::from(ns)).sum();
        let mean = sum as f64 / count as f64;
        // In a second pass: a difference of large sums would lose the digits.
        let squares: f64 = sorted.iter().map(|&ns| (ns as f64 - mean).powi(2)).sum();
        let distribution = Distribution {
            count,
            mean,
            stddev: (count > 1).then(|| (squares / count as f64).sqrt()),
            min,
            p50: nearest_rank(&sorted, 500),
            p90: nearest_rank(&sorted, 900),
            p99: nearest_rank(&sorted, 990),
            max,
        };
        let p999 = (count >= MANY).then(|| nearest_rank(&sorted, 999));
        Some(Samples { distribution, p999 })
    }
}

/// Samples are read as their distribution.
impl Deref for Samples {
    type Target = Distribution;

    fn deref(&self) -> &Distribution {
        &self.distribution
    }
}

/// Percentile of sorted samples in parts per thousand, by nearest rank.
fn nearest_rank(sorted: &[u64], part: usize) -> u64 {
    sorted[(sorted.len() * part).div_ceil(1000).max(1) - 1]
}

/// Adds distributions of a further slice. Count, mean, deviation and extremes are exact; a percentile
/// is the mean of the slices', weighted by their counts.
pub fn merge(extra: &mut Extra, more: Extra) {
    for (name, distribution) in more {
        let merged = extra.get(&name).map(|known| merged(known, &distribution));
        extra.insert(name, merged.unwrap_or(distribution));
    }
}

/// Two distributions together; percentiles are weighted by the counts, since the samples are gone.
fn merged(a: &Distribution, b: &Distribution) -> Distribution {
    let counts = [a.count as f64, b.count as f64];
    let mean = weighted([a.mean, b.mean], counts);
    let variances =
        [a, b].map(|part| part.spread().unwrap_or(0.0).powi(2) + (part.mean - mean).powi(2));
    let [p50, p90, p99] = [[a.p50, b.p50], [a.p90, b.p90], [a.p99, b.p99]]
        .map(|values| weighted(values.map(|value| value as f64), counts).round() as u64);
    Distribution {
        count: a.count.saturating_add(b.count),
        mean,
        stddev: Some(weighted(variances, counts).sqrt()),
        min: a.min.min(b.min),
        p50,
        p90,
        p99,
        max: a.max.max(b.max),
    }
}

fn weighted(values: [f64; 2], counts: [f64; 2]) -> f64 {
    (values[0] * counts[0] + values[1] * counts[1]) / (counts[0] + counts[1]).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_percentiles_of_one_to_a_thousand() {
        let samples: Vec<u64> = (1..=1000).rev().collect();
        let s = Samples::of(&samples).unwrap();
        // (n + 1) / 2 and sqrt((n² - 1) / 12): the discrete uniform distribution.
        assert_eq!(s.mean, 500.5);
        assert!((s.stddev.unwrap() - (999_999.0_f64 / 12.0).sqrt()).abs() < 1e-9);
        assert_eq!((s.min, s.p50, s.p90, s.p99, s.max), (1, 500, 900, 990, 1000));
        assert_eq!(Samples::of(&[7]).map(|s| (s.p50, s.stddev)), Some((7, None)));
        let many = Samples::of(&(1..=10_000).collect::<Vec<u64>>()).unwrap();
        assert_eq!((s.p999, many.p999), (None, Some(9990)));
        assert_eq!(Samples::of(&[]), None);
    }

    #[test]
    fn the_deviation_keeps_its_digits_beside_a_large_mean() {
        let s = Samples::of(&[10_000_000_000_001, 10_000_000_000_002, 10_000_000_000_003]).unwrap();
        assert_eq!(s.mean, 10_000_000_000_002.0);
        assert!((s.stddev.unwrap() - (2.0_f64 / 3.0).sqrt()).abs() < 1e-9);
        let widest = Samples::of(&[0, u64::MAX]).unwrap().stddev.unwrap();
        assert!((widest / 2_f64.powi(63) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn thirds_are_those_of_each_turn() {
        let of = |turns: &[Vec<u64>]| Thirds::of(turns.iter().map(Vec::as_slice));
        let rising: Vec<u64> = (0..300).map(|i| 1000 + i).collect();
        let thirds = of(&[rising.clone(), rising]).unwrap();
        assert_eq!((thirds.first, thirds.last), (1049.5, 1249.5));
        assert!((thirds.change() - (1249.5_f64 / 1049.5).ln()).abs() < 1e-12);
        // Ten batches of twenty: 0, 20, 40, 60 and 80 above the first, twice; the difference has two such errors.
        assert!((thirds.error.unwrap() - (2.0 * 8000.0 / 9.0 / 10.0_f64).sqrt()).abs() < 1e-9);
        // From turn to turn the time may change, since another program has had its turn.
        let [slow, quick] = [2000, 1000].map(|ns| vec![ns; 30]);
        assert_eq!(of(&[slow, quick]).unwrap().change(), 0.0);
        assert_eq!(of(&[vec![1; 2], vec![1; 2]]), None);
        assert_eq!(of(&[vec![1, 2, 3]]), Some(Thirds { first: 1.0, last: 3.0, error: None }));
    }

    #[test]
    fn slices_of_a_distribution_add_up() {
        let samples = [[1_u64, 2, 3, 4], [5, 6, 7, 100]];
        let mut all = Extra::new();
        for slice in samples {
            let distribution = Samples::of(&slice).unwrap().distribution;
            merge(&mut all, [("a".to_owned(), distribution)].into());
        }
        let whole = Samples::of(&samples.concat()).unwrap();
        let found = all["a"];
        assert_eq!((found.count, found.min, found.max), (8, 1, 100));
        assert!((found.mean - whole.mean).abs() < 1e-9);
        assert!((found.stddev.unwrap() - whole.stddev.unwrap()).abs() < 1e-9);
        assert_eq!(found.p50, 4);
    }
}
