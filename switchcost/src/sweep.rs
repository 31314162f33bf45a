//! A sweep: one numeric flag over a range, as cases for the runner.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use record::{Also, Metric, Section};

use crate::plan::Case;
use crate::probe::Answer;
use crate::subject::Subject;

/// How many tasks there are where nothing else is said.
const TASKS: u64 = 500;

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

impl Sweep {
    /// Makes the cases. `ask` says of a program and its flags whether they can be run. Where a limit
    /// ends a sweep of the tasks, the largest number that it allows is a point too.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn plan(
        &self,
        ask: impl Fn(&str, &[String]) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<Planned> {
        let mut planned = Planned::default();
        let places = |subject| self.pins.iter().map(move |&pin| (subject, pin));
        let curves = self.subjects.iter().flat_map(places);
        for (index, (subject, pin)) in (0..).zip(curves) {
            let case = |x: u64| self.case(subject, pin, x, index);
            let mut cuts: Vec<Cut> = Vec::new();
            for &x in &self.points {
                let this = case(x);
                let mut answer = ask(&this.program, &this.flags)?;
                if answer == Answer::Fits {
                    planned.cases.push(this);
                    continue;
                }
                if let (Answer::TooMuch { largest, .. }, "tasks", true) =
                    (&answer, canonical(&this.program, &self.over), cuts.is_empty())
                {
                    // Of all the limits that are too low here, the one that binds first.
                    let first = case(largest.saturating_add(1));
                    let first = ask(&first.program, &first.flags)?;
                    let most = usable(*largest, &first);
                    let last = planned.cases.last().filter(|case| case.index == index);
                    if self.points.first() <= Some(&most) && last.and_then(|c| c.x) < Some(most) {
                        planned.cases.push(case(most));
                    }
                    if answer.alike(&first) {
                        answer = first;
                    }
                }
                match cuts.iter_mut().find(|cut| cut.answer.alike(&answer)) {
                    Some(cut) => cut.cases.push(this),
                    None => cuts.push(Cut { cases: vec![this], answer }),
                }
            }
            planned.cuts.append(&mut cuts);
        }
        Ok(planned)
    }

    fn case(&self, subject: &Subject, pin: bool, x: u64, index: u32) -> Case {
        let program = &subject.program;
        let metric = metric(program);
        let mut flags = self.flags.clone();
        flags.extend(subject.flags.iter().cloned());
        let iters = take(&mut flags, "--iters");
        let warmup = take(&mut flags, "--warmup");
        let given = |name: &str| match canonical(program, &self.over) == name {
            true => Some(x),
            false => value_text(program, &flags, name)?.parse().ok(),
        };
        let tasks = given("tasks");
        let iterations = Iterations::of(
            tasks.unwrap_or(TASKS),
            given("tokens").unwrap_or(1),
            &metric,
            self.hops,
        );
        flags.extend([format!("--{}", self.over), format!("{x}{}", self.unit)]);
        if tasks.is_none() {
            flags.extend(["--tasks".to_owned(), TASKS.to_string()]);
        }
        let title = self.title(&metric);
        Case {
            program: program.clone(),
            flags,
            iters: iters.unwrap_or(iterations.timed),
            warmup: warmup.unwrap_or(iterations.warmup),
            pin,
            rounds: self.rounds,
            index,
            x: Some(x),
            section: Arc::new(Section { title: title.clone(), metric, also: self.also() }),
            cell: Arc::new(record::Case {
                section: title,
                row: subject.to_string(),
                column: if pin { "pinned" } else { "unpinned" }.to_owned(),
                over: Some(canonical(program, &self.over).replace('-', "_")),
                ..record::Case::default()
            }),
            ..Case::default()
        }
    }

    fn also(&self) -> Vec<Also> {
        let also = |metric: &Metric| Also {
            name: format!("{metric}, {}", metric.label()),
            metric: metric.clone(),
        };
        self.also.iter().map(also).collect()
    }

