//! The answer: what a thread costs, what a task costs, and how many times as much. Made from the rows of a
//! plan that have a name in it.

use facts::{Metric, Quantity, Timing};
use serde::Serialize;
use stats::Estimate;

use crate::figures::conditions::Conditions;
use crate::figures::doubt::Doubt;
use crate::figures::number::{capitalised, number, short};
use crate::figures::runs::case_name;
use crate::figures::{CONFIDENCE, Figure, Figures, provenance};

/// The answer of one or several runs of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// What makes its figures less sure.
    pub doubts: Vec<Doubt>,
    /// Machine, kernel and runtimes.
    pub machine: String,
    /// Questions with their figures.
    pub rows: Vec<Row>,
    /// When the figures matter, a sentence each.
    pub matters: Vec<String>,
    /// What the machine did meanwhile.
    pub conditions: Conditions,
}

/// A thread's figure and a task's.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Question.
    pub name: String,
    /// Metric of the figures.
    pub metric: Metric,
    /// Thread's figure.
    pub thread: Cost,
    /// Task's figure.
    pub task: Cost,
    /// The one divided by the other.
    pub ratio: Estimate,
    /// True if too few slices of either were quiet, so that all count.
    pub is_disturbed: bool,
}

/// What a thread or a task costs, unrounded: in ns or bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// The figure.
    pub value: f64,
    /// Two clusters of processes, where one figure would tell of neither.
    pub modes: Option<[f64; 2]>,
}

impl Cost {
    /// The figure with two significant digits; both if it has two modes.
    pub fn show(&self, quantity: Quantity) -> String {
        let Some([low, high]) = self.modes.map(|modes| modes.map(|mode| short(quantity, mode)))
        else {
            return short(quantity, self.value);
        };
        let unit = high.split_once(' ').map(|(_, unit)| unit);
        let low =
            low.split_once(' ').filter(|(_, own)| Some(*own) == unit).map_or(&*low, |(n, _)| n);
        format!("{low} or {high}")
    }
}

/// Count that the sentences on when it matters are about.
pub const MANY: f64 = 10_000.0;

impl Answer {
    /// The answer of some figures; `None` if their plan gives none, or its rows were not measured.
    pub fn of(figures: &Figures<'_>) -> Option<Answer> {
        let rows: Vec<(Row, Option<Doubt>)> =
            figures.iter().filter_map(|figure| row(figures, figure)).collect();
        let (rows, doubts): (Vec<Row>, Vec<Option<Doubt>>) = rows.into_iter().unzip();
        if rows.is_empty() {
            return None;
        }
        let conditions = Conditions::of(figures);
        let timed = rows.iter().filter(|row| !row.metric.is_slope());
        let disturbed = timed.clone().filter(|row| row.is_disturbed).map(|row| row.name.clone());
        let of_all = conditions.doubts(figures, timed.clone().count(), disturbed.collect());
        let doubts = of_all.into_iter().chain(doubts.into_iter().flatten());
        let matters = [switches(&rows), waiting(&rows)].into_iter().flatten();
        let matters = matters.chain(everyday(figures, &rows)).collect();
        Some(Answer {
            doubts: doubts.collect(),
            machine: provenance::machine(figures.records),
            rows,
            matters,
            conditions,
        })
    }
}

