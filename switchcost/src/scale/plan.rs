//! Which numbers of tasks are tried, as cases for the runner.

use std::sync::Arc;

use crate::console::BadUsage;
use record::{Metric, Section};

use crate::plan::Case;
use crate::probe::{Answer, Shortage};
use crate::subject::Subject;
use crate::sweep::value_text;

/// Iterations of each process: the very first one, which is the warm-up, and one that is timed.
const ITERATIONS: u64 = 1;

/// Of the memory that is free, so much is left alone: others need some meanwhile.
const SHARE_OF_MEMORY: f64 = 0.95;

/// Task counts to try.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The smallest number of tasks.
    pub from: u32,
    /// The largest.
    pub to: u32,
    /// How often each is measured, each time in a fresh process.
    pub rounds: u32,
    /// Flags that every program is given.
    pub flags: Vec<String>,
}

/// Cases of a program, and the first beyond its limits.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// The points that its limits allow.
    pub cases: Vec<Case>,
    /// The next one beyond, and why not.
    pub beyond: Option<(Case, String)>,
}

/// Refuses flags that the plan sets itself.
///
/// # Errors
/// Names the flag.
pub fn check_flags(program: &str, flags: &[String]) -> Result<(), String> {
    let own = ["tasks", "iters", "warmup", "warmups"];
    match own.iter().find(|name| value_text(program, flags, name).is_some()) {
        Some(name) => Err(format!("--{name} is set for each run by itself")),
        None => Ok(()),
    }
}

impl Plan {
    /// The cases of a program. `ask` says whether it could run with so many tasks.
    ///
    /// # Errors
    /// Those of `ask`, and what the program does not take.
    pub fn cases(
        &self,
        subject: &Subject,
        index: u32,
        ask: impl Fn(&[String]) -> anyhow::Result<Answer>,
    ) -> anyhow::Result<Planned> {
        let case = |tasks: u32| self.case(subject, index, tasks);
        let mut points = points(self.from, self.to);
        let whole = ask(&case(self.to).flags)?;
        let beyond = match &whole {
            Answer::Fits => None,
            Answer::TooMuch { largest, .. } => {
                let tasks = u32::try_from(largest.saturating_add(1)).unwrap_or(u32::MAX);
                // Of all the limits that are too low for the whole range, the first that binds.
                let first = case(tasks.min(self.to));
                let answer = match ask(&first.flags)? {
                    answer @ Answer::TooMuch { .. } => answer,
                    // Some memory has become free meanwhile.
                    _ => whole.clone(),
                };
                let most = usable(*largest, &answer);
                points.retain(|&tasks| u64::from(tasks) < most);
                if u64::from(self.from) <= most {
                    points.extend(u32::try_from(most));
                }
                answer.reason().map(|reason| (first, reason))
            }
            answer => {
                let reason = answer.reason().unwrap_or_default();
                return Err(BadUsage::new(format!("{}: {reason}", subject.program)));
            }
        };
        Ok(Planned { cases: points.into_iter().map(case).collect(), beyond })
    }

    fn case(&self, subject: &Subject, index: u32, tasks: u32) -> Case {
        let mut flags = subject.flags.clone();
        flags.extend(self.flags.iter().cloned());
        flags.extend(["--tasks".to_owned(), tasks.to_string()]);
        let with = match self.flags.is_empty() {
            true => String::new(),
            false => format!(", {}", self.flags.join(" ")),
        };
        let title = format!("At scale{with}");
        Case {
            program: subject.program.clone(),
            flags,
            iters: ITERATIONS,
            warmup: ITERATIONS,
            rounds: self.rounds,
            index,
            x: Some(tasks.into()),
            section: Arc::new(Section {
                title: title.clone(),
                metric: Metric::Scale,
                also: Vec::new(),
            }),
            cell: Arc::new(record::Case {
                section: title,
                row: subject.program.clone(),
                column: subject.flags.join(" "),
                over: Some("tasks".to_owned()),
                ..record::Case::default()
            }),
            ..Case::default()
        }
    }
}

