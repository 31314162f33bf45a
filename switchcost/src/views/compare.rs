//! Files of records case by case: what has changed, and whether the noise allows to say so.
//!
//! The first file is the reference. A change is the ratio of the geometric means of the process
//! means, with Welch's interval on their logarithms; in memory it is the ratio of two slopes. The
//! verdicts hold together: all changes of all files are one family, corrected by Holm's method, so that
//! in at most 5 % of comparisons of equal runs any case is called different. The interval shown is the
//! one that decides. A machine that has become slower meanwhile makes a true difference, which no
//! statistics of two files can tell from one of the programs. So a time is called different only if it
//! changed by more than each of the yardsticks: work that depends on the machine alone.

use record::{Metric, Quantity, Record, Run};
use serde::{Serialize, Serializer};
use stats::Line as Fit;

use crate::figures::CONFIDENCE;
use crate::figures::analysis;
use crate::figures::cases::{Cases, Key, Reading, Runs};
use crate::figures::memory;
use crate::figures::notes;

mod beside;
mod change;
mod marks;

pub use beside::Moved;
pub use change::{Change, Judged, Verdict};
pub use marks::{Fact, Mark, Subject};

/// In what share of comparisons of equal runs any case may be called different.
pub const LEVEL: f64 = 1.0 - CONFIDENCE;

/// A file to compare.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Name.
    pub name: &'a str,
    /// Contents.
    pub records: &'a [Record],
}

/// Comparison of files.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The files; the first is what the others are compared with.
    pub files: Vec<File>,
    /// Where a further file's machine, build or flags are not those of the first.
    pub marks: Vec<Mark>,
    /// The tables.
    pub sections: Vec<Section>,
    /// How many changes are judged together.
    pub family: usize,
    /// How far the yardsticks moved in each further file.
    pub moved: Vec<Moved>,
}

/// A file that is compared.
#[derive(Clone, Debug, Serialize)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its machines, each in a line for people.
    pub machines: Vec<String>,
    /// How many records it holds.
    pub records: usize,
    /// Share of the time in which something waited for a CPU just before its runs began, in per
    /// cent: the median of the runs.
    pub pressure: Option<f64>,
    /// Warnings to read before its figures.
    pub warnings: Vec<String>,
}

/// One section of the plan.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Metric.
    pub metric: Metric,
    /// Its cases.
    pub lines: Vec<Line>,
}

/// One case; where it is about memory, one part of it.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// Its name for people.
    pub name: String,
    /// Where it stands in the plan.
    #[serde(flatten)]
    pub key: Key,
    /// Which figure it is.
    pub metric: Metric,
    /// Which part of the memory.
    pub part: Option<Part>,
    /// True if it depends on the machine alone.
    pub is_yardstick: bool,
    /// True if its processes were restricted to CPUs.
    pub is_pinned: bool,
    /// One for each file.
    pub figures: Vec<Figure>,
    /// One for each file after the first; `None` where neither has the case.
    pub changes: Vec<Option<Change>>,
}

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The process's own.
    User,
    /// That and the kernel's.
    Together,
}

/// Runs of a case in a file.
#[derive(Clone, Debug)]
pub enum Figure {
    /// Nothing.
    Absent,
    /// Runs that failed; the last one's reason.
    Failed(String),
    /// A figure of each round.
    Reading(Box<Reading>),
    /// A size, in bytes for each task.
    Slope(Box<Fit>),
}

/// A reading is called by what it is, as in [`crate::figures::analysis::Cell`].
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Figure::Absent => serializer.serialize_unit_variant("Figure", 0, "absent"),
            Figure::Failed(reason) => {
                serializer.serialize_newtype_variant("Figure", 1, "failed", reason)
            }
            Figure::Reading(reading) => {
                let name = reading.quantity().name();
                serializer.serialize_newtype_variant("Figure", 2, name, reading)
            }
            Figure::Slope(fit) => serializer.serialize_newtype_variant("Figure", 3, "slope", fit),
        }
    }
}

