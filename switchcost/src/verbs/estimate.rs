//! `switchcost estimate`: what a load costs here with threads and with async tasks, as two servers measure it; or what
//! a running service spends on switches.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use figures::{Figures, provenance};
use host::units::Span;
use observe::service::{self, Service};

use super::args::newest_first;
use super::output::{self, Format};
use crate::measure::campaign::run_here;
use crate::measure::store;
use crate::plan::Plan;
use crate::plan::values::{many, tasks};
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::views::estimate::{Load, Loaded};
use crate::views::service::{Prices, Watched};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("load").args(["switches", "connections", "work"]).multiple(true))]
pub(crate) struct Args {
    /// Requests per second, such as 20k/s; each wakes a thread or an async task [default: 5k/s]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rate)]
    switches: Option<u32>,

    /// Number of open connections, such as 1000 [default: 200]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = connections)]
    connections: Option<u32>,

    /// CPU time that your handler takes for each request, such as 50us: each server works so long
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = work)]
    work: Option<Span>,

    /// Watch this process and all that it starts, and say what their switches cost; for several processes, 12,34
    #[arg(long, value_name = "PID", allow_negative_numbers = true, value_parser = clap::value_parser!(i32).range(1..), value_delimiter = ',', conflicts_with = "load")]
    pid: Vec<i32>,

    /// How long to watch, such as 30s
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true, default_value = "10s", value_parser = span, conflicts_with = "load")]
    length: Duration,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Results with the price of a switch [default: the newest switchcost-*.jsonl in this folder that has it and is
    /// from this machine]
    #[arg(value_name = "FILE", conflicts_with = "load")]
    results: Option<PathBuf>,
}

fn span(text: &str) -> Result<Duration, String> {
    match text.parse::<Span>()? {
        Span(ns) if ns < 1_000_000_000 => {
            Err("a service is watched for 1s or more: raise it".to_owned())
        }
        span => Ok(span.into()),
    }
}

fn work(text: &str) -> Result<Span, String> {
    // As `arrivals` has it.
    Span::at_most(text, Span(100_000_000))
}

fn rate(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim();
    match many(number) {
        Some(rate @ 10..=1_000_000) => Ok(rate as u32),
        Some(_) => Err("a rate is at least 10/s and at most 1M/s".to_owned()),
        None => Err(format!("'{text}' is not a rate: write one such as 20k/s or 20,000")),
    }
}

fn connections(text: &str) -> Result<u32, String> {
    u32::try_from(tasks(text)?).map_err(|_| "at most 4 billion connections are possible".to_owned())
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    if !args.pid.is_empty() {
        return watch(args);
    }
    if args.switches.is_none() && args.connections.is_none() && args.work.is_none() {
        return Err(BadUsage::new(
            "describe a load by --switches and --connections, or name a running service by --pid",
        ));
    }
    let load = Load {
        rate: args.switches.unwrap_or(5000),
        connections: args.connections.unwrap_or(200),
        work: args.work.unwrap_or(Span(0)),
    };
    console::say(format_args!(
        "measuring three servers under this load: 30 s, or longer at a low rate or with many connections …"
    ));
    let (path, records) = run_here(&Plan::parse(&load.plan())?)?;
    ensure!(
        signals::received().is_none(),
        "interrupted: what was measured is in {}",
        path.display()
    );
    let loaded = Loaded::of(load, &Figures::of(&records));
    output::print(&loaded, args.format)?;
    console::say(format_args!("records: {}", path.display()));
    ensure!(loaded.missing[1].is_none(), "the server of async tasks could not be measured");
    Ok(())
}

/// Watches a service, and prices its switches if there are results with the price. Nothing is measured for that.
fn watch(args: &Args) -> anyhow::Result<()> {
    let mut processes = Vec::new();
    for &id in &args.pid {
        let process =
            service::process_of(id).map_err(|why| BadUsage::new(format!("--pid: {why}")))?;
        if process != id {
            console::say(format_args!("{id} is a thread of process {process}, which is watched"));
        }
        if !processes.contains(&process) {
            processes.push(process);
        }
    }
    let prices = match &args.results {
        Some(path) => Some(named(path)?),
        None => newest(),
    };
    signals::install()?;
    let service = service::watch(&processes, args.length, || signals::received().is_some());
    ensure!(
        service.is_some() || signals::received().is_none(),
        "interrupted too soon: nothing is known about the service yet"
    );
    let service: Service = service.context(
        "the process ended too soon to be measured: watch one that runs for at least a few seconds",
    )?;
    let watched = Watched::of(processes, service, prices);
    output::print(&watched, args.format)
}

/// Prices from a file that the user names.
fn named(path: &Path) -> anyhow::Result<Prices> {
    let contents = store::read(path)?;
    store::tell(path, &contents);
    let here = observe::machine::read();
    if !contents.records.iter().all(|record| record.machine().same_machine(&here).is_empty()) {
        let machine = provenance::machines(&contents.records);
        console::say(format_args!("{} is from another machine: {machine}", path.display()));
    }
    Prices::of(&contents.records, &path.display().to_string()).map_err(|why| {
        BadUsage::new(format!("{} does not say what a switch costs: {why}", path.display()))
    })
}

/// Prices from the newest results in this folder that have them and come from this machine.
fn newest() -> Option<Prices> {
    let here = observe::machine::read();
    newest_first(Path::new(".")).iter().find_map(|path| {
        // Sweeps and duels leave files of the same name.
        let records = store::read(path).ok()?.records;
        let is_here = records.first()?.machine().same_machine(&here).is_empty();
        let name = path.strip_prefix(".").unwrap_or(path).display().to_string();
        Prices::of(&records, &name).ok().filter(|_| is_here)
    })
}
