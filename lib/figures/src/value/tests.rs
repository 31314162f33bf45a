//! Values of known samples.

use stats::Interval;

use super::*;
use crate::session_spread::SPREAD;

/// A session of a run with rounds of these values.
fn session(run: u64, values: &[f64], grade: Grade) -> Session {
    let rounds = values.iter().enumerate().map(|(k, value)| ((run, 1, k as u32), *value));
    let estimate = Estimate::mean(values).unwrap();
    Session::of((run, 1), estimate, SessionSpread::default(), rounds.collect(), grade)
}

fn rounds(values: &[f64]) -> Value {
    of(vec![session(1, values, Grade::Sure)])
}

fn of(sessions: Vec<Session>) -> Value {
    let mean = Value::of_sessions(sessions, Estimate::mean).unwrap();
    Value { quantity: Some(Quantity::Time), ..mean }
}

#[test]
fn quotients_and_differences_are_formed_round_by_round() {
    // A machine that slows down by half slows both: no interval of either tells what the pairs do.
    let (slowing, half) = ([10.0, 15.0, 20.0, 25.0, 30.0], [5.0, 7.5, 10.0, 12.5, 15.0]);
    let (one, other) = (rounds(&slowing), rounds(&half));
    let ratio = one.divided_by(&other).unwrap();
    assert_eq!((ratio.quantity, ratio.show(Form::Interval).unwrap()), (None, "2.0".to_owned()));
    let less = one.less(&other).unwrap();
    assert_eq!(less.estimate.value, 10.0);
    assert!(less.divided_by(&less).unwrap().ends().iter().all(|end| (end - 1.0).abs() < 1e-12));
    // Nothing is clamped at zero, and nothing is divided by what may be zero.
    let signed = other.less(&rounds(&[6.0; 5])).unwrap();
    assert!(signed.ends()[1] < 0.0 && one.divided_by(&signed).is_err());
    assert!(signed.divided_by(&one).unwrap().ends()[1] < 0.0);
    assert!(one.divided_by(&rounds(&[0.0, 5.0, 5.0, 5.0, 5.0])).is_err());
    // Nothing is paired with rounds of another run.
    let later = of(vec![session(2, &slowing, Grade::Sure)]);
    assert!(later.divided_by(&other).is_err() && later.less(&other).is_err());
    // Of two sessions each has its mean, and their interval is the span: of 2 and 4, of 10 and 30.
    let double = session(2, &slowing.map(|v| 2.0 * v), Grade::Disturbed);
    let both = of(vec![session(1, &slowing, Grade::Sure), double]);
    let twice = of(vec![session(1, &half, Grade::Sure), session(2, &half, Grade::Sure)]);
    let ratio = both.divided_by(&twice).unwrap();
    assert!((ratio.estimate.value - 8f64.sqrt()).abs() < 1e-9, "{ratio:?}");
    assert_eq!(
        (ratio.show(Form::Interval).unwrap(), ratio.estimate.n),
        ("~2.8 [2.0, 4.0]".to_owned(), 2)
    );
    let less = both.less(&twice).unwrap();
    assert_eq!(less.estimate.value, 20.0);
    // Divided by a number, all is: what sessions differ by, too.
    let between = SessionSpread::of(Quantity::Time, false, 20.0, 0.0);
    let own = of(vec![Session { between, ..session(1, &slowing, Grade::Sure) }]);
    let quarter = own.divided_by(&Value::exact(4.0, None)).unwrap();
    let deviation = quarter.sessions[0].between.further(0.0);
    assert!((deviation - between.further(0.0) / 4.0).abs() < 1e-12);
    let inverse = Value::exact(4.0, Some(Quantity::Time)).divided_by(&own).unwrap();
    let mean = own.estimate.value;
    assert_eq!(inverse.sessions[0].between, between.times(-4.0 / (mean * mean)));
    let size = Value::exact(1.0, Some(Quantity::Bytes));
    assert!(one.divided_by(&size).is_err() && one.less(&size).is_err());
    assert!(one.times(&other).is_err() && one.times(&size).is_err());
}

#[test]
fn a_change_needs_five_rounds_of_both_and_one_mode() {
    let [four, five] = [4, 5].map(|n| rounds(&[9.0, 10.0, 11.0, 10.0, 12.0][..n]));
    assert!(five.change_to(&five).is_ok());
    for (old, new) in [(&four, &five), (&five, &four)] {
        assert_eq!(old.change_to(new).unwrap_err(), Reason::FewRounds);
    }
    let modes = Value { modes: Some([9.0, 12.0]), ..five.clone() };
    for (old, new) in [(&modes, &five), (&five, &modes)] {
        assert_eq!(old.change_to(new).unwrap_err(), Reason::TwoModes);
    }
}

