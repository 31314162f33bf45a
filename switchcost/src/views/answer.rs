//! The answer: what a thread costs, what a task costs, and how many times as much. Made from the rows of a
//! plan that have a name in it.

use record::{Metric, Quantity, Record, Timing};
use serde::Serialize;
use stats::Estimate;

use crate::figures::CONFIDENCE;
use crate::figures::cases::{Cases, Key, Reading, Runs, case_name};
use crate::figures::doubt::{Conditions, Doubt};
use crate::figures::memory;
use crate::figures::notes;
use crate::figures::number::{capitalised, number, short};

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
    pub thread: Figure,
    /// Task's figure.
    pub task: Figure,
    /// The one divided by the other.
    pub ratio: Estimate,
    /// True if too few slices of either were quiet, so that all count.
    pub is_disturbed: bool,
}

/// A figure of a row, unrounded: in ns or bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Two clusters of processes, where one figure would tell of neither.
    pub modes: Option<[f64; 2]>,
}

impl Figure {
    /// The figure with two significant digits; both if it has two modes.
    pub fn show(&self, quantity: Quantity) -> String {
        match self.modes {
            Some([low, high]) => {
                let (low, high) = (short(quantity, low), short(quantity, high));
                let unit = high.split(' ').nth(1);
                match low.split_once(' ') {
                    Some((number, own)) if Some(own) == unit => format!("{number} or {high}"),
                    _ => format!("{low} or {high}"),
                }
            }
            None => short(quantity, self.value),
        }
    }
}

/// Count that the sentences on when it matters are about.
pub const MANY: f64 = 10_000.0;

impl Answer {
    /// The answer of these records; `None` where their plan gives none, or its rows were not measured.
    pub fn of(records: &[Record]) -> Option<Answer> {
        let cases = Cases::of(records);
        let rows = cases.in_order().into_iter().filter_map(|(key, runs)| row(&cases, key, runs));
        let (rows, doubts): (Vec<Row>, Vec<Option<Doubt>>) = rows.unzip();
        if rows.is_empty() {
            return None;
        }
        let conditions = Conditions::of(records, &cases);
        let timed = rows.iter().filter(|row| !row.metric.is_slope());
        let disturbed = timed.clone().filter(|row| row.is_disturbed).map(|row| row.name.clone());
        let of_all = conditions.doubts(&cases, timed.clone().count(), disturbed.collect());
        let doubts = of_all.into_iter().chain(doubts.into_iter().flatten());
        let matters = [switches(&rows), waiting(&rows)].into_iter().flatten();
        let matters = matters.chain(everyday(&cases, &rows)).collect();
        Some(Answer {
            doubts: doubts.collect(),
            machine: machine(records),
            rows,
            matters,
            conditions,
        })
    }
}

fn row(cases: &Cases<'_>, key: &Key, runs: &Runs<'_>) -> Option<(Row, Option<Doubt>)> {
    let name = runs.place.case.answer.as_ref()?;
    let name = case_name(name, &key.column);
    let (other, versus) = cases.versus(key)?;
    let metric = runs.view.metric.clone();
    if metric.is_slope() {
        let (own, task) = (memory::slopes(&runs.all, None)?, memory::slopes(&versus.all, None)?);
        let is_alone = own.lacks_kernel() || task.lacks_kernel();
        let fit = |slopes: &memory::Slopes| match is_alone {
            true => slopes.user.line,
            false => slopes.headline().line,
        };
        let ratio = stats::slope_ratio(&fit(&own), &fit(&task), CONFIDENCE)?;
        let figure =
            |slopes: &memory::Slopes| Figure { value: fit(slopes).slope.estimate, modes: None };
        let doubt = is_alone.then(|| Doubt::NoKernelShare(name.clone()));
        let ratio = Estimate { value: ratio.estimate, n: ratio.n, interval: Some(ratio) };
        return Some((
            Row {
                name,
                metric,
                thread: figure(&own),
                task: figure(&task),
                ratio,
                is_disturbed: false,
            },
            doubt,
        ));
    }
    let (own, task) = (cases.reading(key)?, cases.reading(&other)?);
    let figure = |reading: &Reading| Figure {
        value: reading.mean.value,
        modes: reading.modes.map(|modes| modes.map(|mode| mode.centre)),
    };
    let mut both = runs.all.iter().chain(&versus.all);
    let row = Row {
        name,
        metric,
        thread: figure(&own),
        task: figure(&task),
        ratio: own.ratio?,
        is_disturbed: both.any(|record| matches!(record.timing, Timing::AllSlices(_))),
    };
    Some((row, None))
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
fn everyday(cases: &Cases<'_>, rows: &[Row]) -> Vec<String> {
    let all = cases.in_order().into_iter().filter(|(_, runs)| runs.place.case.everyday);
    let works = all.filter_map(|(key, runs)| {
        Some((runs.place.case.row.as_str(), cases.reading(key)?.mean.value))
    });
    let works: Vec<(&str, f64)> = works.collect();
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

/// Machine, kernel and runtimes in a line.
pub fn machine(records: &[Record]) -> String {
    let runs = notes::runs(records);
    let Some(run) = runs.first() else {
        return String::new();
    };
    let machine = &run.machine;
    let cpu = machine.cpu_model.as_deref().unwrap_or("unknown CPU");
    let words = ["(R)", "(TM)", " Processor", " CPU"];
    let cpu = words.iter().fold(cpu.to_owned(), |cpu, word| cpu.replace(word, ""));
    let number = |list: &Option<String>| Some(record::machine::cpu_list(list.as_ref()?)?.len());
    let cpus = match (number(&machine.cpus_online), number(&machine.affinity)) {
        (Some(online), Some(allowed)) if allowed < online => {
            format!(", {allowed} of {online} CPUs")
        }
        (Some(online), _) => format!(", {online} CPUs"),
        (None, _) => String::new(),
    };
    let host = match machine.virtualisation.as_deref() {
        None | Some("none") => String::new(),
        Some(host) => format!(" under {host}"),
    };
    let kernel = machine.kernel_release.as_deref().unwrap_or("of unknown release");
    let mut runtimes: Vec<String> = Vec::new();
    for runtime in records.iter().filter_map(|record| record.runtime.as_ref()) {
        if let (true, Some(version)) = (runtime.name == "tokio", &runtime.version) {
            runtimes.push(format!(", Tokio {version}"));
        }
    }
    runtimes.sort_unstable();
    runtimes.dedup();
    format!("{cpu}{cpus}{host}, Linux {kernel}{}", runtimes.concat())
}
