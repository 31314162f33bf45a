//! A summary of tables of hops: a sentence for each row that has its I/O as a baseline.

use figures::evidence::FEW;
use figures::grade::Grade;
use figures::number::{capitalised, short_like};
use figures::value::Value;
use figures::{Figure, Figures};
use record::{Metric, Quantity};

use super::tables::tables;

/// The parts of a hop, for each row with its I/O as a baseline: the I/O, the switch on one CPU, and the extra time
/// where the kernel chooses the CPUs.
pub(crate) fn parts(figures: &Figures<'_>) -> Vec<String> {
    let tables = tables(figures);
    let hops = tables.iter().filter(|table| *table.metric == Metric::Hop);
    let rows = hops.flat_map(|table| &table.rows);
    rows.filter_map(|(name, cells)| parts_of(figures, name, cells)).collect()
}

fn parts_of(figures: &Figures<'_>, name: &str, cells: &[Option<&Figure<'_>>]) -> Option<String> {
    let hops = cells.iter().flatten().filter(|figure| *figure.metric() == Metric::Hop);
    let (pinned, free): (Vec<&Figure<'_>>, Vec<&Figure<'_>>) =
        hops.partition(|figure| figure.runs.is_pinned());
    let (pinned, free) = (*pinned.first()?, *free.first()?);
    let wakeups = free.reading()?.evidence.as_ref().and_then(|evidence| evidence.wakeups);
    let more = match wakeups {
        Some(count) if count >= FEW => "crossing CPUs",
        _ => "more if unpinned",
    };
    let io = figures.baseline(pinned)?;
    let [io, pinned, free] = [io, pinned, free].map(Figure::value);
    let (io, pinned, free) = (io.ok()?, pinned.ok()?, free.ok()?);
    let [is_more, is_switch] = [is_above(&free, &pinned), is_above(&pinned, &io)];
    let (io, pinned, free) = (part(&io), part(&pinned), part(&free));
    let (switch, crossing) = (less(pinned, io), less(free, pinned));
    let is_more = is_more && crossing.0 > 0.0;
    let (total, place) = if is_more { (free, "") } else { (pinned, ", on one CPU") };
    let name = format!("{}{place}: a hop of {}", capitalised(name), show(total, total.0));
    // A part that may be nothing is no part of a sum.
    if !is_switch || switch.0 <= 0.0 {
        return Some(format!("{name}; its switch cannot be distinguished from its I/O."));
    }
    let parts = [(io, "I/O"), (switch, "switch"), (crossing, more)];
    let parts = parts.into_iter().take(if is_more { 3 } else { 2 });
    let parts = parts.map(|(part, name)| format!("{} {name}", show(part, total.0)));
    Some(format!("{name} = {}.", parts.collect::<Vec<_>>().join(" + ")))
}

fn show((part, grade): (f64, Grade), total: f64) -> String {
    grade.mark(&short_like(Quantity::Time, part, total))
}

/// True if the interval of the difference is above zero.
fn is_above(value: &Value, other: &Value) -> bool {
    let less = value.less(other).ok().and_then(|less| less.estimate.interval);
    less.is_some_and(|interval| interval.low > 0.0)
}

fn part(value: &Value) -> (f64, Grade) {
    (value.estimate.value, value.grade)
}

/// A part of a sum is the difference of what is shown.
fn less(a: (f64, Grade), b: (f64, Grade)) -> (f64, Grade) {
    (a.0 - b.0, a.1.max(b.1))
}
