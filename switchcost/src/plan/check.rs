//! Faults of a plan: each names the section and the row.

use std::collections::HashSet;

use anyhow::{Context, bail, ensure};
use facts::Metric;

use super::{COUNTS_OF_A_SLOPE, Section};
use crate::system::console::{is_command, plain_line};

/// Longest name of a pass.
const LONGEST_PASS: usize = 100;

/// Makes sure that a program's flags leave those alone that the runner sets.
pub(crate) fn ensure_others(flags: &[String]) -> anyhow::Result<()> {
    for flag in flags {
        let name = flag.split('=').next().unwrap_or(flag);
        ensure!(
            !["--iters", "--warmup", "--describe", "--controlled"].contains(&name),
            "{name} is the runner's own"
        );
    }
    Ok(())
}

/// Names become table cells, lines of a file and words of a message.
pub(super) fn printable(what: &str, name: &str) -> anyhow::Result<()> {
    ensure!(
        !name.contains(is_command),
        "{what} has a control character in it: '{}'",
        plain_line(name)
    );
    Ok(())
}

impl Section {
    /// Checks the section of a plan.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        ensure!(!self.rows.is_empty(), "it has no [[section.row]]");
        ensure!(self.rounds != Some(0), "rounds: at least one");
        self.check_further()?;
        let mut names = HashSet::new();
        for row in &self.rows {
            printable("a row's name", &row.name)?;
            ensure!(names.insert(row.name.as_str()), "two rows are named '{}'", row.name);
        }
        for column in &self.columns {
            printable("a column's name", &column.name)?;
        }
        for row in &self.rows {
            let by_columns = self.columns.iter().filter(|c| c.program.is_some()).count();
            let expected = if row.program.is_empty() { self.columns.len() } else { 0 };
            ensure!(
                by_columns == expected && (expected > 0 || !row.program.is_empty()),
                "row '{}': program: either each row names one, or each column",
                row.name
            );
            for other in row.baseline.iter().chain(&row.versus) {
                ensure!(
                    names.contains(other.as_str()) && *other != row.name,
                    "row '{}' refers to '{other}', which is no other row of this section",
                    row.name
                );
            }
            for flags in self.columns.iter().map(|column| &column.flags).chain([&row.flags]) {
                ensure_others(flags).with_context(|| format!("row '{}': flags", row.name))?;
            }
            ensure!(
                row.answer.is_none() || row.versus.is_some(),
                "row '{}': answer: it needs versus, the row that it is set against",
                row.name
            );
            let columns = || self.columns.iter();
            ensure!(
                !(row.pin || columns().any(|column| column.pin))
                    || row.cpus.is_none() && columns().all(|column| column.cpus.is_none()),
                "row '{}': pin is one CPU, and cpus are two: drop one of them",
                row.name
            );
            ensure!(row.iters > 0, "row '{}': iters: at least one", row.name);
            for pass in &row.passes {
                // It becomes a word of a request.
                let is_word = pass.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
                ensure!(
                    is_word && (1..=LONGEST_PASS).contains(&pass.len()),
                    "row '{}': passes: '{}' is no name of a pass: letters, digits, - and _, \
                     {LONGEST_PASS} at most",
                    row.name,
                    plain_line(pass)
                );
            }
            if self.metric == Metric::Memory {
                let distinct: HashSet<u32> = row.tasks.iter().copied().collect();
                ensure!(
                    distinct.len() >= COUNTS_OF_A_SLOPE,
                    "row '{}': tasks: a slope needs at least {COUNTS_OF_A_SLOPE} different counts",
                    row.name
                );
                ensure!(row.baseline.is_none(), "row '{}': a slope has no baseline", row.name);
            } else if !row.tasks.is_empty() {
                bail!(
                    "row '{}': tasks: only for the metric \"memory\"; write it into flags",
                    row.name
                );
            }
        }
        Ok(())
    }

    /// Checks that further columns are figures of the same runs, and that each column has a heading
    /// of its own.
    fn check_further(&self) -> anyhow::Result<()> {
        ensure!(
            self.also.is_empty() || !self.metric.is_slope(),
            "also: a slope over task counts has no further columns: make another section, \
             such as one of the metric \"system-per-task\""
        );
        let mut metrics = HashSet::from([&self.metric]);
        for also in &self.also {
            printable("a further column's name", &also.name)?;
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
        let mut headings = HashSet::new();
        let plain = [""];
        let names: Vec<&str> = match self.columns.is_empty() {
            true => plain.to_vec(),
            false => self.columns.iter().map(|c| c.name.as_str()).collect(),
        };
        for name in names {
            let further = self.also.iter().map(|also| also.heading(name));
            for heading in [name.to_owned()].into_iter().chain(further) {
                ensure!(headings.insert(heading.clone()), "two columns are named '{heading}'");
            }
        }
        Ok(())
    }
}
