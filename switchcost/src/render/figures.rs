//! Estimates as people read them.

use contract::units;
use record::Quantity;
use stats::{Estimate, Interval, MIN_ROUNDS, Mode};

use super::evidence;
use crate::NOT_RUN;
use crate::figures::cases::Reading;

/// A figure, or two where it has two modes, with what is to be said of its runs.
pub fn headline(reading: &Reading) -> String {
    let failed = match reading.failed {
        0 => String::new(),
        n => format!(", {n} failed"),
    };
    let contradicted = reading.evidence.as_ref().map(|e| e.verdict.is_contradiction());
    let mark = match contradicted {
        Some(true) => format!(" {}", evidence::MARK),
        _ => String::new(),
    };
    format!("{}{failed}{mark}", figure(reading))
}

/// A figure, or two where it has two modes.
pub fn figure(reading: &Reading) -> String {
    let quantity = reading.quantity();
    match &reading.modes {
        Some(modes) => {
            let [low, high] = modes.map(|Mode { centre, weight, .. }| {
                format!("{} ({:.0} %)", quantity.show(centre), weight * 100.0)
            });
            format!("{low} or {high}")
        }
        None => value(quantity, &reading.mean),
    }
}

/// An estimate with its interval.
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

/// A ratio with its interval.
pub fn factor(estimate: &Estimate) -> String {
    factor_in(estimate.value, estimate.interval.as_ref())
}

/// A ratio with an interval that was made elsewhere.
pub fn factor_in(value: f64, interval: Option<&Interval>) -> String {
    let decimals = units::significant(value).saturating_sub(1);
    let number = |v: f64| format!("{v:.decimals$}");
    match interval {
        Some(interval) => format!("{}x {}", number(value), bracketed(interval, number)),
        None => format!("{}x", number(value)),
    }
}

/// The bounds of an interval.
pub fn bracketed(interval: &Interval, show: impl Fn(f64) -> String) -> String {
    format!("[{}, {}]", show(interval.low), show(interval.high))
}

/// What stands in the place of a figure where there is none: that the runs failed, or that nothing
/// was run, and why.
pub(crate) fn unmeasured(reason: &str) -> String {
    let reason = first_line(reason);
    match reason.starts_with(NOT_RUN) {
        true => reason.to_owned(),
        false => format!("failed: {reason}"),
    }
}

/// First line of a reason, for which there is room.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
