//! Axes: the place of a value, and the values that have labels.

use facts::Quantity;

/// One axis, in the unit of its values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    log: bool,
    low: f64,
    high: f64,
    /// The values with labels, in ascending order.
    pub(super) ticks: Vec<(f64, String)>,
}

/// Labels that a telephone has room for side by side.
const MOST: usize = 6;

impl Axis {
    /// An axis for values to compare: logarithmic past a decade, otherwise from zero, and from the
    /// least value where all lie close together.
    pub(super) fn spanning(values: impl Iterator<Item = f64>, quantity: Quantity) -> Self {
        let (low, high) = extremes(values);
        let margin = (high - low).max(high.abs() * 1e-3) * 0.06;
        match low > 0.0 {
            true if high > 10.0 * low => Axis::logarithmic(low, high, quantity),
            true if high < 1.5 * low => Axis::linear(low - margin, high + margin, quantity),
            true => Axis::linear(0.0, high + margin, quantity),
            false => Axis::linear(low - margin, high.max(0.0) + margin, quantity),
        }
    }

    pub(super) fn linear(low: f64, high: f64, quantity: Quantity) -> Self {
        let high = if high > low { high } else { low + 1.0 };
        let unit = match quantity {
            Quantity::Bytes => 1024f64.powf(high.abs().max(1.0).log(1024.0).floor()),
            Quantity::Throughput => f64::from(1 << 20),
            _ => 1.0,
        };
        let least = ((high - low) / MOST as f64 / unit).max(1e-9);
        let decade = 10f64.powf(least.log10().floor());
        let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * decade >= least * (1.0 - 1e-9));
        let step = factor.unwrap_or(10.0) * decade * unit;
        let (first, last) = ((low / step).ceil() as i64, (high / step + 1e-9).floor() as i64);
        let ticks = (first..=last).map(|n| n as f64 * step);
        Axis { log: false, low, high, ticks: labelled(ticks, |v| label(quantity, v)) }
    }

    pub(super) fn logarithmic(low: f64, high: f64, quantity: Quantity) -> Self {
        let powers = |base: f64, factors: &[f64]| -> Vec<f64> {
            let range = low.log(base).floor() as i32..=high.log(base).ceil() as i32;
            range.flat_map(|n| factors.iter().map(move |f| f * base.powi(n))).collect()
        };
        let choices = match quantity {
            Quantity::Bytes => [2.0, 4.0, 32.0, 1024.0].map(|base| powers(base, &[1.0])),
            _ => [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0], &[1.0]].map(|f| powers(10.0, f)),
        };
        // Out to the next of the values that can have a label.
        let from = choices[0].iter().copied().rfind(|v| *v <= low).unwrap_or(low);
        let to = choices[0].iter().copied().find(|v| *v >= high).unwrap_or(high);
        let within = choices.map(|mut ticks| {
            ticks.retain(|v| (from..=to).contains(v));
            ticks
        });
        let mut ticks =
            within.iter().find(|ticks| ticks.len() <= MOST).unwrap_or(&within[3]).clone();
        thin(&mut ticks);
        let ticks = labelled(ticks.into_iter(), |v| label(quantity, v));
        Axis { log: true, low: from, high: to, ticks }
    }

    /// An axis of ratios: logarithmic, with 1 on it.
    pub(super) fn ratios(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = extremes(values.filter(|v| *v > 0.0).chain([1.0]));
        let mut axis = match high < 1.5 * low {
            true => Axis::linear(low - 0.05, high + 0.05, Quantity::Count),
            false => Axis::logarithmic(low, high, Quantity::Count),
        };
        axis.ticks.iter_mut().for_each(|(_, label)| *label += "x");
        axis
    }

    /// An axis for the values of a flag, which have the labels: logarithmic where it can be. A 0 is at
    /// its left end, as far from the next value as that is from the one after it.
    pub(super) fn swept(values: impl Iterator<Item = f64>) -> Self {
        let mut ticks: Vec<f64> = values.collect();
        let (least, high) = extremes(ticks.iter().copied());
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let low = match ticks[..] {
            [0.0, first, second, ..] => first * first / second,
            _ => least,
        };
        if low <= 0.0 || high <= low {
            return Axis::linear(low.min(0.0), high, Quantity::Count);
        }
        thin(&mut ticks);
        let margin = (high / low).powf(0.04);
        let from = if least == 0.0 { low } else { low / margin };
        let ticks = labelled(ticks.into_iter(), |v| label(Quantity::Count, v));
        Axis { log: true, low: from, high: high * margin, ticks }
    }

    /// The place of a value, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        let scale = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let (low, high) = (scale(self.low), scale(self.high));
        ((scale(value) - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Addition to the axis's title.
    pub(super) fn remark(&self) -> &'static str {
        if self.log { ", log scale" } else { "" }
    }
}

