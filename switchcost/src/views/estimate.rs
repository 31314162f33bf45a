//! What so many switches and so many tasks would cost here, as threads and as async tasks.

use facts::{Metric, Quantity};
use serde::Serialize;

use super::answer::{Answer, AnswerRow};
use crate::figures::number::{percent, short};

/// Share of a CPU, or of the memory, from which a cost is worth a thought.
const MATTERS: f64 = 0.05;

/// Costs of one kind.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Costs {
    pub(crate) question: String,
    /// Costs of each row of the answer: as threads and as async tasks, in CPUs or in bytes.
    pub(crate) rows: Vec<(String, [f64; 2])>,
    is_memory: bool,
    /// The greatest of them as threads, as a share of a CPU or of the machine's memory, if that is known.
    share: Option<f64>,
}

impl Costs {
    /// Costs of so many switches a second.
    pub(crate) fn of_switches(answer: &Answer, rate: f64) -> Self {
        let question = format!("{rate} switches a second take of one CPU:");
        let rows = answer.rows.iter().filter(|row| row.metric == Metric::Hop);
        Costs::new(question, rows, rate / 1e9, Some(1.0), false)
    }

    /// Costs of so many tasks that wait, on a machine with so much memory.
    pub(crate) fn of_tasks(answer: &Answer, tasks: u64, memory: Option<u64>) -> Self {
        let rows = answer.rows.iter().filter(|row| row.metric.is_slope());
        let all = memory.map(|bytes| bytes as f64);
        Costs::new(format!("{tasks} tasks that wait hold:"), rows, tasks as f64, all, true)
    }

    fn new<'a>(
        question: String,
        rows: impl Iterator<Item = &'a AnswerRow>,
        factor: f64,
        all: Option<f64>,
        is_memory: bool,
    ) -> Self {
        let mut costs = Vec::new();
        for AnswerRow { name, thread, task, .. } in rows {
            costs.push((name.clone(), [thread, task].map(|cost| cost.value * factor)));
        }
        let most = costs.iter().map(|(_, [threads, _])| *threads).reduce(f64::max);
        let share = most.zip(all).map(|(most, all)| most / all);
        Costs { question, rows: costs, is_memory, share }
    }

    /// A cost for people.
    pub(crate) fn show(&self, cost: f64) -> String {
        if self.is_memory { short(Quantity::Bytes, cost) } else { percent(cost) }
    }

    /// What the greatest cost says, if there is a share.
    pub(crate) fn verdict(&self) -> Option<String> {
        let share = self.share?;
        let (of, what) = if self.is_memory {
            ("of the memory", "their memory")
        } else {
            ("of a CPU", "the cost of switching")
        };
        let text = match share {
            ..MATTERS => "does not decide between threads and tasks",
            ..1.0 => "is a reason to measure your own program",
            _ => "rules threads out",
        };
        Some(format!("At most {} {of}: {what} {text}.", percent(share)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_decides() {
        for (share, is_memory, verdict) in [
            (0.005, false, "At most 0.50 % of a CPU: the cost of switching does not decide"),
            (0.06, true, "At most 6.0 % of the memory: their memory is a reason to measure"),
            (1.5, false, "At most 150 % of a CPU: the cost of switching rules threads out."),
        ] {
            let costs =
                Costs { question: String::new(), rows: Vec::new(), is_memory, share: Some(share) };
            assert!(costs.verdict().unwrap().starts_with(verdict), "{:?}", costs.verdict());
        }
    }
}
