//! Data shared by the unit tests, and coverage of the intervals by simulation.

use crate::describe::mean;
use crate::interval::{Contrast, Interval};
use crate::{Estimate, t_interval};

/// Ten rounds of one case, nanoseconds; 'A' in the comments that name a reference.
pub(crate) const ROUNDS_A: [f64; 10] =
    [1523.4, 1498.2, 1610.9, 1555.0, 1472.8, 1539.1, 1587.6, 1501.3, 1566.7, 1530.2];

/// The same ten rounds of another case; 'B'.
pub(crate) const ROUNDS_B: [f64; 10] =
    [212.5, 205.1, 224.8, 219.9, 203.3, 214.0, 223.7, 208.2, 216.6, 210.4];

/// Eight rounds of another run; 'C'.
pub(crate) const ROUNDS_C: [f64; 8] =
    [1601.2, 1480.5, 1655.3, 1720.8, 1590.1, 1533.9, 1689.4, 1612.0];

/// Eight task counts, three processes each; 'X'.
#[rustfmt::skip]
pub(crate) const MEMORY_X: [f64; 24] = [
    100.0, 100.0, 100.0, 200.0, 200.0, 200.0, 350.0, 350.0, 350.0, 500.0, 500.0, 500.0,
    700.0, 700.0, 700.0, 1000.0, 1000.0, 1000.0, 1500.0, 1500.0, 1500.0, 2000.0, 2000.0, 2000.0,
];

/// Resident bytes at those task counts; 'Y'.
#[rustfmt::skip]
pub(crate) const MEMORY_Y: [f64; 24] = [
    3_096_576.0, 3_100_672.0, 3_088_384.0, 4_067_328.0, 4_075_520.0, 4_063_232.0,
    5_529_600.0, 5_537_792.0, 5_525_504.0, 7_000_064.0, 6_987_776.0, 6_995_968.0,
    8_957_952.0, 8_949_760.0, 8_966_144.0, 11_894_784.0, 11_890_688.0, 11_907_072.0,
    16_789_504.0, 16_805_888.0, 16_797_696.0, 21_700_608.0, 21_692_416.0, 21_704_704.0,
];

/// Fails unless `actual` is within `tolerance` of `expected`, relative to it.
#[track_caller]
pub(crate) fn close(actual: f64, expected: f64, tolerance: f64) {
    let error = (actual - expected).abs();
    assert!(error <= tolerance * expected.abs(), "{actual} is not {expected}: off by {error:e}");
}

/// A number of the standard normal distribution (Box and Muller).
pub(crate) fn normal(rng: &mut fastrand::Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.f64()).cos()
}

/// Samples of one simulated process: a centre of its own (sd 20 around `truth`), then an AR(1)
/// series around it (coefficient 0.8, sd 30).
fn process(rng: &mut fastrand::Rng, truth: f64, samples: usize) -> Vec<f64> {
    const CORRELATION: f64 = 0.8;
    let centre = truth + 20.0 * normal(rng);
    let mut noise = 30.0 * normal(rng);
    (0..samples)
        .map(|_| {
            noise =
                CORRELATION * noise + 30.0 * (1.0 - CORRELATION * CORRELATION).sqrt() * normal(rng);
            centre + noise
        })
        .collect()
}

#[test]
fn process_means_cover_the_truth_and_pooled_iterations_do_not() {
    const TRIALS: u32 = 2000;
    const TRUTH: f64 = 1500.0;
    let mut rng = fastrand::Rng::with_seed(2024);
    let (mut by_process, mut pooled) = (0, 0);
    for _ in 0..TRIALS {
        let processes: Vec<Vec<f64>> = (0..10).map(|_| process(&mut rng, TRUTH, 100)).collect();
        let means: Vec<f64> = processes.iter().filter_map(|p| mean(p)).collect();
        by_process += u32::from(t_interval(&means, 0.95).unwrap().contains(TRUTH));
        pooled += u32::from(t_interval(&processes.concat(), 0.95).unwrap().contains(TRUTH));
    }
    let by_process = f64::from(by_process) / f64::from(TRIALS);
    let pooled = f64::from(pooled) / f64::from(TRIALS);
    assert!((0.93..=0.97).contains(&by_process), "process means cover {by_process}");
    assert!(pooled < 0.30, "pooled iterations cover {pooled}");
}

fn logs(values: &[f64]) -> Contrast {
    Contrast::mean(&values.iter().map(|value| value.ln()).collect::<Vec<f64>>()).unwrap()
}

fn welch(a: &[f64], b: &[f64]) -> Interval {
    logs(a).less(logs(b)).unwrap().ratio(0.95).unwrap()
}

/// Coverage of ratio intervals of two cases at 3 : 2. Paired rounds share a drift of ± 25 % over
/// ten rounds, which cancels in the ratio of each round. Unpaired runs of ten and eight rounds with
/// different spread have no drift, as in a comparison of two files.
#[test]
fn ratios_cover_the_truth() {
    const TRIALS: u32 = 2000;
    const TRUTH: f64 = 1.5;
    let mut rng = fastrand::Rng::with_seed(77);
    let (mut paired, mut drifting, mut apart) = (0, 0, 0);
    for _ in 0..TRIALS {
        let mut case = |centre: f64, sd: f64, n: u32, drift: f64| -> Vec<f64> {
            (0..n)
                .map(|round| {
                    let phase = std::f64::consts::TAU * f64::from(round) / 10.0;
                    centre * (sd * normal(&mut rng)).exp() * (1.0 + drift * phase.sin())
                })
                .collect()
        };
        let (a, b) = (case(1500.0, 0.03, 10, 0.25), case(1000.0, 0.01, 10, 0.25));
        let ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a / b).collect();
        let ratio = Estimate::geometric_mean(&ratios).and_then(|ratio| ratio.interval);
        paired += u32::from(ratio.unwrap().contains(TRUTH));
        drifting += u32::from(welch(&a, &b).contains(TRUTH));
        let (a, b) = (case(1500.0, 0.03, 10, 0.0), case(1000.0, 0.01, 8, 0.0));
        apart += u32::from(welch(&a, &b).contains(TRUTH));
    }
    let [paired, drifting, apart] =
        [paired, drifting, apart].map(|n| f64::from(n) / f64::from(TRIALS));
    assert!((0.93..=0.97).contains(&paired), "pairs cover {paired}");
    assert!((0.93..=0.97).contains(&apart), "sets apart cover {apart}");
    // Shared drift makes the interval far too wide unless it cancels round by round.
    assert!(drifting > 0.999, "pairs taken as two sets cover {drifting}");
}