/// The least and the greatest finite value; 0 and 1 where there is none.
fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|v| v.is_finite());
    finite
        .fold(None, |all: Option<(f64, f64)>, v| {
            let (low, high) = all.unwrap_or((v, v));
            Some((low.min(v), high.max(v)))
        })
        .unwrap_or((0.0, 1.0))
}

/// Keeps every second, third or further value, so that there is room for the rest.
fn thin(ticks: &mut Vec<f64>) {
    let step = ticks.len().div_ceil(MOST).max(1);
    *ticks = ticks.iter().copied().step_by(step).collect();
}

fn labelled(ticks: impl Iterator<Item = f64>, label: impl Fn(f64) -> String) -> Vec<(f64, String)> {
    ticks.map(|v| (v, label(v))).collect()
}

/// A value with its unit and no digit more than it needs.
fn label(quantity: Quantity, value: f64) -> String {
    let text = match quantity {
        _ if value == 0.0 => return "0".to_owned(),
        Quantity::Count => format!("{:.6}", value),
        _ => quantity.show(value),
    };
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number} {}", unit.trim_start()).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn a_decade_decides_between_the_scales() {
        let near = Axis::spanning([120.0, 900.0].into_iter(), Quantity::Time);
        assert!(!near.log);
        assert_eq!(labels(&near), ["0", "200 ns", "400 ns", "600 ns", "800 ns"]);
        let far = Axis::spanning([120.0, 3_600.0].into_iter(), Quantity::Time);
        assert!(far.log);
        assert_eq!(labels(&far), ["100 ns", "200 ns", "500 ns", "1 µs", "2 µs", "5 µs"]);
        let close = Axis::spanning([100.0, 101.0].into_iter(), Quantity::Time);
        assert!(close.low > 99.0 && (0.4..0.6).contains(&close.place(100.5)));
    }

    #[test]
    fn bytes_are_counted_in_their_own_units() {
        let axis = Axis::linear(0.0, 50.0 * 1024.0 * 1024.0, Quantity::Bytes);
        assert_eq!(labels(&axis), ["0", "10 MiB", "20 MiB", "30 MiB", "40 MiB", "50 MiB"]);
        let axis = Axis::logarithmic(300.0, 40_000.0, Quantity::Bytes);
        assert_eq!(labels(&axis), ["256 B", "1 KiB", "4 KiB", "16 KiB", "64 KiB"]);
    }

    #[test]
    fn ratios_have_one_on_their_axis() {
        let axis = Axis::ratios([3.0, 90.0].into_iter());
        assert_eq!(labels(&axis), ["1x", "3x", "10x", "30x", "100x"]);
        assert_eq!(axis.place(1.0), 0.0);
        assert!(Axis::ratios([1.01].into_iter()).low <= 1.0);
    }

    #[test]
    fn a_sweep_has_its_values_as_labels() {
        let axis = Axis::swept([1.0, 10.0, 100.0, 1e3, 1e4].into_iter());
        assert_eq!(labels(&axis), ["1", "10", "100", "1000", "10000"]);
        assert!((axis.place(100.0) - 0.5).abs() < 1e-9);
        assert!(!Axis::swept([0.0, 8.0].into_iter()).log);
        let from_zero = Axis::swept([0.0, 10.0, 100.0, 1000.0].into_iter());
        assert_eq!(labels(&from_zero), ["0", "10", "100", "1000"]);
        let [zero, ten, hundred] = [0.0, 10.0, 100.0].map(|x| from_zero.place(x));
        assert!(zero == 0.0 && (hundred - 2.0 * ten).abs() < 1e-9);
        let many = Axis::swept((0..8).map(|n| f64::from(1 << n)));
        assert_eq!(labels(&many), ["1", "4", "16", "64"]);
    }

    #[test]
    fn no_values_and_one_value_have_an_axis() {
        for values in [vec![], vec![5.0], vec![0.0], vec![f64::NAN], vec![-3.0, 4.0]] {
            for axis in [
                Axis::spanning(values.iter().copied(), Quantity::Time),
                Axis::ratios(values.iter().copied()),
            ] {
                let at = axis.place(values.first().copied().unwrap_or(0.5));
                assert!(at.is_nan() || (0.0..=1.0).contains(&at), "{values:?}: {axis:?}");
                assert!(axis.ticks.len() < 20, "{axis:?}");
            }
        }
    }
}
