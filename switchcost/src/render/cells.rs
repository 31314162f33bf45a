//! Costs and ratios as they stand in a table.

use figures::number::{bracketed, number, pair, short};
use figures::value::Value;
use record::Quantity;

/// A cost with two significant digits and its mark; both modes if it has two.
pub(super) fn cost(cost: &Value) -> String {
    let quantity = cost.quantity.unwrap_or(Quantity::Count);
    let text = match cost.modes.map(|modes| modes.map(|mode| short(quantity, mode))) {
        Some([low, high]) => pair(&low, "/", &high),
        None => short(quantity, cost.estimate.value),
    };
    cost.grade.mark(&text)
}

/// A ratio with its interval and its mark.
pub(super) fn ratio(ratio: &Value) -> String {
    let times = number(ratio.estimate.value);
    let text = match ratio.estimate.interval {
        Some(interval) => format!("{times}x {}", bracketed(&interval, number)),
        None => format!("{times}x (n = {})", ratio.estimate.n),
    };
    ratio.grade.mark(&text)
}
