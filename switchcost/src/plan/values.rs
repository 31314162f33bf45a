//! Values of flags and plans: shares, spans of time and numbers of tasks.

use std::time::Duration;

use host::units::{Span, amount};
use observe::affinity;
use record::Cpus;

/// A share such as `2%`, `0.5%` or `2`, all in per cent, from 0 up.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value / 100.0),
        _ => Err(format!("'{text}' is not a percentage: write one such as 2%")),
    }
}

/// A time such as `90s` or `2m`, but not zero.
pub fn time_limit(text: &str) -> Result<Duration, String> {
    match text.parse()? {
        Span(0) => Err("the time is zero: write one such as 10m".to_owned()),
        span => Ok(span.into()),
    }
}

/// Reads a whole number such as `20000`, `20,000`, `20k` or `1.5M`.
pub fn many(text: &str) -> Option<u64> {
    // Commas stand between groups of three digits alone.
    let (first, others) = text.split_once(',').unwrap_or((text, "000"));
    let is_grouped =
        (1..=3).contains(&first.len()) && others.split(',').all(|group| group.len() == 3);
    let units = [("", 1), ("k", 1_000), ("K", 1_000), ("M", 1_000_000)];
    let number = amount(&text.replace(',', ""), &units)?.try_into().ok();
    number.filter(|_| is_grouped || !text.contains(','))
}

/// A number of tasks, such as `50k`.
pub fn tasks(text: &str) -> Result<u64, String> {
    many(text).filter(|tasks| (1..=1_000_000_000_000).contains(tasks)).ok_or_else(|| {
        format!("'{text}' is not a number of tasks: write one such as 50k or 50,000")
    })
}

/// A list of CPUs, such as `0-3,8`.
pub fn cpus(text: &str) -> Result<Cpus, String> {
    match text.parse()? {
        Cpus::List(cpus) if affinity::set_of(&cpus).is_ok() => Ok(Cpus::List(cpus)),
        // A word, or a number that is larger than any CPU's.
        _ => Err(format!("'{text}' is not a list of CPUs: write one such as 0,2-3")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_spans_numbers_and_cpus_are_read() {
        for (text, share) in [("0.5 %", 0.005), ("150", 1.5)] {
            assert_eq!(percent(text), Ok(share));
        }
        for text in ["%", "-1%", "inf", "nan"] {
            assert!(percent(text).is_err(), "{text}");
        }
        for text in ["", "90", "-5s", "soon", "300000d", "0s"] {
            assert!(time_limit(text).is_err(), "{text}");
        }
        assert_eq!(cpus("3,0-1").unwrap().to_string(), "0-1,3");
        for text in ["", "first", "smt-sibling", "99999"] {
            assert!(cpus(text).is_err(), "{text}");
        }
        for text in ["20000", "20,000", "20k", "0.02M"] {
            assert_eq!(many(text), Some(20_000), "{text}");
        }
        for text in ["", "2,00", ",200", "1,5k", "0.5", "-1"] {
            assert_eq!(many(text), None, "{text}");
        }
    }
}
