//! That a comparison calls different what is, and not what is not, on synthetic files, of which the
//! truth is known.

use switchcost::compare::Verdict;

use super::synthetic::{Noise, centre, draw, file, pair, verdicts};

/// Pairs of files of which both are noise around the same truth: process means that spread by
/// 0.5 to 7 %, other cases by other amounts.
#[test]
fn equal_runs_are_rarely_called_different() {
    const PAIRS: u32 = 400;
    let mut noise = Noise::of(1979);
    let (mut old, mut new) = (file(14, 10), file(14, 10));
    let (mut wrong_pairs, mut wrong_cases, mut alone) = (0, 0, 0);
    for _ in 0..PAIRS {
        let mut mean = |case: u32| centre(case) * noise.factor(0.005 * f64::from(case + 1));
        draw(&mut old, &mut mean);
        draw(&mut new, &mut mean);
        let comparison = pair(&old, &new);
        let wrong = verdicts(&comparison).into_iter().filter(|v| v.is_different()).count();
        wrong_pairs += u32::from(wrong > 0);
        wrong_cases += wrong;
        alone += comparison
            .changes()
            // Once in a while chance makes two modes, and there is no ratio.
            .filter_map(|(_, _, change)| change.ratio?.interval)
            .filter(|interval| !interval.contains(1.0))
            .count();
    }
    let share = |n: f64, of: u32| n / f64::from(of);
    let by_pair = share(f64::from(wrong_pairs), PAIRS);
    let by_case = share(wrong_cases as f64, PAIRS * 14);
    let alone = share(alone as f64, PAIRS * 14);
    println!("wrong: {by_pair} of pairs, {by_case} of cases; intervals that miss 1: {alone}");
    assert!(by_pair <= 0.07, "{by_pair} of the pairs");
    // Each interval for itself keeps its promise, too.
    assert!((0.04..=0.06).contains(&alone), "{alone} of the cases");
}

/// A delay of 60 ns in one of 14 cases, whose process means spread by 2 %: 12 % of its 500 ns.
#[test]
fn a_known_delay_is_found_where_it_is() {
    const TRIALS: u32 = 400;
    const DELAY: f64 = 60.0;
    let mut noise = Noise::of(2024);
    let (mut old, mut new) = (file(14, 10), file(14, 10));
    let (mut covered, mut found) = (0, 0);
    let delayed = (centre(0) + DELAY) / centre(0);
    for _ in 0..TRIALS {
        draw(&mut old, |case| centre(case) * noise.factor(0.02));
        draw(&mut new, |case| {
            let delay = if case == 0 { DELAY } else { 0.0 };
            (centre(case) + delay) * noise.factor(0.02)
        });
        let comparison = pair(&old, &new);
        for (case, (_, _, change)) in comparison.changes().enumerate() {
            let truth = if case == 0 { delayed } else { 1.0 };
            // Once in a while chance makes two modes, and there is no ratio.
            let interval = change.ratio.and_then(|ratio| ratio.interval);
            covered += u32::from(interval.is_none_or(|interval| interval.contains(truth)));
        }
        found += u32::from(verdicts(&comparison)[0] == Verdict::Slower);
    }
    let covered = f64::from(covered) / f64::from(TRIALS * 14);
    let found = f64::from(found) / f64::from(TRIALS);
    println!("covered in {covered}, called slower in {found}");
    assert!((0.93..=0.97).contains(&covered), "covered in {covered}");
    assert!(found > 0.999, "called slower in {found}");
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
            verdicts(&pair(&old, &new))[3] == Verdict::Slower
        };
        (0..300).filter(|_| slower()).count() as f64 / 300.0
    };
    let [small, large] = [found(1.02), found(1.05)];
    println!("of 2 %: {small}, of 5 %: {large}");
    assert!(small < 0.3, "{small}");
    assert!(large > 0.9, "{large}");
}
