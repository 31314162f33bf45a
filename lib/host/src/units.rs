//! Quantities: their units, the way people read them, and the one parser of times, sizes and numbers.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number and its noun.
///
/// ```
/// use host::units::counted;
/// assert_eq!([counted(1, "round"), counted(2, "process")], ["1 round", "2 processes"]);
/// ```
pub fn counted<N: fmt::Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = match noun {
        _ if count == N::from(1) => "",
        noun if noun.ends_with(['s', 'h']) => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// Kind of a quantity, which sets its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// In ns.
    Time,
    /// In bytes.
    Bytes,
    Rate,
    /// In bytes per second.
    Throughput,
    /// A number of things, or their mean.
    Count,
    /// In whole CPUs.
    Share,
}

impl Quantity {
    /// Name in JSON and CSV.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Time => "time",
            Quantity::Bytes => "bytes",
            Quantity::Rate => "rate",
            Quantity::Throughput => "throughput",
            Quantity::Count => "count",
            Quantity::Share => "share",
        }
    }

    /// Heading of a column that has no name of its own.
    pub fn noun(self) -> &'static str {
        match self {
            Quantity::Bytes => "memory",
            Quantity::Count => "number",
            Quantity::Share => "CPUs",
            other => other.name(),
        }
    }

    /// Size of the first unit, the names of all, and the factor from one to the next.
    fn units(self) -> (f64, &'static [&'static str], f64) {
        match self {
            Quantity::Time => (1.0, &["ns", "µs", "ms", "s"], 1e3),
            Quantity::Bytes => (1.0, &["B", "KiB", "MiB", "GiB", "TiB"], 1024.0),
            Quantity::Rate => (1.0, &["/s", "k/s", "M/s", "G/s"], 1e3),
            // One unit for all, so that rows can be compared at a glance.
            Quantity::Throughput => (1024.0 * 1024.0, &["MiB/s"], 1.0),
            Quantity::Share => (1.0, &["CPUs"], 1.0),
            Quantity::Count => (1.0, &[""], 1.0),
        }
    }

    /// Size and name of the unit that suits a figure. One that reaches this share of the next unit is shown in that:
    /// its digits would be rounded up to it.
    pub fn unit(self, figure: f64, share: f64) -> (f64, &'static str) {
        let (mut size, names, factor) = self.units();
        let mut unit = 0;
        while figure.abs() >= share * factor * size && unit + 1 < names.len() {
            size *= factor;
            unit += 1;
        }
        (size, names[unit])
    }

    /// The unit of a figure with four significant digits: 999.96 ns reads 1.000µs and not 1000ns.
    pub fn scale(self, figure: f64) -> (f64, &'static str) {
        self.unit(figure, if self == Quantity::Bytes { 1.0 } else { 0.99995 })
    }

    /// A figure with four significant digits, in the unit that suits its size.
    pub fn show(self, figure: f64) -> String {
        let number = self.like(figure, figure);
        match (self, self.scale(figure).1) {
            (Quantity::Time, unit) => number + unit,
            (_, "") => number,
            (_, unit) => format!("{number} {unit}"),
        }
    }

    /// Another figure in the unit and with the decimals that `model` is shown with, but without the
    /// unit's name: for the bounds of an interval.
    pub fn like(self, figure: f64, model: f64) -> String {
        let (size, _) = self.scale(model);
        let is_whole = match self {
            Quantity::Bytes => size == 1.0 && model.fract() == 0.0,
            Quantity::Count => reads_whole(model) && reads_whole(figure),
            _ => false,
        };
        let decimals = if is_whole { 0 } else { significant(model / size) };
        format!("{:.decimals$}", figure / size)
    }
}

/// Number of decimals that leave four significant digits.
pub fn significant(value: f64) -> usize {
    match value.abs() {
        a if a >= 999.95 => 0,
        a if a >= 99.995 => 1,
        a if a >= 9.9995 => 2,
        _ => 3,
    }
}

/// True if no digit of a count after the point would be shown but zeros.
fn reads_whole(count: f64) -> bool {
    (count - count.round()).abs() * 10f64.powi(significant(count) as i32) < 0.5
}

/// A time in whole nanoseconds. Displays in the largest unit that leaves a whole part, with four significant digits; reads
/// `50ns`, `50us`, `50µs`, `1.5ms`, `90s`, `2m`, `1h`, `1d`, and sums of them such as `1m30s`.
///
/// ```
/// use host::units::Span;
/// assert_eq!(Span(1_795_123).to_string(), "1.795ms");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl From<Span> for Duration {
    fn from(span: Span) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Quantity::Time.show(self.0 as f64))
    }
}

