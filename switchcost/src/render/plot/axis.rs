//! Axes: where a value lies, and which values are named.

use record::Quantity;

/// One axis, in the unit of its values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) log: bool,
    low: f64,
    high: f64,
    /// The values that are named, in ascending order.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis for values that are compared. Past a decade it is logarithmic; otherwise it begins
    /// at zero, unless the values lie so close together that nothing would be seen of them.
    pub(super) fn spanning(
        values: impl Iterator<Item = f64>,
        quantity: Quantity,
        most: usize,
    ) -> Self {
        let finite: Vec<f64> = values.filter(|v| v.is_finite()).collect();
        let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
        let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if finite.is_empty() {
            return Axis::linear(0.0, 1.0, quantity, most);
        }
        let margin = (high - low).max(high.abs() * 1e-3) * 0.06;
        match low > 0.0 {
            true if high > 10.0 * low => Axis::logarithmic(low, high, quantity, most),
            true if high < 1.5 * low => Axis::linear(low - margin, high + margin, quantity, most),
            true => Axis::linear(0.0, high + margin, quantity, most),
            false => Axis::linear(low - margin, high.max(0.0) + margin, quantity, most),
        }
    }

    pub(super) fn linear(low: f64, high: f64, quantity: Quantity, most: usize) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let step = step_of(quantity, (high - low) / most.max(1) as f64, high.abs().max(low.abs()));
        let first = (low / step).ceil() as i64;
        let last = (high / step + 1e-9).floor() as i64;
        let ticks = (first..=last).map(|n| n as f64 * step);
        Axis { log: false, low, high, ticks: ticks.map(|v| (v, label(quantity, v))).collect() }
    }

    pub(super) fn logarithmic(low: f64, high: f64, quantity: Quantity, most: usize) -> Self {
        // Out to the next of the values that can be named.
        let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
        let all = |factors: &[f64]| -> Vec<f64> {
            let all = decades.clone();
            all.flat_map(|d| factors.iter().map(move |f| f * 10f64.powi(d))).collect()
        };
        let fine = all(&[1.0, 2.0, 5.0]);
        let low = fine.iter().copied().rfind(|v| *v <= low).unwrap_or(low);
        let high = fine.iter().copied().find(|v| *v >= high).unwrap_or(high);
        let within = |factors: &[f64]| -> Vec<f64> {
            let mut all = all(factors);
            all.retain(|v| (low..=high).contains(v));
            all
        };
        let choices: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let mut ticks = choices
            .into_iter()
            .map(within)
            .find(|ticks| ticks.len() <= most)
            .unwrap_or_else(|| within(&[1.0]));
        thin(&mut ticks, most);
        Axis {
            log: true,
            low,
            high,
            ticks: ticks.into_iter().map(|v| (v, label(quantity, v))).collect(),
        }
    }

    /// An axis for the values of a flag: logarithmic where it can be, and naming them.
    pub(super) fn swept(values: &[f64], most: usize) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if values.is_empty() || low <= 0.0 || high <= low {
            let (low, high) = if high > low { (low, high) } else { (0.0, 1.0) };
            return Axis::linear(low, high, Quantity::Count, most);
        }
        let margin = (high / low).powf(0.04);
        let mut ticks = values.to_vec();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        thin(&mut ticks, most);
        spread(&mut ticks, (high / low).ln() / (2.0 * most as f64));
        let ticks = ticks.into_iter().map(|v| (v, label(Quantity::Count, v)));
        Axis { log: true, low: low / margin, high: high * margin, ticks: ticks.collect() }
    }

    /// Where a value lies between two pixels.
    pub(super) fn place(&self, value: f64, from: i32, to: i32) -> i32 {
        let scale = |v: f64| {
            if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v }
        };
        let (low, high) = (scale(self.low), scale(self.high));
        let share = ((scale(value) - low) / (high - low)).clamp(-0.05, 1.05);
        from + (share * f64::from(to - from)).round() as i32
    }

    /// Addition to the axis's title.
    pub(super) fn remark(&self) -> &'static str {
        if self.log { ", log scale" } else { "" }
    }

    pub(super) fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// Keeps those that are so far from the one before, in logarithms, that their labels do not meet.
fn spread(ticks: &mut Vec<f64>, least: f64) {
    let mut last: Option<f64> = None;
    ticks.retain(|&tick| {
        let is_far = last.is_none_or(|last| (tick / last).ln() >= least);
        if is_far {
            last = Some(tick);
        }
        is_far
    });
}

