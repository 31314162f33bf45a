//! Values of flags and plans: shares and spans of time.

use std::time::Duration;

/// A share such as `2%`, `0.5%` or `2`, all in per cent, from 0 up.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value / 100.0),
        _ => Err(format!("'{text}' is not a share: write one such as 2%")),
    }
}

/// Longest span of time: a clock can be asked for a time so far ahead.
const LONGEST: Duration = Duration::from_secs(10_000 * 24 * 3600);

/// A span of time such as `90s` or `2m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    match humantime::parse_duration(text) {
        Ok(span) if span <= LONGEST => Ok(span),
        Ok(_) => Err(format!("'{text}' is too long: 10000days at most")),
        Err(_) => Err(format!("'{text}' is not a span of time: write one such as 90s or 2m")),
    }
}

/// A span of time that is not nothing.
pub fn time_limit(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("no time is too little: write a span such as 10m".to_owned()),
        span => Ok(span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_spans_are_read() {
        for (text, share) in [("2%", 0.02), ("0.5 %", 0.005), ("150", 1.5), ("0", 0.0)] {
            assert_eq!(percent(text), Ok(share));
        }
        for text in ["", "%", "-1%", "inf", "nan", "two"] {
            assert!(percent(text).is_err(), "{text}");
        }
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!((duration("10000days"), time_limit("0s").is_err()), (Ok(LONGEST), true));
        for text in ["", "90", "-5s", "soon", "10001days", "500000000000years"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
