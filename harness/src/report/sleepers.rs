//! What a run of tasks that sleep adds to its text.

use std::io::{self, Write};

use super::row;
use crate::record::Record;
use crate::recorder::Summary;
use crate::units::{Bytes, Nanos, bytes};

/// Writes the rows; none where nobody counted who was alive. What is unknown has no row.
pub(super) fn write(record: &Record, samples: &Summary, out: &mut impl Write) -> io::Result<()> {
    let (Some(alive), Some(tasks)) = (record.peak_alive, record.tasks()) else {
        return Ok(());
    };
    row(out, "alive at once", &format!("{alive} of {tasks}"))?;
    if let Some(usage) = record.usage {
        let used = (usage.user + usage.system) as f64;
        let cpus = used / (samples.mean * samples.count as f64);
        row(out, "cpu share", &format!("{cpus:.3} CPUs"))?;
    }
    let each = |gain: f64| bytes(gain / tasks as f64);
    if let Some((peak, gain)) = record.peak_resident.zip(record.peak_gain()) {
        let text = format!(
            "{} resident, {} per task more than the empty process",
            Bytes(peak),
            each(gain as f64)
        );
        row(out, "peak memory", &text)?;
    }
    if let Some((all, kernel)) = record.system_gain().zip(record.kernel_gain()) {
        let text = format!(
            "{} per task at rest, of it {} of the kernel",
            each(all),
            each(kernel)
        );
        row(out, "system memory", &text)?;
    }
    match record.timer_slack {
        Some(slack) => row(out, "timer slack", &Nanos(slack as f64).to_string()),
        None => Ok(()),
    }
}
