//! Numbers as people read them: every view and every sentence of the runner shows them by these.
//!
//! Tables show four significant digits ([`record::Quantity::show`]), the answer and its sentences two.

use std::fmt;

use contract::units;
use record::Quantity;
use stats::{Estimate, Interval, MIN_ROUNDS};

/// Digits of a figure, and its unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The number, without its unit.
    pub number: String,
    /// Empty if it has none.
    pub unit: String,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.number)?;
        if self.unit.is_empty() { Ok(()) } else { write!(f, " {}", self.unit) }
    }
}

impl From<String> for Shown {
    /// A number without a unit.
    fn from(number: String) -> Self {
        Shown { number, unit: String::new() }
    }
}

/// Figure with two significant digits.
pub fn short(quantity: Quantity, figure: f64) -> String {
    shown(quantity, figure).to_string()
}

/// The same, its unit apart.
pub fn shown(quantity: Quantity, figure: f64) -> Shown {
    shown_like(quantity, figure, figure)
}

/// Figure with two significant digits, in the unit that suits `model`.
pub fn shown_like(quantity: Quantity, figure: f64, model: f64) -> Shown {
    let scaled = match quantity {
        Quantity::Throughput => Quantity::Bytes,
        Quantity::Time | Quantity::Bytes => quantity,
        _ => return number(figure).into(),
    };
    // What would be rounded up to the next unit is shown in it.
    let (size, unit) = scaled.unit(model, 0.995);
    let unit = if scaled == quantity { unit.to_owned() } else { format!("{unit}/s") };
    Shown { number: number(figure / size), unit }
}

/// A share in per cent, with two significant digits.
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
pub fn range<S: Into<Shown>>(ends: [f64; 2], show: impl Fn(f64) -> S) -> String {
    let [low, high] = ends.map(|end| show(end).into());
    if low == high { low.to_string() } else { pair(&low, "to", &high) }
}

/// Two figures with a word between; a unit that both have stands once.
pub(crate) fn pair(one: &Shown, word: &str, other: &Shown) -> String {
    if one.unit == other.unit {
        format!("{} {word} {other}", one.number)
    } else {
        format!("{one} {word} {other}")
    }
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
    let number = |v: f64| format!("{v:.decimals$}");
    let bounds = ratio.interval.map(|interval| format!(" {}", bracketed(&interval, number)));
    format!("{}x{}", number(ratio.value), bounds.unwrap_or_default())
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
        let is_open = |end: f64| end >= UNBOUNDED && bounds.low < UNBOUNDED;
        let show = |end| if is_open(end) { "∞".to_owned() } else { change_in_percent(end) };
        format!(" {}", bracketed(&bounds, show))
    });
    format!("{} %{}", change_in_percent(ratio.value), bounds.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_significant() {
        for (value, text) in [(0.0, "0"), (0.123, "0.12"), (9.96, "10"), (2_849.0, "2800")] {
            assert_eq!(number(value), text);
        }
        assert_eq!(short(Quantity::Time, 999.9), "1.0 µs");
        assert_eq!(short(Quantity::Bytes, 43_224.0), "42 KiB");
        assert_eq!(short(Quantity::Bytes, 395.0), "400 B");
        assert_eq!(percent(0.0034), "0.34 %");
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
