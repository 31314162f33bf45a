//! The answer: what a thread costs, what a task costs, and how many times as much. Made from the rows of a
//! plan that have a name in it. A user's own plan may divide other rows by each other.

use std::cmp::Reverse;

use contract::message::Claim;
use figures::conditions::Conditions;
use figures::doubt::Doubt;
use figures::doubts;
use figures::grade::{Grade, Range};
use figures::known::{self, Beside};
use figures::memory::Slopes;
use figures::number::{capitalised, number, short};
use figures::part::Part;
use figures::value::Value;
use figures::{Figure, Figures, grouped, provenance, sessions};
use record::{Metric, Quantity, Why};
use serde::Serialize;

/// The answer of one or several runs of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Yardstick that takes longer than on bare metal.
    pub(crate) beside: Option<Beside>,
    /// What makes its records, and the figures of its rows, less sure: the loudest first.
    pub(crate) doubts: Vec<Doubt>,
    pub(crate) machine: String,
    /// Schedulers that its tasks ran on, a sentence; `None` if no record names one.
    pub(crate) schedulers: Option<String>,
    /// Number of tasks that its hops go through, a sentence; `None` if its rows differ in it.
    pub(crate) chains: Option<String>,
    pub rows: Vec<AnswerRow>,
    /// Rows without figures: their names, and why.
    pub(crate) missing: Vec<(String, Vec<String>)>,
    /// Sessions that they are made of: of one, its processes are the samples.
    pub(crate) sessions: usize,
    /// When the figures matter, a sentence each.
    pub(crate) matters: Vec<String>,
    pub(crate) conditions: Conditions,
}

/// A thread's figure and a task's.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerRow {
    pub name: String,
    pub(crate) metric: Metric,
    pub(crate) thread: Value,
    pub(crate) task: Value,
    /// The thread's figure divided by the task's.
    pub ratio: Value,
    /// CPU time of both: while a CPU waits for a wake-up, time passes and nothing runs.
    #[serde(skip)]
    pub(crate) cpu: [Option<Value>; 2],
    /// Names of what is divided and of what divides it: rows of the plan, if they are not threads and tasks.
    pub(crate) sides: [String; 2],
    /// True if a size is the process's alone, since the kernel's share is unknown.
    pub(crate) is_alone: bool,
}

impl AnswerRow {
    /// What tells it from the other rows of an answer.
    pub(crate) fn key(&self) -> (&str, &Metric) {
        (&self.name, &self.metric)
    }

    /// True if a thread's figure is divided by a task's.
    pub(crate) fn is_of_threads(&self) -> bool {
        self.sides == THREAD_AND_TASK
    }
}

/// Sides of the usual answer.
pub(crate) const THREAD_AND_TASK: [&str; 2] = ["OS thread", "async task"];

/// Rows of the usual plan's answer: hops where the kernel chooses the CPUs, and on one CPU.
pub(super) const HOPS_THROUGH_PIPES: [&str; 2] =
    ["switch through pipes, unpinned", "switch through pipes, one CPU"];

/// Count that the sentences on when it matters are about.
const MANY: f64 = 10_000.0;

impl Answer {
    /// One row.
    pub(crate) fn row(&self, key: (&str, &Metric)) -> Option<&AnswerRow> {
        self.rows.iter().find(|row| row.key() == key)
    }

    /// True if all of its rows are of threads and tasks.
    pub(crate) fn is_of_threads(&self) -> bool {
        self.rows.iter().all(AnswerRow::is_of_threads)
    }

    /// Names of both columns of costs: the sides of all rows, or `first` and `second` if the rows have different ones.
    pub(crate) fn sides(&self) -> [&str; 2] {
        self.shared_sides().unwrap_or(["first", "second"])
    }

    /// Name of the column of ratios.
    pub(crate) fn quotient(&self) -> String {
        match self.sides() {
            THREAD_AND_TASK => "thread ÷ task".to_owned(),
            sides => sides.join(" ÷ "),
        }
    }

    /// Name of a row, with its sides if the columns do not tell them.
    pub(crate) fn name_of(&self, row: &AnswerRow) -> String {
        match self.shared_sides() {
            Some(_) => row.name.clone(),
            None => format!("{}: {}", row.name, row.sides.join(" ÷ ")),
        }
    }

    fn shared_sides(&self) -> Option<[&str; 2]> {
        let first = &self.rows.first()?.sides;
        let is_one = self.rows.iter().all(|row| row.sides == *first);
        is_one.then(|| first.each_ref().map(String::as_str))
    }

