//! Faults of a plan: each names the section and the row.

use std::collections::HashSet;

use anyhow::{Context, anyhow, ensure};
use record::Metric;

use super::flag_values::FlagValues;
use super::section::{COUNTS_OF_A_SLOPE, RowTable, Section};
use super::table::ProgramTable;
use crate::system::console::{NAME, is_command};

/// Longest pause before a turn, in ms: an interrupt waits for its end.
const MOST_PAUSE_MS: u64 = 1000;

/// An error of a TOML file in one line: its own shows lines of the file.
pub(super) fn in_line(text: &str, error: &toml::de::Error) -> anyhow::Error {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    anyhow!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

/// Checks that a program's flags do not include flags that the runner sets.
pub(crate) fn ensure_no_runner_flags(flags: &[String]) -> anyhow::Result<()> {
    for flag in flags {
        let name = flag.split('=').next().unwrap_or(flag);
        ensure!(
            !["--iters", "--warmup", "--describe", "--controlled"].contains(&name),
            "{name} belongs to the runner"
        );
    }
    Ok(())
}

/// Checks a name: it becomes a table cell, a line of a file and a word of a message.
pub(super) fn ensure_printable(kind: &str, name: &str) -> anyhow::Result<()> {
    ensure!(!name.contains(is_command), "{kind} has a control character: '{name}'");
    let length = name.chars().count();
    ensure!(length <= NAME, "{kind} has {length} characters, and {NAME} are allowed: shorten it");
    Ok(())
}

/// Checks the table of a program.
pub(super) fn table(name: &str, table: &ProgramTable) -> anyhow::Result<()> {
    ensure_printable("a program's name", name)?;
    ensure!(
        !name.is_empty() && !name.contains('/'),
        "[program.'{name}']: a name must not be empty and must not contain '/'"
    );
    let first = table.run.first();
    ensure!(first.is_some_and(|word| !word.is_empty()), "[program.{name}]: run: name a program");
    Ok(())
}

/// Checks the section of a plan.
pub(super) fn section(section: &Section) -> anyhow::Result<()> {
    ensure!(!section.rows.is_empty(), "the section has no [[section.row]]: add one");
    ensure!(section.rounds != Some(0), "rounds: write 1 or more");
    let is_slope = section.metric.is_slope();
    if let Some(over) = &section.over {
        check_over(over)?;
        ensure!(!is_slope, "over: a slope already varies the task counts of its rows: drop it");
    }
    for pass in &section.passes {
        // It becomes a word of a request.
        let is_word = pass.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        ensure!(
            is_word && !pass.is_empty(),
            "passes: '{pass}' is not the name of a pass: use letters, digits, - and _"
        );
    }
    check_columns(section)?;
    let mut names = HashSet::new();
    for row in &section.rows {
        let name = &row.variant.name;
        ensure_printable("a row's name", name)?;
        ensure!(names.insert(&**name), "two rows are named '{name}'");
    }
    for row in &section.rows {
        check_row(section, row, &names).with_context(|| format!("row '{}'", row.variant.name))?;
    }
    Ok(())
}

fn check_over(over: &FlagValues) -> anyhow::Result<()> {
    let name = over.flag.strip_prefix("--").unwrap_or_default();
    ensure!(!name.is_empty(), "over: write flag as --NAME, such as --load");
    ensure_no_runner_flags(std::slice::from_ref(&over.flag))?;
    let is_ascending = over.values.is_sorted_by(|a, b| a < b);
    ensure!(
        is_ascending && over.values.len() > 1,
        "over: write at least two values, in ascending order"
    );
    Ok(())
}

fn check_row(section: &Section, row: &RowTable, names: &HashSet<&str>) -> anyhow::Result<()> {
    let (of_row, columns) = (&row.variant, &section.columns);
    let by_columns = columns.iter().filter(|column| column.program.is_some()).count();
    let expected = if of_row.program.is_none() { columns.len() } else { 0 };
    ensure!(
        by_columns == expected,
        "program: name one in each row, or one in each column, but not both"
    );
    for other in row.ties.baseline.iter().chain(&row.ties.versus) {
        ensure!(
            names.contains(&**other) && *other != of_row.name,
            "it refers to '{other}', but this section has no other row of that name"
        );
    }
    let (mut is_pinned, mut has_cpus) = (false, false);
    for variant in columns.iter().chain([of_row]) {
        ensure_no_runner_flags(&variant.flags).context("flags")?;
        let pause = variant.pause_ms.unwrap_or_default();
        ensure!(pause <= MOST_PAUSE_MS, "pause_ms: at most {MOST_PAUSE_MS}, not {pause}");
        is_pinned |= variant.pin;
        has_cpus |= variant.cpus.is_some();
    }
    ensure!(
        row.ties.answer.is_none() || row.ties.versus.is_some(),
        "answer: also write versus, the row to compare with"
    );
    ensure!(!(is_pinned && has_cpus), "pin means one CPU and cpus means two: drop one of them");
    ensure!(
        row.ties.known.is_none()
            || is_pinned && matches!(section.metric, Metric::Hop | Metric::Task),
        "known: it needs pin and the metric \"hop\" or \"task\""
    );
    ensure!(row.iters.is_some_and(|iters| iters > 0), "iters: write 1 or more");
    if section.metric != Metric::Memory {
        ensure!(
            row.tasks.is_empty(),
            "tasks: only the metric \"memory\" has them: write --tasks into flags"
        );
        return Ok(());
    }
    ensure!(
        row.tasks.iter().collect::<HashSet<_>>().len() >= COUNTS_OF_A_SLOPE,
        "tasks: a slope needs at least {COUNTS_OF_A_SLOPE} different counts"
    );
    ensure!(row.ties.baseline.is_none(), "baseline: a slope has none: drop it");
    Ok(())
}

/// Checks that further columns are figures of the same runs, and that headings differ.
fn check_columns(section: &Section) -> anyhow::Result<()> {
    let mut metrics = HashSet::from([&section.metric]);
    for also in &section.also {
        ensure!(!also.name.is_empty(), "also: name the further column");
        ensure!(
            !also.metric.is_slope() && !section.metric.is_slope(),
            "also '{}': \"memory\" is a figure over many runs: give it a section of its own",
            also.name
        );
        ensure!(
            metrics.insert(&also.metric),
            "also '{}': the section already has a column with this metric",
            also.name
        );
    }
    let mut headings = HashSet::new();
    for name in section.columns.iter().map(|column| &column.name) {
        let further = section.also.iter().map(|also| also.heading(name));
        for heading in [name.clone()].into_iter().chain(further) {
            ensure_printable("a column's name", &heading)?;
            ensure!(headings.insert(heading.clone()), "two columns are named '{heading}'");
        }
    }
    Ok(())
}
