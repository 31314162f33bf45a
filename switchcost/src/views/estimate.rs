//! A load, measured by two echo servers: what each takes, and which one it asks for.

use figures::doubt::Doubt;
use figures::doubts;
use figures::grade::Grade;
use figures::number::{number, percent};
use figures::value::{Form, Value};
use figures::{Figure, Figures, provenance};
use host::units::Span;
use record::{Metric, Quantity, Record, Stat, busy_cpus};
use serde::Serialize;

/// Share of the CPUs, and of the memory, that decides for threads or for tasks.
pub(crate) const LITTLE: f64 = 0.05;

/// Share of the memory from which threads are too much.
pub(crate) const MUCH: f64 = 0.5;

/// Rows of the plan, and one that has neither threads nor tasks for its connections.
const SERVERS: [&str; 2] = ["thread per connection", "task per connection"];
const EVENT_LOOP: &str = "event loop";

/// A figure of each server, or why it has none.
type Servers = [Result<Value, String>; 2];

/// Requests per second, and the connections that they come over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Load {
    pub(crate) rate: u32,
    pub(crate) connections: u32,
    /// CPU time that a handler takes for itself.
    pub(crate) work: Span,
}

impl Load {
    /// The plan that measures it.
    pub(crate) fn plan(&self) -> String {
        // A window takes 50 ms, or four requests. At 80 requests/s and more, there are as many windows as in the default
        // answer.
        let iters = (self.rate * 6 / 80).clamp(3, 6);
        let values = [
            ("{rate}", self.rate.to_string()),
            ("{connections}", self.connections.to_string()),
            ("{work}", format!("{}ns", self.work.0)),
            ("{iters}", iters.to_string()),
        ];
        let plan = include_str!("../../plans/estimate.toml").to_owned();
        values.iter().fold(plan, |plan, (name, value)| plan.replace(name, value))
    }
}

/// A figure of both servers, its difference and its quotient, as far as there are any.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ServerRow {
    pub(crate) name: &'static str,
    pub(crate) thread: Option<Value>,
    pub(crate) task: Option<Value>,
    pub(crate) difference: Option<Value>,
    pub(crate) quotient: Option<Value>,
}

/// CPU time per request of a bare event loop, and what each of the two servers adds to it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct EventLoop {
    pub(crate) request: Value,
    pub(crate) thread_adds: Option<Value>,
    pub(crate) task_adds: Option<Value>,
}

/// What a load asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LoadVerdict {
    /// Threads take hardly more than tasks.
    Threads,
    /// It depends on what else the machine does.
    Depends,
    /// Tasks take clearly less, or threads cannot do it.
    Tasks,
    /// Too little was measured: the server of tasks has no figures, or too few of them are sure.
    Unknown,
}

/// A load as two servers took it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Loaded {
    pub(crate) load: Load,
    pub(crate) machine: String,
    pub(crate) rows: Vec<ServerRow>,
    pub(crate) event_loop: Option<EventLoop>,
    /// CPUs that the servers could use, and the size of the memory in bytes.
    pub(crate) cpus: Option<f64>,
    pub(crate) memory_size: Option<u64>,
    /// CPU time that async tasks save, as a share of the available CPUs: the ends of its interval.
    pub(crate) saved: Option<[f64; 2]>,
    /// Memory that threads take at most, as a share of what there is.
    pub(crate) memory: Option<f64>,
    pub(crate) verdict: LoadVerdict,
    /// Why a server has no figures.
    pub(crate) missing: [Option<String>; 2],
    /// Rounds in which a server failed, and all of them.
    #[serde(skip)]
    pub(crate) failed: [(usize, usize); 2],
    /// What the figures are worth, the worst first.
    pub(crate) doubts: Vec<Doubt>,
}

