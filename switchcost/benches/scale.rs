//! The sizes that this project promises, each held in one process at once.
//!
//! `cargo bench --bench scale` runs each of them once and prints what it took to build, to pass
//! through, to tear down and to keep. It fails where a size is not reached although the limits of
//! this system allow it; where they do not, it prints which, and the command that raises it.
//! Words behind `--` choose the programs whose names contain one of them.
//! Some gigabytes of memory and some minutes are needed; as root, limits are raised for the run.

use std::env;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use harness::console;
use harness::record::Record;
use harness::units::{self, Nanos};
use switchcost::execute::{self, Outcome};
use switchcost::memory;
use switchcost::probe::{self, Answer};
use switchcost::programs::Programs;

/// A program and how many tasks it holds.
struct Size {
    program: &'static str,
    tasks: u64,
    flags: &'static [&'static str],
}

const SIZES: [Size; 7] = [
    Size::of("async-mem-brigade", 2_000_000, &[]),
    Size::of("async-creation", 2_000_000, &[]),
    Size::of("thread-creation", 500_000, &[]),
    Size::of("thread-creation", 500_000, ARENA),
    Size::of("thread-mem-brigade", 500_000, IN_MEMORY),
    Size::of("async-brigade", 250_000, &[]),
    Size::of("thread-brigade", 80_000, &[]),
];

const ARENA: &[&str] = &["--stacks", "arena"];

/// So many threads that sleep in futex(2) need a table of some size.
const IN_MEMORY: &[&str] = &["--stacks", "arena", "--futex-slots", "65536"];

/// The largest take a minute or two.
const TIMEOUT: Duration = Duration::from_secs(20 * 60);

/// One iteration; and what root may raise is raised.
const FLAGS: [&str; 5] = ["--iters", "1", "--warmups", "0", "--raise-limits"];

impl Size {
    const fn of(program: &'static str, tasks: u64, flags: &'static [&'static str]) -> Self {
        Size {
            program,
            tasks,
            flags,
        }
    }

    fn name(&self) -> String {
        let words: Vec<&str> = [self.program]
            .into_iter()
            .chain(self.flags.to_vec())
            .collect();
        words.join(" ")
    }

    fn arguments(&self) -> Vec<String> {
        let tasks = self.tasks.to_string();
        let flags = self.flags.iter().copied().chain(FLAGS);
        flags
            .chain(["--tasks", &tasks])
            .map(str::to_owned)
            .collect()
    }

    /// Holds the tasks, or says what is in the way.
    fn hold(&self, programs: &Programs) -> anyhow::Result<()> {
        let path = programs.path(self.program)?;
        let mut arguments = self.arguments();
        if let Some(reason) = match probe::ask(&path, &arguments)? {
            Answer::Fits => None,
            answer @ Answer::TooMuch { .. } => answer.reason(),
            answer => anyhow::bail!("{}", answer.reason().unwrap_or_default()),
        } {
            println!("{:<55}{:>9}  not here: {reason}", self.name(), self.tasks);
            return Ok(());
        }
        arguments.extend(["--format", "json"].map(str::to_owned));
        match execute::run(&path, &arguments, TIMEOUT)? {
            Outcome::Measured(record) => self.print(&record),
            Outcome::Failed(reason) => anyhow::bail!("{reason}"),
        }
    }

    fn print(&self, record: &Record) -> anyhow::Result<()> {
        ensure!(
            record.error.is_none() && !record.partial,
            "{}",
            record.error.as_deref().unwrap_or("it was interrupted")
        );
        let time = |ns: Option<u64>| {
            anyhow::Ok(Nanos(ns.context("a time is missing")? as f64).to_string())
        };
        let each = |gain: Option<f64>| {
            gain.map_or_else(
                || "unknown".to_owned(),
                |bytes| units::bytes((bytes / self.tasks as f64).round()),
            )
        };
        println!(
            "{:<55}{:>9}{:>10}{:>10}{:>10}{:>12}{:>12}",
            self.name(),
            self.tasks,
            time(record.setup)?,
            time(record.first_iteration)?,
            time(record.teardown)?,
            each(memory::user_gain(record)),
            each(record.kernel_gain()),
        );
        Ok(())
    }
}

fn main() -> ExitCode {
    match hold_all() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            console::say(format_args!("scale: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

fn hold_all() -> anyhow::Result<()> {
    let programs = Programs::up_to_date(SIZES.iter().map(|size| size.program))?;
    println!(
        "{:<55}{:>9}{:>10}{:>10}{:>10}{:>12}{:>12}",
        "", "tasks", "set-up", "first", "teardown", "user each", "kernel each"
    );
    // Cargo passes `--bench`.
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let is_wanted =
        |size: &&Size| words.is_empty() || words.iter().any(|word| size.name().contains(word));
    let mut fallen_short = Vec::new();
    for size in SIZES.iter().filter(is_wanted) {
        if let Err(e) = size.hold(&programs) {
            console::say(format_args!("{}: {e:#}", size.name()));
            fallen_short.push(size.name());
        }
    }
    ensure!(
        fallen_short.is_empty(),
        "not reached: {}",
        fallen_short.join("; ")
    );
    Ok(())
}
