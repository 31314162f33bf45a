//! Rules over figures whose verdicts are known.

use record::Quantity;
use stats::{Estimate, Interval};

use super::*;

fn ours(ends: [f64; 3], grade: Grade) -> Value {
    let [estimate, low, high] = ends;
    let interval = Interval { estimate, low, high, n: 9, confidence: 0.95 };
    Value::estimated(interval.into(), None, grade)
}

fn few(estimate: f64) -> Value {
    let estimate = Estimate { value: estimate, n: 1, interval: None };
    Value::estimated(estimate, None, Grade::Sure)
}

fn judge(rule: Rule, quotation: &str, ends: &[[f64; 3]]) -> String {
    let mut ours: Vec<Value> = ends.iter().map(|ends| ours(*ends, Grade::Sure)).collect();
    ours.iter_mut().for_each(|value| value.quantity = theirs_with_unit(quotation).1);
    rule.judge(quotation, &ours).unwrap()
}

#[test]
fn a_rule_says_what_its_figures_bear() {
    for (rule, quotation, ends, judgement) in [
        (Rule::Near, "1.2", &[[2.3, 2.2, 2.6]][..], "holds"),
        (Rule::Near, "1.2", &[[2.5, 2.3, 2.6]], "holds, barely"),
        (Rule::Near, "1.2", &[[2.5, 2.45, 2.6]], "not here"),
        (Rule::Near, "1.2", &[[1.0, 0.1, 30.0]], TOO_WIDE),
        (Rule::Near, "1.5", &[[0.95, 0.9, 1.0]], "not here"),
        (Rule::Near, "0.8", &[[1.05, 1.0, 1.1]], "not here"),
        (Rule::Near, "0.95", &[[1.05, 1.0, 1.1]], "holds"),
        (Rule::Near, "1.05", &[[0.95, 0.9, 1.0]], "holds"),
        (Rule::Near, "0.4", &[[0.5, 0.45, 0.6]], "holds"),
        (Rule::Near, "17 µs ÷ 0.3 µs", &[[40.0, 39.0, 41.0]], "holds"),
        (Rule::Equal, "1", &[[1.05, 1.0, 1.09]], "holds"),
        (Rule::Equal, "1", &[[1.2, 1.15, 1.3]], "not here"),
        (Rule::Order, "2 µs", &[[6000.0, 5900.0, 6100.0]], "same order"),
        (Rule::Order, "2 µs", &[[6400.0, 6300.0, 6500.0]], "same order, barely"),
        (Rule::Order, "2 µs", &[[7000.0, 6900.0, 7100.0]], "not here"),
        (Rule::Counts, "2, 1 and 4", &[[2.0; 3], [1.0; 3], [4.0; 3]], "holds"),
        (Rule::Counts, "2, 1 and 4", &[[2.0; 3], [1.0; 3], [1.0; 3]], "not here"),
        (Rule::Over, "10 times", &[[12.0, 11.0, 13.0]], "holds"),
        (Rule::Over, "10 times", &[[12.0, 9.0, 13.0]], TOO_WIDE),
        (Rule::Over, "10 times", &[[8.0, 7.0, 9.0]], "not here"),
        (Rule::Under, "0.1", &[[0.05, 0.04, 0.06]], "holds"),
        (Rule::Under, "0.1", &[[0.2, 0.15, 0.3]], "not here"),
        (Rule::Over, "250,000", &[[250000.0; 3]], "holds"),
        (Rule::Over, "250,000", &[[249999.0; 3]], "not here"),
        (Rule::Side, "0.8", &[[0.7, 0.6, 0.9]], "holds"),
        (Rule::Side, "0.8", &[[1.01, 0.95, 1.05]], "not here: no difference"),
        (Rule::Side, "0.8", &[[1.3, 0.5, 43.0]], TOO_WIDE),
        (Rule::Larger, "yes", &[[4.0, 3.0, 5.0], [2.0, 1.0, 2.5]], "holds"),
        (Rule::Larger, "yes", &[[4.0, 3.0, 5.0], [6.0, 5.5, 7.0]], "not here"),
        (Rule::Least, "1", &[[1.5, 1.2, 2.0], [0.95, 0.92, 0.98]], "holds"),
        (Rule::Least, "1", &[[1.5, 1.2, 2.0], [0.7, 0.5, 0.9]], "not here"),
        (Rule::Least, "1", &[[0.93, 0.84, 1.1]], TOO_WIDE),
        (Rule::Little, "1", &[[0.87, 0.86, 0.88]], "holds"),
        (Rule::Little, "1", &[[1.4, 1.3, 1.5]], "not here"),
        (Rule::Over, "10", &[[110.0, 100.0, 120.0], [29.0, 28.0, 30.0]], "holds"),
        (Rule::Over, "10", &[[110.0, 100.0, 120.0], [9.0, 8.0, 9.5]], "not here"),
        (Rule::Near, "10 KiB", &[[23000.0, 22000.0, 24000.0]], "not here"),
        (Rule::NoLonger, "20", &[[6.0; 3], [26.0; 3]], "no longer"),
        (Rule::NoLonger, "20", &[[6.0; 3], [60.0; 3]], "not here"),
        (Rule::Asked, "open", &[[1.1, 0.6, 2.0]], TOO_WIDE),
        (Rule::Asked, "open", &[[0.88, 0.87, 0.89]], "answered: less"),
        (Rule::Asked, "open", &[[5.5, 5.2, 5.9]], "answered: more"),
        (Rule::Asked, "open", &[[1.0, 0.97, 1.03]], "answered: no difference"),
        (Rule::Some, "some", &[[0.0; 3]], "never did"),
        (Rule::Some, "some", &[[1.0; 3]], "holds"),
    ] {
        assert_eq!(judge(rule, quotation, ends), judgement, "{rule:?} {quotation} {ends:?}");
    }
}

