//! The answer: what a thread costs, what a task costs, and how many times as much. Made from the rows of a
//! plan that have a name in it.

use facts::{Metric, Quantity, Timing};
use serde::Serialize;
use stats::{Estimate, Interval};

use super::hand_over::{Range, joined};
use crate::figures::conditions::Conditions;
use crate::figures::doubt::Doubt;
use crate::figures::number::{capitalised, number, pair, range, short, shown};
use crate::figures::runs::case_name;
use crate::figures::{CONFIDENCE, Figure, Figures, provenance};

/// The answer of one or several runs of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// What makes its figures less sure.
    pub(crate) doubts: Vec<Doubt>,
    /// Machine, kernel and runtimes.
    pub(crate) machine: String,
    /// Questions with their figures.
    pub rows: Vec<AnswerRow>,
    /// When the figures matter, a sentence each.
    pub(crate) matters: Vec<String>,
    /// What the machine did meanwhile.
    pub(crate) conditions: Conditions,
}

/// A thread's figure and a task's.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerRow {
    /// Question.
    pub name: String,
    pub(crate) metric: Metric,
    pub(crate) thread: Cost,
    pub(crate) task: Cost,
    /// The thread's figure divided by the task's.
    pub(crate) ratio: Estimate,
    /// True if too few slices of either were quiet, so that all count.
    is_disturbed: bool,
}

/// What a thread or a task costs, unrounded: in ns or bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Cost {
    pub(crate) value: f64,
    /// Its 95 % interval.
    pub(crate) interval: Option<Interval>,
    /// Two clusters of processes, if one figure would tell of neither.
    pub(crate) modes: Option<[f64; 2]>,
}

impl Cost {
    /// The figure with two significant digits; both if it has two modes.
    pub(crate) fn show(&self, quantity: Quantity) -> String {
        let Some(modes) = self.modes else { return short(quantity, self.value) };
        let [low, high] = modes.map(|mode| shown(quantity, mode));
        pair(&low, "or", &high)
    }
}

/// Count that the sentences on when it matters are about.
const MANY: f64 = 10_000.0;

impl Answer {
    /// Bytes that a waiting thread holds, and a task: from the least of its rows to the greatest.
    pub(crate) fn sizes(&self) -> Option<[Range; 2]> {
        ranges(&self.rows, |row| row.metric.is_slope())
    }

    /// The answer of some figures; `None` if their plan gives none, or its rows were not measured.
    pub fn of(figures: &Figures<'_>) -> Option<Answer> {
        let rows = figures.iter().filter_map(|figure| row(figures, figure));
        let (rows, doubts): (Vec<AnswerRow>, Vec<Option<Doubt>>) = rows.unzip();
        if rows.is_empty() {
            return None;
        }
        let conditions = Conditions::of(figures);
        let timed: Vec<&AnswerRow> = rows.iter().filter(|row| !row.metric.is_slope()).collect();
        let disturbed = timed.iter().filter(|row| row.is_disturbed).map(|row| row.name.clone());
        let mut all = conditions.doubts(figures, timed.len(), disturbed.collect());
        all.extend(doubts.into_iter().flatten());
        let mut matters = Vec::new();
        matters.extend(switches(&rows));
        matters.extend(waiting(&rows));
        matters.extend(everyday(figures, &rows));
        let machine = provenance::machine(figures.records);
        Some(Answer { doubts: all, machine, rows, matters, conditions })
    }
}

/// Row of a figure that the answer names, and a doubt about it.
fn row(figures: &Figures<'_>, figure: &Figure<'_>) -> Option<(AnswerRow, Option<Doubt>)> {
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
        let [thread, task] = [thread, task].map(|line| Cost {
            value: line.slope.estimate,
            interval: Some(line.slope),
            modes: None,
        });
        return Some((AnswerRow { name, metric, thread, task, ratio, is_disturbed: false }, doubt));
    }
    let [thread, task] = [figure.reading()?, versus.reading()?];
    let mut both = figure.runs.whole.iter().chain(&versus.runs.whole);
    let is_disturbed = both.any(|record| matches!(record.timing, Timing::AllSlices(_)));
    // Thread ÷ task, of times: `figures` formed it from the turns of each round.
    let ratio = thread.ratio?;
    let [thread, task] = [thread, task].map(|reading| Cost {
        value: reading.mean.value,
        interval: reading.mean.interval,
        modes: reading.modes.map(|modes| modes.map(|mode| mode.centre)),
    });
    Some((AnswerRow { name, metric, thread, task, ratio, is_disturbed }, None))
}

fn switches(rows: &[AnswerRow]) -> Option<String> {
    let show = |cost: f64| number(cost * MANY / 1e9 * 100.0);
    let hops = ranges(rows, |row| row.metric == Metric::Hop)?;
    let [threads, tasks] = hops.map(|hop| range(hop, show));
    Some(format!("10,000 switches/s take threads {threads} % of a CPU, tasks {tasks} %."))
}

fn waiting(rows: &[AnswerRow]) -> Option<String> {
    let show = |cost: f64| shown(Quantity::Bytes, cost * MANY);
    let [threads, tasks] = ranges(rows, |row| row.metric.is_slope())?.map(|size| range(size, show));
    Some(format!("10,000 waiting threads hold {threads}, tasks {tasks}."))
}

/// Range of the threads' figures and that of the tasks', of some rows.
fn ranges(rows: &[AnswerRow], is_wanted: fn(&&AnswerRow) -> bool) -> Option<[Range; 2]> {
    let costs = rows.iter().filter(is_wanted).map(|row| [row.thread, row.task]);
    let points = costs.map(|pair| pair.map(|cost| [cost.value; 2]));
    points.reduce(|a, b| [joined(a[0], b[0]), joined(a[1], b[1])])
}

/// What programs do every day, a sentence for the first such work, in switches, and one for the others.
fn everyday(figures: &Figures<'_>, rows: &[AnswerRow]) -> Vec<String> {
    let all = figures.iter().filter(|figure| figure.runs.place.case.everyday);
    let measured = all.filter_map(|figure| Some((&figure.key.row, figure.reading()?.mean.value)));
    let (times, works): (Vec<f64>, Vec<String>) = measured
        .enumerate()
        .map(|(index, (name, ns))| {
            let name = if index < 2 { capitalised(name) + " takes" } else { name.clone() };
            (ns, format!("{name} {}", short(Quantity::Time, ns)))
        })
        .unzip();
    let Some((first, others)) = works.split_first() else { return Vec::new() };
    let hop = rows.iter().find(|row| row.metric == Metric::Hop);
    let units = hop.map_or(String::new(), |hop| {
        let [threads, tasks] = [hop.thread, hop.task].map(|cost| number(times[0] / cost.value));
        format!(": the time of {threads} thread switches or {tasks} task switches")
    });
    let mut lines = vec![format!("{first}{units}.")];
    if !others.is_empty() {
        lines.push(others.join(", ") + ".");
    }
    lines
}