/// Keeps every second, third or further value, so that no more than `most` are left.
fn thin(ticks: &mut Vec<f64>, most: usize) {
    let step = ticks.len().div_ceil(most.max(1)).max(1);
    let mut index = 0;
    ticks.retain(|_| {
        index += 1;
        (index - 1) % step == 0
    });
}

/// The next larger of the steps that people count in.
fn step_of(quantity: Quantity, least: f64, largest: f64) -> f64 {
    let unit = match quantity {
        Quantity::Bytes => 1024f64.powi((largest.max(1.0).ln() / 1024f64.ln()).floor() as i32),
        Quantity::Throughput => f64::from(1 << 20),
        Quantity::Time | Quantity::Rate | Quantity::Count | Quantity::Share => 1.0,
    };
    let least = (least / unit).max(1e-9);
    let decade = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|f| f * decade >= least * (1.0 - 1e-9))
        .unwrap_or(10.0);
    factor * decade * unit
}

/// A value with its unit and no digit more than it needs.
fn label(quantity: Quantity, value: f64) -> String {
    let text = match quantity {
        _ if value == 0.0 => return "0".to_owned(),
        Quantity::Count => return count(value),
        _ => spaced(&quantity.show(value)),
    };
    let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
    format!("{} {unit}", trimmed(number))
}

/// A number without the zeros that it does not need.
fn trimmed(number: &str) -> &str {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    }
}

/// A space between number and unit.
fn spaced(text: &str) -> String {
    match text.find(|c: char| c.is_alphabetic()) {
        Some(at) if !text.contains(' ') => format!("{} {}", &text[..at], &text[at..]),
        _ => text.to_owned(),
    }
}

/// A whole number in groups of three digits, as thin as they can be set.
fn count(value: f64) -> String {
    if value.fract() != 0.0 {
        return trimmed(&format!("{value:.6}")).to_owned();
    }
    let digits = format!("{value:.0}");
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits.as_str()),
    };
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 && digits.len() > 4 {
            text.push('\u{202F}');
        }
        text.push(digit);
    }
    format!("{sign}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn a_decade_decides_between_the_scales() {
        let near = Axis::spanning([120.0, 900.0].into_iter(), Quantity::Time, 5);
        assert!(!near.log);
        assert_eq!(labels(&near), ["0", "200 ns", "400 ns", "600 ns", "800 ns"]);
        let far = Axis::spanning([120.0, 3_600.0].into_iter(), Quantity::Time, 6);
        assert!(far.log);
        assert_eq!(labels(&far), ["100 ns", "200 ns", "500 ns", "1 µs", "2 µs", "5 µs"]);
        let close = Axis::spanning([100.0, 101.0].into_iter(), Quantity::Time, 4);
        assert!(!close.contains(0.0) && close.contains(100.5));
    }

    #[test]
    fn bytes_are_counted_in_their_own_units() {
        let axis = Axis::linear(0.0, 50.0 * 1024.0 * 1024.0, Quantity::Bytes, 5);
        assert_eq!(labels(&axis), ["0", "10 MiB", "20 MiB", "30 MiB", "40 MiB", "50 MiB"]);
    }

    #[test]
    fn a_sweep_names_its_values() {
        let axis = Axis::swept(&[1.0, 10.0, 100.0, 1e3, 1e4], 9);
        assert_eq!(labels(&axis), ["1", "10", "100", "1000", "10\u{202F}000"]);
        assert_eq!((axis.place(1.0, 0, 100), axis.place(100.0, 0, 100)), (4, 50));
        assert!(!Axis::swept(&[0.0, 8.0], 9).log);
        assert_eq!(labels(&Axis::swept(&[1.0, 2.0, 4.0, 8.0], 2)), ["1", "4"]);
    }

    #[test]
    fn no_values_and_one_value_have_an_axis() {
        for values in [vec![], vec![5.0], vec![0.0], vec![f64::NAN], vec![-3.0, 4.0]] {
            let axis = Axis::spanning(values.iter().copied(), Quantity::Time, 5);
            let at = axis.place(values.first().copied().unwrap_or(0.5), 0, 100);
            assert!((-5..=105).contains(&at), "{values:?}: {axis:?}");
        }
    }
}