#[test]
fn a_figure_that_is_not_sure_decides_nothing() {
    let judge = |ours: Value| Rule::Over.judge("10 times", &[ours]).unwrap();
    assert_eq!(
        judge(ours([48.0, 45.0, 50.0], Grade::Disturbed)),
        "undecided here: a quieter machine decides"
    );
    // Beside a sure one it does not count, and neither does what is only shown.
    let both = [ours([12.0; 3], Grade::Sure), ours([9.0; 3], Grade::Disturbed)];
    assert_eq!(Rule::Over.judge("10 times", &both).unwrap(), "holds");
    assert_eq!(Rule::Near.judge("10", &both).unwrap(), "holds");
    // Of too few rounds it decides with a margin.
    assert_eq!(judge(few(12.0)), "undecided here: more rounds decide");
    assert_eq!(judge(few(16.0)), "holds");
    assert_eq!(
        judge(ours([48.0, 45.0, 50.0], Grade::Contradicted)),
        "undecided here: contradicted by its counters"
    );
}

#[test]
fn a_rule_without_what_it_needs_is_refused() {
    let one = [ours([1.0; 3], Grade::Sure)];
    assert!(Rule::Counts.judge("none", &one).is_err());
    assert!(Rule::Near.judge("open", &one).is_err());
    assert!(Rule::Near.judge("10", &[]).is_err());
    assert!(Rule::Side.judge("less", &one).is_err());
    assert!(Rule::Larger.judge("yes", &one).is_err());
    // A time is no ratio, and a size no time.
    let time = Value::exact(5.0, Some(Quantity::Time));
    for quotation in ["5", "5 KiB", "5 ns ÷ 1 ns"] {
        assert!(Rule::Near.judge(quotation, std::slice::from_ref(&time)).is_err(), "{quotation}");
    }
    assert!(Rule::Near.judge("5 ns", &[time]).is_ok());
}

#[test]
fn quotations_have_numbers_and_units() {
    for (text, number) in [
        ("9.7 KB", Some(9700.0)),
        ("2,122 B", Some(2122.0)),
        ("0.1 (our reading)", Some(0.1)),
        ("10 times", Some(10.0)),
        ("1993 ns ÷ 1 µs", Some(1.993)),
        ("2.14 GiB/s", Some(2.14 * 1073741824.0)),
        ("open", None),
    ] {
        assert_eq!(theirs(text), number, "{text}");
    }
    assert_eq!(quantity("50 ms"), Some((5e7, Some(Quantity::Time), "")));
}
