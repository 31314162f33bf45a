//! A sweep: one numeric flag over a range, as cases for the runner.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use contract::message::Description;
use facts::{Also, Metric, Section};

use crate::plan::Case;
use crate::plan::answer::Answer;
use crate::plan::subject::Subject;
use crate::system::console::shell_line;

/// Fewest timed iterations in a process.
const FEWEST_ITERATIONS: u64 = 3;

/// Of the memory that is free, so much is used.
const SHARE_OF_MEMORY: f64 = 0.95;

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
    pub subjects: Vec<Subject>,
    /// Where each of them runs: pinned to one CPU or not.
    pub pins: Vec<bool>,
    /// Further figures of the same processes, each a curve of its own.
    pub also: Vec<Metric>,
    /// Flags that every program is given.
    pub flags: Vec<String>,
    /// About how many hops, or tasks where nothing is handed over, a process times.
    pub hops: u64,
    /// How often each point is measured, each time in a fresh process.
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
}

/// Points of one curve that are not measured, for one reason.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The case of each point.
    pub cases: Vec<Case>,
    /// Answer of the program.
    pub answer: Answer,
}

impl Planned {
    /// Puts points of programs that did not describe themselves beside those of others.
    fn place_the_undescribed(&mut self) {
        let Some(first) = self.cases.first() else { return };
        let unknown = self.cuts.iter_mut().filter(|cut| cut.answer.description().is_none());
        for case in unknown.flat_map(|cut| &mut cut.cases) {
            case.section = first.section.clone();
            Arc::make_mut(&mut case.cell).section.clone_from(&first.section.title);
        }
    }
}

impl Sweep {
    /// Makes the cases. `ask` says of a program and its flags what they make, and whether that can be
    /// run. Where a limit ends a sweep of the tasks, the largest number that it allows is a point too.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn plan(
        &self,
        ask: impl Fn(&str, &[String]) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<Planned> {
        let mut planned = Planned::default();
        let places = |subject| self.pins.iter().map(move |&pin| (subject, pin));
        for (index, (subject, pin)) in (0..).zip(self.subjects.iter().flat_map(places)) {
            let asked = |x: u64| -> anyhow::Result<(Case, Answer)> {
                let flags = self.flags(subject, x);
                let answer = ask(&subject.program, &flags)?;
                let case = Case { index, pin, flags, ..self.case(subject, pin, x, &answer) };
                Ok((case, answer))
            };
            let mut cuts: Vec<Cut> = Vec::new();
            let mut last = None;
            for &x in &self.points {
                let (case, mut answer) = asked(x)?;
                if let Answer::Fits(_) = answer {
                    planned.cases.push(case);
                    last = Some(x);
                    continue;
                }
                if let (Answer::TooMuch { largest, .. }, "tasks", true) =
                    (&answer, &*self.over, cuts.is_empty())
                {
                    // Of all the limits that are too low here, the one that binds first.
                    let (_, first) = asked(largest.saturating_add(1))?;
                    let most = usable(*largest, &first);
                    if self.points.first() <= Some(&most) && last < Some(most) {
                        planned.cases.push(asked(most)?.0);
                    }
                    if answer.alike(&first) {
                        answer = first;
                    }
                }
                match cuts.iter_mut().find(|cut| cut.answer.alike(&answer)) {
                    Some(cut) => cut.cases.push(case),
                    None => cuts.push(Cut { cases: vec![case], answer }),
                }
            }
            planned.cuts.append(&mut cuts);
        }
        planned.place_the_undescribed();
        Ok(planned)
    }

    fn flags(&self, subject: &Subject, x: u64) -> Vec<String> {
        let swept = [format!("--{}", self.over), format!("{x}{}", self.unit)];
        self.flags.iter().chain(&subject.flags).cloned().chain(swept).collect()
    }

    fn case(&self, subject: &Subject, pin: bool, x: u64, answer: &Answer) -> Case {
        let (metric, each) = work(answer.description());
        // A matter of the point alone, and never of what was measured.
        let iters = self.hops.div_ceil(each.max(1)).max(FEWEST_ITERATIONS);
        let title = self.title(&metric, answer.description().map(|d| d.tasks));
        let also = |metric: &Metric| Also {
            name: format!("{metric}, {}", metric.label()),
            metric: metric.clone(),
        };
        let also = self.also.iter().map(also).collect();
        Case {
            program: subject.program.clone(),
            iters,
            warmup: iters.div_ceil(10),
            rounds: self.rounds,
            alone: self.alone,
            x: Some(x),
            section: Arc::new(Section { title: title.clone(), metric, also }),
            cell: Arc::new(facts::Case {
                section: title,
                row: subject.to_string(),
                column: if pin { "pinned" } else { "unpinned" }.to_owned(),
                over: Some(self.over.replace('-', "_")),
                ..facts::Case::default()
            }),
            ..Case::default()
        }
    }

    fn title(&self, metric: &Metric, tasks: Option<u64>) -> String {
        let is_told =
            self.over == "tasks" || self.flags.iter().any(|flag| flag.contains("--tasks"));
        let tasks = tasks.filter(|_| !is_told).map_or(String::new(), |n| format!(", {n} tasks"));
        let with = match self.flags.is_empty() {
            true => String::new(),
            false => format!(", {}", shell_line(&self.flags)),
        };
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(" in {unit}"),
        };
        format!("Time per {} over --{}{unit}{tasks}{with}", metric.unit(), self.over)
    }
}

/// Metric that a sweep shows of a program, and how often an iteration has it: chains hand something
/// over, others do not.
fn work(description: Option<&Description>) -> (Metric, u64) {
    match description {
        Some(Description { hops: None, tasks, .. }) => (Metric::Task, *tasks),
        Some(Description { hops: Some(hops), .. }) => (Metric::Hop, *hops),
        None => (Metric::Hop, 1),
    }
}

impl Cut {
    /// True if the program lacks the flag that is swept.
    pub fn lacks(&self, over: &str) -> bool {
        matches!(&self.answer, Answer::NoFlag(flag) if flag.trim_start_matches('-') == over)
    }

    /// Points that are left out, without the program's name.
    fn what(&self, over: &str) -> String {
        let points = self.cases.iter().filter_map(|case| case.x);
        let points: Vec<String> = points.map(|x| x.to_string()).collect();
        let at = match &self.answer {
            Answer::NoFlag(_) => String::new(),
            _ => format!(" at --{over} {}", points.join(", ")),
        };
        let reason = self.answer.reason().unwrap_or_default();
        format!("is not run{at}: {reason}")
    }
}

/// Lines that say what is left out, and why: one for what a program's curves have in common.
pub fn lines(cuts: &[Cut], over: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cut in cuts {
        let name = cut.cases.first().map_or("", |case| &case.cell.row);
        let line = format!("{name} {}", cut.what(over));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Most tasks to try where the limits allow `largest`: others need some of what is free meanwhile.
fn usable(largest: u64, answer: &Answer) -> u64 {
    match answer {
        Answer::TooMuch { memory: true, .. } => (largest as f64 * SHARE_OF_MEMORY) as u64,
        _ => largest.saturating_sub(1 + largest / 1000),
    }
}
