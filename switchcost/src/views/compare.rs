//! Two files of records case by case: what has changed, and whether the noise allows to say so.
//!
//! A change is the ratio of the geometric means of the process means, with Welch's interval on their
//! logarithms; in memory it is the ratio of two slopes. The verdicts hold together: all changes are one
//! family (Bonferroni), so that in at most 5 % of comparisons of equal runs any case is called different. The
//! interval shown is the one that decides, by the rule of a duel.
//!
//! A machine that has become slower meanwhile makes a true difference, which no statistics of two files can
//! tell from one of the programs. So each time is set beside the yardsticks, work that no kernel and no runtime
//! changes: in each round it is divided by theirs, which ran within the same seconds. A change counts if it is
//! one beside each of them (an intersection-union test: R. L. Berger, Technometrics 24, 1982).

use facts::{Metric, Quantity};
use serde::Serialize;
use stats::{Contrast, Estimate, Line};

mod change;

pub use change::{Change, Judged};

use crate::figures::grade::Grade;
use crate::figures::provenance::{self, Fact};
use crate::figures::verdict::{Reason, Verdict};
use crate::figures::{CONFIDENCE, Figure, Figures, Outcome, runs::Key};
use crate::system::console::shell_line;

/// Share of comparisons of equal runs in which any case may be called different.
pub(crate) const LEVEL: f64 = 1.0 - CONFIDENCE;

/// Comparison of two files.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison<'a> {
    pub(crate) files: [File; 2],
    /// Facts of the machine, of the build and of the cases' commands that differ.
    pub marks: [Vec<Fact>; 3],
    /// Cases in the plan's order.
    pub cases: Vec<Case<'a>>,
    /// Number of changes that are judged together.
    pub family: usize,
    /// Range of the yardsticks' changes, as ratios with their intervals.
    pub(crate) moved: Option<(f64, f64)>,
    /// Largest change that counts as none, as a share.
    pub(crate) margin: f64,
}

/// A file that is compared.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) machines: String,
    /// Number of records.
    pub(crate) records: usize,
    /// Doubts about its records and figures, a sentence each.
    pub(crate) doubts: Vec<String>,
}

/// One case; of memory, one part of it.
#[derive(Clone, Debug, Serialize)]
pub struct Case<'a> {
    /// Name for people.
    pub name: String,
    /// Place in the plan.
    #[serde(flatten)]
    pub(crate) key: &'a Key,
    pub(crate) metric: &'a Metric,
    /// True if it depends on the machine alone. Without a pin it also depends on the scheduler.
    pub is_yardstick: bool,
    /// Old figure and new one.
    pub(crate) sides: [Side<'a>; 2],
    /// What has changed.
    pub change: Change,
}

/// A figure of one file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Side<'a> {
    /// The file does not have it.
    Absent,
    /// It was not measured.
    Failed(String),
    /// One value for each process.
    Figure(&'a Figure<'a>),
    /// Bytes for each task.
    Slope(Line),
}

/// Compares two files; `margin` is the largest change that counts as none, as a share.
pub fn compare<'a>(names: [&str; 2], figures: [&'a Figures<'a>; 2], margin: f64) -> Comparison<'a> {
    let [old, new] = figures;
    let mut comparison = Comparison {
        files: [File::new(names[0], old), File::new(names[1], new)],
        marks: marks(old, new),
        cases: old
            .iter()
            .chain(new.iter().filter(|figure| old.get(&figure.key).is_none()))
            .flat_map(|figure| cases(figure, figures))
            .collect(),
        family: 0,
        moved: None,
        margin,
    };
    comparison.set_beside(figures);
    comparison.judge();
    comparison
}

impl File {
    fn new(name: &str, figures: &Figures<'_>) -> Self {
        File {
            name: name.to_owned(),
            machines: provenance::machines(figures.records),
            records: figures.records.len(),
            doubts: figures.doubts().iter().map(ToString::to_string).collect(),
        }
    }
}

