//! Bimodal process means: a process may keep one of two placements for its whole life and run at half speed in
//! one of them. The mean over such processes describes none of them, so two modes replace it.

use serde::Serialize;

use crate::describe::{mean, sorted, squares_about, usable};

/// Fewest values in a mode: a single value is an outlier.
const MIN_MEMBERS: usize = 2;

/// Smallest weight of a mode: two processes of the usual ten.
const MIN_WEIGHT: f64 = 0.2;

/// Least distance of the upper centre from the lower one, as a share of the lower.
const MIN_SEPARATION: f64 = 0.2;

/// Least gap between the clusters, in pooled standard deviations inside them.
const MIN_GAP: f64 = 2.0;

/// Least gap times the number of values, in the same unit: the widest gap in values of one mode shrinks as
/// 1 / n, and so does the threshold, 5 standard deviations for ten values. In the simulations below one wide
/// mode is called two in under 2 % of sets of 10 to 30 values, and two modes at 1 : 2 that spread by 5 % each
/// are found in over 95 %.
const GAP_BY_COUNT: f64 = 50.0;

/// Cluster of process means, one of two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mode {
    /// Mean of its members, in the unit of the values.
    pub centre: f64,
    /// Share of the values; the two weights sum to 1.
    pub weight: f64,
}

impl Mode {
    /// Cluster of these members, of `n` values.
    fn with(members: &[f64], n: usize) -> Option<Self> {
        Some(Mode { centre: mean(members)?, weight: members.len() as f64 / n as f64 })
    }
}

/// Two modes of positive values, the lower one first; `None` when the values have one mode.
///
/// The split of the sorted values has the least sum of squares inside the two clusters (exact 2-means). It
/// counts if the centres are far apart and a wide gap separates the clusters, both in the values and in their
/// logarithms: a long right tail shows a gap in the values alone, a long left tail in the logarithms alone.
pub fn modes(values: &[f64]) -> Option<[Mode; 2]> {
    let sorted = sorted(values);
    if !usable(values) || sorted[0] <= 0.0 {
        return None;
    }
    let at = best_split(&sorted)?;
    let n = sorted.len();
    let (low, high) = (Mode::with(&sorted[..at], n)?, Mode::with(&sorted[at..], n)?);
    let logs: Vec<f64> = sorted.iter().map(|v| v.ln()).collect();
    let are_apart = high.centre - low.centre > MIN_SEPARATION * low.centre;
    (are_apart && gap_is_wide(&sorted, at) && gap_is_wide(&logs, at)).then_some([low, high])
}

/// Index of the first value of the upper cluster in the split with the least sum of squares.
fn best_split(sorted: &[f64]) -> Option<usize> {
    let n = sorted.len();
    let members = MIN_MEMBERS.max((MIN_WEIGHT * n as f64).ceil() as usize);
    (members..=n.checked_sub(members)?)
        .min_by(|a, b| squares_inside(sorted, *a).total_cmp(&squares_inside(sorted, *b)))
}

/// True if the gap below index `at` is wide compared with the pooled standard deviation.
fn gap_is_wide(sorted: &[f64], at: usize) -> bool {
    let n = sorted.len() as f64;
    let gap = sorted[at] - sorted[at - 1];
    let sd = (squares_inside(sorted, at) / (n - 2.0)).sqrt();
    gap > MIN_GAP.max(GAP_BY_COUNT / n) * sd
}