    /// The answer of some figures; `None` if their plan gives none, or its rows were not measured.
    pub fn of(figures: &Figures<'_>) -> Option<Answer> {
        let rows = figures.iter().filter_map(|figure| Some((figure, row(figures, figure)?)));
        let (answering, rows): (Vec<&Figure<'_>>, Vec<AnswerRow>) = rows.unzip();
        if rows.is_empty() {
            return None;
        }
        let conditions = Conditions::of(figures);
        let mut about = conditions.doubts(figures);
        let alone = rows.iter().filter(|row| row.is_alone);
        about.extend(alone.map(|row| doubts::no_kernel_share(&row.name)));
        let of_threads = answering.iter().zip(&rows).filter(|(_, row)| row.is_of_threads());
        let used = answering.iter().flat_map(|figure| [Some(*figure), figures.versus(figure)]);
        Some(Answer {
            beside: known::outside(figures),
            doubts: doubts::of_all(figures.records, doubts::named(used.flatten()), about),
            machine: provenance::machine(figures.records),
            schedulers: schedulers(figures, of_threads.map(|(figure, _)| *figure)),
            chains: chains(&answering),
            missing: missing(figures),
            sessions: sessions::of(figures.records).len(),
            matters: matters(figures, &rows),
            conditions,
            rows,
        })
    }
}

/// Schedulers of the async tasks, in a sentence: the one of most rows, and then the rows with another one.
fn schedulers<'a>(
    figures: &'a Figures<'_>,
    threads: impl Iterator<Item = &'a Figure<'a>>,
) -> Option<String> {
    let used = threads.filter_map(|figure| {
        let row = figure.runs.ties()?.answer.as_deref()?;
        let tasks = &figures.versus(figure)?.runs.whole;
        let runtimes = tasks.iter().filter_map(|record| record.said.as_ref()?.runtime.as_ref());
        Some(runtimes.map(move |runtime| (&*runtime.flavor, row)))
    });
    let mut kinds = grouped(used.flatten());
    kinds.iter_mut().for_each(|(_, rows)| rows.dedup());
    kinds.sort_by_key(|(_, rows)| Reverse(rows.len()));
    let ((usual, _), others) = kinds.split_first()?;
    let others = others
        .iter()
        .map(|(other, rows)| format!(", except in '{}': {other}", rows.join("' and '")));
    Some(format!("Tokio's runtime is {usual}{}.", others.collect::<String>()))
}

