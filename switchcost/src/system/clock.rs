//! Times of day.

use std::fmt::Write;
use std::time::SystemTime;

/// A time as RFC 3339 writes it, in whole seconds of UTC; `None` outside the years 1970 to 9999.
pub(crate) fn utc(time: SystemTime) -> Option<String> {
    time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    let mut text = String::new();
    write!(text, "{}", humantime::format_rfc3339_seconds(time)).ok()?;
    Some(text)
}
