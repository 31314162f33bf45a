//! What so many switches and so many tasks would cost here, as threads and as async tasks.

use facts::{Metric, Quantity};
use serde::Serialize;

use super::answer::{Answer, Row};
use crate::figures::number::{percent, short};

/// Share of a CPU, or of the memory, from which a cost is worth a thought.
const MATTERS: f64 = 0.05;

/// Costs of one kind.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    /// Question, a sentence.
    pub question: String,
    /// Costs of each row of the answer: as threads and as async tasks, in CPUs or in bytes.
    pub rows: Vec<(String, [f64; 2])>,
    /// True for bytes.
    pub is_memory: bool,
    /// The greatest of them as threads, as a share of a CPU or of the machine's memory, if that is known.
    pub share: Option<f64>,
}

impl Costs {
    /// Costs of so many switches a second.
    pub fn of_switches(answer: &Answer, rate: f64) -> Self {
        let question = format!("{rate} switches a second take of one CPU:");
        let is_switch = |row: &&Row| row.metric == Metric::Hop;
        Costs::new(question, answer.rows.iter().filter(is_switch), rate / 1e9, Some(1.0), false)
    }

    /// Costs of so many tasks that wait, on a machine with so much memory.
    pub fn of_tasks(answer: &Answer, tasks: u64, memory: Option<u64>) -> Self {
        let rows = answer.rows.iter().filter(|row| row.metric.is_slope());
        let all = memory.map(|bytes| bytes as f64);
        Costs::new(format!("{tasks} tasks that wait hold:"), rows, tasks as f64, all, true)
    }

    fn new<'a>(
        question: String,
        rows: impl Iterator<Item = &'a Row>,
        factor: f64,
        all: Option<f64>,
        is_memory: bool,
    ) -> Self {
        let cost =
            |row: &Row| (row.name.clone(), [row.thread, row.task].map(|cost| cost.value * factor));
        let rows: Vec<(String, [f64; 2])> = rows.map(cost).collect();
        let most = rows.iter().map(|(_, [threads, _])| *threads).reduce(f64::max);
        let share = most.and_then(|most| Some(most / all?));
        Costs { question, rows, is_memory, share }
    }

    /// A cost for people.
    pub fn show(&self, cost: f64) -> String {
        if self.is_memory { short(Quantity::Bytes, cost) } else { percent(cost) }
    }

    /// What the greatest cost says, if there is a share.
    pub fn verdict(&self) -> Option<String> {
        let share = self.share?;
        let (of, what) = if self.is_memory {
            ("of the memory", "their memory")
        } else {
            ("of a CPU", "the cost of switching")
        };
        let text = match share {
            share if share < MATTERS => "does not decide between threads and tasks",
            share if share < 1.0 => "is a reason to measure your own program",
            _ => "rules threads out",
        };
        Some(format!("At most {} {of}: {what} {text}.", percent(share)))
    }
}

#[cfg(test)]
mod tests {
    use stats::Estimate;

    use super::*;
    use crate::figures::conditions::Conditions;
    use crate::views::answer::Cost;

    #[test]
    fn costs_are_scaled_and_judged() {
        let row = |metric, thread: f64, task: f64| {
            let ratio = Estimate { value: thread / task, n: 1, interval: None };
            let [thread, task] = [thread, task].map(|value| Cost { value, modes: None });
            Row { name: "row".to_owned(), metric, thread, task, ratio, is_disturbed: false }
        };
        let answer = Answer {
            doubts: Vec::new(),
            machine: String::new(),
            rows: vec![row(Metric::Hop, 5000.0, 100.0), row(Metric::Memory, 40_960.0, 1024.0)],
            matters: Vec::new(),
            conditions: Conditions::default(),
        };
        let few = Costs::of_switches(&answer, 1000.0);
        assert_eq!(few.show(few.rows[0].1[0]), "0.50 %");
        assert!(few.verdict().unwrap().contains("does not decide"));
        let many = Costs::of_switches(&answer, 300_000.0);
        assert_eq!(many.rows[0].1.map(|cost| many.show(cost)), ["150 %", "3.0 %"]);
        assert!(many.verdict().unwrap().contains("rules threads out"));
        let held = Costs::of_tasks(&answer, 1000, Some(1 << 30));
        assert_eq!(held.show(held.rows[0].1[0]), "39 MiB");
        assert!(held.verdict().unwrap().starts_with("At most 3.8 % of the memory"));
        assert_eq!(Costs::of_tasks(&answer, 1000, None).verdict(), None);
    }
}
