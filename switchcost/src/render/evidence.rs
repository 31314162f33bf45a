//! Evidence of the counters, in words.

use std::fmt::Write as _;

use crate::figures::analysis::{Cell, Curve, Table};
use crate::figures::cases::case_name;
use crate::figures::evidence::{Evidence, Verdict};

/// Beside a figure that its counters contradict.
pub(super) const MARK: &str = "(!)";

/// From so many wake-up interrupts or migrations a hop on they are worth a word.
const FEW: f64 = 0.02;

/// The counts as they stand in a table, below their figure.
pub(super) fn counts(evidence: &Evidence) -> String {
    let mut text = format!("{:.2}", evidence.switches);
    if evidence.preemptions >= FEW {
        let _ = write!(text, " + {:.2}", evidence.preemptions);
    }
    if let Some(wakeups) = evidence.wakeups.filter(|&wakeups| wakeups >= FEW) {
        let _ = write!(text, ", {wakeups:.2} wake-ups");
    }
    if let Some(migrations) = evidence.migrations.filter(|&moves| moves >= FEW) {
        let _ = write!(text, ", {migrations:.2} migrations");
    }
    text
}

/// One line for each verdict of a table, with the cases that it holds for.
pub(super) fn lines(table: &Table) -> Vec<String> {
    let mut verdicts: Vec<(Verdict, Vec<String>)> = Vec::new();
    let mut crossing = Vec::new();
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let Cell::Reading(reading) = cell else {
                continue;
            };
            let Some(evidence) = &reading.evidence else {
                continue;
            };
            let name = case_name(&row.name, column);
            if let Some(wakeups) = evidence.wakeups.filter(|&wakeups| wakeups >= FEW) {
                crossing.push(format!("{name}: {wakeups:.2}"));
            }
            match verdicts.iter_mut().find(|(v, _)| *v == evidence.verdict) {
                Some((_, names)) => names.push(name),
                None => verdicts.push((evidence.verdict, vec![name])),
            }
        }
    }
    let mut lines: Vec<String> = verdicts
        .into_iter()
        .map(|(verdict, names)| format!("{}: {}.", words(verdict), rows(table, &names)))
        .collect();
    if !lines.is_empty() {
        lines.insert(0, "Switches per hop: voluntary ones, + involuntary (preempted).".to_owned());
    }
    if !crossing.is_empty() {
        lines.push(format!(
            "Wake-up interrupts per hop, about the share of the hops that cross CPUs: {}.",
            crossing.join("; ")
        ));
    }
    lines
}

/// One line for each series and verdict that contradicts its name, with the points.
pub(super) fn contradictions(curve: &Curve) -> Vec<String> {
    let mut found: Vec<(&str, Verdict, Vec<String>)> = Vec::new();
    for series in &curve.series {
        for (x, cell) in &series.points {
            let Cell::Reading(reading) = cell else {
                continue;
            };
            let verdict = reading.evidence.as_ref().map(|evidence| evidence.verdict);
            let Some(verdict) = verdict.filter(|v| v.is_contradiction()) else {
                continue;
            };
            let is_same =
                |(name, v, _): &&mut (&str, Verdict, _)| *name == series.name && *v == verdict;
            match found.iter_mut().find(is_same) {
                Some((_, _, points)) => points.push(x.to_string()),
                None => found.push((&series.name, verdict, vec![x.to_string()])),
            }
        }
    }
    let over = curve.over.replace('_', "-");
    let line = |(name, verdict, points): (&str, Verdict, Vec<String>)| {
        format!("{}: {name}, --{over} {}.", words(verdict), points.join(", "))
    };
    found.into_iter().map(line).collect()
}