/// Row of a figure that the answer names, and a doubt about it.
fn row(figures: &Figures<'_>, figure: &Figure<'_>) -> Option<(Row, Option<Doubt>)> {
    let name = figure.runs.place.case.answer.as_ref()?;
    let name = case_name(name, &figure.key.column);
    let versus = figures.versus(figure)?;
    let metric = figure.metric().clone();
    if let (Some(thread), Some(task)) = (figure.slopes(), versus.slopes()) {
        let is_alone = thread.lacks_kernel() || task.lacks_kernel();
        let [thread, task] = [thread, task]
            .map(|slopes| if is_alone { slopes.user.line } else { slopes.headline().line });
        // Thread ÷ task, of sizes.
        let ratio = stats::slope_ratio(&thread, &task, CONFIDENCE)?;
        let ratio = Estimate { value: ratio.estimate, n: ratio.n, interval: Some(ratio) };
        let doubt = is_alone.then(|| Doubt::NoKernelShare(name.clone()));
        let [thread, task] =
            [thread, task].map(|line| Cost { value: line.slope.estimate, modes: None });
        return Some((Row { name, metric, thread, task, ratio, is_disturbed: false }, doubt));
    }
    let [thread, task] = [figure.reading()?, versus.reading()?];
    let mut both = figure.runs.whole.iter().chain(&versus.runs.whole);
    let is_disturbed = both.any(|record| matches!(record.timing, Timing::AllSlices(_)));
    // Thread ÷ task, of times: formed turn by turn.
    let ratio = thread.ratio?;
    let [thread, task] = [thread, task].map(|reading| Cost {
        value: reading.mean.value,
        modes: reading.modes.map(|modes| modes.map(|mode| mode.centre)),
    });
    Some((Row { name, metric, thread, task, ratio, is_disturbed }, None))
}

fn switches(rows: &[Row]) -> Option<String> {
    let (threads, tasks) = range(rows, |row| (row.metric == Metric::Hop).then_some(MANY / 1e9))?;
    let show = |range| span(range, |share| number(share * 100.0)) + " %";
    Some(format!(
        "10,000 switches/s take threads {} of a CPU, tasks {}.",
        show(threads),
        show(tasks)
    ))
}

fn waiting(rows: &[Row]) -> Option<String> {
    let (threads, tasks) = range(rows, |row| row.metric.is_slope().then_some(MANY))?;
    let show = |range| span(range, |bytes| short(Quantity::Bytes, bytes));
    Some(format!("10,000 waiting threads hold {}, tasks {}.", show(threads), show(tasks)))
}

/// What programs do every day, a sentence for the first such work, in switches, and one for the others.
fn everyday(figures: &Figures<'_>, rows: &[Row]) -> Vec<String> {
    let all = figures.iter().filter(|figure| figure.runs.place.case.everyday);
    let works: Vec<(&str, f64)> = all
        .filter_map(|figure| Some((figure.key.row.as_str(), figure.reading()?.mean.value)))
        .collect();
    let Some((&(first, ns), others)) = works.split_first() else {
        return Vec::new();
    };
    let hop = rows.iter().find(|row| row.metric == Metric::Hop);
    let units = hop.map_or(String::new(), |hop| {
        let [threads, tasks] = [hop.thread, hop.task].map(|figure| number(ns / figure.value));
        format!(": the time of {threads} thread switches or {tasks} task switches")
    });
    let took = |name, ns| format!("{name} {}", short(Quantity::Time, ns));
    let mut lines = vec![took(format!("{} takes", capitalised(first)), ns) + &units + "."];
    if let Some((&(second, ns), others)) = others.split_first() {
        let mut line = took(format!("{} takes", capitalised(second)), ns);
        others.iter().for_each(|&(name, ns)| line += &format!(", {}", took(name.to_owned(), ns)));
        lines.push(line + ".");
    }
    lines
}

/// A range as text, or one figure where both ends read the same.
fn span((low, high): (f64, f64), show: impl Fn(f64) -> String) -> String {
    match (show(low), show(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    }
}

/// Least and greatest figure of the threads and of the tasks, of the rows that have a factor, times that.
fn range(rows: &[Row], factor: impl Fn(&Row) -> Option<f64>) -> Option<((f64, f64), (f64, f64))> {
    let figures = |of: fn(&Row) -> f64| {
        let all = rows.iter().filter_map(|row| Some(of(row) * factor(row)?));
        all.fold(None, |range: Option<(f64, f64)>, x| {
            Some(range.map_or((x, x), |(low, high)| (low.min(x), high.max(x))))
        })
    };
    Some((figures(|row| row.thread.value)?, figures(|row| row.task.value)?))
}
