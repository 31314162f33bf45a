//! That a comparison calls different what is, and not what is not, on synthetic files, of which the
//! truth is known.

use switchcost::figures::verdict::Verdict;

use super::synthetic::{Noise, centre, draw, file, pair, pair_within, verdicts};

/// Pairs of files of which both are noise around the same truth: process means that spread by
/// 0.5 to 7 %, other cases by other amounts.
#[test]
fn equal_runs_are_rarely_called_different() {
    const PAIRS: u32 = 400;
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
    println!("wrong: {by_pair} of pairs");
    assert!(by_pair <= 0.07, "{by_pair} of the pairs");
}

/// Every interval decides: of a change just outside the margin, none says *unchanged*.
#[test]
fn a_change_outside_the_margin_is_rarely_called_none() {
    const PAIRS: u32 = 100;
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

/// How small a change is found: with process means that spread by 2 %, ten rounds and 14 cases,
/// one of 2 % mostly is not and one of 5 % mostly is.
#[test]
fn a_change_of_the_size_of_the_noise_is_not_found() {
    let mut noise = Noise::of(5);
    let (mut old, mut new) = (file(14, 10), file(14, 10));
    let mut found = |change: f64| {
        let mut slower = || {
            draw(&mut old, |case| centre(case) * noise.factor(0.02));
            draw(&mut new, |case| {
                let change = if case == 3 { change } else { 1.0 };
                centre(case) * change * noise.factor(0.02)
            });
            verdicts(&pair(&old, &new))[3] == Verdict::More
        };
        (0..300).filter(|_| slower()).count() as f64 / 300.0
    };
    let [small, large] = [found(1.02), found(1.05)];
    println!("of 2 %: {small}, of 5 %: {large}");
    assert!(small < 0.3, "{small}");
    assert!(large > 0.9, "{large}");
}