impl Loaded {
    /// What the load cost two servers, from the records of its plan.
    pub(crate) fn of(load: Load, figures: &Figures<'_>) -> Self {
        let request = of_servers(figures, &Metric::Request);
        let response = [Stat::P50, Stat::P99].map(|stat| extra(figures, "response", stat));
        let [median, p99] = response;
        let grades = request.iter().flatten().map(|value| value.grade);
        let grade = grades.max().unwrap_or_default();
        let requests = SERVERS.map(|server| figure(figures, server, &Metric::Request));
        let missing = request.each_ref().map(|value| value.as_ref().err().cloned());
        let record = figures.records.first();
        let cpus = request.clone().map(|value| cpus_in_use(&value?, load, record));
        let connections = Value::exact(load.connections.into(), None);
        let [systems, peaks] =
            [Metric::SystemPerTask, Metric::PeakPerTask].map(|metric| of_servers(figures, &metric));
        let memory = memory(systems, peaks).map(|value| value?.times(&connections));
        let event_loop = value(figures, EVENT_LOOP, &Metric::Request).ok().map(|bare| {
            let [thread_adds, task_adds] =
                request.each_ref().map(|server| server.as_ref().ok()?.less(&bare).ok());
            EventLoop { request: bare, thread_adds, task_adds }
        });
        let in_use = compared("CPUs in use", cpus);
        let available = record.and_then(cpus_of);
        let saved = in_use.difference.as_ref().zip(available).and_then(|(difference, all)| {
            let [_, low, high] = difference.ends();
            (!difference.has_few_rounds()).then(|| [low / all, high / all])
        });
        let memory_size = record.and_then(|record| record.machine().memory());
        let share =
            memory_size.and_then(|size| Some(memory[0].as_ref().ok()?.ends()[2] / size as f64));
        Loaded {
            load,
            machine: provenance::machine(figures.records),
            verdict: LoadVerdict::of(saved, share, missing.each_ref().map(Option::is_none), grade),
            rows: vec![
                compared("CPU time per request", request),
                in_use,
                compared("switches per request", of_servers(figures, &Metric::Switches)),
                compared("response, median", median),
                compared("response, 99th percentile", p99),
                compared("sent late by the client, 99th", extra(figures, "sent_late", Stat::P99)),
                compared("memory of server and kernel", memory),
            ],
            event_loop,
            cpus: available,
            memory_size,
            saved,
            memory: share,
            missing,
            failed: requests.map(|figure| figure.map_or((0, 0), rounds)),
            doubts: doubts::of_all(
                figures.records,
                doubts::named(requests.into_iter().flatten()),
                Vec::new(),
            ),
        }
    }

    /// The verdict in words.
    pub(crate) fn sentence(&self) -> String {
        let cpus =
            self.difference().map_or("Too few rounds tell the CPU time".to_owned(), |more| {
                format!("Beyond async tasks, threads take {more}")
            });
        let memory =
            self.memory.map_or("the size of the memory is not known".to_owned(), |share| {
                format!("they hold {} of the memory", percent(share))
            });
        let reasons = format!("{cpus}; {memory}");
        match (self.verdict, &self.missing) {
            (LoadVerdict::Threads, _) => format!("Threads will do. {reasons}."),
            (LoadVerdict::Depends, _) => {
                format!("It depends on the rest of your program. {reasons}.")
            }
            (LoadVerdict::Tasks, [Some(reason), _]) => {
                format!("Take async tasks. Threads: {reason}.")
            }
            (LoadVerdict::Tasks, _) => format!("Take async tasks. {reasons}."),
            (LoadVerdict::Unknown, [_, Some(reason)]) => {
                format!("There is no verdict. Async tasks: {reason}.")
            }
            (LoadVerdict::Unknown, [Some(reason), _]) => {
                format!("There is no verdict: repeat this on an idle machine. Threads: {reason}.")
            }
            (LoadVerdict::Unknown, _) => {
                "There is no verdict: too few rounds were measured. Repeat this on an idle machine."
                    .to_owned()
            }
        }
    }

    /// By how much threads exceed async tasks: per request, in CPUs, and as a share of the CPUs.
    fn difference(&self) -> Option<String> {
        let [low, high] = self.saved?.map(|share| number(share * 100.0));
        let [request, in_use] = [&self.rows[0], &self.rows[1]].map(|row| row.difference.as_ref());
        let request = request?.show(Form::Interval).ok()?;
        let in_use = in_use?.show(Form::Interval).ok()?;
        Some(format!("{request} of CPU time per request: {in_use} CPUs, {low} to {high} % of them"))
    }

    /// The rounds in which a server failed, if it has figures from others.
    pub(crate) fn failures(&self) -> Option<String> {
        let of_each = ["threads", "async tasks"].into_iter().zip(self.failed).zip(&self.missing);
        let failed = of_each.filter_map(|((name, (failed, all)), missing)| {
            let has_failed = failed > 0 && missing.is_none();
            has_failed.then(|| format!("{name} in {failed} of {all} rounds"))
        });
        let failed = failed.collect::<Vec<String>>().join(", ");
        (!failed.is_empty()).then(|| format!("Could not keep up: {failed}."))
    }
}

