//! `switchcost limits`: what every limit of this system allows, and what raises it.

use std::collections::BTreeSet;
use std::io::Write;

use crate::console;
use anyhow::{Context, bail};
use clap::ValueEnum;
use observe::limits::Limits;

use crate::doctor::{self, Asked};
use crate::goroutines;
use crate::plan::Plan;
use crate::probe;
use crate::programs::Programs;
use crate::render;

/// Says what every limit of this system is, how many tasks of each benchmark it allows, which one
/// binds first, and what raises it: the command, whether it takes root, and how long it lasts.
///
/// The programs are asked what they need with their usual flags; nothing is measured or changed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Say what it takes to hold this many tasks, and exit with status 1 where some benchmark
    /// cannot. Without it the commands make room for twice as many as each benchmark may have now
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    tasks: Option<u32>,

    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How the limits are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// for a terminal
    Text,
    /// for programs
    Json,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let names = names()?;
    let programs = Programs::brought_up_to_date(names.iter().map(String::as_str))?;
    // Nobody is told of a program that cannot be here.
    let names = names
        .into_iter()
        .filter(|name| programs.missing(name).is_none());
    let asked: Vec<Asked> = names.map(|name| ask(name, &programs)).collect();
    let tasks = args.tasks.map(u64::from);
    let checkup = doctor::check(&Limits::read(), &asked, tasks);
    console::print(|out| match args.format {
        Format::Text => render::limits::text(&checkup, render::limits::width(), out),
        Format::Json => {
            serde_json::to_writer(&mut *out, &checkup)?;
            writeln!(out)
        }
    })
    .context("cannot print the limits")?;
    let failed: Vec<&str> = checkup.too_many_for().collect();
    let silent: Vec<&str> = checkup.not_asked().collect();
    if args.tasks.is_some() && !silent.is_empty() {
        bail!("it is not known whether these can: {}", silent.join(", "));
    }
    match args.tasks {
        Some(tasks) if !failed.is_empty() => bail!(
            "{tasks} tasks are more than this system allows for {}",
            failed.join(", ")
        ),
        _ => Ok(()),
    }
}

/// Benchmarks that no built-in plan need have.
const OTHERS: [&str; 1] = ["uring-brigade"];

/// The benchmarks of the built-in plans, in their order there, and the others.
fn names() -> anyhow::Result<Vec<String>> {
    let plans = [Plan::built_in()?, Plan::memory()?];
    let mut seen = BTreeSet::new();
    let names = plans
        .iter()
        .flat_map(|plan| plan.cases(true))
        .map(|case| case.program)
        .chain(OTHERS.map(str::to_owned))
        .chain(goroutines::PROGRAMS.map(str::to_owned))
        .filter(|name| seen.insert(name.clone()));
    Ok(names.collect())
}

fn ask(name: String, programs: &Programs) -> Asked {
    let needs = programs
        .path(&name)
        .and_then(|path| probe::needs(&path, programs.kind(&name)?))
        .map_err(|e| format!("{e:#}"));
    (name, needs)
}