/// The machines of some runs, each in a line for people.
pub(crate) fn machines<'a>(runs: impl IntoIterator<Item = &'a Run>) -> Vec<String> {
    let mut machines: Vec<String> = Vec::new();
    for run in runs {
        let summary = run.machine.summary();
        if !machines.contains(&summary) {
            machines.push(summary);
        }
    }
    machines
}

/// Differences between the machines or the builds of runs that are taken for one set: a line for
/// each of the two, loud enough to stand above every figure.
pub(crate) fn pooled(runs: &[&Run]) -> Vec<String> {
    let Some(first) = runs.first() else {
        return Vec::new();
    };
    let first = &[*first];
    let line = |what: &str, facts: Vec<Fact>| {
        let facts: Vec<String> = facts
            .iter()
            // Of itself it makes no other build; it has a warning of its own.
            .filter(|fact| fact.name != "dirty")
            .map(ToString::to_string)
            .collect();
        (!facts.is_empty()).then(|| format!("!! {what} ARE POOLED HERE: {}", facts.join(", ")))
    };
    let machines = line("DIFFERENT MACHINES OR SETTINGS", marks::machines(first, runs));
    let builds = line("DIFFERENT BUILDS", marks::builds(first, runs));
    machines.into_iter().chain(builds).collect()
}

