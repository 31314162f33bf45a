//! What a query finds, and how it is looked for in lines of JSON.

use anyhow::bail;
use figures::number::percent;
use figures::value::Value;
use serde_json::Value as Json;

/// What a query finds.
pub(crate) enum Found {
    Value(Value),
    /// A machine, or what a program printed.
    Text(String),
}

/// The one line that is asked for.
pub(crate) fn line(lines: &[Json], is_wanted: impl Fn(&Json) -> bool) -> anyhow::Result<&Json> {
    let wanted: Vec<&Json> = lines.iter().filter(|line| is_wanted(line)).collect();
    match wanted[..] {
        [line] => Ok(line),
        _ => bail!("{} lines are about it", wanted.len()),
    }
}

/// A change in per cent with its sign.
pub(crate) fn signed(change: f64) -> String {
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", percent(change))
}