/// Their common speed cancels; what is each one's own is left.
#[test]
fn beside_the_machine_a_time_and_a_rate_lack_its_speed() {
    let of = |quantity, mean: f64| {
        let between = SessionSpread::of(quantity, false, mean, 0.0);
        let session = Session { between, ..session(1, &[mean; 5], Grade::Sure) };
        Value { quantity: Some(quantity), ..of(vec![session]) }
    };
    let machine = Value::mean_of(&[of(Quantity::Time, 20.0), of(Quantity::Time, 80.0)]).unwrap();
    assert!((machine.estimate.value - 40.0).abs() < 1e-9);
    let yardstick = Value::mean_of(&[of(Quantity::Time, 20.0)]).unwrap();
    assert_eq!(of(Quantity::Rate, 10.0).beside(&yardstick).unwrap().estimate.value, 200.0);
    for (quantity, beside) in [(Quantity::Time, 0.25), (Quantity::Rate, 400.0)] {
        let own = of(quantity, 10.0).beside(&machine).unwrap();
        assert!((own.estimate.value - beside).abs() < 1e-9, "{own:?}");
        let share = own.sessions[0].between.further(0.0) / beside;
        assert!((share - SPREAD.ratios[0] * 0.75f64.sqrt()).abs() < 1e-9, "{quantity:?}: {share}");
    }
}

/// A figure that only some of the sessions have is paired in each of these.
#[test]
fn rounds_of_several_runs_are_several_sessions() {
    let rounds = |run: u64| (0..5).map(move |k| ((run, 1, k), 10.0 * run as f64));
    let samples = rounds(2).chain(rounds(3)).collect();
    let estimate = mean(&samples).unwrap();
    let between = SessionSpread::of(Quantity::Time, false, estimate.value, 0.0);
    let pooled = Session::of((1, 1), estimate, between, samples, Grade::Sure);
    let own = Value::made_of(vec![pooled], estimate, Quantity::Time, Grade::Sure);
    let deviation = own.sessions[0].between.further(0.0);
    assert!((deviation - between.further(0.0) * 20.0 / estimate.value).abs() < 1e-9);
    let each = |run: u64| session(run, &[5.0 * run as f64; 5], Grade::Sure);
    let ratio = own.divided_by(&of((1..=4).map(each).collect())).unwrap();
    assert_eq!(ratio.sessions.len(), 2);
    assert!((ratio.estimate.value - 2.0).abs() < 1e-9, "{ratio:?}");
}

/// Sessions differ in their speed, which two figures share, and in what is each one's own, which their rounds show in part;
/// rounds differ by 3 %. By how much sessions differ is known from a few machines.
#[test]
fn intervals_of_one_session_and_of_five_hold_the_truth() {
    const TRIALS: u32 = 2000;
    let mut rng = fastrand::Rng::with_seed(6);
    // Irwin-Hall: near enough to a normal deviate.
    let mut normal = move || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    let (ratio, time) = (SPREAD.ratios[0], SPREAD.times[0]);
    let common = (time * time - ratio * ratio / 2.0).sqrt();
    let own = (ratio / 2f64.sqrt()).hypot(SPREAD.shown * 0.03 / 10f64.sqrt());
    let mut held = [[0; 4]; 2];
    let mut sum = 0.0;
    for (sessions, held) in [1, 5].into_iter().zip(&mut held) {
        for _ in 0..TRIALS {
            let mut both = [Vec::new(), Vec::new()];
            let squares: f64 = (1..SPREAD.machines).map(|_| normal().powi(2)).sum();
            let [common, own] = [common, own].map(|of| of * (SPREAD.freedom() / squares).sqrt());
            for run in 0..sessions {
                let speed = common * normal();
                for (figure, centre) in both.iter_mut().zip([3000.0, 1000.0]) {
                    let at = centre * (speed + own * normal()).exp();
                    let rounds: Vec<f64> = (0..10).map(|_| at * (0.03 * normal()).exp()).collect();
                    let mean = Estimate::geometric_mean(&rounds).unwrap();
                    let between = SessionSpread::of(Quantity::Time, false, mean.value, 0.0);
                    let estimate = between.widen_share(mean);
                    assert_eq!(estimate.interval.unwrap().estimate, mean.value);
                    figure.push(Session {
                        estimate,
                        between,
                        ..session(run, &rounds, Grade::Sure)
                    });
                }
            }
            let [one, other] = both.map(|sessions| {
                let value = Value::of_sessions(sessions, Estimate::geometric_mean).unwrap();
                Value { quantity: Some(Quantity::Time), ..value }
            });
            let quotient = one.divided_by(&other).unwrap();
            sum += quotient.estimate.value / 3.0 - 1.0;
            let less = one.less(&other).unwrap();
            let each = Value::exact(1e6, Some(Quantity::Time)).divided_by(&one).unwrap();
            for ((value, truth), held) in
                [(one, 3000.0), (quotient, 3.0), (less, 2000.0), (each, 1e6 / 3000.0)]
                    .into_iter()
                    .zip(&mut *held)
            {
                let interval = value.estimate.interval.unwrap();
                *held += u32::from(interval.contains(truth));
            }
        }
    }
    for held in held.as_flattened() {
        let share = f64::from(*held) / f64::from(TRIALS);
        assert!((0.93..=0.97).contains(&share), "{held:?}");
    }
    assert!((sum / f64::from(2 * TRIALS)).abs() < 0.02);
}

