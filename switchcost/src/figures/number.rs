//! Numbers as people read them: every view and every sentence of the runner shows them by these.
//!
//! Tables show four significant digits ([`facts::Quantity::show`]), the answer and its sentences two.

use contract::units;
use facts::Quantity;
use stats::{Estimate, Interval, MIN_ROUNDS};

/// Figure with two significant digits.
pub fn short(quantity: Quantity, figure: f64) -> String {
    let (step, units): (f64, &[&str]) = match quantity {
        Quantity::Time => (1000.0, &["ns", "µs", "ms", "s"]),
        Quantity::Bytes => (1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
        _ => return number(figure),
    };
    let mut scaled = figure;
    let mut unit = 0;
    // What would be rounded up to the next unit is shown in it.
    while scaled.abs() >= step * 0.9995 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    format!("{} {}", number(scaled), units[unit])
}

/// Share in per cent with two significant digits.
pub fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// Number with two significant digits, and all digits before its point.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let digits = value.abs().log10().floor() as i32;
    let unit = 10f64.powi(digits - 1);
    let rounded = (value / unit).round() * unit;
    let decimals = (1 - rounded.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{rounded:.decimals$}")
}

/// A range, or one figure if both ends look alike; a unit that both have stands once.
pub(crate) fn range([low, high]: [f64; 2], show: impl Fn(f64) -> String) -> String {
    match (show(low), show(high)) {
        (low, high) if low == high => low,
        (low, high) => match (low.split_once(' '), high.split_once(' ')) {
            (Some((number, unit)), Some((_, other))) if unit == other => {
                format!("{number} to {high}")
            }
            _ => format!("{low} to {high}"),
        },
    }
}

/// Text with a capital letter first.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// An estimate with its interval.
pub fn value(quantity: Quantity, estimate: &Estimate) -> String {
    let value = quantity.show(estimate.value);
    match &estimate.interval {
        Some(interval) => {
            let bounds = bracketed(interval, |bound| quantity.like(bound, estimate.value));
            format!("{value} {bounds}")
        }
        None => format!("{value} (n = {}, no interval under {MIN_ROUNDS})", estimate.n),
    }
}

/// A difference: nothing is clamped, and one that may be nothing says so.
pub fn net(quantity: Quantity, estimate: &Estimate) -> String {
    let difference = value(quantity, estimate);
    match &estimate.interval {
        Some(interval) if interval.contains(0.0) => format!("{difference}, not distinguishable"),
        _ => difference,
    }
}

/// A ratio with its interval.
pub fn factor(estimate: &Estimate) -> String {
    factor_in(estimate.value, estimate.interval.as_ref())
}

/// A ratio with an interval that was made elsewhere.
pub fn factor_in(value: f64, interval: Option<&Interval>) -> String {
    let decimals = units::significant(value).saturating_sub(1);
    let number = |v: f64| format!("{v:.decimals$}");
    match interval {
        Some(interval) => format!("{}x {}", number(value), bracketed(interval, number)),
        None => format!("{}x", number(value)),
    }
}

/// The bounds of an interval.
pub fn bracketed(interval: &Interval, show: impl Fn(f64) -> String) -> String {
    format!("[{}, {}]", show(interval.low), show(interval.high))
}

/// A ratio as a change in per cent, without the sign.
pub fn change_in_percent(ratio: f64) -> String {
    let text = format!("{:+.1}", (ratio - 1.0) * 100.0);
    match text.as_str() {
        "+0.0" | "-0.0" => "0.0".to_owned(),
        _ => text,
    }
}

/// A ratio as a change in per cent, with its interval.
pub fn change(ratio: &Estimate) -> String {
    match &ratio.interval {
        Some(interval) => format!(
            "{} % {}",
            change_in_percent(ratio.value),
            bracketed(interval, change_in_percent)
        ),
        None => format!("{} %", change_in_percent(ratio.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_significant() {
        for (value, text) in [
            (0.0, "0"),
            (0.123, "0.12"),
            (1.26, "1.3"),
            (9.96, "10"),
            (12.6, "13"),
            (126.0, "130"),
            (2_849.0, "2800"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(short(Quantity::Time, 999.9), "1.0 µs");
        assert_eq!(short(Quantity::Time, 126.3), "130 ns");
        assert_eq!(short(Quantity::Bytes, 43_224.0), "42 KiB");
        assert_eq!(short(Quantity::Bytes, 395.0), "400 B");
        assert_eq!(percent(0.0034), "0.34 %");
    }
}
