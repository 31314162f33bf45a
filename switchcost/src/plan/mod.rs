//! Plans: sections of rows and columns, read from TOML.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use contract::units::counted;
use facts::machine::cpu_map::Relation;
use facts::{Also, Link, Metric, Yardstick};
use serde::Deserialize;

use crate::plan::scheduling::Policy;
use crate::plan::setting::Setting;
use crate::system::console::shell_line;
use crate::system::trust;

mod built_in;
pub mod carried;
mod check;
pub(crate) mod checkout;
pub mod duel;
pub mod feasibility;
mod over;
pub mod placement;
pub mod programs;
pub mod range;
pub mod scheduling;
pub mod setting;
pub mod side;
pub mod sweep;
mod table;
pub mod values;

pub use built_in::{BUILT_IN, BuiltIn};
use check::ensure_printable;
use over::Over;

pub(crate) use check::ensure_no_runner_flags;
pub use table::{ProgramTable, ProgramTables, built_in_tables};

/// Sections to measure, in rounds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Question that it answers: the title of its page.
    pub question: Option<String>,
    /// Number of rounds; each case runs once in a round, in a fresh process.
    pub rounds: Option<u32>,
    /// Time for all rounds, in place of their number.
    #[serde(default, deserialize_with = "span")]
    pub budget: Option<Duration>,
    /// Programs that are no crate of the workspace.
    #[serde(rename = "program", default)]
    pub programs: ProgramTables,
    /// The tables, in order.
    #[serde(rename = "section")]
    pub sections: Vec<Section>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Metric of its figures.
    pub metric: Metric,
    /// Further metrics of the same record, as columns beside each of its own.
    #[serde(default)]
    pub also: Vec<Also>,
    /// Flag that its cases run over: their figures are curves.
    pub over: Option<Over>,
    /// Number of rounds in place of the plan's; for a slope, of each task count.
    pub rounds: Option<u32>,
    /// Variants of every row.
    #[serde(rename = "column", default)]
    pub columns: Vec<Column>,
    /// Rows to compare.
    #[serde(rename = "row")]
    pub rows: Vec<Row>,
}

/// A variant of every row of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// The benchmark program, if the columns differ in it, and not the rows.
    pub program: Option<String>,
    /// Flags that make the variant.
    #[serde(default)]
    pub flags: Vec<String>,
    /// True if it is pinned to one CPU.
    #[serde(default)]
    pub pin: bool,
    /// Relation of the two CPUs that it may use.
    pub cpus: Option<Relation>,
    /// Scheduling policy.
    pub policy: Option<Policy>,
    /// True if its tasks are not held while their memory is read.
    #[serde(default)]
    pub skip_hold: bool,
}

/// One thing to measure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name in the table.
    pub name: String,
    /// The benchmark program; empty if the columns name theirs.
    #[serde(default)]
    pub program: String,
    /// Its flags, besides those below.
    #[serde(default)]
    pub flags: Vec<String>,
    /// True if it is pinned to one CPU.
    #[serde(default)]
    pub pin: bool,
    /// Relation of the two CPUs that it may use.
    pub cpus: Option<Relation>,
    /// Scheduling policy.
    pub policy: Option<Policy>,
    /// Timed iterations in each process.
    pub iters: u64,
    /// Untimed iterations before them.
    pub warmup: u64,
    /// Further passes of the program that are run once, each a distribution of that name.
    #[serde(default)]
    pub passes: Vec<String>,
    /// Task counts, for a slope over them; each is run three times.
    #[serde(default)]
    pub tasks: Vec<u32>,
    /// The row to subtract in each round.
    pub baseline: Option<String>,
    /// The row to divide by in each round.
    pub versus: Option<String>,
    /// Name in the answer, which compares this row, a thread's, to the one it is divided by.
    pub answer: Option<String>,
    /// True for work that depends on the machine alone.
    #[serde(default)]
    pub yardstick: bool,
    /// True for work that programs do every day, which the answer compares to a switch.
    #[serde(default)]
    pub everyday: bool,
    /// Yardstick that it is, if its time on other machines is known.
    pub known: Option<Yardstick>,
    /// What its tasks wait on, if `switchcost estimate` may take it for a plain hand-over over this link.
    pub link: Option<Link>,
    /// True if each round has a second, equal process: how far two equal runs are apart.
    #[serde(default)]
    pub twin: bool,
}

