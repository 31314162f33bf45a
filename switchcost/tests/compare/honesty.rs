//! That a comparison calls different what is, and not what is not, on synthetic files, of which the
//! truth is known.

use figures::session_spread::SPREAD;
use record::Record;

use super::synthetic::{Noise, centre, draw, file, pair, pair_within, quotients, verdicts};

/// Rounds of a file.
const ROUNDS: u32 = 10;

/// Draws a file as one session: its speed, what each case has of its own in it, and process means that spread by
/// `noise(case)`.
fn draw_session(file: &mut [Record], random: &mut Noise, factor: f64, noise: impl Fn(u32) -> f64) {
    let own = SPREAD.ratios[0] / 2f64.sqrt();
    let speed = random.factor((SPREAD.times[0].powi(2) - own.powi(2)).sqrt());
    let shown = |case: u32| SPREAD.shown * noise(case) / f64::from(ROUNDS).sqrt();
    let own: Vec<f64> = (0..14).map(|case| random.factor(own.hypot(shown(case)))).collect();
    draw(file, |case| {
        let session = factor * speed * own[case as usize];
        centre(case) * session * random.factor(noise(case))
    });
}

/// Pairs of files of which both are sessions of the same truth: process means that spread by 0.5 to 7 %, other cases by
/// other amounts.
#[test]
fn equal_runs_are_rarely_called_different() {
    const PAIRS: u32 = 200;
    let mut random = Noise::of(1979);
    let (mut old, mut new) = (file(14, ROUNDS), file(14, ROUNDS));
    let mut wrong_pairs = 0;
    for _ in 0..PAIRS {
        let noise = |case: u32| 0.005 * f64::from(case + 1);
        draw_session(&mut old, &mut random, 1.0, noise);
        draw_session(&mut new, &mut random, 1.0, noise);
        // Without a margin, which would hide most.
        let comparison = pair_within(&old, &new, 0.0);
        wrong_pairs += u32::from(verdicts(&comparison).iter().any(|v| v.has_changed()));
    }
    let by_pair = f64::from(wrong_pairs) / f64::from(PAIRS);
    assert!(by_pair <= 0.07, "{by_pair} of the pairs");
}

/// The interval of a change holds it in 95 % of the pairs, or a little more, since how far sessions differ is only estimated.
#[test]
fn a_change_is_in_its_interval() {
    const PAIRS: u32 = 600;
    const CHANGE: f64 = 0.0502;
    let mut random = Noise::of(66);
    let (mut old, mut new) = (file(1, ROUNDS), file(1, ROUNDS));
    let (mut held, mut sum) = (0, 0.0);
    for _ in 0..PAIRS {
        draw_session(&mut old, &mut random, 1.0, |_| 0.05);
        draw_session(&mut new, &mut random, 1.0 + CHANGE, |_| 0.05);
        let compared = pair(&old, &new);
        let change = quotients(&compared)[0].change.unwrap();
        held += u32::from(change.contains(CHANGE));
        sum += change.estimate.ln_1p() - CHANGE.ln_1p();
    }
    let [held, bias] = [f64::from(held), sum].map(|all| all / f64::from(PAIRS));
    assert!((0.93..=0.98).contains(&held) && bias.abs() < 0.02, "{held} held, bias {bias}");
}
