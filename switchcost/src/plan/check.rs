//! Faults of a plan: each names the section and the row.

use std::collections::HashSet;

use anyhow::{Context, anyhow, ensure};
use facts::Metric;

use super::{COUNTS_OF_A_SLOPE, Over, Row, Section};
use crate::system::console::is_command;

/// An error of a TOML file in one line: its own shows lines of the file.
pub(super) fn in_line(text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    anyhow!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

/// Checks that flags of a program leave those alone that the runner sets.
pub(crate) fn ensure_no_runner_flags(flags: &[String]) -> anyhow::Result<()> {
    for flag in flags {
        let name = flag.split('=').next().unwrap_or(flag);
        ensure!(
            !["--iters", "--warmup", "--describe", "--controlled"].contains(&name),
            "{name} is the runner's own"
        );
    }
    Ok(())
}

/// Checks a name: it becomes a table cell, a line of a file and a word of a message.
pub(super) fn ensure_printable(what: &str, name: &str) -> anyhow::Result<()> {
    ensure!(!name.contains(is_command), "{what} has a control character in it: '{name}'");
    Ok(())
}

impl Section {
    /// Number of its cases.
    pub(super) fn count(&self) -> usize {
        let points = self.over.as_ref().map_or(1, Over::count);
        let rows = self.rows.iter().map(|row| row.tasks.len().max(points) << u8::from(row.twin));
        rows.sum::<usize>().saturating_mul(self.columns.len().max(1))
    }

    /// Checks the section of a plan.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.rows.is_empty(), "it has no [[section.row]]");
        ensure!(self.rounds != Some(0), "rounds: at least one");
        if let Some(over) = &self.over {
            over.check()?;
            ensure!(!self.metric.is_slope(), "over: a slope runs over the task counts of its rows");
        }
        self.check_columns()?;
        let mut names = HashSet::new();
        for row in &self.rows {
            ensure_printable("a row's name", &row.name)?;
            ensure!(names.insert(&*row.name), "two rows are named '{}'", row.name);
        }
        for row in &self.rows {
            self.check_row(row, &names).with_context(|| format!("row '{}'", row.name))?;
        }
        Ok(())
    }

    fn check_row(&self, row: &Row, names: &HashSet<&str>) -> anyhow::Result<()> {
        let by_columns = self.columns.iter().filter(|column| column.program.is_some()).count();
        let expected = if row.program.is_empty() { self.columns.len().max(1) } else { 0 };
        ensure!(by_columns == expected, "program: either each row names one, or each column");
        for other in row.baseline.iter().chain(&row.versus) {
            ensure!(
                names.contains(&**other) && *other != row.name,
                "it refers to '{other}', which is no other row of this section"
            );
        }
        for flags in self.columns.iter().map(|column| &column.flags).chain([&row.flags]) {
            ensure_no_runner_flags(flags).context("flags")?;
        }
        ensure!(
            row.answer.is_none() || row.versus.is_some(),
            "answer: it needs versus, the row that it is compared to"
        );
        let is_pinned = row.pin || self.columns.iter().any(|column| column.pin);
        let has_cpus =
            row.cpus.is_some() || self.columns.iter().any(|column| column.cpus.is_some());
        ensure!(!(is_pinned && has_cpus), "pin is one CPU, and cpus are two: drop one of them");
        ensure!(
            row.known.is_none() || is_pinned && matches!(self.metric, Metric::Hop | Metric::Task),
            "known: it needs pin, and the metric \"hop\" or \"task\""
        );
        ensure!(row.iters > 0, "iters: at least one");
        for pass in &row.passes {
            // It becomes a word of a request.
            let is_word = pass.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
            ensure!(
                is_word && !pass.is_empty(),
                "passes: '{pass}' is no name of a pass: letters, digits, - and _"
            );
        }
        if self.metric != Metric::Memory {
            ensure!(
                row.tasks.is_empty(),
                "tasks: only for the metric \"memory\"; write it into flags"
            );
            return Ok(());
        }
        ensure!(
            row.tasks.iter().collect::<HashSet<_>>().len() >= COUNTS_OF_A_SLOPE,
            "tasks: a slope needs at least {COUNTS_OF_A_SLOPE} different counts"
        );
        ensure!(row.baseline.is_none(), "a slope has no baseline");
        Ok(())
    }

    /// Checks that further columns are figures of the same runs, and that each column has a heading
    /// of its own.
    fn check_columns(&self) -> anyhow::Result<()> {
        ensure!(
            self.also.is_empty() || !self.metric.is_slope(),
            "also: a slope over task counts has no further columns: make another section, \
             such as one of the metric \"system-per-task\""
        );
        let mut metrics = HashSet::from([&self.metric]);
        for also in &self.also {
            ensure_printable("a further column's name", &also.name)?;
            ensure!(!also.name.is_empty(), "also: a further column needs a name");
            ensure!(
                !also.metric.is_slope(),
                "also '{}': \"memory\" is a figure of many runs, and stands alone",
                also.name
            );
            ensure!(
                metrics.insert(&also.metric),
                "also '{}': the section has a column of this metric",
                also.name
            );
        }
        let mut names: Vec<&str> = self.columns.iter().map(|column| &*column.name).collect();
        if names.is_empty() {
            names.push("");
        }
        let mut headings = HashSet::new();
        for name in names {
            ensure_printable("a column's name", name)?;
            let further = self.also.iter().map(|also| also.heading(name));
            for heading in [name.to_owned()].into_iter().chain(further) {
                ensure!(headings.insert(heading.clone()), "two columns are named '{heading}'");
            }
        }
        Ok(())
    }
}