/// Facts of the machines, the builds and the commands that differ; of the commands the first.
fn marks(old: &Figures<'_>, new: &Figures<'_>) -> [Vec<Fact>; 3] {
    let runs = [old, new].map(|figures| provenance::runs(figures.records));
    let own = old.iter().filter(|figure| !figure.runs.is_further());
    let commands = own.filter_map(|figure| {
        let (old, new) = (command(figure)?, command(new.get(&figure.key)?)?);
        (old != new).then(|| Fact { name: figure.key.name(), old, new })
    });
    let mut commands: Vec<Fact> = commands.collect();
    if commands.len() > 1 {
        commands[0].name = format!("'{}' and {} more", commands[0].name, commands.len() - 1);
        commands.truncate(1);
    }
    [
        provenance::differing_machines(&runs[0], &runs[1]),
        provenance::differing_builds(&runs[0], &runs[1]),
        commands,
    ]
}

/// Command line of a case, its CPUs and its scheduling policy. The same name promises the same question.
fn command(figure: &Figure<'_>) -> Option<String> {
    let record = figure.runs.whole.first()?;
    let mut args = record.args.clone();
    let tasks = args.iter().position(|arg| arg == "--tasks");
    if let Some(at) = tasks.filter(|_| figure.metric().is_slope()) {
        // A slope is made of processes with different counts.
        args.drain(at..args.len().min(at + 2));
    }
    let mut command = shell_line([&record.program].into_iter().chain(&args));
    for (name, value) in [("CPUs", &record.cpus), ("policy", &record.policy)] {
        if let Some(value) = value {
            command += &format!(", {name} {value}");
        }
    }
    Some(command)
}

/// A case of both files: two if it is about memory.
fn cases<'a>(figure: &'a Figure<'a>, figures: [&'a Figures<'a>; 2]) -> Vec<Case<'a>> {
    let parts: &[&str] =
        if figure.metric().is_slope() { &[", user", ", with kernel"] } else { &[""] };
    let both = figures.map(|figures| figures.get(&figure.key));
    let swept = figure.swept().map_or(String::new(), |(flag, x)| format!(", {flag} {x}"));
    let cases = parts.iter().filter_map(|part| {
        let sides = both.map(|figure| Side::new(figure, *part == ", user"));
        let change = Change::of(&sides)?;
        Some(Case {
            name: format!("{}{swept}{part}", figure.key.name()),
            key: &figure.key,
            metric: figure.metric(),
            is_yardstick: both.iter().flatten().all(|own| own.runs.is_yardstick()),
            sides,
            change,
        })
    });
    cases.collect()
}

impl Case<'_> {
    /// Its verdict in a word.
    pub(crate) fn word(&self) -> &'static str {
        self.change.verdict.word(self.metric.quantity())
    }

    /// Worth of the change: that of the worse side.
    pub(crate) fn grade(&self) -> Grade {
        let grades = self.sides.iter().map(|side| match side {
            Side::Figure(figure) => figure.grade,
            _ => Grade::Sure,
        });
        grades.max().unwrap_or_default()
    }
}

impl<'a> Side<'a> {
    fn new(figure: Option<&'a Figure<'a>>, is_user: bool) -> Self {
        let Some(figure) = figure else { return Side::Absent };
        match &figure.outcome {
            Outcome::Absent => Side::Absent,
            Outcome::Failed { reason } | Outcome::NotRun { reason } => Side::Failed(reason.clone()),
            Outcome::Measured(_) => Side::Figure(figure),
            Outcome::Slope(slopes) if slopes.void() => {
                Side::Failed("transparent huge pages void the slope".to_owned())
            }
            Outcome::Slope(slopes) if is_user => Side::Slope(slopes.user.line),
            // A system that does not tell the kernel's memory has no such case.
            Outcome::Slope(slopes) => {
                slopes.all.as_ref().map_or(Side::Absent, |fit| Side::Slope(fit.line))
            }
        }
    }
}

