//! A summary of the figures in a sentence or two.

use figures::evidence::FEW;
use figures::grade::{Grade, Range};
use figures::number::{capitalised, number, short_like};
use figures::value::Value;
use figures::{Figure, Figures};
use record::{Metric, Quantity};

use super::answer::Answer;
use super::tables::tables;

type IsMetric = fn(&Metric) -> bool;

/// What is paid for, in the order of the answer, and by which metrics.
const KINDS: [(&str, IsMetric); 3] = [
    ("to switch to", |metric| *metric == Metric::Hop),
    ("to create", |metric| *metric == Metric::Task),
    ("to keep in memory", Metric::is_slope),
];

/// Conclusion of figures: the one of their answer, or the parts of a hop.
pub(crate) fn of(figures: &Figures<'_>, answer: Option<&Answer>) -> Vec<String> {
    if let Some(answer) = answer.filter(|answer| answer.is_of_threads()) {
        let ratios = answer.rows.iter().map(|row| (&row.metric, row.ratio.range()));
        return of_ratios(ratios).into_iter().collect();
    }
    parts(figures)
}

/// The range of the ratios of each kind, over all rows; `None` if no row is of such a kind.
fn of_ratios<'a>(ratios: impl Iterator<Item = (&'a Metric, Range)> + Clone) -> Option<String> {
    let parts = KINDS.iter().filter_map(|(kind, is_of_it)| {
        let ratios = ratios.clone().filter(|(metric, _)| is_of_it(metric));
        let ratios = ratios.map(|(_, ratio)| ratio);
        Some(format!("{} times {kind}", ratios.reduce(Range::joined)?.show(number)))
    });
    let parts: Vec<String> = parts.collect();
    let multiples = parts.join(", ").replacen("times", "times as much as an async task", 1);
    (!parts.is_empty()).then(|| format!("On this machine an OS thread costs {multiples}."))
}

/// The parts of a hop, for each row with its I/O as a baseline: the I/O, the switch on one CPU, and the extra time
/// where the kernel chooses the CPUs.
pub(crate) fn parts(figures: &Figures<'_>) -> Vec<String> {
    let tables = tables(figures);
    let hops = tables.iter().filter(|table| *table.metric == Metric::Hop);
    let rows = hops.flat_map(|table| &table.rows);
    rows.filter_map(|(name, cells)| parts_of(figures, name, cells)).collect()
}

fn parts_of(figures: &Figures<'_>, name: &str, cells: &[Option<&Figure<'_>>]) -> Option<String> {
    let own = || cells.iter().flatten().filter(|figure| *figure.metric() == Metric::Hop);
    let pinned = own().find(|figure| figure.runs.is_pinned())?;
    let free = own().find(|figure| !figure.runs.is_pinned())?;
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
    let show = |(part, grade): (f64, Grade)| grade.mark(&short_like(Quantity::Time, part, total.0));
    let name = format!("{}{place}: a hop of {}", capitalised(name), show(total));
    // A part that may be nothing is no part of a sum.
    if !is_switch || switch.0 <= 0.0 {
        return Some(format!("{name}; its switch cannot be distinguished from its I/O."));
    }
    let parts = [(io, "I/O"), (switch, "switch"), (crossing, more)];
    let parts = parts.into_iter().take(if is_more { 3 } else { 2 });
    let parts = parts.map(|(part, what)| format!("{} {what}", show(part)));
    Some(format!("{name} = {}.", parts.collect::<Vec<_>>().join(" + ")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_neither_a_switch_nor_a_creation() {
        let ratio = |value| Range { ends: [value; 2], grade: Grade::Sure };
        let ratios = [(&Metric::Hop, ratio(2.0)), (&Metric::Task, ratio(60.0))];
        let sentence = "On this machine an OS thread costs 2.0 times as much as an async task to switch to, 60 times \
                        to create.";
        assert_eq!(of_ratios(ratios.into_iter()).as_deref(), Some(sentence));
        let request = (&Metric::Request, ratio(1.1));
        let all = ratios.into_iter().chain([request]);
        assert_eq!(of_ratios(all).as_deref(), Some(sentence));
        assert_eq!(of_ratios([request].into_iter()), None);
    }
}
