//! Axes: the place of a value, and the values that have labels.

use figures::number::thousands;
use record::Quantity;

/// One axis, in the unit of its values.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    is_log: bool,
    /// The values at both ends.
    pub(super) low: f64,
    pub(super) high: f64,
    /// Values with labels, in ascending order.
    pub(super) ticks: Vec<(f64, String)>,
}

/// Labels that a telephone has room for side by side.
const MOST: usize = 6;

impl Axis {
    /// An axis for values to compare: logarithmic past a decade, otherwise from zero, and from the
    /// least value if all lie close together.
    pub(super) fn spanning(values: impl Iterator<Item = f64>, quantity: Quantity) -> Self {
        let [low, high] = extremes(values);
        let margin = (high - low).max(high.abs() * 1e-3) * 0.06;
        if low <= 0.0 {
            Axis::linear(low - margin, high.max(0.0) + margin, quantity)
        } else if high > 10.0 * low {
            Axis::logarithmic(low, high, quantity)
        } else if high < 1.5 * low {
            Axis::linear(low - margin, high + margin, quantity)
        } else {
            Axis::linear(0.0, high + margin, quantity)
        }
    }

    fn linear(low: f64, high: f64, quantity: Quantity) -> Self {
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
        Axis { is_log: false, low, high, ticks: labelled(ticks, quantity) }
    }

    /// An axis that ends at values with labels, with as many labels as fit.
    fn logarithmic(low: f64, high: f64, quantity: Quantity) -> Self {
        let choices: &[(f64, &[f64])] = match quantity {
            Quantity::Bytes => &[(2.0, &[1.0]), (4.0, &[1.0]), (32.0, &[1.0]), (1024.0, &[1.0])],
            _ => &[(10.0, &[1.0, 2.0, 5.0]), (10.0, &[1.0, 3.0]), (10.0, &[1.0])],
        };
        let mut choices = choices.iter().map(|(base, factors)| -> Vec<f64> {
            let range = low.log(*base).floor() as i32..=high.log(*base).ceil() as i32;
            range.flat_map(|n| factors.iter().map(move |f| f * base.powi(n))).collect()
        });
        let mut ticks = choices.next().unwrap_or_default();
        let from = ticks.iter().copied().rfind(|v| *v <= low).unwrap_or(low);
        let to = ticks.iter().copied().find(|v| *v >= high).unwrap_or(high);
        ticks.retain(|v| (from..=to).contains(v));
        while ticks.len() > MOST
            && let Some(fewer) = choices.next()
        {
            ticks = fewer;
            ticks.retain(|v| (from..=to).contains(v));
        }
        Axis { is_log: true, low: from, high: to, ticks: labelled(thinned(ticks), quantity) }
    }

    /// An axis of ratios: logarithmic, with 1 on it.
    pub(super) fn ratios(values: impl Iterator<Item = f64>) -> Self {
        let [low, high] = extremes(values.filter(|v| *v > 0.0).chain([1.0]));
        let mut axis = if high < 1.5 * low {
            Axis::linear(low - 0.05, high + 0.05, Quantity::Count)
        } else {
            Axis::logarithmic(low, high, Quantity::Count)
        };
        axis.ticks.iter_mut().for_each(|(_, label)| *label += "x");
        axis
    }

    /// An axis for the values of a flag, which have the labels: logarithmic if it can be. A 0 is at
    /// its left end, as far from the next value as that is from the one after it.
    pub(super) fn swept(values: impl Iterator<Item = f64>) -> Self {
        let mut ticks: Vec<f64> = values.collect();
        let [least, high] = extremes(ticks.iter().copied());
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let low = match ticks[..] {
            [0.0, first, second, ..] => first * first / second,
            _ => least,
        };
        if low <= 0.0 || high <= low {
            return Axis::linear(low.min(0.0), high, Quantity::Count);
        }
        let margin = (high / low).powf(0.04);
        let from = if least == 0.0 { low } else { low / margin };
        let ticks = labelled(thinned(ticks), Quantity::Count);
        Axis { is_log: true, low: from, high: high * margin, ticks }
    }

    /// The place of a value, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        let [value, low, high] = [value, self.low, self.high].map(|end| match self.is_log {
            true => end.max(f64::MIN_POSITIVE).ln(),
            false => end,
        });
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Addition to the axis's title.
    pub(super) fn remark(&self) -> &'static str {
        if self.is_log { ", log scale" } else { "" }
    }
}

/// The least and the greatest value; 0 and 1 if there is none.
pub(super) fn extremes(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let range = values.map(|v| [v; 2]).reduce(|[low, high], [v, _]| [low.min(v), high.max(v)]);
    range.unwrap_or([0.0, 1.0])
}

/// Every second, third or further value, so that there is room for the rest.
fn thinned(ticks: Vec<f64>) -> impl Iterator<Item = f64> {
    let step = ticks.len().div_ceil(MOST).max(1);
    ticks.into_iter().step_by(step)
}

/// Values, each with its unit and no digit more than it needs.
fn labelled(ticks: impl Iterator<Item = f64>, quantity: Quantity) -> Vec<(f64, String)> {
    ticks.map(|value| (value, label(quantity, value))).collect()
}

fn label(quantity: Quantity, value: f64) -> String {
    let digits = match quantity {
        _ if value == 0.0 => return "0".to_owned(),
        Quantity::Count => format!("{value:.6}"),
        _ => quantity.like(value, value),
    };
    let number = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        digits
    };
    let (_, unit) = quantity.scale(value);
    format!("{} {unit}", thousands(&number)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_fit_the_range_and_the_unit() {
        use Quantity::{Bytes, Time};
        const MIB: f64 = 1048576.0;
        for (axis, labels) in [
            (Axis::spanning([120.0, 900.0].into_iter(), Time), "0|200 ns|400 ns|600 ns|800 ns"),
            (
                Axis::spanning([120.0, 3_600.0].into_iter(), Time),
                "100 ns|200 ns|500 ns|1 µs|2 µs|5 µs",
            ),
            (Axis::spanning([0.0].into_iter(), Time), "0|0.2 ns|0.4 ns|0.6 ns|0.8 ns|1 ns"),
            (Axis::linear(0.0, 50.0 * MIB, Bytes), "0|10 MiB|20 MiB|30 MiB|40 MiB|50 MiB"),
            (Axis::logarithmic(300.0, 40_000.0, Bytes), "256 B|1 KiB|4 KiB|16 KiB|64 KiB"),
            (Axis::linear(0.0, 2.5e6, Quantity::Rate), "0|500 k/s|1 M/s|1.5 M/s|2 M/s|2.5 M/s"),
            (
                Axis::linear(0.0, 1.2, Quantity::Share),
                "0|0.2 CPUs|0.4 CPUs|0.6 CPUs|0.8 CPUs|1 CPUs|1.2 CPUs",
            ),
            (Axis::ratios([3.0, 90.0].into_iter()), "1x|3x|10x|30x|100x"),
            (Axis::ratios([1.01].into_iter()), "0.96x|0.98x|1x|1.02x|1.04x|1.06x"),
            (Axis::swept([1.0, 100.0, 1e4, 10.0].into_iter()), "1|10|100|10,000"),
            (Axis::swept([0.0, 8.0].into_iter()), "0|2|4|6|8"),
            (Axis::swept([0.0, 10.0, 100.0].into_iter()), "0|10|100"),
            (Axis::swept((0..8).map(|n| f64::from(1 << n))), "1|4|16|64"),
        ] {
            let found: Vec<&str> = axis.ticks.iter().map(|(_, label)| label.as_str()).collect();
            assert_eq!(found.join("|"), labels);
        }
    }
}
