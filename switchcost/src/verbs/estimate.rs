//! `switchcost estimate`: what so many switches and so many tasks would cost here, as threads and as async
//! tasks.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use record::{Metric, Quantity};

use crate::figures::Figures;
use crate::figures::number::{percent, short};
use crate::measure::store;
use crate::system::console::{self, BadUsage, plain_line};
use crate::views::answer::{Answer, Cost, Row};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Switches a second, such as 20000 or 20000/s: how often a task has to wait and is woken
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rate, required_unless_present = "tasks")]
    switches: Option<f64>,

    /// Tasks that are there at once
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    tasks: Option<u64>,

    /// Results to use [default: the newest switchcost-*.jsonl in this folder, or else a run of 15 s]
    #[arg(value_name = "FILE")]
    results: Option<PathBuf>,
}

/// Share of a CPU, or of the memory, from which a cost is worth a thought.
const MATTERS: f64 = 0.05;

fn rate(text: &str) -> Result<f64, String> {
    match text.strip_suffix("/s").unwrap_or(text).trim().parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 && rate <= 1e12 => Ok(rate),
        _ => Err(format!("'{text}' is not a rate: write one such as 20000/s")),
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let (name, records) = match args.results.clone().or_else(|| newest(Path::new("."))) {
        Some(path) => {
            let contents = store::read(&path)?;
            store::tell(&path, &contents);
            (path.display().to_string(), contents.records)
        }
        None => {
            console::say(format_args!("no results in this folder: measuring for 15 s"));
            ("a run of 15 s just now".to_owned(), super::run::quick()?)
        }
    };
    let answer = Answer::of(&Figures::of(&records)).ok_or_else(|| {
        BadUsage::new(format!("{name} holds no answer: name results of the default plan"))
    })?;
    let memory = records.last().and_then(|record| record.machine().memory_total_bytes);
    let lines = sentences(args, &answer, memory);
    ensure!(!lines.is_empty(), "{name} has no figures for this: their rows are missing");
    console::print(|out| {
        writeln!(out, "{}\nBy {}:\n", answer.machine, plain_line(&name))?;
        lines.iter().try_for_each(|line| writeln!(out, "{}", plain_line(line)))
    })
    .context("cannot print")
}

/// The newest results in a folder. What is no plain file, such as a FIFO, is not looked into.
fn newest(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let results = files.filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("switchcost-") && name.ends_with(".jsonl")
    });
    let changed = |path: &Path| {
        let file = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        file.modified().ok()
    };
    let dated = results.filter_map(|file| Some((changed(&file.path())?, file.path())));
    dated.max().map(|(_, path)| path)
}

/// What is asked for, row by row, each with a verdict.
fn sentences(args: &Args, answer: &Answer, memory: Option<u64>) -> Vec<String> {
    let mut lines = Vec::new();
    let rows = |wanted: fn(&Row) -> bool| answer.rows.iter().filter(move |row| wanted(row));
    if let Some(rate) = args.switches {
        lines.push(format!("{rate} switches a second take of one CPU:"));
        let mut most: f64 = 0.0;
        for row in rows(|row| row.metric == Metric::Hop) {
            let share = |cost: Cost| rate * cost.value / 1e9;
            most = most.max(share(row.thread));
            lines.push(line(&row.name, percent(share(row.thread)), percent(share(row.task))));
        }
        lines.push(verdict(most, "of a CPU", "the cost of switching"));
    }
    if let Some(tasks) = args.tasks {
        lines.push(format!("{tasks} tasks that wait hold:"));
        let mut most: f64 = 0.0;
        for row in rows(|row| row.metric.is_slope()) {
            let held = |cost: Cost| cost.value * tasks as f64;
            most = most.max(held(row.thread) / memory.map_or(f64::INFINITY, |bytes| bytes as f64));
            let [thread, task] = [row.thread, row.task].map(|f| short(Quantity::Bytes, held(f)));
            lines.push(line(&row.name, thread, task));
        }
        if memory.is_some() {
            lines.push(verdict(most, "of the memory", "their memory"));
        }
    }
    lines
}

fn line(name: &str, thread: String, task: String) -> String {
    format!("  {name:<32}{thread:>10} as threads, {task:>10} as async tasks")
}

fn verdict(most: f64, of: &str, what: &str) -> String {
    let text = match most {
        most if most < MATTERS => "does not decide between threads and tasks",
        most if most < 1.0 => "is a reason to measure your own program",
        _ => "rules threads out",
    };
    format!("At most {} {of}: {what} {text}.", percent(most))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;
    use crate::figures::conditions::Conditions;
    use stats::Estimate;

    fn row(metric: Metric, thread: f64, task: f64) -> Row {
        let ratio = Estimate { value: thread / task, n: 1, interval: None };
        let [thread, task] = [thread, task].map(|value| Cost { value, modes: None });
        Row { name: "row".to_owned(), metric, thread, task, ratio, is_disturbed: false }
    }

    #[test]
    fn costs_are_scaled_and_judged() {
        let answer = Answer {
            doubts: Vec::new(),
            machine: String::new(),
            rows: vec![row(Metric::Hop, 5000.0, 100.0), row(Metric::Memory, 40_960.0, 1024.0)],
            matters: Vec::new(),
            conditions: Conditions::default(),
        };
        let args = |switches, tasks| Args { switches, tasks, results: None };
        let text = |args| sentences(&args, &answer, Some(1 << 30)).join("\n");
        let few = text(args(Some(1000.0), None));
        assert!(few.contains("0.50 % as threads") && few.contains("does not decide"), "{few}");
        let many = text(args(Some(300_000.0), Some(1000)));
        assert!(many.contains("150 % as threads") && many.contains("3.0 % as async"), "{many}");
        assert!(many.contains("rules threads out"), "{many}");
        assert!(
            many.contains("39 MiB as threads") && many.contains("3.8 % of the memory"),
            "{many}"
        );
    }

    #[test]
    fn results_are_a_plain_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("switchcost-a.jsonl"), "").unwrap();
        fs::create_dir(path("switchcost-b.jsonl")).unwrap();
        mkfifo(&path("switchcost-c.jsonl"), Mode::S_IRWXU).unwrap();
        symlink("nowhere", path("switchcost-d.jsonl")).unwrap();
        assert_eq!(newest(folder.path()), Some(path("switchcost-a.jsonl")));
    }

    #[test]
    fn a_rate_is_a_positive_number() {
        assert_eq!((rate("20000/s"), rate("2e4")), (Ok(20_000.0), Ok(20_000.0)));
        for text in ["", "0", "-1", "inf", "x/s", "1e300"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
