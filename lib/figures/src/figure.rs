//! One figure: its place, its trials, what came of them, and what it is worth.

use record::{Metric, Place, Quantity};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use stats::{Estimate, Mode};

use super::basis::CONFIDENCE;
use super::doubt::Doubt;
use super::evidence::Evidence;
use super::grade::{Grade, Graded};
use super::memory::Slopes;
use super::runs::Runs;

/// One figure.
#[derive(Clone, Debug)]
pub struct Figure<'a> {
    /// Its place and its trials.
    pub runs: Runs<'a>,
    /// What came of the trials.
    pub outcome: Outcome,
    /// Reasons why it is less certain.
    pub doubts: Vec<Doubt>,
    /// What it is worth, by its doubts.
    pub grade: Grade,
}

/// What came of the processes of a row.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// A figure of each process.
    Measured(Box<Reading>),
    /// Bytes for each task: slopes over the number of tasks.
    Slope(Box<Slopes>),
    /// No process has it: the cause of the last failure.
    Failed {
        /// The cause.
        reason: String,
    },
    /// It was not tried.
    NotRun {
        /// The cause.
        reason: String,
    },
    /// A further column that the records do not tell; the section's own column says what became of them.
    Absent,
}

impl Outcome {
    /// Why there is no figure; `None` if there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Failed { reason } | Outcome::NotRun { reason } => Some(reason),
            Outcome::Measured(_) | Outcome::Slope(_) | Outcome::Absent => None,
        }
    }
}

/// Figures of the processes of a row, one of each, in the unit of the metric's [`Quantity`]: times in ns and
/// for each hop, task or what else they are divided by.
#[derive(Clone, Debug, Serialize)]
pub struct Reading {
    /// Mean of the processes' figures, geometric if they are positive; of counts and shares the
    /// arithmetic one.
    pub mean: Estimate,
    /// The processes' figures, in the order of the rounds.
    pub means: Vec<f64>,
    /// The same with the error of the correction: what intervals are made of.
    #[serde(skip)]
    pub samples: Vec<f64>,
    /// Their median; of times of iterations, the median of the process medians.
    pub(crate) median: f64,
    /// The shortest iteration, divided as the mean is; `None` if the figure is no time of iterations.
    pub(crate) min: Option<f64>,
    /// 50th, 90th and 99th percentile at the quiet speed, medians of the trials', and the longest iteration.
    pub(crate) percentiles: Option<[f64; 4]>,
    /// Two clusters of process means, if one mean would describe neither.
    pub modes: Option<[Mode; 2]>,
    /// Number of process means outside Tukey's fences. None is dropped.
    pub(crate) outliers: usize,
    /// Number of trials that failed.
    pub failed: usize,
    /// Less the baseline, round by round.
    pub net: Option<Graded>,
    /// Divided by the row it is compared with, round by round.
    pub ratio: Option<Graded>,
    /// The same, each less its own baseline.
    pub net_ratio: Option<Graded>,
    /// True if that ratio is missing because one of the two is not above its baseline in every round: what is
    /// nothing or less cannot be divided by.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_net_left: bool,
    /// What the counters say of it.
    pub evidence: Option<Evidence>,
}

impl Figure<'_> {
    /// Where it stands.
    pub fn place(&self) -> &Place {
        &self.runs.place
    }

    /// What is measured.
    pub fn metric(&self) -> &Metric {
        self.runs.metric()
    }

    /// Kind of its unit.
    pub fn quantity(&self) -> Quantity {
        self.runs.metric().quantity()
    }

    /// Figures of the processes, if they were measured and are no sizes.
    pub fn reading(&self) -> Option<&Reading> {
        match &self.outcome {
            Outcome::Measured(reading) => Some(reading),
            _ => None,
        }
    }

    /// CPU time per hop, or per what else its time is divided by, in ns; `None` if its programs do not count it.
    pub fn cpu_time(&self) -> Option<Estimate> {
        let times = self.runs.cpu_times().into_iter().map(|(_, _, ns)| ns);
        Estimate::mean(&times.collect::<Vec<f64>>(), CONFIDENCE)
    }

    /// Sizes per task, if it is a slope.
    pub fn slopes(&self) -> Option<&Slopes> {
        match &self.outcome {
            Outcome::Slope(slopes) => Some(slopes),
            _ => None,
        }
    }

    /// Name of the row, with the value of a swept flag.
    pub fn name(&self) -> String {
        let swept = self.swept().map_or(String::new(), |(flag, x)| format!(", {flag} {x}"));
        self.place().name() + &swept
    }

    /// Flag that is swept, as it is typed, and its value.
    pub fn swept(&self) -> Option<(&str, u64)> {
        Some((&self.runs.row.swept.as_ref()?.flag, self.place().x?))
    }
}

/// One figure divided by another, round by round, with the worth of the worse one.
pub fn ratio(own: &Figure<'_>, other: &Figure<'_>) -> Option<Graded> {
    Some(Graded { estimate: own.runs.ratio(&other.runs)?, grade: own.grade.max(other.grade) })
}

/// One object, with the place's fields beside those of the outcome.
impl Serialize for Figure<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Runs { place, row, .. }, ties) = (&self.runs, self.runs.ties());
        let flag = row.swept.as_ref().map(|swept| swept.flag.trim_start_matches('-'));
        let mut value = json!(self.outcome);
        let fields = json!({
            "section": place.section,
            "row": place.row,
            "column": place.column,
            "x": place.x,
            "over": flag.map(|flag| flag.replace('-', "_")),
            "metric": place.metric,
            "quantity": self.quantity().name(),
            "baseline": ties.and_then(|ties| ties.baseline.as_ref()),
            "versus": ties.and_then(|ties| ties.versus.as_ref()),
            "grade": self.grade,
            "doubts": self.doubts,
        });
        if let (Some(value), Value::Object(fields)) = (value.as_object_mut(), fields) {
            value.extend(fields);
        }
        value.serialize(serializer)
    }
}
