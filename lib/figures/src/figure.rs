//! One figure: its place, its trials, what came of them, and what it is worth.

use std::collections::BTreeMap;
use std::slice;

use contract::message::Claim;
use record::{Metric, Place, Quantity, Why};
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};
use stats::{Estimate, Interval, Mode};

use super::doubt::{self, Doubt};
use super::evidence::Evidence;
use super::grade::Grade;
use super::memory::Slopes;
use super::part::Part;
use super::runs::Runs;
use super::session_spread::SessionSpread;
use super::sessions;
use super::speed::Round;
use super::value::{Session, Value};

/// One figure.
#[derive(Clone, Debug)]
pub struct Figure<'a> {
    pub runs: Runs<'a>,
    pub outcome: Outcome,
    /// Reasons why it is less certain.
    pub doubts: Vec<Doubt>,
    /// What it is worth, by its doubts.
    pub grade: Grade,
    pub related: Related,
    /// The same figure in each session that is a sample of it, if there are several.
    pub(crate) sessions: Vec<Figure<'a>>,
}

/// What is made of a figure and others, as its row's ties say.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Related {
    pub net: Option<Value>,
    /// Divided by the row that it is compared with.
    pub ratio: Option<Value>,
    /// The same, each less its own baseline.
    pub net_ratio: Option<Value>,
    /// The interval of the figure divided by its twin: nothing but noise.
    pub noise: Option<Interval>,
    /// True if that ratio is missing because one of the two is not above its baseline in every round: what is
    /// nothing or less cannot be divided by.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_net_left: bool,
}

/// What came of the processes of a row.
#[derive(Clone, Debug)]
pub enum Outcome {
    Measured(Box<Reading>),
    /// Bytes for each task: slopes over the number of tasks.
    Slope(Box<Slopes>),
    /// No process has it: the cause of the last failure, if any was tried.
    Missing(Why),
    /// A further column that the records do not tell; the section's own column says what became of them.
    Absent,
}