/// Sum of squares about their own mean inside `sorted[..at]` and `sorted[at..]`.
fn squares_inside(sorted: &[f64], at: usize) -> f64 {
    let (low, high) = sorted.split_at(at);
    let squares = mean(low).zip(mean(high));
    squares.map_or(f64::INFINITY, |(a, b)| squares_about(low, a) + squares_about(high, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{close, normal};
    use fastrand::Rng;

    #[test]
    fn two_placements_are_two_modes() {
        let values = [10.1, 20.3, 9.9, 10.0, 19.8, 10.2, 9.8, 10.0, 20.0, 10.1];
        let [low, high] = modes(&values).unwrap();
        close(low.centre, 70.1 / 7.0, 1e-14);
        close(high.centre, 60.1 / 3.0, 1e-14);
        close(low.weight, 0.7, 1e-14);
        close(low.weight + high.weight, 1.0, 1e-14);
    }

    #[test]
    fn clusters_must_be_more_than_a_fifth_apart() {
        let pair = |ratio: f64| [[10.0; 5], [10.0 * ratio; 5]].concat();
        assert_eq!(modes(&pair(1.19)), None);
        assert!(modes(&pair(1.21)).is_some());
        // One slow process is an outlier and not a mode.
        assert_eq!(modes(&[10.1, 9.9, 10.0, 10.2, 9.8, 10.0, 10.1, 10.3, 9.7, 20.0]), None);
        // So are three of twenty.
        assert_eq!(modes(&[vec![10.0; 17], vec![20.0; 3]].concat()), None);
        assert!(modes(&[vec![10.0; 16], vec![20.0; 4]].concat()).is_some());
    }

    /// Five standard deviations, of ten values.
    #[test]
    fn a_wide_gap_separates_them() {
        for (gap, are_two) in [(4.5, false), (5.5, true)] {
            let cluster = |centre: f64| [-1.0, -1.0, 0.0, 1.0, 1.0].map(|off| centre + off);
            // Two clusters with a standard deviation of one.
            let values = [cluster(0.0), cluster(2.0 + gap)].concat();
            let values: Vec<f64> = values.iter().map(|value| (0.04 * value).exp()).collect();
            assert_eq!(modes(&values).is_some(), are_two, "{gap}");
        }
    }

    #[test]
    fn input_without_an_answer_gives_none() {
        let nan = [1.0, 1.0, 2.0, f64::NAN, 2.0];
        for values in [&[][..], &[1.0], &[1.0, 2.0, 2.0], &[5.0; 10], &nan, &[0.0, 0.0, 2.0, 2.0]] {
            assert_eq!(modes(values), None, "{values:?}");
        }
    }

    /// Share of `trials` seeded sets of `n` values that are called bimodal.
    fn share_found(n: usize, trials: u32, mut draw: impl FnMut(&mut Rng, usize) -> f64) -> f64 {
        let mut rng = Rng::with_seed(n as u64);
        let mut found = 0;
        for _ in 0..trials {
            let values: Vec<f64> = (0..n).map(|i| draw(&mut rng, i)).collect();
            found += u32::from(modes(&values).is_some());
        }
        f64::from(found) / f64::from(trials)
    }

    type Draw = fn(&mut Rng) -> f64;

    /// Unimodal distributions wide enough for centres to differ by 20 % by chance.
    const UNIMODAL: [(&str, Draw); 5] = [
        ("normal 15 %", |rng| 1.0 + 0.15 * normal(rng)),
        ("log-normal 30 %", |rng| (0.3 * normal(rng)).exp()),
        ("log-normal 100 %", |rng| normal(rng).exp()),
        ("floor and exponential", |rng| 1.0 - (1.0 - rng.f64()).ln()),
        ("uniform", |rng| 0.5 + rng.f64()),
    ];

    #[test]
    fn one_wide_mode_is_rarely_called_two() {
        for n in [10, 15, 20, 30] {
            for (name, draw) in UNIMODAL {
                let share = share_found(n, 1000, |rng, _| draw(rng));
                assert!(share < 0.02, "{name}, n = {n}: {share}");
            }
        }
    }

    #[test]
    fn two_modes_at_one_to_two_are_found() {
        for n in [10, 15, 20, 30] {
            // Weights 20 : 80, 50 : 50 and 80 : 20.
            for lower in [n / 5, n / 2, n - n / 5] {
                let draw = |rng: &mut Rng, i| {
                    let centre = if i < lower { 1.0 } else { 2.0 };
                    centre * (1.0 + 0.05 * normal(rng))
                };
                let share = share_found(n, 1000, draw);
                assert!(share > 0.95, "{lower} of {n}: {share}");
            }
        }
    }
}
