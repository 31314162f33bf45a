//! Quantities as types, with the way people read them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number and its noun.
///
/// ```
/// use contract::units::counted;
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

/// A mean time in nanoseconds. Displays in the largest unit that leaves a whole part, with four significant
/// figures or as many decimals as a precision asks for.
///
/// ```
/// use contract::units::Nanos;
/// assert_eq!(Nanos(1_795_123.0).to_string(), "1.795ms");
/// assert_eq!(format!("{:.3}", Nanos(82_016.4)), "82.016µs");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub f64);

impl Nanos {
    /// The unit that suits its size, in ns, and its name.
    pub fn unit(self) -> (f64, &'static str) {
        // Half of the last digit below the next unit: 999.96 ns reads 1.000µs and not 1000ns.
        match self.0.abs() {
            a if a < 999.95 => (1.0, "ns"),
            a if a < 999.95e3 => (1e3, "µs"),
            a if a < 999.95e6 => (1e6, "ms"),
            _ => (1e9, "s"),
        }
    }

    /// Another time in the unit and with the decimals of this one, without the unit's name: for the bounds of
    /// an interval.
    pub fn like(self, other: f64) -> String {
        let (size, _) = self.unit();
        format!("{:.*}", significant(self.0 / size), other / size)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, unit) = self.unit();
        let value = self.0 / size;
        let decimals = f.precision().unwrap_or_else(|| significant(value));
        let text = format!("{value:.decimals$}{unit}");
        write!(f, "{text:>width$}", width = f.width().unwrap_or(0))
    }
}

/// A time as a flag's value, in whole nanoseconds. Displays as [`Nanos`]; reads `50ns`, `50us`, `50µs`,
/// `1.5ms`, `1s`.
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
        Nanos(self.0 as f64).fmt(f)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim_end_matches(char::is_alphabetic);
        let decimals = match &text[digits.len()..] {
            "ns" => 0,
            // The micro sign and the Greek letter look alike.
            "us" | "\u{b5}s" | "\u{3bc}s" => 3,
            "ms" => 6,
            "s" => 9,
            _ => return Err(format!("'{text}' is not a time: write one such as 50us, 10ms or 1s")),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
            return Err(format!("'{digits}' is not a number from 0 up"));
        }
        if fraction.len() > decimals {
            return Err(format!("'{text}' is not a whole number of nanoseconds"));
        }
        // Filled up with zeros, the digits are the number of nanoseconds.
        let ns = format!("{whole}{fraction:0<decimals$}").parse();
        ns.map(Span).map_err(|_| format!("'{text}' is more than 2^64 ns"))
    }
}

/// A quantity of memory in bytes. Displays in binary units with four significant figures; reads
/// `65536`, `64k`, `64K`, `64KiB`, `1M`, `1MiB`, `2G`, `2GiB` (all units are powers of 1024).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// The binary units from the smallest up, each 1024 times the one before.
const BYTE_UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>width$}", bytes(self.0 as f64), width = f.width().unwrap_or(0))
    }
}

/// Bytes with a fraction, such as a mean per task, as people read them.
pub fn bytes(value: f64) -> String {
    let (_, unit) = byte_unit(value);
    format!("{} {unit}", bytes_like(value, value))
}

/// Bytes in the unit and with the decimals of `model`, without the unit's name: for the bounds of an interval.
pub fn bytes_like(value: f64, model: f64) -> String {
    let (size, _) = byte_unit(model);
    let is_whole = size == 1.0 && model.fract() == 0.0;
    let decimals = if is_whole { 0 } else { significant(model / size) };
    format!("{:.decimals$}", value / size)
}

/// The unit that suits a number of bytes, in bytes, and its name.
pub fn byte_unit(value: f64) -> (f64, &'static str) {
    let mut size = 1.0;
    let mut unit = 0;
    while value.abs() >= 1024.0 * size && unit + 1 < BYTE_UNITS.len() {
        size *= 1024.0;
        unit += 1;
    }
    (size, BYTE_UNITS[unit])
}

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let shift = match text[digits.len()..].to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kib" => 10,
            "m" | "mib" => 20,
            "g" | "gib" => 30,
            "t" | "tib" => 40,
            unit => return Err(format!("unknown unit '{unit}': write bytes, or KiB, MiB, GiB")),
        };
        let count = digits.parse::<u64>();
        let count = count.map_err(|_| format!("'{digits}' is not a whole number of bytes"))?;
        let bytes = count.checked_mul(1 << shift);
        bytes.map(Bytes).ok_or_else(|| format!("'{text}' is more than 2^64 bytes"))
    }
}

/// Number of decimals that leave four significant figures.
pub fn significant(value: f64) -> usize {
    match value.abs() {
        a if a >= 999.95 => 0,
        a if a >= 99.995 => 1,
        a if a >= 9.9995 => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_in_any_unit_and_to_the_nanosecond() {
        let texts =
            ["1s", "1.5ms", "50us", "50µs", "50μs", "0.000000001s", "18446744073709551615ns"];
        let spans = [1_000_000_000, 1_500_000, 50_000, 50_000, 50_000, 1, u64::MAX];
        assert_eq!(texts.map(str::parse), spans.map(|ns| Ok(Span(ns))));
        for text in ["", "1", "s", ".5s", "-1s", "1.5ns", "1m", "1 s", "1.2.3s", "99999999999s"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn times_print_in_the_unit_that_suits_them() {
        for (ns, text) in [
            (0.0, "0.000ns"),
            (112.34, "112.3ns"),
            (999.97, "1.000µs"),
            (82_016.0, "82.02µs"),
            (1.5e6, "1.500ms"),
            (12.5e9, "12.50s"),
            (-1_500.0, "-1.500µs"),
        ] {
            assert_eq!(Nanos(ns).to_string(), text);
        }
        assert_eq!(format!("{:>9}", Nanos(1_795.0)), "  1.795µs");
        assert_eq!(Nanos(1_795.0).like(950.0), "0.950");
    }

    #[test]
    fn bytes_read_and_print() {
        let texts = ["0", "65536", "64k", "1MiB", "2G", "12b"];
        let sizes = [0, 65_536, 65_536, 1 << 20, 2 << 30, 12];
        assert_eq!(texts.map(str::parse), sizes.map(|bytes| Ok(Bytes(bytes))));
        for text in ["", "MiB", "-1", "1.5M", "1Q", "99999999999T", "1 M"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        assert_eq!([512, 9_728].map(|b| Bytes(b).to_string()), ["512 B", "9.500 KiB"]);
        assert_eq!(bytes(371.5), "371.5 B");
        assert_eq!(bytes_like(512.0, 9_728.0), "0.500");
    }
}
