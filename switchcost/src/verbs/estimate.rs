//! `switchcost estimate`: what so many switches and so many tasks would cost here, as threads and as async
//! tasks, and what those of a running service do.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use ::limits::Limits;
use anyhow::{Context, bail};
use contract::message::Needs;
use contract::units::Span;
use facts::service::{self, Service, Watched};
use facts::{Link, Machine};

use self::found::{Results, Source};
use super::args::TextOrJson;
use super::output::json;
use crate::measure::probe;
use crate::measure::process_group::ProcessGroup;
use crate::plan::setting::Setting;
use crate::plan::values::{many, tasks};
use crate::plan::{Plan, programs};
use crate::render;
use crate::system::console::{self, BadUsage};
use crate::system::{signals, tools};
use crate::views::estimate::{Advice, Load, Scheduler};
use crate::views::limits::Asked;

mod found;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("load").args(["switches", "tasks", "connections", "link", "cpus", "runtime"]).multiple(true))]
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

    /// Scheduler of the tasks
    #[arg(long, value_enum, default_value = "multi")]
    runtime: Scheduler,

    /// Watch this process and its threads, and tell what their switches cost; of several, such as a master and
    /// its workers, 12,34,56
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), value_delimiter = ',', conflicts_with = "load")]
    pid: Vec<i32>,

    /// Watch the processes of a control group, by its folder, such as /sys/fs/cgroup/system.slice/x.service
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["load", "pid"])]
    cgroup: Option<PathBuf>,

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

    /// Start this command, and watch it and all that it starts for as long, or until it ends; then it is ended. What
    /// it prints goes to standard error as it is
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["load", "pid", "cgroup"])]
    command: Vec<OsString>,
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
    let service = args.service()?;
    if service.is_none() && args.switches.is_none() && args.tasks.or(args.connections).is_none() {
        return Err(BadUsage::new(
            "nothing is to be estimated: give --switches, --tasks or --connections, or a service by --pid, --cgroup or \
             `-- COMMAND`",
        ));
    }
    let mut load = args.load(service.is_some())?;
    // What is refused is refused before anything is measured, and nothing is watched meanwhile.
    let needs = load.tasks.map(|_| needs(&load)).transpose()?;
    let results = Results::open(args.results.as_deref())?;
    let is_switching = service.is_some() || load.switches.is_some();
    let costs = is_switching.then(|| results.costs(&load)).transpose()?;
    let sizes = needs.is_some().then(|| results.sizes()).transpose()?;
    let sources: Vec<&Source> =
        costs.iter().map(|(_, of)| of).chain(sizes.iter().map(|(_, of)| of)).collect();
    let source = *sources.first().context("there is nothing to estimate")?;
    load.measured_cpus = cpus(&source.machine).unwrap_or(load.cpus);
    let watched = service.map(|service| args.watch(service)).transpose()?;
    let holding = sizes.as_ref().zip(needs).and_then(|((each, of), needs)| {
        load.holding(*each, needs, &Limits::read(), of.machine.memory_total_bytes)
    });
    let advice = Advice::new(load, costs.as_ref().map(|(costs, _)| *costs), holding, watched);
    console::print(|out| match args.format {
        TextOrJson::Json => json(&advice, out),
        TextOrJson::Text => {
            let by = format!("By {}: {}.", names(&sources), source.title);
            render::estimate::text(&advice, &by, out)
        }
    })
    .context("cannot print")
}

/// Number of CPUs that records of a machine are of.
fn cpus(machine: &Machine) -> Option<f64> {
    let list = machine.affinity.as_deref().or(machine.cpus_online.as_deref())?;
    Some(facts::machine::cpu_list(list)?.len() as f64)
}

/// Files in words: one, or that of the switches and that of the memory.
fn names(sources: &[&Source]) -> String {
    match sources {
        [switches, memory] if switches.path != memory.path => {
            format!("{switches} (switches) and {memory} (memory)")
        }
        sources => sources.first().map_or(String::new(), ToString::to_string),
    }
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
        let kind = match description.runtime.as_ref().map(Scheduler::of) {
            None => &mut threads,
            Some(scheduler) if scheduler == load.scheduler => &mut tasks,
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
            scheduler: self.runtime,
            cpus: self.cpus.map_or(thread::available_parallelism()?.get() as f64, f64::from),
            measured_cpus: 1.0,
        })
    }

    /// Processes that are to be watched, or to be started and watched; `None` if a load is given.
    fn service(&self) -> anyhow::Result<Option<Watched>> {
        if let Some(command) = self.command.first() {
            let name = command.display();
            return if tools::can_start(command) {
                Ok(Some(Watched::StartedBy(std::process::id() as i32)))
            } else {
                Err(BadUsage::new(format!("cannot start {name}: there is no such program")))
            };
        }
        for pid in &self.pid {
            service::ensure_watchable(*pid)
                .map_err(|why| BadUsage::new(format!("--pid: {why}")))?;
        }
        let Some(folder) = &self.cgroup else {
            return Ok((!self.pid.is_empty()).then(|| Watched::Processes(self.pid.clone())));
        };
        let (watched, shown) = (Watched::Group(folder.clone()), folder.display());
        match watched.pids() {
            Ok(pids) if pids.is_empty() => {
                Err(BadUsage::new(format!("--cgroup: {shown} has no process")))
            }
            Ok(_) => Ok(Some(watched)),
            Err(e) => Err(BadUsage::new(format!("--cgroup: {shown}/cgroup.procs: {e}"))),
        }
    }

    /// Watches them, or the command and all that it starts.
    fn watch(&self, watched: Watched) -> anyhow::Result<Service> {
        signals::install()?;
        let mut started = self.start()?;
        let seen = service::watch(&watched, self.length, || signals::received().is_some());
        let elapsed = seen.as_ref().map_or(0.0, |seen| seen.elapsed_ns as f64 / 1e9);
        if let Some(group) = &mut started {
            group.terminate();
            let status = group.end()?.status;
            let has_failed = status.code().is_some_and(|code| code != 0);
            if has_failed && seen.as_ref().is_some_and(|seen| seen.has_ended) {
                let command = self.command[0].display();
                bail!(
                    "{command} failed after {elapsed:.1} s ({status}): nothing can be said of it"
                );
            }
        }
        match (&seen, signals::received().is_some()) {
            (Some(_), true) => {
                console::say(format_args!("interrupted after {elapsed:.1} s of watching"));
            }
            (None, true) => bail!("interrupted before anything was seen"),
            (_, false) => {}
        }
        seen.context(
            "it ended before it was seen twice: watch a process that lives for some seconds",
        )
    }

    /// Starts the command, if there is one.
    fn start(&self) -> anyhow::Result<Option<ProcessGroup>> {
        let Some((program, args)) = self.command.split_first() else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(args);
        // What it prints is its own. A pipe that nobody reads would stop it.
        let outputs = [Stdio::from(io::stderr()), Stdio::inherit()];
        let group = ProcessGroup::spawn(command, outputs, self.length * 2);
        group.map(Some).with_context(|| format!("cannot start {}", Path::new(program).display()))
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
