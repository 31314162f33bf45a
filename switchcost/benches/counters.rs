//! What the counters of `--counters` would cost if they counted in the timed iterations.
//!
//! `cargo bench --bench counters` runs a few programs with them, each several times in a fresh
//! process, and prints the time of a hop without the counters and with them: both of the same
//! process, since the counted iterations follow the timed ones over the same tasks. It asserts
//! nothing: the ratio is why they are counted apart.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use harness::console;
use harness::counters::Scope;
use harness::record::Record;
use harness::units::Nanos;
use stats::Estimate;
use switchcost::analysis::CONFIDENCE;
use switchcost::execute::{self, Outcome};
use switchcost::programs::Programs;

const PROCESSES: usize = 10;
/// A program that takes longer hangs.
const TIMEOUT: Duration = Duration::from_secs(600);

/// A program, and the flags that make it switch in a way of its own.
const PROGRAMS: [(&str, &str); 4] = [
    ("thread-brigade", "--placement one-cpu"),
    ("thread-brigade", "--placement free"),
    ("async-brigade", "--flavor current-thread"),
    ("async-mem-brigade", "--flavor current-thread"),
];

/// As many are counted as timed, so that both means are worth the same.
const FLAGS: &str = "--tasks 100 --iters 100 --warmups 100 --counters --format json";

fn main() -> ExitCode {
    match compare() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            console::say(format_args!("counters: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

fn compare() -> anyhow::Result<()> {
    let programs = Programs::up_to_date(PROGRAMS.iter().map(|(program, _)| *program))?;
    println!("ns per hop, medians of {PROCESSES} processes each: timed, and counted");
    for (program, flags) in PROGRAMS {
        let (mut timed, mut counted) = (Vec::new(), Vec::new());
        let mut counters = String::new();
        for _ in 0..PROCESSES {
            let record = run(&programs, program, flags)?;
            let (without, with, what) = hops(&record).context("nothing was counted")?;
            timed.push(without);
            counted.push(with);
            counters = what;
        }
        let median = |values: &[f64]| stats::median(values).context("no figures");
        let ratio = Estimate::ratio(&counted, &timed, CONFIDENCE)
            .and_then(|estimate| estimate.interval)
            .context("no interval")?;
        println!(
            "{:<42}{:>10}{:>10}   ratio {:.3} [{:.3}, {:.3}]   {counters}",
            format!("{program} {flags}"),
            Nanos(median(&timed)?).to_string(),
            Nanos(median(&counted)?).to_string(),
            ratio.estimate,
            ratio.low,
            ratio.high
        );
    }
    Ok(())
}

fn run(programs: &Programs, program: &str, flags: &str) -> anyhow::Result<Record> {
    let flags = FLAGS.split_whitespace().chain(flags.split_whitespace());
    let flags: Vec<String> = flags.map(str::to_owned).collect();
    match execute::run(&programs.path(program)?, &flags, TIMEOUT)? {
        Outcome::Measured(record) => Ok(*record),
        Outcome::Failed(reason) => bail!("{program}: {reason}"),
    }
}

/// The time of a hop without the counters and with them, and which these are.
fn hops(record: &Record) -> Option<(f64, f64, String)> {
    let counters = record.counters.as_ref()?;
    let with = counters.time as f64 / record.counted()?.0 as f64;
    let whose = match counters.scope? {
        Scope::Threads => "for each thread",
        Scope::Cpus => "for each CPU",
    };
    let what = format!("{} events {whose}", counters.events.len());
    Some((record.per_hop?, with, what))
}
