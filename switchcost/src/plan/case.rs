//! A case: what is run in each round, and where it stands in the tables.

use std::sync::Arc;

use contract::units::counted;
use observe::cpu_map::Relation;
use record::{Metric, Row, Side};

use super::scheduling::Cpus;
use super::setting::Setting;
use crate::system::console::shell_line;

/// A process to run in some rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// The program.
    pub program: String,
    /// Its flags, but for those of the runner.
    pub flags: Vec<String>,
    /// Timed iterations.
    pub iters: u64,
    /// Untimed iterations before them.
    pub warmup: u64,
    /// Hops that its iterations make up, about, in place of a number of iterations.
    pub hops: Option<u64>,
    /// Further passes.
    pub passes: Vec<String>,
    /// True if it is pinned to the first CPU that the runner may use.
    pub pin: bool,
    /// Relation of the two CPUs that it may use: [`crate::plan::placement`] finds them.
    pub relation: Option<Relation>,
    /// Setting of its process.
    pub setting: Setting,
    /// True if its tasks are not held.
    pub skip_hold: bool,
    /// Number of rounds.
    pub rounds: u32,
    /// Place in the plan.
    pub index: u32,
    /// Places of the rows that it is divided by, or less which it is shown.
    pub compared: Vec<u32>,
    /// True if it is the second of two equal processes in a round.
    pub twin: bool,
    /// Side of a duel.
    pub side: Option<Side>,
    /// True if it takes no turns: it may take most of the machine.
    pub alone: bool,
    /// Value of the flag that a curve or a slope runs over.
    pub x: Option<u64>,
    /// Table that it belongs to.
    pub section: Arc<record::Section>,
    /// Cell of the table.
    pub cell: Arc<record::Case>,
}

/// A cell of a plan, and the value of the flag that it runs over.
pub type Point = (u32, Option<u64>);

/// A process of each round: the point that it measures, whether it is a twin, and the side of a duel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// What it measures.
    pub point: Point,
    twin: bool,
    side: Option<Side>,
}

impl From<&Case> for Identity {
    fn from(case: &Case) -> Self {
        Identity { point: case.point(), twin: case.twin, side: case.side }
    }
}

impl From<&Row> for Identity {
    fn from(row: &Row) -> Self {
        Identity { point: (row.case, row.x), twin: row.twin, side: row.side }
    }
}

impl Case {
    /// What it measures.
    pub fn point(&self) -> Point {
        (self.index, self.x)
    }

    /// True if its section, row, column, both together or its name in the answer contains `text`, case-insensitively.
    pub fn matches(&self, text: &str) -> bool {
        let answer = self.cell.answer.as_ref().map(|name| format!("{name}, {}", self.cell.column));
        let names = [Some(self.section.title.clone()), Some(self.cell.name()), answer];
        let text = text.to_lowercase();
        names.iter().flatten().any(|name| name.to_lowercase().contains(&text))
    }

    /// The same case again, to learn the noise; slopes have their own.
    pub fn twin(&self) -> Option<Case> {
        let twin = Case { twin: true, ..self.clone() };
        (!self.section.metric.is_slope()).then_some(twin)
    }

    /// The same case at a value of a flag, which is typed in this unit.
    #[must_use]
    pub fn at(&self, flag: &str, x: u64, unit: &str) -> Case {
        let mut point = Case { x: Some(x), ..self.clone() };
        point.flags.extend([flag.to_owned(), format!("{x}{unit}")]);
        point
    }

    /// Setting of its process among the CPUs that the runner may use.
    pub(crate) fn setting_among(&self, allowed: Option<&Cpus>) -> Setting {
        let mut setting = self.setting.clone();
        if self.pin {
            setting.cpus = allowed.map(Cpus::first);
        }
        setting
    }

    /// What is known about its processes before they start.
    pub(crate) fn row(&self) -> Row {
        Row {
            case: self.index,
            twin: self.twin,
            side: self.side,
            x: self.x,
            ..Row::of(&self.program, self.args())
        }
    }

    /// True if its section shows a metric of this kind.
    pub(crate) fn shows(&self, is_of_kind: fn(&Metric) -> bool) -> bool {
        self.section.metrics().any(is_of_kind)
    }

    /// True if it runs alone.
    pub fn is_alone(&self) -> bool {
        self.alone || self.section.metric.is_slope()
    }

    /// Arguments of its process.
    pub fn args(&self) -> Vec<String> {
        let mut args = self.flags.clone();
        args.extend(["--warmup".to_owned(), self.warmup.to_string()]);
        args
    }

    /// Its program, its flags and how it is started, for `--list`.
    pub fn command(&self) -> String {
        let mut line = shell_line([&self.program].into_iter().chain(&self.args()));
        // The runner asks for them: a program need not have a flag for it.
        line += &format!(" ({})", counted(self.iters, "iteration"));
        if self.pin {
            line += " (pinned)";
        }
        if let Some(relation) = self.relation {
            line += &format!(" (two CPUs: {})", relation.name());
        }
        if let Some(policy) = self.setting.policy {
            line += &format!(" (policy {})", policy.name());
        }
        line
    }
}