fn figure<'a>(figures: &'a Figures<'_>, server: &str, metric: &Metric) -> Option<&'a Figure<'a>> {
    figures.iter().find(|figure| figure.place().row == server && figure.metric() == metric)
}

/// Rounds in which a server failed, and all of them.
fn rounds(figure: &Figure<'_>) -> (usize, usize) {
    let failed = figure.runs.failed;
    (failed, failed + figure.runs.whole.len())
}

/// A server's figure; there is none if the server was refused, or failed in at least half of the rounds.
fn value(figures: &Figures<'_>, server: &str, metric: &Metric) -> Result<Value, String> {
    let figure = figure(figures, server, metric).ok_or("it was not measured")?;
    let value = figure.value().map_err(|error| in_flags_of_estimate(&error))?;
    let (failed, all) = rounds(figure);
    if 2 * failed >= all {
        let errors = figures.records.iter().filter(|record| record.row().place.row == server);
        let error =
            errors.filter_map(|record| record.error.as_deref()).next().unwrap_or("it failed");
        return Err(format!("{} ({failed} of {all} rounds)", in_flags_of_estimate(error)));
    }
    Ok(value)
}

/// An error of the program, whose flag at its beginning has another name here. Commands in it stay as they are.
fn in_flags_of_estimate(error: &str) -> String {
    let names = [("--rate", "--switches"), ("--tasks", "--connections")];
    let renamed = names.iter().find_map(|(theirs, ours)| Some((ours, error.strip_prefix(theirs)?)));
    renamed.map_or(error.to_owned(), |(ours, rest)| format!("{ours}{rest}"))
}

/// CPUs that are in use at a CPU time per request.
fn cpus_in_use(request: &Value, load: Load, record: Option<&Record>) -> Result<Value, String> {
    let gap = Value::exact(1e9 / f64::from(load.rate), Some(Quantity::Time));
    let [all, each] = [&gap, request].map(|time| time.estimate.value);
    let cpus = busy_cpus(each, all, record.and_then(cpus_of));
    cpus.ok_or("more CPUs than there are")?;
    request.divided_by(&gap)
}

/// CPUs that its programs could use, within a quota.
fn cpus_of(record: &Record) -> Option<f64> {
    let quota = record.machine().quota();
    Some((record.cpu_count()? as f64).min(quota.unwrap_or(f64::INFINITY)))
}

/// Memory of both servers per connection, including the kernel's. The client's ends of the connections are on this
/// machine too. They are as large as the task server's ends, for which the kernel holds nothing else.
fn memory(systems: Servers, peaks: Servers) -> Servers {
    let [_, peak] = peaks;
    let ends = systems[1].clone().and_then(|system| system.less(&peak?));
    let end = ends.and_then(|ends| ends.times(&Value::exact(0.5, None)));
    systems.map(|system| system?.less(end.as_ref().map_err(String::clone)?))
}

fn of_servers(figures: &Figures<'_>, metric: &Metric) -> Servers {
    SERVERS.map(|server| value(figures, server, metric))
}

fn extra(figures: &Figures<'_>, name: &str, stat: Stat) -> Servers {
    of_servers(figures, &Metric::Extra { name: name.to_owned(), stat })
}

fn compared(name: &'static str, servers: Servers) -> ServerRow {
    let [thread, task] = servers.map(Result::ok);
    let servers = thread.as_ref().zip(task.as_ref());
    let difference = servers.and_then(|(thread, task)| thread.less(task).ok());
    let quotient = servers.and_then(|(thread, task)| thread.divided_by(task).ok());
    ServerRow { name, thread, task, difference, quotient }
}

impl LoadVerdict {
    /// By the share of the CPUs that tasks save, the share of the memory that threads take, which servers could be
    /// measured, and what their figures are worth: if the machine was disturbed, threads may have failed for that.
    fn of(
        saved: Option<[f64; 2]>,
        memory: Option<f64>,
        are_measured: [bool; 2],
        grade: Grade,
    ) -> Self {
        match (are_measured, saved, memory) {
            ([_, false], ..) => LoadVerdict::Unknown,
            ([false, true], ..) if grade != Grade::Sure => LoadVerdict::Unknown,
            ([false, true], ..) => LoadVerdict::Tasks,
            (_, Some([_, high]), Some(memory)) if high < LITTLE && memory < LITTLE => {
                LoadVerdict::Threads
            }
            (_, Some([low, _]), _) if low > LITTLE => LoadVerdict::Tasks,
            (_, _, Some(memory)) if memory > MUCH => LoadVerdict::Tasks,
            (_, None, _) => LoadVerdict::Unknown,
            _ => LoadVerdict::Depends,
        }
    }
}

