//! `switchcost estimate`: what so many switches and so many tasks would cost here, as threads and as async
//! tasks.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use facts::Record;
use serde::Serialize;

use super::args::TextOrJson;
use super::measuring::quick;
use super::output::json;
use crate::figures::Figures;
use crate::measure::store;
use crate::system::console::{self, BadUsage, plain_line};
use crate::views::answer::Answer;
use crate::views::estimate::Costs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Switches a second, such as 20000 or 20000/s: how often a task has to wait and is woken
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rate, required_unless_present = "tasks")]
    switches: Option<f64>,

    /// Tasks that are there at once
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    tasks: Option<u64>,

    /// Output format
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,

    /// Results to use [default: the newest switchcost-*.jsonl in this folder that holds an answer, or else a
    /// run of 15 s]
    #[arg(value_name = "FILE")]
    results: Option<PathBuf>,
}

/// The estimate for programs.
#[derive(Serialize)]
struct Estimated<'a> {
    machine: &'a str,
    by: &'a str,
    costs: &'a [Costs],
}

fn rate(text: &str) -> Result<f64, String> {
    match text.strip_suffix("/s").unwrap_or(text).trim().parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 && rate <= 1e12 => Ok(rate),
        _ => Err(format!("'{text}' is not a rate: write one such as 20000/s")),
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let (by, records) = args.records()?;
    let answer = Answer::of(&Figures::of(&records)).ok_or_else(|| {
        BadUsage::new(format!("{by} holds no answer: name results of the default plan"))
    })?;
    let memory = records.last().and_then(|record| record.machine().memory_total_bytes);
    let switches = args.switches.map(|rate| Costs::of_switches(&answer, rate));
    let tasks = args.tasks.map(|tasks| Costs::of_tasks(&answer, tasks, memory));
    let costs: Vec<Costs> = switches.into_iter().chain(tasks).collect();
    let has_all = costs.iter().all(|costs| !costs.rows.is_empty());
    ensure!(has_all, "{by} has no figures for this: their rows are missing");
    console::print(|out| {
        if args.format == TextOrJson::Json {
            return json(&Estimated { machine: &answer.machine, by: &by, costs: &costs }, out);
        }
        writeln!(out, "{}\nBy {}:\n", plain_line(&answer.machine), plain_line(&by))?;
        for costs in &costs {
            writeln!(out, "{}", costs.question)?;
            for (name, cost) in &costs.rows {
                let (name, [threads, tasks]) =
                    (plain_line(name), cost.map(|cost| costs.show(cost)));
                writeln!(out, "  {name:<32}{threads:>10} as threads, {tasks:>10} as async tasks")?;
            }
            costs.verdict().map_or(Ok(()), |verdict| writeln!(out, "{verdict}"))?;
        }
        Ok(())
    })
    .context("cannot print")
}

impl Args {
    /// Records to use, and what they are called.
    fn records(&self) -> anyhow::Result<(String, Vec<Record>)> {
        let read = |path: &Path| {
            let contents = store::read(path)?;
            store::tell(path, &contents);
            Ok((path.display().to_string(), contents.records))
        };
        if let Some(path) = &self.results {
            return read(path);
        }
        // Sweeps and duels leave files of the same name.
        let newest = newest_first(Path::new(".")).into_iter().find(|path| {
            store::read(path).is_ok_and(|c| Answer::of(&Figures::of(&c.records)).is_some())
        });
        if let Some(path) = newest {
            return read(&path);
        }
        console::say(format_args!("no results in this folder: measuring for 15 s"));
        Ok(("a run of 15 s just now".to_owned(), quick()?))
    }
}

/// Results in a folder, the newest first. What is no plain file, such as a FIFO, is not looked into.
fn newest_first(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut dated: Vec<_> = files
        .filter_map(|file| {
            let name = file.file_name();
            let name = name.to_str()?;
            let is_ours = name.starts_with("switchcost-") && name.ends_with(".jsonl");
            let facts =
                fs::metadata(file.path()).ok().filter(|facts| is_ours && facts.is_file())?;
            Some((facts.modified().ok()?, file.path()))
        })
        .collect();
    dated.sort_unstable();
    dated.into_iter().rev().map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn results_are_plain_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("switchcost-a.jsonl"), "").unwrap();
        fs::write(path("other.jsonl"), "").unwrap();
        fs::create_dir(path("switchcost-b.jsonl")).unwrap();
        mkfifo(&path("switchcost-c.jsonl"), Mode::S_IRWXU).unwrap();
        symlink("nowhere", path("switchcost-d.jsonl")).unwrap();
        assert_eq!(newest_first(folder.path()), [path("switchcost-a.jsonl")]);
    }

    #[test]
    fn a_rate_is_a_positive_number() {
        assert_eq!((rate("20000/s"), rate("2e4")), (Ok(20_000.0), Ok(20_000.0)));
        for text in ["", "0", "-1", "inf", "x/s", "1e300"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