/// Compares each file with the first.
pub fn compare(sources: &[Source<'_>]) -> Comparison {
    let cases: Vec<Cases<'_>> = sources.iter().map(|source| Cases::of(source.records)).collect();
    let mut comparison = Comparison {
        files: sources.iter().map(File::of).collect(),
        marks: marks::of(sources, &cases),
        sections: Vec::new(),
        family: 0,
        moved: Vec::new(),
    };
    for key in keys(&cases) {
        let Some(runs) = cases.iter().find_map(|c| c.get(key)) else {
            continue;
        };
        let section = comparison.section(key, runs);
        section.lines.extend(lines(key, &runs.view.metric, &cases));
    }
    comparison.set_beside(&cases);
    comparison.judge();
    comparison
}

/// The cases of all files, in the order of the first file that has them.
fn keys<'a>(cases: &'a [Cases<'_>]) -> Vec<&'a Key> {
    let mut keys: Vec<&Key> = Vec::new();
    for (key, _) in cases.iter().flat_map(Cases::in_order) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// The lines of one case: two where it is about memory.
fn lines(key: &Key, metric: &Metric, cases: &[Cases<'_>]) -> Vec<Line> {
    let parts: &[Option<Part>] = match metric {
        Metric::Memory => &[Some(Part::User), Some(Part::Together)],
        _ => &[None],
    };
    let line = |&part: &Option<Part>| {
        let figures: Vec<Figure> = cases.iter().map(|c| Figure::of(c, key, part)).collect();
        let (old, others) = figures.split_first()?;
        let changes = others.iter().map(|new| Change::of(old, new)).collect::<Vec<_>>();
        // A system that does not tell the kernel's memory has no such line.
        let known = |figure: &Figure| !matches!(figure, Figure::Absent);
        figures.iter().any(known).then(|| Line {
            name: name(key, part, cases),
            key: key.clone(),
            metric: metric.clone(),
            part,
            is_yardstick: cases.iter().any(|c| c.is_yardstick(key)),
            is_pinned: cases
                .iter()
                .filter_map(|c| c.get(key)?.all.first())
                .any(|r| r.cpus.is_some()),
            changes,
            figures,
        })
    };
    parts.iter().filter_map(line).collect()
}

fn name(key: &Key, part: Option<Part>, cases: &[Cases<'_>]) -> String {
    let over = cases.iter().find_map(|c| c.get(key)?.place.case.over.as_ref());
    let mut name = key.name();
    if let Some((flag, x)) = over.zip(key.x) {
        name += &format!(", {flag} {x}");
    }
    match part {
        None => name,
        Some(Part::User) => name + ", user",
        Some(Part::Together) => name + ", with kernel",
    }
}

impl File {
    fn of(source: &Source<'_>) -> Self {
        let runs = notes::runs(source.records);
        let pressures: Vec<f64> = runs.iter().filter_map(|run| run.machine.pressure.cpu).collect();
        File {
            name: source.name.to_owned(),
            machines: machines(runs),
            records: source.records.len(),
            pressure: stats::median(&pressures),
            warnings: notes::warnings(source.records),
        }
    }
}

impl Figure {
    fn of(cases: &Cases<'_>, key: &Key, part: Option<Part>) -> Self {
        let Some(runs) = cases.get(key) else {
            return Figure::Absent;
        };
        if runs.all.is_empty() {
            return Figure::Failed(runs.reason.unwrap_or("interrupted").to_owned());
        }
        if !runs.view.metric.is_slope() {
            return match cases.reading(key).filter(|_| part.is_none()) {
                Some(reading) => Figure::Reading(Box::new(reading)),
                None if runs.view.further => Figure::Absent,
                None => Figure::Failed(analysis::no_figure(runs)),
            };
        }
        let slopes = memory::slopes(&runs.all, None);
        match (slopes, part) {
            (Some(slopes), _) if slopes.void() => {
                Figure::Failed("transparent huge pages void the slope".to_owned())
            }
            (Some(slopes), Some(Part::User)) => Figure::Slope(Box::new(slopes.user.line)),
            (Some(slopes), Some(Part::Together)) => {
                slopes.all.map_or(Figure::Absent, |fit| Figure::Slope(Box::new(fit.line)))
            }
            _ => Figure::Failed(memory::no_slope(&runs.all).to_owned()),
        }
    }
}

impl Comparison {
    /// All changes of all cases, each with the file it is about, from 1.
    pub fn changes(&self) -> impl Iterator<Item = (&Line, usize, &Change)> {
        let lines = self.sections.iter().flat_map(|section| &section.lines);
        lines.flat_map(|line| {
            (1..)
                .zip(&line.changes)
                .filter_map(move |(file, change)| Some((line, file, change.as_ref()?)))
        })
    }

    /// The changes for the worse of which even the better end of the interval is worse than
    /// `limit`, 0.05 for 5 %: of a rate, by so much more time for each. That the interval lies there and not just the estimate keeps noise
    /// from failing a gate: a case that is worse by exactly the limit fails it once in forty times.
    pub fn worse_than(&self, limit: f64) -> Vec<(&Line, usize, &Change)> {
        self.changes()
            .filter(|(line, _, change)| {
                let interval = change.shown().and_then(|ratio| ratio.interval);
                let better = interval.map(|interval| match line.metric.quantity() {
                    Quantity::Rate | Quantity::Throughput => 1.0 / interval.high,
                    _ => interval.low,
                });
                change.verdict.is_worse() && better.is_some_and(|better| better - 1.0 > limit)
            })
            .collect()
    }

    fn section(&mut self, key: &Key, runs: &Runs<'_>) -> &mut Section {
        let index = self.sections.iter().position(|s| s.title == key.section);
        let index = index.unwrap_or_else(|| {
            self.sections.push(Section {
                title: key.section.clone(),
                metric: runs.view.metric.clone(),
                lines: Vec::new(),
            });
            self.sections.len() - 1
        });
        &mut self.sections[index]
    }

    /// Corrects the p of all changes for their number, and decides.
    fn judge(&mut self) {
        let p = self.changes().filter_map(|(_, _, change)| Some(change.judged.as_ref()?.p));
        let p: Vec<f64> = p.collect();
        self.family = p.len();
        let mut steps = stats::holm_levels(&p, LEVEL).into_iter().zip(stats::holm(&p));
        for line in self.sections.iter_mut().flat_map(|section| &mut section.lines) {
            let quantity = line.metric.quantity();
            let judged = line.changes.iter_mut().flatten().filter(|change| change.judged.is_some());
            // The changes first: a zip asks its first part for one more than it needs.
            for (change, (level, adjusted_p)) in judged.zip(&mut steps) {
                change.judge(quantity, level, adjusted_p);
            }
        }
    }
}