/// What a switch and a bare task are, in a sentence. A row of chains with another length has that in its name.
fn chains(figures: &[&Figure<'_>]) -> Option<String> {
    let hops = figures.iter().filter(|figure| *figure.metric() == Metric::Hop);
    let lengths = hops.filter_map(|hop| Some((hop.runs.whole.first()?.tasks()?, ())));
    let (length, _) = grouped(lengths).into_iter().max_by_key(|(_, rows)| rows.len())?;
    let mut names = figures.iter().filter_map(|figure| figure.runs.row.ties.answer.as_ref());
    let has_bare = names.any(|name| name.ends_with(", bare"));
    let bare = if has_bare { " Bare: without a pipe." } else { "" };
    Some(format!("A switch is one step of a token through a chain of {length}.{bare}"))
}

/// When figures matter, a sentence each.
fn matters(figures: &Figures<'_>, rows: &[AnswerRow]) -> Vec<String> {
    let counted = [switches(rows), waiting(rows)].into_iter().flatten();
    counted.chain(everyday(figures, rows)).collect()
}

/// Names of rows that the answer lacks, by why.
fn missing(figures: &Figures<'_>) -> Vec<(String, Vec<String>)> {
    let without = figures.iter().filter(|figure| row(figures, figure).is_none());
    let names = without.filter_map(|figure| {
        let name = figure.answers()?;
        let sides = [Some(figure), figures.versus(figure)];
        let mut sides = sides.into_iter().flatten();
        let why = sides.clone().find_map(|side| side.outcome.why());
        // A slope may lack what its interval needs.
        let why = why.or_else(|| sides.find_map(|side| side.runs.why.as_ref()));
        let reason = why.map_or("too few processes were measured", Why::text).to_owned();
        Some((reason, name))
    });
    grouped(names)
}

/// Row of a figure that the answer names.
fn row(figures: &Figures<'_>, figure: &Figure<'_>) -> Option<AnswerRow> {
    let mut name = figure.answers()?;
    let versus = figures.versus(figure)?;
    // If the kernel's share of a size is unknown, the size is the process's alone, on both sides.
    let is_alone = [figure, versus].iter().any(|of| of.slopes().is_some_and(Slopes::lacks_kernel));
    let costs = [figure, versus].map(|side| match is_alone {
        // A part of a size is not a sure one.
        true => side.part(Part::User).ok().flatten().map(Value::disturbed),
        false => side.value().ok(),
    });
    let [Some(thread), Some(task)] = costs else { return None };
    let ratio = figure.related.ratio.clone()?;
    let ratio = if is_alone { ratio.disturbed() } else { ratio };
    let metric = figure.metric().clone();
    if metric == Metric::Request {
        name += " (CPU)";
    }
    let (sides, cpu) = (sides(figure, versus), [figure, versus].map(Figure::cpu_time));
    Some(AnswerRow { name, metric, thread, task, ratio, cpu, sides, is_alone })
}

/// Rows of the plan, unless the one claims the kernel's switches and the other a runtime's.
fn sides(figure: &Figure<'_>, versus: &Figure<'_>) -> [String; 2] {
    match [figure.claim(), versus.claim()] {
        [Some(Claim::KernelSwitch), Some(Claim::UserSwitch)] => THREAD_AND_TASK.map(str::to_owned),
        _ => [figure, versus].map(|of| of.place().row.clone()),
    }
}

fn is_switch(row: &&AnswerRow) -> bool {
    row.metric == Metric::Hop && row.is_of_threads()
}

fn is_size(row: &&AnswerRow) -> bool {
    row.metric.is_slope() && row.is_of_threads()
}

fn switches(rows: &[AnswerRow]) -> Option<String> {
    let times = rows.iter().filter(is_switch).map(|row| {
        let [thread, task] = &row.cpu;
        Some([thread.as_ref()?.range(), task.as_ref()?.range()])
    });
    let [threads, tasks] = range_of(times.collect::<Option<Vec<_>>>()?)?
        .map(|hop| hop.show(|cpu_ns| number(cpu_ns * MANY / 1e9 * 100.0)));
    Some(format!("10,000 thread switches/s use {threads} % of a CPU (async tasks: {tasks} %)."))
}

fn waiting(rows: &[AnswerRow]) -> Option<String> {
    let sizes = rows.iter().filter(is_size).map(|row| [row.thread.range(), row.task.range()]);
    let [threads, tasks] =
        range_of(sizes)?.map(|size| size.show(|cost| short(Quantity::Bytes, cost * MANY)));
    Some(format!("10,000 waiting threads hold {threads} (async tasks: {tasks})."))
}

/// Range of the threads' figures and range of the async tasks' figures.
fn range_of(sides: impl IntoIterator<Item = [Range; 2]>) -> Option<[Range; 2]> {
    sides.into_iter().reduce(|a, b| [a[0].joined(b[0]), a[1].joined(b[1])])
}

/// What programs do every day, a sentence for the first such work, in switches, and one for the others.
fn everyday(figures: &Figures<'_>, rows: &[AnswerRow]) -> Vec<String> {
    let everyday = figures.iter().filter(|f| f.runs.ties().is_some_and(|ties| ties.everyday));
    let measured =
        everyday.filter_map(|f| Some((&f.place().row, f.reading()?.mean.value, f.grade)));
    let (times, works): (Vec<(f64, Grade)>, Vec<String>) = measured
        .enumerate()
        .map(|(index, (name, ns, grade))| {
            let name = if index == 0 { capitalised(name) + " takes" } else { name.clone() };
            ((ns, grade), format!("{name} {}", grade.mark(&short(Quantity::Time, ns))))
        })
        .unzip();
    let Some((first, others)) = works.split_first() else { return Vec::new() };
    let hop = rows.iter().find(is_switch);
    let units = hop.map_or(String::new(), |hop| {
        let [threads, tasks] = [&hop.thread, &hop.task].map(|cost| {
            let (Range { ends: [low, high], grade }, (ns, of_work)) = (cost.range(), times[0]);
            Range { ends: [ns / high, ns / low], grade: grade.max(of_work) }.show(number)
        });
        format!(", as long as {threads} thread switches or {tasks} task switches")
    });
    let mut lines = vec![format!("{first}{units}.")];
    if !others.is_empty() {
        lines.push(format!("Times of other work: {}.", others.join(", ")));
    }
    lines
}
