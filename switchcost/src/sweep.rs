//! A sweep: one numeric flag over a range, as cases for the runner.

#[cfg(test)]
mod tests;

use record::{Metric, PlanPosition};

use crate::plan::Case;
use crate::probe::Answer;
use crate::subject::Subject;

/// How many tasks there are where nothing else is said.
const TASKS: u64 = 500;

/// Fewest timed iterations in a process.
const FEWEST_ITERATIONS: u64 = 3;

/// What is swept, and how much of it is measured.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The flag, without its dashes.
    pub over: String,
    /// What its values are typed in: `ns`, or nothing for plain numbers.
    pub unit: &'static str,
    /// Its values in ascending order.
    pub points: Vec<u64>,
    /// The curves.
    pub series: Vec<Series>,
    /// Flags that every program is given.
    pub flags: Vec<String>,
    /// About how many hops, or tasks where nothing is handed over, a process times.
    pub hops: u64,
    /// How often each point is measured, each time in a fresh process.
    pub rounds: u32,
    /// The seed of the shuffled order.
    pub seed: u64,
}

/// One curve: a program in one placement, over one transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// The program, with flags of its own.
    pub subject: Subject,
    /// What tells it from other curves of the program.
    pub variant: String,
    /// The flags that make the variant.
    pub flags: Vec<String>,
}

/// The cases of a sweep, and what is left out of it.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// What can be measured.
    pub cases: Vec<Case>,
    /// What cannot, and why.
    pub cuts: Vec<Cut>,
}

/// Points of one series that are not measured, for one reason.
#[derive(Clone, Debug)]
pub struct Cut {
    /// The case of each point.
    pub cases: Vec<Case>,
    /// The points.
    pub points: Vec<u64>,
    /// What the program says of them.
    pub answer: Answer,
}

impl Sweep {
    /// Makes the cases. `ask` says of a program and its flags whether they can be run.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn plan(
        &self,
        ask: impl Fn(&str, &[String]) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<Planned> {
        let mut planned = Planned::default();
        for (index, series) in (0..).zip(&self.series) {
            let mut cuts: Vec<Cut> = Vec::new();
            for &x in &self.points {
                let case = self.case(series, x, index);
                let answer = ask(&case.program, &case.flags)?;
                if answer == Answer::Fits {
                    planned.cases.push(case);
                    continue;
                }
                match cuts.iter_mut().find(|cut| cut.answer.alike(&answer)) {
                    Some(cut) => {
                        cut.cases.push(case);
                        cut.points.push(x);
                    }
                    None => cuts.push(Cut {
                        cases: vec![case],
                        points: vec![x],
                        answer,
                    }),
                }
            }
            planned.cuts.append(&mut cuts);
        }
        Ok(planned)
    }

    fn case(&self, series: &Series, x: u64, index: u32) -> Case {
        let mut flags = self.flags.clone();
        flags.extend(series.subject.flags.iter().cloned());
        flags.extend(series.flags.iter().cloned());
        let program = &series.subject.program;
        flags.extend([format!("--{}", self.over), format!("{x}{}", self.unit)]);
        let mut add = |name: &str, value: u64| {
            flags.extend([format!("--{name}"), value.to_string()]);
        };
        let given = |name: &str| match canonical(program, &self.over) == name {
            true => Some(x),
            false => value_of(program, &self.flags, name)
                .or_else(|| value_of(program, &series.subject.flags, name)),
        };
        let tasks = given("tasks");
        if tasks.is_none() {
            add("tasks", TASKS);
        }
        let iterations = Iterations::of(
            tasks.unwrap_or(TASKS),
            given("tokens").unwrap_or(1),
            metric(&series.subject.program),
            self.hops,
        );
        for (name, value) in [("iters", iterations.timed), ("warmups", iterations.warmups)] {
            if given(name).is_none() {
                add(name, value);
            }
        }
        Case {
            program: series.subject.program.clone(),
            flags,
            rounds: self.rounds,
            extensible: false,
            position: self.position(series, index),
        }
    }