/// Reads a span of time such as `60s`.
fn span<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    values::duration(&text).map(Some).map_err(serde::de::Error::custom)
}

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
    /// True if it is the second of two equal processes in a round.
    pub twin: bool,
    /// Side of a duel.
    pub side: Option<facts::Side>,
    /// True if it takes no turns: it may take most of the machine.
    pub alone: bool,
    /// Value of the flag that a curve or a slope runs over.
    pub x: Option<u64>,
    /// Table that it belongs to.
    pub section: Arc<facts::Section>,
    /// Cell of the table.
    pub cell: Arc<facts::Case>,
}

/// Longest budget of a short run.
const QUICK: Duration = Duration::from_secs(15);

/// How often each task count of a slope is run.
const REPEATS_OF_A_COUNT: u32 = 3;

/// How many task counts a slope needs.
pub const COUNTS_OF_A_SLOPE: usize = 8;

/// Most cases of a plan: a case takes about a kilobyte.
const MOST_CASES: usize = 200_000;

impl Plan {
    /// The plan that runs when no other is named.
    pub fn built_in() -> anyhow::Result<Self> {
        built_in::DEFAULT.plan()
    }

    /// The plan of the memory that tasks hold, which is built in too.
    pub fn memory() -> anyhow::Result<Self> {
        built_in::MEMORY.plan()
    }

    /// The default plan with its memory alone.
    pub fn sizes() -> anyhow::Result<Self> {
        let mut plan = Plan::built_in()?;
        plan.sections.retain(|section| section.metric.is_slope());
        Ok(plan)
    }

    /// The plan of hand-overs that the default plan has not, of those over one link.
    pub fn links(link: Link) -> anyhow::Result<Self> {
        let mut plan = built_in::LINKS.plan()?;
        plan.sections.retain(|section| section.rows.iter().any(|row| row.link == Some(link)));
        Ok(plan)
    }

    /// Reads a plan, and checks it.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let plan: Plan = toml::from_str(text).map_err(|e| check::in_line(text, &e))?;
        ensure!(plan.rounds != Some(0), "rounds: at least one");
        ensure!(
            plan.rounds.is_some() != plan.budget.is_some(),
            "write either rounds, their number, or budget, a time for them such as \"60s\""
        );
        ensure!(!plan.sections.is_empty(), "there is no [[section]]");
        for (name, table) in &plan.programs {
            table.check(name)?;
        }
        if let Some(question) = &plan.question {
            ensure_printable("the question", question)?;
        }
        let count: usize = plan.sections.iter().map(Section::count).sum();
        ensure!(count <= MOST_CASES, "it has {count} cases, and {MOST_CASES} are the most");
        let mut titles = HashSet::new();
        for section in &plan.sections {
            ensure_printable("a title", &section.title)?;
            let title = &section.title;
            ensure!(titles.insert(title), "two sections have the title '{title}'");
            section.check().with_context(|| format!("section '{title}'"))?;
        }
        Ok(plan)
    }

    /// The same plan, in which a relative path of a program (it has a `/`) starts in `folder`.
    ///
    /// # Errors
    /// When others may have put it there.
    pub fn with_paths_from(mut self, folder: &Path) -> Result<Self, String> {
        let mut found = HashSet::new();
        for section in &mut self.sections {
            let columns = section.columns.iter_mut().filter_map(|column| column.program.as_mut());
            let programs = section.rows.iter_mut().map(|row| &mut row.program).chain(columns);
            for program in programs.filter(|program| program.contains('/')) {
                let path = folder.join(&*program);
                if Path::new(program).is_relative() && path.exists() && found.insert(path.clone()) {
                    trust::ensure_own(&path)?;
                }
                *program = path.to_string_lossy().into_owned();
            }
        }
        Ok(self)
    }

    /// The same plan in a quarter of the time: fewer rounds, and shorter ones.
    pub fn quickened(mut self) -> Self {
        self.budget = self.budget.map(|budget| budget.min(QUICK));
        self.rounds = self.rounds.map(|rounds| rounds.min(5));
        for section in &mut self.sections {
            section.rounds = section.rounds.map(|rounds| rounds.min(5));
            for row in section.rows.iter_mut().filter(|row| row.tasks.is_empty()) {
                row.iters = row.iters.div_ceil(4);
                row.warmup = row.warmup.div_ceil(4);
            }
        }
        self
    }

    /// The same plan with three task counts of each slope: the fewest, the most and one between. More
    /// pairs of a duel are worth more than more counts.
    #[must_use]
    pub fn with_three_counts(mut self) -> Self {
        for row in self.sections.iter_mut().flat_map(|section| &mut section.rows) {
            row.tasks.sort_unstable();
            row.tasks.dedup();
            if let [first, .., last] = row.tasks[..] {
                row.tasks = vec![first, row.tasks[(row.tasks.len() - 1) / 2], last];
            }
        }
        self
    }

    /// The same plan in so much time; a section's own rounds stand.
    pub fn within(mut self, budget: Duration) -> Self {
        self.rounds = None;
        self.budget = Some(budget);
        self
    }

    /// The same plan with so many rounds of every section.
    pub fn with_rounds(mut self, rounds: u32) -> Self {
        self.rounds = Some(rounds);
        self.budget = None;
        for section in &mut self.sections {
            section.rounds = None;
        }
        self
    }

    /// The cases in the plan's order; `quick` runs each task count of a slope once.
    pub fn cases(&self, quick: bool) -> Vec<Case> {
        let mut cases = Vec::new();
        let mut index = 0;
        for section in &self.sections {
            let table = Arc::new(facts::Section {
                title: section.title.clone(),
                metric: section.metric.clone(),
                also: section.also.clone(),
                swept: None,
            });
            let one = [Column::default()];
            let columns = if section.columns.is_empty() { &one[..] } else { &section.columns[..] };
            for (row, column) in
                section.rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)))
            {
                let mut case = Case {
                    rounds: section.rounds.or(self.rounds).unwrap_or(u32::MAX),
                    index,
                    section: table.clone(),
                    ..row.case(&section.title, column)
                };
                if let Some(program) = self.programs.get(&case.program) {
                    case.setting.env = program.env.clone().into_iter().collect();
                    case.setting.wrap.clone_from(&program.wrap);
                }
                index += 1;
                if row.tasks.is_empty() {
                    let points = section.over.as_ref().map(|over| over.points(&case));
                    for case in points.unwrap_or_else(|| vec![case]) {
                        cases.extend(case.twin().filter(|_| row.twin));
                        cases.push(case);
                    }
                    continue;
                }
                let repeats = section.rounds.unwrap_or(REPEATS_OF_A_COUNT);
                for &tasks in &row.tasks {
                    let mut case = Case { rounds: if quick { 1 } else { repeats }, ..case.clone() };
                    case.flags.extend(["--tasks".to_owned(), tasks.to_string()]);
                    case.x = Some(tasks.into());
                    cases.push(case);
                }
            }
        }
        cases
    }
}

