//! That a comparison calls different what is, and not what is not, on synthetic files, of which the
//! truth is known.

use figures::verdict::Verdict;

use super::synthetic::{Noise, centre, draw, file, pair, pair_within, verdicts};

/// Pairs of files of which both are noise around the same truth: process means that spread by
/// 0.5 to 7 %, other cases by other amounts.
#[test]
fn equal_runs_are_rarely_called_different() {
    const PAIRS: u32 = 100;
    let mut noise = Noise::of(1979);
    let (mut old, mut new) = (file(14, 10), file(14, 10));
    let mut wrong_pairs = 0;
    for _ in 0..PAIRS {
        let mut mean = |case: u32| centre(case) * noise.factor(0.005 * f64::from(case + 1));
        draw(&mut old, &mut mean);
        draw(&mut new, &mut mean);
        // Without a margin, which would hide most.
        let comparison = pair_within(&old, &new, 0.0);
        wrong_pairs += u32::from(verdicts(&comparison).iter().any(|v| v.has_changed()));
    }
    let by_pair = f64::from(wrong_pairs) / f64::from(PAIRS);
    assert!(by_pair <= 0.07, "{by_pair} of the pairs");
}

/// Every interval decides: of a change just outside the margin, none says *unchanged*.
#[test]
fn a_change_outside_the_margin_is_rarely_called_none() {
    const PAIRS: u32 = 40;
    let mut noise = Noise::of(66);
    let (old, mut new) = (file(12, 40), file(12, 40));
    let mut wrong_pairs = 0;
    for _ in 0..PAIRS {
        draw(&mut new, |case| centre(case) * 1.0502 * noise.factor(0.05));
        let verdicts = verdicts(&pair(&old, &new));
        wrong_pairs += u32::from(verdicts.iter().any(|v| matches!(v, Verdict::Within(_))));
    }
    let by_pair = f64::from(wrong_pairs) / f64::from(PAIRS);
    assert!(by_pair <= 0.07, "{by_pair} of the pairs");
}
