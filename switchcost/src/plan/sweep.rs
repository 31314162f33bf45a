//! A sweep: one numeric flag over a range, as cases for the runner.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use contract::message::Description;
use contract::units::{Bytes, counted};
use facts::{Also, Metric, Section};

use crate::plan::Case;
use crate::plan::feasibility::Feasibility;
use crate::system::console::shell_line;

/// Fewest timed iterations in a process.
const FEWEST_ITERATIONS: u64 = 3;

/// Share of the free memory that a sweep of tasks may use.
const SHARE_OF_MEMORY: f64 = 0.95;

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
    /// The flag, without its dashes.
    pub over: String,
    /// Unit of its values as typed: `ns`, or nothing for plain numbers.
    pub unit: &'static str,
    /// Its values in ascending order.
    pub points: Vec<u64>,
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

/// The cases of a sweep, and what is left out of it.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// Cases that can be measured.
    pub cases: Vec<Case>,
    /// Cases that cannot, and why.
    pub cuts: Vec<Cut>,
    /// Most tasks of a case, and most memory of one in bytes.
    pub most: (u64, u64),
}

impl Planned {
    /// Adds a case that can be measured.
    fn add(&mut self, case: Case, answer: &Feasibility) {
        self.cases.push(case);
        if let Some(description) = answer.description() {
            let (tasks, bytes) = self.most;
            let needed = description.needs.bytes.of(description.tasks);
            self.most = (tasks.max(description.tasks), bytes.max(needed));
        }
    }

    /// What the measurement takes at most, in a line.
    pub fn describe(&self) -> String {
        let processes: u64 = self.cases.iter().map(|case| u64::from(case.rounds)).sum();
        let (tasks, bytes) = self.most;
        let (processes, tasks) = (counted(processes, "process"), counted(tasks, "task"));
        format!("{processes}, with up to {tasks} and {} in one", Bytes(bytes))
    }
}

/// Points of one curve that are not measured, for one reason.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The case of each point.
    pub cases: Vec<Case>,
    /// The reason.
    pub answer: Feasibility,
}

impl Sweep {
    /// Makes the cases. `ask` says of a program and its flags what they make, and whether that can be
    /// run. If a limit ends a sweep of the tasks, the largest number that it allows is a point too.
    pub fn plan(
        &self,
        ask: impl Fn(&str, &[String]) -> anyhow::Result<Feasibility>,
    ) -> anyhow::Result<Planned> {
        let mut planned = Planned::default();
        let curves =
            self.programs.iter().flat_map(|line| self.pins.iter().map(move |&pin| (line, pin)));
        for (index, (line, pin)) in (0..).zip(curves) {
            let point = |x| -> anyhow::Result<(Case, Feasibility)> {
                let flags = self.flags(line, x);
                let answer = ask(&line.program, &flags)?;
                Ok((Case { index, pin, flags, ..self.case(line, pin, x, &answer) }, answer))
            };
            self.plan_curve(point, &mut planned)?;
        }
        // Points of programs that did not describe themselves belong beside those of others.
        let Some(first) = planned.cases.first() else { return Ok(planned) };
        for cut in planned.cuts.iter_mut().filter(|cut| cut.answer.description().is_none()) {
            for case in &mut cut.cases {
                case.section = first.section.clone();
                Arc::make_mut(&mut case.cell).section.clone_from(&first.section.title);
            }
        }
        Ok(planned)
    }

    /// Adds the points of one curve, or what is cut of it.
    fn plan_curve(
        &self,
        point: impl Fn(u64) -> anyhow::Result<(Case, Feasibility)>,
        planned: &mut Planned,
    ) -> anyhow::Result<()> {
        let mut cuts: Vec<Cut> = Vec::new();
        let mut last = None;
        for &x in &self.points {
            let (case, answer) = point(x)?;
            if let Feasibility::Fits(_) = answer {
                planned.add(case, &answer);
                last = Some(x);
            } else if let Some(cut) = cuts.iter_mut().find(|cut| cut.answer.alike(&answer)) {
                cut.cases.push(case);
            } else {
                cuts.push(Cut { cases: vec![case], answer });
            }
        }
        if let Some(Cut { answer, .. }) = cuts.first_mut()
            && let (Feasibility::TooMuch { largest, .. }, "tasks") = (&*answer, &*self.over)
        {
            // Of all the limits that are too low here, the one that binds first.
            let (_, first) = point(largest.saturating_add(1))?;
            let most = most_tasks(*largest, &first);
            if self.points.first() <= Some(&most) && last < Some(most) {
                let (case, answer) = point(most)?;
                planned.add(case, &answer);
            }
            if answer.alike(&first) {
                *answer = first;
            }
        }
        planned.cuts.append(&mut cuts);
        Ok(())
    }

