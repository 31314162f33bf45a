//! `switchcost estimate`: what so many switches and so many tasks would cost here, as threads and as async
//! tasks, and what those of a running service do.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use ::limits::Limits;
use anyhow::{Context, ensure};
use contract::message::Needs;
use contract::units::Span;
use facts::service::{self, Service};
use facts::{Link, Machine};

use self::found::{Results, Source};
use super::args::TextOrJson;
use super::output;
use crate::measure::probe;
use crate::plan::setting::Setting;
use crate::plan::values::{many, tasks};
use crate::plan::{Plan, programs};
use crate::render;
use crate::system::console::BadUsage;
use crate::system::signals;
use crate::views::estimate::{Advice, Load, is_usual};
use crate::views::limits::Asked;

mod found;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("load").args(["switches", "tasks", "connections", "link", "cpus"]).multiple(true))]
pub(crate) struct Args {
    /// Switches a second, such as 20k/s, 1.5M or 20,000: how often a task has to wait and is woken
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rate)]
    switches: Option<f64>,

    /// Tasks that are there at once, such as 50k
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = tasks)]
    tasks: Option<u64>,

    /// Connections that are there at once, each with a task: as --tasks, and --link is tcp
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = tasks, conflicts_with = "tasks")]
    connections: Option<u64>,

    /// What tasks wait on [default: pipe, or tcp with --connections]
    #[arg(long, value_enum)]
    link: Option<Link>,

    /// CPUs of the service [default: those of this machine]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    cpus: Option<u32>,

    /// Watch this process and all that it starts, and tell what their switches cost; or several: 12,34
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), value_delimiter = ',', conflicts_with = "load")]
    pid: Vec<i32>,

    /// How long to watch, such as 30s
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = span)]
    length: Duration,

    /// Output format
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,

    /// Results to use [default: the newest switchcost-*.jsonl in this folder that have the figures and are of this
    /// machine, or else a short run of at least five rounds, which is kept there]
    #[arg(value_name = "FILE")]
    results: Option<PathBuf>,
}

fn span(text: &str) -> Result<Duration, String> {
    match text.parse::<Span>()? {
        Span(ns) if ns < 1_000_000_000 => Err("watch for 1s or more".to_owned()),
        span => Ok(span.into()),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim();
    many(number)
        .map(|rate| rate as f64)
        .filter(|rate| *rate > 0.0 && *rate <= 1e12)
        .ok_or_else(|| format!("'{text}' is not a rate: write one such as 20k/s or 20,000"))
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let is_service = args.is_service()?;
    let mut load = args.load(is_service)?;
    if !is_service && load.switches.is_none() && load.tasks.is_none() {
        return Err(BadUsage::new(
            "nothing is to be estimated: give --switches, --tasks or --connections, or a service by --pid",
        ));
    }
    // What is refused is refused before anything is measured, and nothing is watched meanwhile.
    let needs = load.tasks.map(|_| needs(&load)).transpose()?;
    let mut results = Results::open(args.results.as_deref())?;
    let is_switching = is_service || load.switches.is_some();
    let costs = is_switching.then(|| results.costs(&load)).transpose()?;
    let sizes = needs.is_some().then(|| results.sizes()).transpose()?;
    let mut sources: Vec<&Source> =
        [&costs, &sizes].into_iter().flatten().map(|of| &of.1).collect();
    let machine = &sources.first().context("there is nothing to estimate")?.machine;
    load.measured_cpus = cpus(machine).unwrap_or(load.cpus);
    sources.dedup_by_key(|source| &source.name);
    let names: Vec<&str> = sources.iter().map(|source| &*source.name).collect();
    let by = format!("By {}: {}.", names.join(" and "), sources[0].title);
    let advice = match &costs {
        Some((costs, _)) if is_service => Advice::of_service(load, *costs, args.watch()?),
        _ => {
            let holding = sizes.as_ref().zip(needs).and_then(|((each, of), needs)| {
                load.holding(*each, needs, &Limits::read(), of.machine.memory_total_bytes)
            });
            Advice::of_load(load, costs.as_ref().map(|(costs, _)| *costs), holding)
        }
    };
    output::print_as(args.format, &advice, |out| render::estimate::text(&advice, &by, out))
}

/// Number of CPUs that records of a machine are of.
fn cpus(machine: &Machine) -> Option<f64> {
    let list = machine.affinity.as_deref().or(machine.cpus_online.as_deref())?;
    Some(facts::machine::cpu_list(list)?.len() as f64)
}

/// Needs of a thread and of a task that wait on the load's link, as the programs of the plans describe them.
fn needs(load: &Load) -> anyhow::Result<[Asked; 2]> {
    let plans = [Plan::built_in()?, Plan::links(load.link.unwrap_or(Link::Pipe))?];
    let rows = plans.iter().flat_map(|plan| &plan.sections).flat_map(|section| &section.rows);
    let (mut threads, mut tasks) = (None, None);
    for row in rows.filter(|row| row.link == load.link) {
        let program = programs::carried(row.program())?;
        let description = probe::describe(&program, &row.variant.flags, &Setting::default())?;
        let mut needs = description.needs;
        if load.are_connections {
            // The other end of each is somebody else's.
            needs.descriptors.each = 1;
        }
        let kind = match &description.runtime {
            None => &mut threads,
            Some(runtime) if is_usual(runtime) => &mut tasks,
            Some(_) => continue,
        };
        kind.get_or_insert(needs);
    }
    let asked = |name: &str, needs: Option<Needs>| {
        (name.to_owned(), needs.ok_or_else(|| "no plan has such a row".to_owned()))
    };
    Ok([asked("threads", threads), asked("tasks", tasks)])
}

impl Args {
    /// The load that the flags give; of a service it is known once that has been watched.
    fn load(&self, is_of_service: bool) -> anyhow::Result<Load> {
        let usual = if self.connections.is_some() { Link::Tcp } else { Link::Pipe };
        Ok(Load {
            switches: self.switches,
            tasks: self.tasks.or(self.connections),
            are_connections: self.connections.is_some(),
            link: (!is_of_service).then_some(self.link.unwrap_or(usual)),
            cpus: self.cpus.map_or(thread::available_parallelism()?.get() as f64, f64::from),
            measured_cpus: 1.0,
        })
    }

    /// True if a service is to be watched, and can be.
    fn is_service(&self) -> anyhow::Result<bool> {
        let mut checked = self.pid.iter().map(|pid| service::ensure_watchable(*pid));
        if let Some(Err(why)) = checked.find(Result::is_err) {
            return Err(BadUsage::new(format!("--pid: {why}")));
        }
        Ok(!self.pid.is_empty())
    }

    /// Watches the service.
    fn watch(&self) -> anyhow::Result<Service> {
        signals::install()?;
        let seen = service::watch(&self.pid, self.length, || signals::received().is_some());
        ensure!(
            seen.is_some() || signals::received().is_none(),
            "interrupted before it was seen twice: nothing is known of it"
        );
        seen.context(
            "it ended before it was seen twice: watch a process that lives for some seconds",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_positive_number() {
        for text in ["20000/s", "20k/s", "20,000", "0.02M", "20K"] {
            assert_eq!(rate(text), Ok(20_000.0), "{text}");
        }
        for text in ["", "0", "-1", "inf", "x/s", "1e300", "k", ",", "+5", "5kk", "1,,2", "1,5k"] {
            assert!(rate(text).is_err() && tasks(text).is_err(), "{text}");
        }
        assert_eq!((tasks("1.5k"), tasks("0.5").is_err()), (Ok(1500), true));
    }
}