/// The largest number of tasks to try where the limits allow `largest`.
fn usable(largest: u64, answer: &Answer) -> u64 {
    let is_memory = |shortage: &Shortage| shortage.resource == "memory";
    match answer {
        Answer::TooMuch { shortages, .. } if shortages.iter().any(is_memory) => {
            (largest as f64 * SHARE_OF_MEMORY) as u64
        }
        _ => largest,
    }
}

/// 1, 2 and 5 times the powers of ten, as far as they lie between the ends, and both ends.
fn points(from: u32, to: u32) -> Vec<u32> {
    let steps = (0..=9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let between =
        steps.filter_map(|step| u32::try_from(step).ok()).filter(|&step| from < step && step < to);
    let mut points: Vec<u32> = [from].into_iter().chain(between).chain([to]).collect();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { from: 1000, to: 20_000, rounds: 1, flags: Vec::new() }
    }

    fn shortage(resource: &str) -> Shortage {
        Shortage {
            name: format!("the {resource}"),
            resource: resource.to_owned(),
            needed: 2,
            allowed: 1,
            remedy: "#".to_owned(),
        }
    }

    fn tasks(planned: &Planned) -> Vec<String> {
        let last = |case: &Case| case.flags.last().cloned().unwrap();
        planned.cases.iter().map(last).collect()
    }

    #[test]
    fn the_points_are_round_and_have_both_ends() {
        assert_eq!(points(1, 10), [1, 2, 5, 10]);
        assert_eq!(points(30, 600), [30, 50, 100, 200, 500, 600]);
        assert_eq!(points(7, 7), [7]);
        assert_eq!(points(4_000_000_000, u32::MAX), [4_000_000_000, u32::MAX]);
    }

    #[test]
    fn a_program_goes_as_far_as_its_limits() {
        let subject: Subject = "thread-brigade --stack-size 64KiB".parse().unwrap();
        let all = plan().cases(&subject, 0, |_| Ok(Answer::Fits)).unwrap();
        assert_eq!(tasks(&all), ["1000", "2000", "5000", "10000", "20000"]);
        assert!(all.beyond.is_none());
        for (resource, last) in [("descriptors", "9990"), ("memory", "9490")] {
            let answer = |_: &[String]| {
                Ok(Answer::TooMuch { largest: 9990, shortages: vec![shortage(resource)] })
            };
            let some = plan().cases(&subject, 0, answer).unwrap();
            assert_eq!(tasks(&some), ["1000", "2000", "5000", last]);
            let (case, reason) = some.beyond.unwrap();
            assert_eq!(case.flags.last().unwrap(), "9991");
            assert!(reason.contains(&format!("the {resource}")), "{reason}");
        }
    }

    #[test]
    fn what_does_not_fit_at_all_has_no_point() {
        let subject: Subject = "x".parse().unwrap();
        let answer =
            |_: &[String]| Ok(Answer::TooMuch { largest: 5, shortages: vec![shortage("threads")] });
        let none = plan().cases(&subject, 0, answer).unwrap();
        assert!(none.cases.is_empty() && none.beyond.is_some());
        let refused = |_: &[String]| Ok(Answer::NoFlag("--stacks".to_owned()));
        assert!(plan().cases(&subject, 0, refused).is_err());
    }

    #[test]
    fn a_subject_does_not_set_what_the_plan_sets() {
        for flags in ["a --tasks 5", "a --iters=5", "a --threads 5"] {
            let subject: Subject = flags.parse().unwrap();
            assert!(check_flags(&subject.program, &subject.flags).is_err(), "{flags}");
        }
        let threads = ["--threads", "5"].map(str::to_owned);
        assert!(check_flags("blocking-strategies", &threads).is_ok());
    }
}