    fn position(&self, series: &Series, index: u32) -> PlanPosition {
        let metric = metric(&series.subject.program);
        PlanPosition {
            section: self.title(metric),
            metric,
            row: series.subject.to_string(),
            column: series.variant.clone(),
            also: Vec::new(),
            baseline: None,
            versus: None,
            over: Some(canonical(&series.subject.program, &self.over).replace('-', "_")),
            twin: false,
            index,
            round: 0,
            order: 0,
            seed: self.seed,
            run: 0,
            command: None,
        }
    }

    fn title(&self, metric: Metric) -> String {
        let what = metric.unit();
        let mut fixed = self.flags.clone();
        // Where a program sets its own, its name says so.
        let mut subjects = self.series.iter().map(|series| &series.subject);
        let by_all = subjects.all(|subject| {
            let program = &subject.program;
            let of = |flags| value_of(program, flags, "tasks").is_some();
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

/// The curves of some programs in each placement, over each transport. A program that lacks one of
/// these flags, as `has` tells, is measured without it, once.
///
/// # Errors
/// Those of `has`.
pub fn series(
    subjects: &[Subject],
    placements: &[String],
    transports: &[String],
    has: impl Fn(&str, &str) -> anyhow::Result<bool>,
) -> anyhow::Result<Vec<Series>> {
    let mut all = Vec::new();
    for subject in subjects {
        let mut variants = vec![(Vec::new(), Vec::new())];
        for (flag, values) in [("--placement", placements), ("--transport", transports)] {
            let name = flag.trim_start_matches('-');
            let is_its_own = value_text(&subject.program, &subject.flags, name).is_some();
            if values.is_empty() || is_its_own || !has(&subject.program, flag)? {
                continue;
            }
            let with = |(names, flags): &(Vec<String>, Vec<String>), value: &String| {
                let mut names = names.clone();
                // One value for all is said by no name, unless it is a placement.
                if values.len() > 1 || flag == "--placement" {
                    names.push(value.clone());
                }
                let mut flags = flags.clone();
                flags.extend([flag.to_owned(), value.clone()]);
                (names, flags)
            };
            variants = variants
                .iter()
                .flat_map(|variant| values.iter().map(|value| with(variant, value)))
                .collect();
        }
        all.extend(variants.into_iter().map(|(names, flags)| Series {
            subject: subject.clone(),
            variant: names.join(", "),
            flags,
        }));
    }
    Ok(all)
}

impl Cut {
    /// Whether the program lacks the flag that is swept.
    pub fn lacks(&self, over: &str) -> bool {
        matches!(&self.answer, Answer::NoFlag(flag) if flag.trim_start_matches('-') == over)
    }

    /// What is left out, without the program's name.
    fn what(&self, over: &str) -> String {
        let points: Vec<String> = self.points.iter().map(u64::to_string).collect();
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
        let name = cut.cases.first().map_or("", |case| &case.position.row);
        let line = (name, cut.what(over));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
        .into_iter()
        .map(|(name, what)| format!("{name} {what}"))
        .collect()
}

/// What a sweep shows of a program: chains hand something over, others do not.
pub fn metric(program: &str) -> Metric {
    match program.contains("brigade") {
        true => Metric::Hop,
        false => Metric::Task,
    }
}

/// How many iterations a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Iterations {
    timed: u64,
    warmups: u64,
}

impl Iterations {
    /// So many that about `hops` hops (or tasks) are timed: a matter of the point alone, and never
    /// of what was measured.
    fn of(tasks: u64, tokens: u64, metric: Metric, hops: u64) -> Self {
        let each = match metric {
            Metric::Hop => tasks.saturating_add(1).saturating_mul(tokens),
            _ => tasks,
        };
        let timed = hops.div_ceil(each.max(1)).max(FEWEST_ITERATIONS);
        Iterations {
            timed,
            warmups: timed.div_ceil(10),
        }
    }
}

/// The number that a flag of a program is given, as `--name 5` or `--name=5`.
fn value_of(program: &str, flags: &[String], name: &str) -> Option<u64> {
    value_text(program, flags, name)?.parse().ok()
}

/// What a flag of a program is given.
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