    fn title(&self, metric: &Metric) -> String {
        let what = metric.unit();
        let mut fixed = self.flags.clone();
        // Where a program sets its own, its name says so.
        let by_all = self.subjects.iter().all(|subject| {
            let program = &subject.program;
            let of = |flags| value_text(program, flags, "tasks").is_some();
            canonical(program, &self.over) == "tasks" || of(&subject.flags) || of(&self.flags)
        });
        if !by_all {
            fixed.extend(["--tasks".to_owned(), TASKS.to_string()]);
        }
        let with = match fixed.is_empty() {
            true => String::new(),
            false => format!(", {}", fixed.join(" ")),
        };
        let unit = match self.unit {
            "" => String::new(),
            unit => format!(" in {unit}"),
        };
        format!("Time per {what} over --{}{unit}{with}", self.over)
    }
}

/// Removes a flag with its number from others; the last one counts.
pub(crate) fn take(flags: &mut Vec<String>, name: &str) -> Option<u64> {
    let mut number = None;
    while let Some(at) = flags.iter().position(|flag| {
        let flag = flag.split('=').next().unwrap_or(flag);
        flag == name || flag == format!("{name}s")
    }) {
        let flag = flags.remove(at);
        let value = match flag.split_once('=') {
            Some((_, value)) => value.to_owned(),
            None if at < flags.len() => flags.remove(at),
            None => String::new(),
        };
        number = value.parse().ok();
    }
    number
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
    let mut lines: Vec<(&str, String)> = Vec::new();
    for cut in cuts {
        let name = cut.cases.first().map_or("", |case| &case.cell.row);
        let line = (name, cut.what(over));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.into_iter().map(|(name, what)| format!("{name} {what}")).collect()
}

/// Metric that a sweep shows of a program: chains hand something over, others do not.
pub fn metric(program: &str) -> Metric {
    match program.contains("brigade") {
        true => Metric::Hop,
        false => Metric::Task,
    }
}

/// Most tasks to try where the limits allow `largest`: others need some of what is free meanwhile.
fn usable(largest: u64, answer: &Answer) -> u64 {
    match answer {
        Answer::TooMuch { memory: true, .. } => (largest as f64 * SHARE_OF_MEMORY) as u64,
        _ => largest.saturating_sub(1 + largest / 1000),
    }
}

/// How many iterations a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Iterations {
    timed: u64,
    warmup: u64,
}

impl Iterations {
    /// So many that about `hops` hops (or tasks) are timed: a matter of the point alone, and never
    /// of what was measured.
    fn of(tasks: u64, tokens: u64, metric: &Metric, hops: u64) -> Self {
        let each = match metric {
            Metric::Hop => tasks.saturating_add(1).saturating_mul(tokens),
            _ => tasks,
        };
        let timed = hops.div_ceil(each.max(1)).max(FEWEST_ITERATIONS);
        Iterations { timed, warmup: timed.div_ceil(10) }
    }
}

/// Value of a program's flag.
pub fn value_text<'a>(program: &str, flags: &'a [String], name: &str) -> Option<&'a str> {
    let name = canonical(program, name);
    flags.iter().enumerate().find_map(|(i, flag)| {
        let rest = flag.strip_prefix("--")?;
        match rest.split_once('=') {
            Some((key, value)) => (canonical(program, key) == name).then_some(value),
            None => (canonical(program, rest) == name)
                .then(|| flags.get(i + 1).map(String::as_str))
                .flatten(),
        }
    })
}

/// The programs whose `--threads` is a flag of its own, and no other word for `--tasks`.
const WITH_THREADS: [&str; 1] = ["blocking-strategies"];

/// The name of a program's flag that has two.
pub fn canonical<'a>(program: &str, name: &'a str) -> &'a str {
    match name {
        "threads" if !WITH_THREADS.contains(&program) => "tasks",
        "batch" => "tasks",
        name => name,
    }
}
