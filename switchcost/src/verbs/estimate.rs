//! `switchcost estimate`: what so many switches and so many tasks would cost here, as threads and as async
//! tasks, and what those of a running service do.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use contract::units::Span;
use facts::service::{self, Service};
use facts::{Link, Record};

use super::args::{TextOrJson, newest_first};
use super::measuring::quick;
use super::output::json;
use crate::figures::Figures;
use crate::measure::process_group::ProcessGroup;
use crate::measure::store;
use crate::plan::Plan;
use crate::render;
use crate::system::console::{self, BadUsage, plain_line};
use crate::system::signals;
use crate::views::answer::Answer;
use crate::views::estimate::{self, Advice, Load};
use crate::views::hand_over::{self, Scheduler};
use crate::views::service::ServiceCost;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("load").args(["switches", "tasks", "connections", "link", "cpus"]).multiple(true))]
pub(crate) struct Args {
    /// Switches a second, such as 20k/s, 1.5M or 20,000: how often a task has to wait and is woken
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = rate, required_unless_present_any = ["tasks", "connections", "pid", "cgroup", "command"])]
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

    /// Watch this process and its threads, and tell what their switches cost
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), conflicts_with = "load")]
    pid: Option<i32>,

    /// Watch the processes of a control group, by its folder, such as /sys/fs/cgroup/system.slice/x.service
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["load", "pid"])]
    cgroup: Option<PathBuf>,

    /// How long to watch, such as 30s
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = span)]
    length: Duration,

    /// Output format
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,

    /// Results to use [default: the newest switchcost-*.jsonl in this folder that holds an answer of this machine,
    /// or else a run of 15 s]
    #[arg(value_name = "FILE")]
    results: Option<PathBuf>,

    /// Start this command, and watch it for as long, or until it ends; then it is ended
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["load", "pid", "cgroup"])]
    command: Vec<OsString>,
}

fn span(text: &str) -> Result<Duration, String> {
    match text.parse::<Span>()? {
        Span(ns) if ns < 1_000_000_000 => Err("watch for 1s or more".to_owned()),
        span => Ok(span.into()),
    }
}

/// Reads a number such as `20000`, `20,000`, `20k` or `1.5M`.
fn many(text: &str) -> Option<f64> {
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => text.strip_suffix('M').map_or((text, 1.0), |digits| (digits, 1e6)),
    };
    let digits = digits.replace(',', "");
    let value = digits.parse::<f64>().ok()? * unit;
    (value.is_finite() && digits.starts_with(|c: char| c.is_ascii_digit())).then_some(value)
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).trim();
    many(number)
        .filter(|rate| *rate > 0.0 && *rate <= 1e12)
        .ok_or_else(|| format!("'{text}' is not a rate: write one such as 20k/s or 20,000"))
}

fn tasks(text: &str) -> Result<u64, String> {
    many(text)
        .filter(|tasks| (1.0..=1e12).contains(tasks) && tasks.fract() == 0.0)
        .map(|tasks| tasks as u64)
        .ok_or_else(|| {
            format!("'{text}' is not a number of tasks: write one such as 50k or 50,000")
        })
}

/// Results with an answer, and what they are called.
struct Source {
    by: String,
    records: Vec<Record>,
    answer: Answer,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let service = args.watch()?;
    let Source { by, records, answer } = args.source()?;
    let here = thread::available_parallelism()?.get();
    let mut hand_overs = hand_over::all(&records);
    if let Some(service) = service {
        let cost = ServiceCost::of(service, &answer, &hand_overs, here)
            .ok_or_else(|| BadUsage::new(format!("{by} has no CPU time of hand-overs")))?;
        return console::print(|out| match args.format {
            TextOrJson::Json => json(&cost, out),
            TextOrJson::Text => render::service::text(&cost, &by, out),
        })
        .context("cannot print");
    }
    let usual = if args.connections.is_some() { Link::Tcp } else { Link::Pipe };
    let load = Load {
        switches: args.switches,
        tasks: args.tasks.or(args.connections),
        link: args.link.unwrap_or(usual),
        scheduler: args.runtime,
        cpus: args.cpus.unwrap_or(here as u32),
        memory: records.last().and_then(|record| record.machine().memory_total_bytes),
    };
    if !estimate::suffices(&load, &hand_overs) {
        console::say(format_args!("{by} has no such hand-overs: measuring them for 15 s"));
        hand_overs.extend(hand_over::all(&quick(Plan::links()?)?));
    }
    let advice = Advice::of(load, &answer, &hand_overs)
        .ok_or_else(|| BadUsage::new(format!("{by} lacks rows that this takes")))?;
    console::print(|out| {
        if args.format == TextOrJson::Json {
            return json(&advice, out);
        }
        writeln!(out, "{}\nBy {}:", plain_line(&answer.machine), plain_line(&by))?;
        render::estimate::text(&advice, out)
    })
    .context("cannot print")
}

