//! A sweep: one numeric flag over a range, as a plan.

use std::fmt;
use std::str::FromStr;

use contract::message::Description;
use contract::units::counted;
use facts::{Also, Metric};

use super::over::Over;
use super::section::{Column, Row, Section};
use super::sections::Plan;
use super::table::ProgramTables;
use crate::system::console::shell_line;

/// A program and the flags that tell it from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The program.
    pub program: String,
    /// Its own flags.
    pub flags: Vec<String>,
}

impl FromStr for CommandLine {
    type Err = String;

    /// Reads a program's name and its flags, separated by white space.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace().map(str::to_owned);
        let program = words.next().ok_or("it names no program")?;
        Ok(CommandLine { program, flags: words.collect() })
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.flags.iter().try_for_each(|flag| write!(f, " {flag}"))
    }
}

/// Flag that is swept, and how much of it is measured.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The flag and its values.
    pub over: Over,
    /// The programs, each with flags of its own.
    pub programs: Vec<CommandLine>,
    /// Placements of each of them: pinned to one CPU or not.
    pub pins: Vec<bool>,
    /// Further figures of the same processes, each a curve of its own.
    pub also: Vec<Metric>,
    /// Flags that every program is given.
    pub flags: Vec<String>,
    /// About how many hops, or tasks if nothing is handed over, a process times.
    pub hops: u64,
    /// Number of processes for each point.
    pub rounds: u32,
    /// True if its programs take no turns: each may take most of the machine.
    pub alone: bool,
}

impl Sweep {
    /// Its plan: a table for each metric and number of tasks. `ask` has a program describe a command line; one that
    /// does not take it belongs beside the others.
    pub fn plan(
        &self,
        programs: ProgramTables,
        ask: impl Fn(&str, &[String]) -> Option<Description>,
    ) -> Plan {
        let mut plan = Plan { rounds: Some(self.rounds), programs, ..Plan::default() };
        let mut others = Vec::new();
        for line in &self.programs {
            let flags: Vec<String> = self.flags.iter().chain(&line.flags).cloned().collect();
            let value = format!("{}{}", self.over.values[0], self.over.unit);
            let first: Vec<String> =
                flags.iter().cloned().chain([self.over.flag.clone(), value]).collect();
            let description = ask(&line.program, &first);
            let row = Row {
                name: line.to_string(),
                program: line.program.clone(),
                flags,
                ..Row::default()
            };
            let Some(description) = description else {
                others.push(row);
                continue;
            };
            let metric = if description.hops.is_some() { Metric::Hop } else { Metric::Task };
            self.section(&mut plan, metric, Some(description.tasks)).rows.push(row);
        }
        if !others.is_empty() {
            let section = match plan.sections.first_mut() {
                Some(section) => section,
                None => self.section(&mut plan, Metric::Hop, None),
            };
            section.rows.extend(others);
        }
        plan
    }

    /// The table of a metric and a number of tasks.
    fn section<'a>(
        &self,
        plan: &'a mut Plan,
        metric: Metric,
        tasks: Option<u64>,
    ) -> &'a mut Section {
        let swept = self.swept(tasks);
        let title = metric.title_over(&swept);
        let known = plan.sections.iter().position(|section| section.title == title);
        let place = known.unwrap_or_else(|| {
            let also = self.also.iter().cloned();
            let also =
                also.map(|metric| Also { name: format!("{metric}, {}", metric.label()), metric });
            let column = |&pin: &bool| Column {
                name: if pin { "pinned" } else { "unpinned" }.to_owned(),
                pin,
                ..Column::default()
            };
            plan.sections.push(Section {
                title,
                metric,
                also: also.collect(),
                over: Some(Over { swept: Some(swept), ..self.over.clone() }),
                columns: self.pins.iter().map(column).collect(),
                hops: Some(self.hops),
                alone: self.alone,
                ..Section::default()
            });
            plan.sections.len() - 1
        });
        &mut plan.sections[place]
    }

    /// What its curves run over, for their titles.
    fn swept(&self, tasks: Option<u64>) -> String {
        let mut swept = self.over.flag.clone();
        if !self.over.unit.is_empty() {
            swept += &format!(" in {}", self.over.unit);
        }
        let is_told =
            self.over.flag == "--tasks" || self.flags.iter().any(|flag| flag.contains("--tasks"));
        if let Some(tasks) = tasks.filter(|_| !is_told) {
            swept += &format!(", {}", counted(tasks, "task"));
        }
        if !self.flags.is_empty() {
            swept += &format!(", {}", shell_line(&self.flags));
        }
        swept
    }
}

/// Things in their order, each once.
pub fn distinct<T: Clone + PartialEq>(all: &[T]) -> Vec<T> {
    let mut distinct: Vec<T> = Vec::new();
    for one in all {
        if !distinct.contains(one) {
            distinct.push(one.clone());
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_metric_and_number_of_tasks_is_a_table() {
        let sweep = |programs: &[&str], flag: &str, unit, flags: &[&str]| Sweep {
            over: Over::of(flag, vec![5, 9], unit),
            programs: programs.iter().map(|line| line.parse().unwrap()).collect(),
            pins: vec![true],
            also: vec![Metric::SetUp],
            flags: flags.iter().map(|&flag| flag.to_owned()).collect(),
            hops: 100_000,
            rounds: 5,
            alone: false,
        };
        // A hop for each task and one more; creation programs have none, and peers say nothing.
        let ask = |program: &str, flags: &[String]| {
            let tasks = flags.iter().position(|flag| flag == "--tasks");
            let tasks = tasks.map_or(500, |at| flags[at + 1].parse().unwrap());
            let hops = (!program.contains("creation")).then_some(tasks + 1);
            let json = serde_json::json!({
                "contract": 1, "program": program, "version": "3", "tasks": tasks, "hops": hops,
                "claim": "no-switch", "passes": [{"name": "main"}]
            });
            (program != "peer").then(|| serde_json::from_value(json).unwrap())
        };
        for (sweep, expected) in [
            (
                sweep(&["peer", "thread-brigade"], "tasks", "", &[]),
                &[
                    "Time per hop over --tasks: thread-brigade, pinned: --tasks 5",
                    "Time per hop over --tasks: peer, pinned: --tasks 5",
                ][..],
            ),
            (
                sweep(
                    &["thread-brigade", " async-creation  --tasks 9 "],
                    "length",
                    "ns",
                    &["--shuffle", "1"],
                ),
                &[
                    "Time per hop over --length in ns, 500 tasks, --shuffle 1: thread-brigade, pinned: --shuffle 1 \
                     --length 5ns",
                    "Time per task over --length in ns, 9 tasks, --shuffle 1: async-creation --tasks 9, pinned: \
                     --shuffle 1 --tasks 9 --length 5ns",
                ],
            ),
        ] {
            let cases = sweep.plan(ProgramTables::new(), ask).cases();
            let first = cases.iter().filter(|case| case.x == Some(5));
            let lines: Vec<String> = first
                .map(|c| format!("{}: {}: {}", c.section.title, c.cell.name(), c.flags.join(" ")))
                .collect();
            assert_eq!(lines, expected);
            assert!(cases.iter().all(|case| case.hops == Some(100_000) && case.rounds == 5));
        }
        assert!(" ".parse::<CommandLine>().is_err());
    }
}
