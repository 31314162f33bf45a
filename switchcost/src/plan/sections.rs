//! Plans: sections of rows and columns, read from TOML.

use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use record::Row;
use serde::Deserialize;

use super::section::Section;
use super::table::{ProgramTable, built_in_tables};
use super::{check, values};
use crate::system::trust;

/// Sections to measure, in rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Question that it answers: the title of its page.
    pub question: Option<String>,
    /// What its figures are easily taken for, and do not show.
    pub excludes: Option<String>,
    /// Number of rounds; each row runs once in a round, in a fresh process.
    pub rounds: Option<u32>,
    /// Time for all rounds, in place of their number.
    #[serde(default, deserialize_with = "span")]
    pub budget: Option<Duration>,
    /// Programs that are not crates of the workspace, in addition to the programs that every plan knows.
    #[serde(rename = "program", default)]
    pub programs: BTreeMap<String, ProgramTable>,
    /// The tables, in order.
    #[serde(rename = "section")]
    pub sections: Vec<Section>,
}

/// Reads a span of time such as `60s`.
fn span<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    values::time_limit(&text).map(Some).map_err(serde::de::Error::custom)
}

/// Longest budget of a short run.
const QUICK: Duration = Duration::from_secs(15);

impl Plan {
    /// Reads a plan, and checks it.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut plan: Plan = toml::from_str(text).map_err(|e| check::in_line(text, &e))?;
        plan.sections.iter_mut().for_each(Section::fill);
        let of_plan = mem::replace(&mut plan.programs, built_in_tables()?);
        plan.programs.extend(of_plan);
        ensure!(plan.rounds != Some(0), "rounds: write 1 or more");
        ensure!(
            plan.rounds.is_some() != plan.budget.is_some(),
            "write either rounds, a number, or budget, a time such as \"60s\""
        );
        ensure!(!plan.sections.is_empty(), "the plan has no [[section]]: add one");
        for (name, table) in &plan.programs {
            check::table(name, table)?;
        }
        for (name, text) in [("question", &plan.question), ("excludes", &plan.excludes)] {
            let Some(text) = text else { continue };
            ensure!(!text.trim().is_empty(), "{name} is empty: write a text, or drop it");
            check::ensure_printable(name, text)?;
        }
        let mut titles = HashSet::new();
        for section in &plan.sections {
            check::ensure_printable("a title", &section.title)?;
            let title = &section.title;
            ensure!(titles.insert(title), "two sections have the title '{title}'");
            check::section(section).with_context(|| format!("section '{title}'"))?;
        }
        Ok(plan)
    }

    /// The same plan, with relative paths of programs (they have a `/`) starting in `folder`.
    ///
    /// # Errors
    /// If other users may have put a program there.
    pub fn with_paths_from(mut self, folder: &Path) -> Result<Self, String> {
        let known = built_in_tables().map_err(|e| e.to_string())?;
        let of_plan =
            self.programs.iter_mut().filter(|(name, table)| known.get(*name) != Some(table));
        let home = std::path::absolute(Path::new(".").join(folder)).map_err(|e| e.to_string())?;
        of_plan.for_each(|(_, table)| table.folder = Some(home.clone()));
        for section in &mut self.sections {
            let rows = section.rows.iter_mut().map(|row| &mut row.variant);
            let programs = rows.chain(&mut section.columns).filter_map(|it| it.program.as_mut());
            for program in programs.filter(|program| program.contains('/')) {
                let path = folder.join(&*program);
                if Path::new(program).is_relative() && path.exists() {
                    trust::ensure_own(&path)?;
                }
                *program = path.to_string_lossy().into_owned();
            }
        }
        Ok(self)
    }

    /// The same plan in a quarter of the time: fewer rounds of a quarter of the iterations, and each task count of a
    /// slope once.
    #[must_use]
    pub fn quickened(mut self) -> Self {
        self.budget = self.budget.map(|budget| budget.min(QUICK));
        self.rounds = self.rounds.map(|rounds| rounds.min(5));
        for section in &mut self.sections {
            if section.metric.is_slope() {
                section.rounds = Some(1);
                continue;
            }
            section.rounds = section.rounds.map(|rounds| rounds.min(5));
            for row in &mut section.rows {
                row.iters = row.iters.map(|iters| iters.div_ceil(4));
                row.warmup = row.warmup.map(|warmup| warmup.div_ceil(4));
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

    /// The same plan with so many rounds of every section but slopes.
    pub fn with_rounds(mut self, rounds: u32) -> Self {
        self.rounds = Some(rounds);
        self.budget = None;
        for section in self.sections.iter_mut().filter(|section| !section.metric.is_slope()) {
            section.rounds = None;
        }
        self
    }

    /// What its figures do not show, in a sentence.
    pub fn note(&self) -> Option<String> {
        self.excludes.as_ref().map(|what| format!("Not in here: {what}."))
    }

    /// Its rows in its order.
    pub fn rows(&self) -> Vec<Row> {
        self.sections.iter().flat_map(|section| section.lowered(self.rounds)).collect()
    }
}

#[cfg(test)]
mod tests;
