//! Numbers as people read them: every view and every sentence of the runner shows them by these.
//!
//! Tables show four significant digits ([`record::Quantity::show`]), the answer and its sentences two.

use host::units;
use record::Quantity;
use stats::{Estimate, Interval, MIN_ROUNDS};

/// Figure with two significant digits.
pub fn short(quantity: Quantity, figure: f64) -> String {
    short_like(quantity, figure, figure)
}

/// The same in the unit that suits `model`.
pub fn short_like(quantity: Quantity, figure: f64, model: f64) -> String {
    let digits = digits_like(quantity, figure, model);
    match (quantity, unit(quantity, model).1) {
        (Quantity::Throughput, unit) => format!("{digits} {unit}/s"),
        (_, "") => digits,
        (_, unit) => format!("{digits} {unit}"),
    }
}

/// The same without the unit.
pub(crate) fn digits_like(quantity: Quantity, figure: f64, model: f64) -> String {
    number(figure / unit(quantity, model).0)
}

/// Size and name of the unit that suits a figure; what would be rounded up to the next unit is shown in it.
fn unit(quantity: Quantity, figure: f64) -> (f64, &'static str) {
    match quantity {
        Quantity::Throughput | Quantity::Bytes => Quantity::Bytes.unit(figure, 0.995),
        Quantity::Time => Quantity::Time.unit(figure, 0.995),
        _ => (1.0, ""),
    }
}

/// A share in per cent, with two significant digits.
pub fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// Number with two significant digits, and all digits before its point.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        let sign = if value < 0.0 { "-" } else { "" };
        return if value.is_nan() { "unknown".to_owned() } else { format!("{sign}∞") };
    }
    let digits = value.abs().log10().floor() as i32;
    let unit = 10f64.powi(digits - 1);
    let rounded = (value / unit).round() * unit;
    let decimals = (1 - rounded.abs().log10().floor() as i32).clamp(0, 9) as usize;
    format!("{rounded:.decimals$}")
}

/// A range, or one figure if both ends look alike; a unit that both have stands once.
pub fn range(ends: [f64; 2], show: impl Fn(f64) -> String) -> String {
    let [low, high] = ends.map(show);
    if low == high { low } else { pair(&low, " to ", &high) }
}

/// Two figures with something between; a unit that both have stands once.
pub fn pair(first: &str, between: &str, second: &str) -> String {
    let first = match [first, second].map(|figure| figure.split_once(' ')) {
        [Some((number, unit)), Some((_, second_unit))] if unit == second_unit => number,
        _ => first,
    };
    format!("{first}{between}{second}")
}

/// A number with commas between its thousands.
pub fn thousands(number: &str) -> String {
    let digits = number.find('.').unwrap_or(number.len());
    let mut text = String::new();
    for (place, digit) in number.chars().enumerate() {
        let is_inside = text.ends_with(|c: char| c.is_ascii_digit());
        if is_inside && place < digits && (digits - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A text with a capital at its beginning.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// An estimate with its interval, or the reason why it has none.
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

/// A ratio with its interval, such as `2.5x [2.2, 2.8]`.
pub fn factor(ratio: &Estimate) -> String {
    let decimals = units::significant(ratio.value).saturating_sub(1);
    let bounds = ratio
        .interval
        .map(|interval| format!(" {}", bracketed(&interval, |end| format!("{end:.decimals$}"))));
    format!("{:.decimals$}x{}", ratio.value, bounds.unwrap_or_default())
}

/// The ends of an interval.
pub fn bracketed(interval: &Interval, show: impl Fn(f64) -> String) -> String {
    format!("[{}, {}]", show(interval.low), show(interval.high))
}

/// Ratio from which an end of an interval says nothing: 10,000 % more.
pub(crate) const UNBOUNDED: f64 = 101.0;

/// A ratio as a change in per cent, without the sign.
fn change_in_percent(ratio: f64) -> String {
    let text = format!("{:+.1}", (ratio - 1.0) * 100.0);
    match text.as_str() {
        "+0.0" | "-0.0" => "0.0".to_owned(),
        _ => text,
    }
}

/// A ratio as a change in per cent, with its interval.
pub fn change(ratio: &Estimate) -> String {
    let bounds = ratio.interval.map(|bounds| {
        // Unless the other end is as large.
        let is_closed = bounds.low >= UNBOUNDED;
        let text = bracketed(&bounds, |end| match end >= UNBOUNDED && !is_closed {
            true => "∞".to_owned(),
            false => change_in_percent(end),
        });
        format!(" {text}")
    });
    format!("{} %{}", change_in_percent(ratio.value), bounds.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_significant() {
        for (value, text) in [
            (0.0, "0"),
            (0.123, "0.12"),
            (9.96, "10"),
            (2_849.0, "2800"),
            (f64::NEG_INFINITY, "-∞"),
            (f64::NAN, "unknown"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(short(Quantity::Time, 999.9), "1.0 µs");
        assert_eq!(short(Quantity::Bytes, 43_224.0), "42 KiB");
        assert_eq!(short(Quantity::Bytes, 395.0), "400 B");
        assert_eq!(percent(0.0034), "0.34 %");
        for (low, text) in [
            (-1.0, "4.500 B [-1.000, 9.000], not distinguishable"),
            (1.0, "4.500 B [1.000, 9.000]"),
        ] {
            let interval = Interval { estimate: 4.5, low, high: 9.0, n: 8, confidence: 0.99 };
            assert_eq!(net(Quantity::Bytes, &interval.into()), text);
        }
        assert_eq!([1.0517, 0.9999, 0.95].map(change_in_percent), ["+5.2", "0.0", "-5.0"]);
        for (ends, text) in [
            ([0.126, 3e6], "+350.0 % [-87.4, ∞]"),
            ([102.0, 300.0], "+350.0 % [+10100.0, +29900.0]"),
        ] {
            let interval =
                Interval { estimate: 4.5, low: ends[0], high: ends[1], n: 8, confidence: 0.99 };
            assert_eq!(change(&interval.into()), text);
        }
    }
}