#[test]
fn numbers_scale_a_figure_and_its_interval() {
    let hop = rounds(&[19.0, 20.0, 20.0, 20.0, 21.0]);
    let [value, low, high] = hop.ends();
    let thousand = Value::exact(1000.0, None);
    assert_eq!(hop.times(&thousand).unwrap().ends(), [value, low, high].map(|end| end * 1000.0));
    let modes = Value { modes: Some([19.0, 21.0]), ..hop.clone() };
    assert_eq!(modes.times(&thousand).unwrap().modes, Some([19e3, 21e3]));
    let doubted = thousand.disturbed();
    assert_eq!(hop.divided_by(&doubted).unwrap().grade, Grade::Disturbed);
    let doubted = Value { quantity: hop.quantity, ..doubted };
    assert_eq!(doubted.divided_by(&hop).unwrap().grade, Grade::Disturbed);
    assert_eq!(hop.less(&doubted).unwrap().grade, Grade::Disturbed);
    let each_second = Value::exact(1e9, Some(Quantity::Time)).divided_by(&hop).unwrap();
    assert_eq!(each_second.ends(), [1e9 / value, 1e9 / high, 1e9 / low]);
    assert!(Value::exact(1.0, None).divided_by(&Value::exact(0.0, None)).is_err());
    assert_eq!(each_second.show(Form::Count).unwrap(), "50,000,000");
}

#[test]
fn each_form_is_shown_with_its_unit() {
    let of = |value: f64, low: f64, high: f64, quantity| {
        let interval = Interval { estimate: value, low, high, n: 5, confidence: 0.95 };
        Value::estimated(interval.into(), quantity, Grade::Disturbed)
    };
    let (time, ratio) = (Some(Quantity::Time), None);
    for (value, form, text) in [
        (of(1_234.0, 990.0, 1_500.0, time), Form::Value, "~1.2 µs"),
        (of(1_234.0, 990.0, 1_500.0, time), Form::Interval, "~1.2 µs [0.99, 1.5]"),
        (of(996.0, 990.0, 1_004.0, time), Form::Interval, "~1.0 µs [0.99, 1.0]"),
        (of(1.57, 1.4, 1.75, ratio), Form::More, "~57 % [40, 75]"),
        (of(0.55, 0.54, 0.56, ratio), Form::Percent, "~55 % [54, 56]"),
        (of(12_749.0, 1.0, 2.0, ratio), Form::Count, "~13,000"),
        (of(1.2e9, 1e9, 1.4e9, Some(Quantity::Throughput)), Form::Value, "~1.1 GiB/s"),
        (Value::count(10_950.0), Form::Count, "10,950"),
        (Value::count(10_950.0), Form::Value, "11000"),
        (Value::exact(0.123, None), Form::Percent, "12 %"),
        (of(0.123, 0.1, 0.2, ratio), Form::Count, "~0.12"),
        (Value::count(-1_234.0), Form::Count, "-1,234"),
        (Value::count(2.0), Form::Interval, "2"),
        (Value::count(0.000004), Form::Interval, "0.0000040"),
    ] {
        assert_eq!(value.show(form).unwrap(), text, "{form:?}");
    }
    for (value, form) in [
        (of(1_234.0, 990.0, 1_500.0, time), Form::Percent),
        (of(1_234.0, 990.0, 1_500.0, time), Form::More),
        (of(1_234.0, 990.0, 1_500.0, time), Form::Count),
        (Value { modes: Some([1.0, 2.0]), ..Value::exact(1.5, None) }, Form::Count),
    ] {
        assert!(value.show(form).is_err(), "{value:?}");
    }
    let modes = Value { modes: Some([700.0, 1_400.0]), ..rounds(&[1_000.0; 5]) };
    assert_eq!(modes.show(Form::Interval).unwrap(), "700 ns or 1.4 µs");
}
