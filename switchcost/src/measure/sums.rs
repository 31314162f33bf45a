//! Sums of distributions over slices.

use contract::message::{Distribution, Extra};

/// Adds distributions of a further slice. Count, mean, deviation and extremes are exact; a percentile
/// is the mean of the slices', weighted by their counts.
pub(super) fn merge(all: &mut Extra, more: Extra) {
    for (name, b) in more {
        let Some(a) = all.get_mut(&name) else {
            all.insert(name, b);
            continue;
        };
        let (n, m) = (a.count as f64, b.count as f64);
        let weighted = |x: f64, y: f64| (x * n + y * m) / (n + m).max(1.0);
        let percentile = |x: u64, y: u64| weighted(x as f64, y as f64).round() as u64;
        let mean = weighted(a.mean, b.mean);
        let spread = |d: f64, own: f64| d.powi(2) + (own - mean).powi(2);
        let variance = weighted(spread(a.stddev, a.mean), spread(b.stddev, b.mean));
        *a = Distribution {
            count: a.count.saturating_add(b.count),
            mean,
            stddev: variance.sqrt(),
            min: a.min.min(b.min),
            p50: percentile(a.p50, b.p50),
            p90: percentile(a.p90, b.p90),
            p99: percentile(a.p99, b.p99),
            max: a.max.max(b.max),
        };
    }
}

#[cfg(test)]
mod tests {
    use facts::distribution;

    use super::*;

    #[test]
    fn slices_of_a_distribution_add_up() {
        let samples = [[1_u64, 2, 3, 4], [5, 6, 7, 100]];
        let mut all = Extra::new();
        for slice in samples {
            let extra = [("a".to_owned(), distribution(&slice).unwrap())];
            merge(&mut all, extra.into());
        }
        let whole = distribution(&samples.concat()).unwrap();
        let found = all["a"];
        assert_eq!((found.count, found.min, found.max), (8, 1, 100));
        assert!((found.mean - whole.mean).abs() < 1e-9);
        assert!((found.stddev - whole.stddev).abs() < 1e-9);
        assert_eq!(found.p50, 4);
    }
}