/// Names of cases; where all cells of a row are among them, the row stands for them.
fn rows(table: &Table, names: &[String]) -> String {
    let mut shown: Vec<String> = Vec::new();
    for row in &table.rows {
        let cells: Vec<String> = row
            .cells
            .iter()
            .zip(&table.columns)
            .filter(
                |(cell, _)| matches!(cell, Cell::Reading(reading) if reading.evidence.is_some()),
            )
            .map(|(_, column)| case_name(&row.name, column))
            .collect();
        let found: Vec<&String> = cells.iter().filter(|cell| names.contains(cell)).collect();
        if found.len() == cells.len() && !cells.is_empty() {
            shown.push(row.name.clone());
        } else {
            shown.extend(found.into_iter().cloned());
        }
    }
    shown.join("; ")
}

/// Words of a verdict.
pub(super) fn words(verdict: Verdict) -> String {
    match verdict {
        Verdict::Switches => "Each hop is one switch by the kernel".to_owned(),
        Verdict::StaysOnCpu => "System calls, but no context switch".to_owned(),
        Verdict::NeverInKernel => "No hop enters the kernel".to_owned(),
        Verdict::SharedSwitches => "A switch serves several hops".to_owned(),
        Verdict::WorkersSleep => {
            "The runtime's workers sleep and wake each other, which is part of the figure"
                .to_owned()
        }
        Verdict::TooFewSwitches => {
            format!("{MARK} Not what it is called: there are fewer switches than hops")
        }
        Verdict::TooManySwitches => {
            format!("{MARK} More than it is called: there are more switches than hops")
        }
        Verdict::UnexpectedSwitches => {
            format!("{MARK} Not what it is called: threads of the runtime sleep and are woken")
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::message::{Claim, Usage};
    use record::{Build, Case, Interference, Machine, Metric, Plan, Record, Run, Section};
    use std::sync::Arc;

    use crate::figures::analysis;
    use crate::render;
    use crate::testing;

    fn header() -> Arc<Run> {
        let mut plan = Plan::default();
        let section = Section { title: "t".to_owned(), metric: Metric::Hop, also: Vec::new() };
        for row in ["thread", "sleepy"] {
            let case = Case { section: "t".to_owned(), row: row.to_owned(), ..Case::default() };
            plan.put(&section, &case);
        }
        let run = Run::begin(String::new(), 1, Machine::default(), Build::default(), plan);
        Arc::new(run)
    }

    /// A hundred iterations of ten hops, with so many switches and wake-up interrupts.
    fn record(header: &Arc<Run>, case: u32, round: u32, switches: u64, wakeups: u64) -> Record {
        let mut record = testing::record("p", 9, &[20_000; 100]);
        record.header = header.clone();
        (record.run, record.case, record.round) = (header.id, case, round);
        record.hops = Some(10);
        record.claim = Some([Claim::KernelSwitch, Claim::UserSwitch][case as usize]);
        record.usage = Some(Usage { voluntary_switches: switches, ..Usage::default() });
        record.interference =
            Some(Interference { function_calls: Some(wakeups), ..Interference::default() });
        record
    }

    #[test]
    fn a_figure_that_its_counters_contradict_is_marked_everywhere() {
        let header = header();
        let records: Vec<Record> = (0..5)
            .flat_map(|round| {
                let thread = record(&header, 0, round, 1000, 350);
                [thread, record(&header, 1, round, 900, 0)]
            })
            .collect();
        let analysis = analysis::analyse(&records);
        let made = |write: &dyn Fn(&mut Vec<u8>) -> std::io::Result<()>| {
            let mut text = Vec::new();
            write(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        for made in [
            made(&|out| render::document(&analysis, &records).text(out)),
            made(&|out| render::document(&analysis, &records).markdown(out)),
            made(&|out| render::html(&analysis, &records, out)),
        ] {
            for expected in [
                "1.00, 0.35 wake-ups",
                "0.90",
                "Each hop is one switch by the kernel: thread.",
                "(!) Not what it is called: threads of the runtime sleep and are woken: sleepy.",
                "about the share of the hops that cross CPUs: thread: 0.35.",
            ] {
                assert!(made.contains(expected), "{expected}\n{made}");
            }
            assert_eq!(made.matches("(!)").count(), 2, "its figure and its line\n{made}");
        }
    }
}