impl Case {
    /// True if its section, row, column, both together or its name in the answer contains `text`, case-insensitively, or
    /// `text` is its line of `--list`.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase().replace(" (a/a)", "");
        let cell = &self.cell;
        let answer = cell.answer.as_ref().map(|answer| format!("{answer}, {}", cell.column));
        let names = [&self.section.title, &cell.name()].map(|name| name.to_lowercase());
        let answer = answer.map(|answer| answer.to_lowercase());
        let is_line = text.starts_with(&format!("{}: ", names[1]));
        is_line || names.iter().chain(&answer).any(|name| name.contains(&text))
    }

    /// The same case again, to learn the noise; slopes have their own.
    pub fn twin(&self) -> Option<Case> {
        let twin = Case { twin: true, ..self.clone() };
        (!self.section.metric.is_slope()).then_some(twin)
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

impl Row {
    /// Its case in a column.
    fn case(&self, section: &str, column: &Column) -> Case {
        Case {
            // One of them has it: see `Section::check`.
            program: column.program.as_ref().unwrap_or(&self.program).clone(),
            flags: self.flags.iter().chain(&column.flags).cloned().collect(),
            iters: self.iters,
            warmup: self.warmup,
            passes: self.passes.clone(),
            pin: self.pin || column.pin,
            relation: column.cpus.or(self.cpus),
            setting: Setting { policy: column.policy.or(self.policy), ..Setting::default() },
            skip_hold: column.skip_hold,
            cell: Arc::new(facts::Case {
                section: section.to_owned(),
                row: self.name.clone(),
                column: column.name.clone(),
                baseline: self.baseline.clone(),
                versus: self.versus.clone(),
                answer: self.answer.clone(),
                yardstick: self.yardstick,
                everyday: self.everyday,
                known: self.known,
                over: None,
                link: self.link,
            }),
            ..Case::default()
        }
    }
}

#[cfg(test)]
mod tests;
