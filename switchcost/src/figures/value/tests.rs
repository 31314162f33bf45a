//! Values of known samples.

use super::*;

fn rounds(values: &[f64]) -> Value {
    let rounds = values.iter().enumerate().map(|(k, value)| ((1, 1, k as u32), *value));
    let session = Session { rounds: rounds.collect(), grade: Grade::Sure };
    Value { quantity: Some(Quantity::Time), ..Value::of_sessions(vec![session]).unwrap() }
}

#[test]
fn quotients_and_differences_are_formed_round_by_round() {
    // A machine that slows down by half slows both: no interval of either tells what the pairs do.
    let (one, other) =
        (rounds(&[10.0, 15.0, 20.0, 25.0, 30.0]), rounds(&[5.0, 7.5, 10.0, 12.5, 15.0]));
    let ratio = one.over(&other).unwrap();
    assert_eq!((ratio.quantity, ratio.show(Form::Interval)), (None, "2.0".to_owned()));
    let less = one.less(&other).unwrap();
    assert_eq!(less.estimate.value, 10.0);
    assert!(less.over(&less).unwrap().ends().iter().all(|end| (end - 1.0).abs() < 1e-12));
    // Nothing is clamped at zero, and nothing is divided by what may be zero.
    let signed = other.less(&rounds(&[6.0; 5])).unwrap();
    assert!(signed.ends()[1] < 0.0 && one.over(&signed).is_err());
    assert!(signed.over(&one).unwrap().ends()[1] < 0.0);
    // Other rounds are not paired: Welch's interval.
    let mut later = one.clone();
    if let Basis::Rounds(sessions) = &mut later.basis {
        let moved = sessions[0].rounds.iter().map(|((run, seed, k), v)| ((run + 1, *seed, *k), *v));
        sessions[0].rounds = moved.collect();
    }
    let [value, low, high] = later.over(&other).unwrap().ends();
    assert!((value - 2.0).abs() < 1e-9 && low < 1.5 && high > 2.5);
    assert!(later.less(&other).is_err());
    let size = Value::exact(1.0, Some(Quantity::Bytes));
    assert!(one.over(&size).is_err() && one.less(&size).is_err() && one.times(&other).is_err());
}

#[test]
fn numbers_scale_a_figure_and_its_interval() {
    let hop = rounds(&[19.0, 20.0, 20.0, 20.0, 21.0]);
    let [value, low, high] = hop.ends();
    let thousand = Value::exact(1000.0, None);
    assert_eq!(hop.times(&thousand).unwrap().ends(), [value, low, high].map(|end| end * 1000.0));
    let each_second = Value::exact(1e9, Some(Quantity::Time)).over(&hop).unwrap();
    assert_eq!(each_second.ends(), [1e9 / value, 1e9 / high, 1e9 / low]);
    assert_eq!(each_second.show(Form::Count), "50,000,000");
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
        (Value::count(2.0), Form::Interval, "2"),
        (Value::count(0.000004), Form::Interval, "0.0000040"),
    ] {
        assert_eq!(value.show(form), text, "{form:?}");
    }
    let modes = Value { modes: Some([700.0, 1_400.0]), ..rounds(&[1_000.0; 5]) };
    assert_eq!(modes.show(Form::Interval), "700 ns or 1.4 µs");
}