impl Outcome {
    /// Why there is no figure; `None` if there is one.
    pub fn why(&self) -> Option<&Why> {
        match self {
            Outcome::Missing(why) => Some(why),
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
    /// Their median; of times of iterations, the median of the process medians.
    pub(crate) median: f64,
    /// The shortest iteration, divided as the mean is; `None` if the figure is no time of iterations.
    pub(crate) min: Option<f64>,
    /// 50th, 90th and 99th percentile at the quiet speed, medians of the trials', and the longest iteration.
    pub(crate) percentiles: Option<[f64; 4]>,
    /// Two clusters of process means, if one mean would describe neither.
    pub modes: Option<[Mode; 2]>,
    pub evidence: Option<Evidence>,
}

impl<'a> Figure<'a> {
    /// Makes each session a sample: those that have the figure, if more than half of them do.
    pub(crate) fn combine(&mut self, tried: &[&Figure<'a>]) {
        let measured = tried
            .iter()
            .filter(|figure| matches!(figure.outcome, Outcome::Measured(_) | Outcome::Slope(_)));
        let sessions: Vec<Figure<'a>> = measured.map(|figure| (*figure).clone()).collect();
        if tried.len() < 2 || 2 * sessions.len() <= tried.len() {
            return;
        }
        let is_sum = matches!(self.quantity(), Quantity::Count | Quantity::Share);
        match &mut self.outcome {
            Outcome::Measured(reading) => {
                let readings: Vec<&Reading> = sessions.iter().filter_map(Figure::reading).collect();
                let means: Vec<Estimate> = readings.iter().map(|reading| reading.mean).collect();
                let mean = if is_sum { Estimate::mean } else { Estimate::geometric_mean };
                reading.mean = sessions::across(&means, mean).unwrap_or(reading.mean);
                // Sessions apart are no modes.
                let with_modes = readings.iter().filter(|reading| reading.modes.is_some()).count();
                if 2 * with_modes < readings.len() {
                    reading.modes = None;
                }
            }
            Outcome::Slope(slopes) => {
                slopes.combine(&sessions.iter().filter_map(Figure::slopes).collect::<Vec<_>>());
            }
            _ => return,
        }
        self.grade = sessions::grade(sessions.iter().map(|session| session.grade));
        let doubts = sessions.iter().flat_map(|session| session.doubts.clone());
        self.doubts = doubt::shared(doubts, sessions.len().div_ceil(2));
        self.sessions = sessions;
    }

    /// Where it stands.
    pub fn place(&self) -> &Place {
        &self.runs.place
    }

    /// What is measured.
    pub fn metric(&self) -> &Metric {
        self.runs.metric()
    }

    /// What its programs claim of their hops.
    pub fn claim(&self) -> Option<Claim> {
        self.runs.whole.iter().find_map(|record| Some(record.said.as_ref()?.claim))
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

    /// Its value; of a slope of memory bytes per task, with the kernel's share if it can be told.
    ///
    /// # Errors
    /// Why there is none.
    pub fn value(&self) -> Result<Value, String> {
        let value = match &self.outcome {
            Outcome::Measured(reading) => {
                let sessions = self.in_sessions(|own| {
                    let mean = own.reading()?.mean;
                    let between = own.runs.between(own.metric(), mean.value);
                    Some(own.session(mean, between, own.runs.with_errors()))
                });
                let modes = reading.modes.map(|modes| modes.map(|mode| mode.centre));
                let value = Value::made_of(sessions, reading.mean, self.quantity(), self.grade);
                Some(Value { modes, ..value })
            }
            Outcome::Slope(slopes) => self.size(slopes.lacks_kernel(), slopes.told()),
            _ => None,
        };
        value.ok_or_else(|| {
            self.outcome.why().map_or("the records lack it".to_owned(), ToString::to_string)
        })
    }

    /// A part of a size, or what the kernel counted per hop; `None` if it is unknown.
    ///
    /// # Errors
    /// The figure has no such part.
    pub fn part(&self, part: Part) -> Result<Option<Value>, String> {
        const NONE: &str = "it has no such part";
        if self.slopes().is_some() {
            return self.size(false, part).map(Some).ok_or_else(|| NONE.to_owned());
        }
        if part == Part::Cpu {
            return Ok(self.cpu_time());
        }
        let evidence = self.reading().and_then(|reading| reading.evidence.as_ref()).ok_or(NONE)?;
        let count = match part {
            Part::Switches => Some(evidence.switches + evidence.preemptions),
            Part::Wakeups => evidence.wakeups,
            Part::HopsPerWait => evidence.hops_per_wait,
            _ => return Err(NONE.to_owned()),
        };
        Ok(count.map(|count| Value { grade: self.grade, ..Value::count(count) }))
    }

    /// CPU time per hop, or per what else its time is divided by; `None` if its programs do not count it.
    pub fn cpu_time(&self) -> Option<Value> {
        let sessions = self.in_sessions(|own| {
            let times = own.runs.cpu_times();
            let mean = times.values().copied().collect::<Vec<f64>>();
            let mean = Estimate::mean(&mean)?;
            let between = own.runs.between(&Metric::Cpu, mean.value);
            Some(own.session(between.widen(mean), between, times))
        });
        let value = Value::of_sessions(sessions, Estimate::geometric_mean).ok()?;
        Some(Value { quantity: Some(Quantity::Time), ..value })
    }

    /// A size by the line of each session.
    fn size(&self, lacks_kernel: bool, part: Part) -> Option<Value> {
        let sessions = self.in_sessions(|own| {
            let slopes = own.slopes()?;
            let line = slopes.part(part)?.line;
            Some(Session {
                lines: Some(Box::new([line, slopes.user().line])),
                lacks_kernel,
                ..own.session(line.slope.into(), SessionSpread::default(), BTreeMap::new())
            })
        });
        let slope = self.slopes()?.part(part)?.line.slope;
        Some(Value::made_of(sessions, slope.into(), Quantity::Bytes, self.grade))
    }

    /// The same figure in each session that is a sample of it: itself, if there is only one.
    pub(crate) fn by_session(&self) -> &[Figure<'a>] {
        if self.sessions.is_empty() { slice::from_ref(self) } else { &self.sessions }
    }

    /// What each of the sessions that it is made of says.
    fn in_sessions(&self, session: impl Fn(&Figure<'_>) -> Option<Session>) -> Vec<Session> {
        self.by_session().iter().filter_map(session).collect()
    }

    /// What its rounds say, if they are of one session.
    fn session(
        &self,
        estimate: Estimate,
        between: SessionSpread,
        rounds: BTreeMap<Round, f64>,
    ) -> Session {
        Session::of(self.runs.session(), estimate, between, rounds, self.grade)
    }

    /// This divided by another figure. Sides that took turns, and twins, are paired turn by turn; others round by
    /// round.
    ///
    /// # Errors
    /// Why they cannot be divided.
    pub fn divided_by(&self, divisor: &Figure<'_>) -> Result<Value, String> {
        if self.place().side == divisor.place().side {
            return self.value()?.divided_by(&divisor.value()?);
        }
        Value::of_rounds(self.runs.by_turns(&divisor.runs), self.grade.max(divisor.grade))
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

    /// Its name in the answer, with its column.
    pub fn answers(&self) -> Option<String> {
        Some(self.place().named(self.runs.ties()?.answer.as_ref()?))
    }

    /// Flag that is swept, as it is typed, and its value.
    pub fn swept(&self) -> Option<(&str, u64)> {
        Some((&self.runs.row.swept.as_ref()?.flag, self.place().x?))
    }
}

/// One object, with the fields of the place and of the outcome.
impl Serialize for Figure<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (Runs { place, row, .. }, ties) = (&self.runs, self.runs.ties());
        let flag = row.swept.as_ref().map(|swept| swept.flag.trim_start_matches('-'));
        let (outcome, mut value) = match &self.outcome {
            Outcome::Measured(reading) => ("measured", json!(reading)),
            Outcome::Slope(slopes) => ("slope", json!(slopes)),
            Outcome::Missing(why) => (why.word(), json!({ "reason": why.text() })),
            Outcome::Absent => ("absent", json!({})),
        };
        let fields = json!({
            "outcome": outcome.replace(' ', "-"),
            "section": place.section,
            "row": place.row,
            "column": place.column,
            "x": place.x,
            "over": flag.map(|flag| flag.replace('-', "_")),
            "metric": place.metric,
            "quantity": self.quantity().name(),
            "baseline": ties.and_then(|ties| ties.baseline.as_ref()),
            "versus": ties.and_then(|ties| ties.versus.as_ref()),
            "failed": self.runs.failed,
            "grade": self.grade,
            "doubts": self.doubts,
        });
        for fields in [fields, json!(self.related)] {
            if let (Some(value), Json::Object(fields)) = (value.as_object_mut(), fields) {
                value.extend(fields);
            }
        }
        value.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use crate::cube::Figures;
    use crate::trials::{row, sessions, sizes};

    #[test]
    fn a_figure_is_of_the_sessions_that_have_it_if_most_do_and_so_are_its_modes() {
        let (low, high, none) = ([100; 12], [200; 12], [0; 12]);
        let both = [100, 200, 101, 201, 102, 202, 103, 203, 100, 200, 101, 201];
        for (times, count, has_modes) in [
            (&[low][..], 0, false),
            (&[low, none], 0, false),
            (&[low, none, none, none, low], 0, false),
            (&[low, none, high], 2, false),
            (&[low, high, low, none, none], 3, false),
            (&[both, both, low], 3, true),
            (&[both, both, low, low], 4, true),
            (&[both, low, high], 3, false),
        ] {
            let records = sessions(&row(""), times);
            let figures = Figures::of(&records);
            let figure = figures.iter().next().unwrap();
            let modes = figure.reading().unwrap().modes;
            assert_eq!((figure.sessions.len(), modes.is_some()), (count, has_modes), "{times:?}");
        }
    }

    /// The share of the kernel is left out of both if it is not known of one.
    #[test]
    fn sizes_are_divided_like_by_like() {
        let [own, other] = [100_000, 0].map(|noise| sizes(100, noise));
        let [own, other] = [&own, &other].map(|records| Figures::of(records));
        let [own, other] = [&own, &other].map(|figures| figures.iter().next().unwrap());
        for ratio in [own.divided_by(other), other.divided_by(own)] {
            assert!((ratio.unwrap().estimate.value - 1.0).abs() < 1e-6);
        }
    }
}