impl Args {
    /// Watches the processes that are to be watched, if there are any.
    fn watch(&self) -> anyhow::Result<Option<Service>> {
        let (pids, mut started) = if let Some(pid) = self.pid {
            service::ensure_watchable(pid).map_err(|why| BadUsage::new(format!("--pid: {why}")))?;
            (vec![pid], None)
        } else if let Some(folder) = &self.cgroup {
            let shown = folder.display();
            let pids = service::of_group(folder)
                .map_err(|e| BadUsage::new(format!("--cgroup: {shown}/cgroup.procs: {e}")))?;
            if pids.is_empty() {
                return Err(BadUsage::new(format!("--cgroup: {shown} has no process")));
            }
            (pids, None)
        } else if let Some((program, args)) = self.command.split_first() {
            let mut command = Command::new(program);
            command.args(args);
            // From its start on: what it starts in turn would outlive this process.
            signals::install()?;
            let group = ProcessGroup::spawn(command, Stdio::from(io::stderr()), self.length * 2)
                .with_context(|| format!("cannot start {}", program.display()))?;
            (vec![group.pid().as_raw()], Some(group))
        } else {
            return Ok(None);
        };
        signals::install()?;
        let watched = service::watch(&pids, self.length, || signals::received().is_some());
        if let Some(group) = &mut started {
            group.give_up();
        }
        match watched {
            Some(service) => Ok(Some(service)),
            None if signals::received().is_some() => bail!("interrupted before anything was seen"),
            None => bail!(
                "it ended before it was seen twice: watch a process that lives for some seconds"
            ),
        }
    }

    /// Results to use.
    fn source(&self) -> anyhow::Result<Source> {
        let here = facts::machine::read();
        if let Some(path) = &self.results {
            let source = read(path)?.ok_or_else(|| {
                let shown = path.display();
                BadUsage::new(format!("{shown} holds no answer: name results of the default plan"))
            })?;
            if let Some(why) = source.is_of_another(&here) {
                console::say(format_args!("{} is of another machine: {why}", source.by));
            }
            return Ok(source);
        }
        // Sweeps and duels leave files of the same name.
        for path in newest_first(Path::new(".")) {
            if let Ok(Some(source)) = read(&path)
                && source.is_of_another(&here).is_none()
            {
                return Ok(source);
            }
        }
        console::say(format_args!("no answer of this machine in this folder: measuring for 15 s"));
        let by = "a run of 15 s just now".to_owned();
        let records = quick(Plan::built_in()?)?;
        let answer = Answer::of(&Figures::of(&records)).context("nothing was measured")?;
        Ok(Source { by, records, answer })
    }
}

/// Results with an answer; `None` if they have none.
fn read(path: &Path) -> anyhow::Result<Option<Source>> {
    let contents = store::read(path)?;
    let answer = Answer::of(&Figures::of(&contents.records));
    let Some(answer) = answer else { return Ok(None) };
    store::tell(path, &contents);
    Ok(Some(Source { by: path.display().to_string(), records: contents.records, answer }))
}

impl Source {
    /// What tells its machine from this one.
    fn is_of_another(&self, here: &facts::Machine) -> Option<String> {
        let machine = self.records.first()?.machine();
        let cpus =
            |machine: &facts::Machine| (machine.cpu_model.clone(), machine.cpus_online.clone());
        (cpus(machine) != cpus(here)).then(|| machine.summary())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_positive_number() {
        for text in ["20000/s", "2e4", "20k/s", "20,000", "0.02M", "20K"] {
            assert_eq!(rate(text), Ok(20_000.0), "{text}");
        }
        for text in ["", "0", "-1", "inf", "x/s", "1e300", "k", ",", "+5", "5kk"] {
            assert!(rate(text).is_err(), "{text}");
            assert!(tasks(text).is_err(), "{text}");
        }
        assert_eq!((tasks("1.5k"), tasks("0.5").is_err()), (Ok(1500), true));
    }
}
