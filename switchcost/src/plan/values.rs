//! Values of flags and plans: shares, spans of time and numbers of tasks.

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

/// Reads a number such as `20000`, `20,000`, `20k` or `1.5M`.
pub fn many(text: &str) -> Option<f64> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut groups = whole.split(',').rev();
    // Commas stand between groups of three digits alone.
    let (first, mut others) = (groups.next_back()?, groups);
    if whole.contains(',')
        && (!(1..=3).contains(&first.len()) || !others.all(|group| group.len() == 3))
    {
        return None;
    }
    let digits = whole.replace(',', "") + fraction;
    let value = digits.parse::<f64>().ok()? * unit;
    (value.is_finite() && digits.starts_with(|c: char| c.is_ascii_digit())).then_some(value)
}

/// A number of tasks, such as `50k`.
pub fn tasks(text: &str) -> Result<u64, String> {
    many(text)
        .filter(|tasks| (1.0..=1e12).contains(tasks) && tasks.fract() == 0.0)
        .map(|tasks| tasks as u64)
        .ok_or_else(|| {
            format!("'{text}' is not a number of tasks: write one such as 50k or 50,000")
        })
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