impl Comparison<'_> {
    /// Changes for the worse of which even the better end of the interval is worse than `limit`, 0.05 for 5 %:
    /// of a rate, by so much more time for each. A case that is worse by exactly the limit fails once in
    /// forty times.
    pub fn worse_than(&self, limit: f64) -> Vec<&Case<'_>> {
        let is_beyond = |case: &&Case<'_>| {
            let interval = case.change.shown().and_then(|ratio| ratio.interval);
            let better = interval.and_then(|interval| match case.metric.quantity() {
                Quantity::Rate | Quantity::Throughput => Some(1.0 / interval.high),
                Quantity::Time | Quantity::Bytes => Some(interval.low),
                // For better or worse.
                Quantity::Count | Quantity::Share => None,
            });
            !case.change.verdict.is_open() && better.is_some_and(|better| better - 1.0 > limit)
        };
        self.cases.iter().filter(is_beyond).collect()
    }

    /// True if a change has a verdict.
    pub fn has_verdict(&self) -> bool {
        let mut verdicts = self.cases.iter().map(|case| case.change.verdict);
        verdicts.any(|verdict| verdict.has_changed() || matches!(verdict, Verdict::Within(_)))
    }

    /// True if both files are of one model of CPU.
    pub fn is_one_cpu(&self) -> bool {
        !self.marks[0].iter().any(|fact| fact.name == "cpu_model")
    }

    /// Sets each time beside the yardsticks.
    fn set_beside(&mut self, figures: [&Figures<'_>; 2]) {
        let yardsticks: Vec<Case<'_>> =
            self.cases.iter().filter(|case| case.is_yardstick).cloned().collect();
        self.moved = range(&yardsticks);
        for case in self.cases.iter_mut().filter(|case| !case.is_yardstick) {
            let quantity = case.metric.quantity();
            let is_timed =
                matches!(quantity, Quantity::Time | Quantity::Rate | Quantity::Throughput);
            if is_timed && case.change.judged.is_some() {
                let changes =
                    yardsticks.iter().filter_map(|other| beside(case.key, other, figures));
                let judged = Judged::of(&changes.collect::<Vec<_>>(), true);
                case.change.judged = judged.or(case.change.judged.take());
            }
        }
    }

    /// Decides, by intervals that hold together.
    fn judge(&mut self) {
        let judged = self.cases.iter_mut().filter(|case| case.change.judged.is_some());
        let judged: Vec<&mut Case<'_>> = judged.collect();
        self.family = judged.len();
        for case in judged {
            case.change.judge(LEVEL / self.family as f64, self.margin);
            if case.is_yardstick && case.change.verdict.has_changed() {
                case.change.verdict = Verdict::Inconclusive(Reason::Machine);
            }
        }
    }
}

/// Range of the intervals of these changes and 1; `None` if there is no interval.
fn range(cases: &[Case<'_>]) -> Option<(f64, f64)> {
    let intervals = cases.iter().filter_map(|case| case.change.measured?.interval);
    intervals.fold(None, |range, interval| {
        let (low, high) = range.unwrap_or((1.0, 1.0));
        Some((interval.low.min(low), interval.high.max(high)))
    })
}

/// Change of a figure divided, round by round, by a yardstick's.
fn beside(
    key: &Key,
    yardstick: &Case<'_>,
    figures: [&Figures<'_>; 2],
) -> Option<(Estimate, Contrast)> {
    if yardstick.metric.quantity() != Quantity::Time {
        return None;
    }
    let quotients = |figures: &Figures<'_>| {
        Some(figures.get(key)?.runs.beside(&figures.get(yardstick.key)?.runs))
    };
    let (old, new) = (quotients(figures[0])?, quotients(figures[1])?);
    let ratio = Estimate::unpaired_ratio(&new, &old, CONFIDENCE)?;
    ratio.interval?;
    Some((ratio, Contrast::log_ratio(&new, &old)?))
}