    fn flags(&self, line: &CommandLine, x: u64) -> Vec<String> {
        let swept = [format!("--{}", self.over), format!("{x}{}", self.unit)];
        self.flags.iter().chain(&line.flags).cloned().chain(swept).collect()
    }

    fn case(&self, line: &CommandLine, pin: bool, x: u64, answer: &Feasibility) -> Case {
        let (metric, each) = metric_and_count(answer.description());
        // A matter of the point alone, and never of what was measured.
        let iters = self.hops.div_ceil(each.max(1)).max(FEWEST_ITERATIONS);
        let swept = self.swept(answer.description().map(|d| d.tasks));
        let title = metric.title_over(&swept);
        let also = self.also.iter().cloned();
        let also =
            also.map(|metric| Also { name: format!("{metric}, {}", metric.label()), metric });
        Case {
            program: line.program.clone(),
            iters,
            warmup: iters.div_ceil(10),
            rounds: self.rounds,
            alone: self.alone,
            x: Some(x),
            section: Arc::new(Section {
                title: title.clone(),
                metric,
                also: also.collect(),
                swept: Some(swept),
            }),
            cell: Arc::new(facts::Case {
                section: title,
                row: line.to_string(),
                column: if pin { "pinned" } else { "unpinned" }.to_owned(),
                over: Some(self.over.replace('-', "_")),
                ..facts::Case::default()
            }),
            ..Case::default()
        }
    }

    /// What its curves run over, for their titles.
    fn swept(&self, tasks: Option<u64>) -> String {
        let mut swept = format!("--{}", self.over);
        if !self.unit.is_empty() {
            swept += &format!(" in {}", self.unit);
        }
        let is_told =
            self.over == "tasks" || self.flags.iter().any(|flag| flag.contains("--tasks"));
        if let Some(tasks) = tasks.filter(|_| !is_told) {
            swept += &format!(", {}", counted(tasks, "task"));
        }
        if !self.flags.is_empty() {
            swept += &format!(", {}", shell_line(&self.flags));
        }
        swept
    }
}

/// Metric that a sweep shows of a program, and how often an iteration has it: chains hand something
/// over, others do not.
fn metric_and_count(description: Option<&Description>) -> (Metric, u64) {
    match description {
        Some(Description { hops: None, tasks, .. }) => (Metric::Task, *tasks),
        Some(Description { hops: Some(hops), .. }) => (Metric::Hop, *hops),
        None => (Metric::Hop, 1),
    }
}

impl Cut {
    /// True if the program lacks the flag that is swept.
    pub fn lacks(&self, over: &str) -> bool {
        matches!(&self.answer, Feasibility::NoFlag(flag) if flag.trim_start_matches('-') == over)
    }
}

/// Lines that say what is left out, and why: one for what a program's curves have in common.
pub fn describe_cuts(cuts: &[Cut], over: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cut in cuts {
        let name = cut.cases.first().map_or("", |case| &case.cell.row);
        let points = cut.cases.iter().filter_map(|case| Some(case.x?.to_string()));
        let at = match &cut.answer {
            Feasibility::NoFlag(_) => String::new(),
            _ => format!(" at --{over} {}", points.collect::<Vec<_>>().join(", ")),
        };
        let reason = cut.answer.reason().unwrap_or_default();
        let line = format!("{name} is not run{at}: {reason}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Most tasks to try if the limits allow `largest`: others need some of what is free meanwhile.
fn most_tasks(largest: u64, answer: &Feasibility) -> u64 {
    match answer {
        Feasibility::TooMuch { memory: true, .. } => (largest as f64 * SHARE_OF_MEMORY) as u64,
        _ => largest.saturating_sub(1 + largest / 1000),
    }
}