#[cfg(test)]
mod tests {
    use contract::message::Description;
    use record::{Cpus, Samples, Trial};

    use super::*;
    use crate::plan::Plan;
    use crate::testing;

    /// A server's record on two CPUs: its CPU time per request, or why it has none.
    fn record(server: &str, cpu_ns: Result<u64, &str>) -> Record {
        let mut row = testing::row(server, "arrivals", &[]);
        row.place.metric = Metric::Request;
        row.command.setting.cpus = Some(Cpus::List(vec![0, 1]));
        let trial = Trial {
            samples: cpu_ns.ok().and_then(|ns| Samples::of(&[ns; 9])),
            error: cpu_ns.err().map(str::to_owned),
            ..Trial::begin()
        };
        let said = Description { arrivals: Some(10), ..testing::description(5) };
        testing::in_row(row, said, trial)
    }

    #[test]
    fn a_load_is_told_by_the_records_of_its_plan() {
        let load = Load { rate: 10_000, connections: 5, work: Span(0) };
        assert_eq!(Plan::parse(&load.plan()).unwrap().rows().len(), 3);
        let loaded = |thread, task| {
            let records = [record(SERVERS[0], thread), record(SERVERS[1], task)];
            Loaded::of(load, &Figures::of(&records))
        };
        // One round has no interval.
        let found = loaded(Ok(34_000), Ok(20_000));
        assert_eq!((found.saved, found.verdict), (None, LoadVerdict::Unknown));
        let threads = found.rows.iter().map(|row| Some(row.thread.as_ref()?.estimate.value));
        assert_eq!(threads.take(3).collect::<Vec<_>>(), [Some(34_000.0), Some(0.34), None]);
        let found = loaded(Err("too many"), Ok(20_000));
        assert_eq!(found.sentence(), "Take async tasks. Threads: too many.");
        let found = loaded(Ok(9), Err("too many"));
        assert_eq!(found.sentence(), "There is no verdict. Async tasks: too many.");
    }

    #[test]
    fn what_tasks_save_decides() {
        for (saved, memory, are_measured, verdict) in [
            (Some([-0.01, 0.04]), Some(0.01), [true, true], LoadVerdict::Threads),
            (Some([-0.01, 0.06]), Some(0.01), [true, true], LoadVerdict::Depends),
            (Some([0.06, 0.2]), Some(0.01), [true, true], LoadVerdict::Tasks),
            (Some([0.0, 0.01]), Some(0.2), [true, true], LoadVerdict::Depends),
            (Some([0.0, 0.01]), Some(0.6), [true, true], LoadVerdict::Tasks),
            (Some([0.0, 0.01]), None, [true, true], LoadVerdict::Depends),
            (None, Some(0.6), [true, true], LoadVerdict::Tasks),
            (None, Some(0.2), [true, true], LoadVerdict::Unknown),
            (None, None, [false, true], LoadVerdict::Tasks),
            (None, None, [true, false], LoadVerdict::Unknown),
        ] {
            let found = LoadVerdict::of(saved, memory, are_measured, Grade::Sure);
            assert_eq!(found, verdict, "{saved:?} {memory:?} {are_measured:?}");
        }
        let error = in_flags_of_estimate("--tasks 9: see `arrivals --tasks 9`");
        assert_eq!(error, "--connections 9: see `arrivals --tasks 9`");
        let found = LoadVerdict::of(None, None, [false, true], Grade::Disturbed);
        assert_eq!(found, LoadVerdict::Unknown);
    }

    /// A hundred connections: a thread holds 40 KiB; a task holds 9 KiB, 3 KiB of it in its process. Half of the
    /// kernel's 6 KiB are the client's.
    #[test]
    fn the_ends_of_the_client_are_no_memory_of_a_server() {
        let [systems, peaks] = [[40.0, 9.0], [3.0, 3.0]].map(|sizes| {
            sizes.map(|kib: f64| Ok(Value::exact(kib * 1024.0, Some(Quantity::Bytes))))
        });
        let found = memory(systems, peaks);
        let found = found.map(|value| value.unwrap().estimate.value / 1024.0);
        assert_eq!(found, [37.0, 6.0]);
    }
}