/// Units of time in ns. The micro sign and the Greek letter look alike.
const TIMES: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl Span {
    /// Reads a time of at most this length.
    ///
    /// # Errors
    /// It is no time, or longer.
    pub fn at_most(text: &str, longest: Span) -> Result<Self, String> {
        match text.parse()? {
            Span(ns) if ns > longest.0 => Err(format!("at most {longest} is possible")),
            span => Ok(span),
        }
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut rest, mut ns) = (text, None);
        while let Some(unit) = rest.find(char::is_alphabetic) {
            let next = rest[unit..].find(|c: char| c.is_ascii_digit());
            let (part, others) = rest.split_at(next.map_or(rest.len(), |next| unit + next));
            let sum = amount(part, &TIMES).and_then(|part| ns.unwrap_or(0_u128).checked_add(part));
            let Some(sum) = sum else { break };
            (rest, ns) = (others, Some(sum));
        }
        let ns = ns.filter(|_| rest.is_empty()).ok_or_else(|| {
            format!(
                "'{text}' is not a time in whole nanoseconds: write one such as 50us, 90s or 2m"
            )
        })?;
        let ns = u64::try_from(ns);
        ns.map(Span).map_err(|_| format!("'{text}' is too long: a time is at most 213503d"))
    }
}

/// A quantity of memory in bytes. Displays in binary units with four significant digits; reads
/// `65536`, `64k`, `64K`, `64KiB`, `1.5M`, `1MiB`, `2G`, `2GiB` (all units are powers of 1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Quantity::Bytes.show(self.0 as f64))
    }
}

/// Units of size in bytes, without regard to case.
const SIZES: [(&str, u64); 10] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1 << 40),
    ("tib", 1 << 40),
];

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = amount(&text.to_ascii_lowercase(), &SIZES).ok_or_else(|| {
            format!("'{text}' is not a size in whole bytes: write one such as 65536, 64KiB or 2G")
        })?;
        let bytes = u64::try_from(bytes);
        bytes
            .map(Bytes)
            .map_err(|_| format!("'{text}' is too large: a size is at most 16777215TiB"))
    }
}

/// A decimal number with its unit, in the unit of size 1; `None` if it is not whole in that.
pub fn amount(text: &str, units: &[(&str, u64)]) -> Option<u128> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (_, size) = units.iter().find(|(name, _)| *name == unit)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}").parse::<u128>().ok().filter(|_| !whole.is_empty())?;
    let parts = 10_u128.checked_pow(fraction.len() as u32)?;
    let product = digits.checked_mul(u128::from(*size))?;
    (product % parts == 0).then_some(product / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_any_unit_and_to_the_nanosecond() {
        let texts = [
            "1s",
            "1.5ms",
            "50us",
            "50µs",
            "50μs",
            "0.000000001s",
            "18446744073709551615ns",
            "1m30s",
        ];
        let spans = [1_000_000_000, 1_500_000, 50_000, 50_000, 50_000, 1, u64::MAX, 90_000_000_000];
        assert_eq!(texts.map(str::parse), spans.map(|ns| Ok(Span(ns))));
        for text in
            ["", "1", "s", ".5s", "-1s", "1.5ns", "1y", "1 s", "1.2.3s", "1m30", "99999999999s"]
        {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_read_and_print() {
        let texts = ["0", "65536", "64k", "1MiB", "2G", "12b", "1.5M"];
        let sizes = [0, 65_536, 65_536, 1 << 20, 2 << 30, 12, 3 << 19];
        assert_eq!(texts.map(str::parse), sizes.map(|bytes| Ok(Bytes(bytes))));
        for text in ["", "MiB", "-1", "0.3", "1Q", "99999999999T", "1 M"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        assert_eq!([512, 9_728].map(|b| Bytes(b).to_string()), ["512 B", "9.500 KiB"]);
        assert_eq!(Quantity::Bytes.show(371.5), "371.5 B");
    }

    #[test]
    fn bounds_are_shown_in_the_unit_of_their_estimate() {
        for (quantity, estimate, bound, shown, like) in [
            (Quantity::Time, 1_795.0, 950.0, "1.795µs", "0.950"),
            (Quantity::Time, 999.97, 0.0, "1.000µs", "0.000"),
            (Quantity::Time, -1_500.0, 12.5e3, "-1.500µs", "12.500"),
            (Quantity::Bytes, 9_728.0, 512.0, "9.500 KiB", "0.500"),
            (Quantity::Rate, 4.31e6, 999.0, "4.310 M/s", "0.001"),
            (Quantity::Rate, 999.96, 1.0, "1.000 k/s", "0.001"),
            (Quantity::Rate, 12.5, 1e3, "12.50 /s", "1000.00"),
            (Quantity::Rate, 2e9, 1e9, "2.000 G/s", "1.000"),
            (Quantity::Throughput, 1_048_576.0, 524_288.0, "1.000 MiB/s", "0.500"),
            (Quantity::Share, 1.84, 1.9, "1.840 CPUs", "1.900"),
            (Quantity::Count, 10_000.0, 9_999.0, "10000", "9999"),
            (Quantity::Count, 0.0, 0.0, "0", "0"),
            (Quantity::Count, 1.0, 0.996, "1", "0.996"),
            (Quantity::Count, 0.004, -0.001, "0.004", "-0.001"),
            // It would stand beside a bare 1 in its column.
            (Quantity::Count, 1.0004, 0.9996, "1", "1"),
            (Quantity::Count, 1.0006, 1.0, "1.001", "1.000"),
        ] {
            assert_eq!(quantity.show(estimate), shown);
            assert_eq!(quantity.like(bound, estimate), like);
        }
    }
}
