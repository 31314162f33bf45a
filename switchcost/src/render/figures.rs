//! Estimates as people read them.

use stats::Mode;

use super::evidence;
use crate::NOT_RUN;
use crate::figures::cases::Reading;
use crate::figures::number::value;

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
