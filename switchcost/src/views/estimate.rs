//! A load, measured by two echo servers: what each takes, and which one it asks for.

use facts::{Metric, Quantity, Stat};
use serde::{Serialize, Serializer};

use crate::figures::number::{number, percent};
use crate::figures::value::{Form, Value};
use crate::figures::{Figure, Figures, provenance};

/// Share of the CPUs, and of the memory, that threads may take more than tasks and still will do.
pub(crate) const LITTLE: f64 = 0.05;

/// Share of the memory from which threads are too much.
const MUCH: f64 = 0.5;

/// Rows of the plan.
const SERVERS: [&str; 2] = ["thread per connection", "task per connection"];

/// Requests per second, and the connections that they come over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Load {
    pub(crate) rate: u32,
    pub(crate) connections: u32,
}

impl Load {
    /// The plan that measures it.
    pub(crate) fn plan(&self) -> String {
        let Load { rate, connections } = self;
        let [thread, task] = SERVERS;
        // A window takes 50 ms, or four requests: 0.6 s of them in each of eight rounds, after some that do not count.
        let iters = (rate * 12 / 80).clamp(3, 12);
        let warmup = iters.div_ceil(4);
        format!(
            r#"
            question = "What do {rate} requests per second over {connections} connections cost?"
            rounds = 8
            [[section]]
            title = "{rate} requests/s over {connections} connections"
            metric = "request"
            program = "arrivals"
            iters = {iters}
            warmup = {warmup}
            also = [
                {{ name = "switches", metric = "switches" }},
                {{ name = "response, p50", metric = "extra.response.p50" }},
                {{ name = "response, p99", metric = "extra.response.p99" }},
                {{ name = "memory each", metric = "system-per-task" }},
                {{ name = "peak each", metric = "peak-per-task" }},
            ]
            [[section.row]]
            name = "{thread}"
            flags = ["--on", "thread", "--rate", "{rate}", "--tasks", "{connections}"]
            versus = "{task}"
            [[section.row]]
            name = "{task}"
            flags = ["--on", "tokio", "--rate", "{rate}", "--tasks", "{connections}"]
            "#
        )
    }
}

/// A figure of both servers, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    /// The thread's, the task's, and their quotient.
    #[serde(serialize_with = "shown")]
    pub(crate) values: [Result<Value, String>; 3],
}

/// What a load asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Threads take hardly more than tasks.
    Threads,
    /// It depends on what else the machine does.
    Depends,
    /// Tasks take clearly less, or threads cannot do it.
    Tasks,
    /// This machine cannot do it, or one server could not be measured.
    Neither,
}

/// A load as two servers took it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Loaded {
    pub(crate) load: Load,
    pub(crate) machine: String,
    pub(crate) rows: Vec<Compared>,
    /// CPU time that tasks save, as a share of that of all CPUs: the ends of its interval.
    pub(crate) saved: Option<[f64; 2]>,
    /// Memory that threads take, as a share of the machine's.
    pub(crate) memory: Option<f64>,
    pub(crate) verdict: Verdict,
    /// Why a server has no figures.
    pub(crate) missing: [Option<String>; 2],
}

impl Loaded {
    /// What two servers took, by the records of the load's plan.
    pub(crate) fn of(load: Load, figures: &Figures<'_>) -> Self {
        let value = |server: &str, metric: &Metric| {
            let figure = figures.iter().find(|figure| is_figure(figure, server, metric));
            let figure = figure.ok_or("it was not measured")?;
            Value::of(figures, figure)
        };
        let both = |metric: Metric| SERVERS.map(|server| value(server, &metric));
        let response = |stat| both(Metric::Extra { name: "response".to_owned(), stat });
        let request = both(Metric::Request);
        let missing = request.each_ref().map(|value| value.as_ref().err().cloned());
        let gap = Value::exact(1e9 / f64::from(load.rate), Some(Quantity::Time));
        let cpus = request.clone().map(|value| value?.over(&gap));
        let all = Value::exact(load.connections.into(), None);
        let memory = memory(&value).map(|value| value?.times(&all));
        let record = figures.records.first();
        let all_cpus = record.and_then(|record| record.cpu_count()).map(|cpus| cpus as f64);
        let saved = all_cpus.and_then(|all| {
            let [thread, task] = cpus.each_ref();
            let difference = thread.as_ref().ok()?.less(task.as_ref().ok()?).ok()?;
            let [_, low, high] = difference.ends();
            (!difference.has_few_rounds()).then(|| [low / all, high / all])
        });
        let total = record.and_then(|record| record.machine().memory_total_bytes);
        let share = total.and_then(|all| Some(memory[0].as_ref().ok()?.ends()[2] / all as f64));
        Loaded {
            load,
            machine: provenance::machine(figures.records),
            verdict: Verdict::of(saved, share, missing.each_ref().map(Option::is_none)),
            rows: vec![
                compared("CPU time per request", request),
                compared("CPUs in use", cpus),
                compared("switches per request", both(Metric::Switches)),
                compared("response, median", response(Stat::P50)),
                compared("response, 99th percentile", response(Stat::P99)),
                compared("memory of server and kernel", memory),
            ],
            saved,
            memory: share,
            missing,
        }
    }
}

fn is_figure(figure: &Figure<'_>, server: &str, metric: &Metric) -> bool {
    figure.key.row == server && figure.metric() == metric
}

/// Memory of both servers per connection, the kernel's included. The client's ends of the connections are on this
/// machine too: they are as large as the ends of the server of tasks, of which the kernel keeps nothing else.
fn memory(value: &impl Fn(&str, &Metric) -> Result<Value, String>) -> [Result<Value, String>; 2] {
    let [_, task] = SERVERS;
    let end = || {
        let both =
            value(task, &Metric::SystemPerTask)?.less(&value(task, &Metric::PeakPerTask)?)?;
        both.times(&Value::exact(0.5, None))
    };
    SERVERS.map(|server| value(server, &Metric::SystemPerTask)?.less(&end()?))
}

fn compared(name: &'static str, [thread, task]: [Result<Value, String>; 2]) -> Compared {
    let quotient = match (&thread, &task) {
        (Ok(thread), Ok(task)) => thread.over(task),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    };
    Compared { name, values: [thread, task, quotient] }
}

/// For programs: the estimate and the ends of its interval, or the reason.
fn shown<S: Serializer>(values: &[Result<Value, String>; 3], to: S) -> Result<S::Ok, S::Error> {
    values.each_ref().map(|value| value.as_ref().map(Value::ends)).serialize(to)
}

impl Verdict {
    /// By the share of the CPUs that tasks save, the share of the memory that threads take, and which servers could be
    /// measured.
    fn of(saved: Option<[f64; 2]>, memory: Option<f64>, are_measured: [bool; 2]) -> Self {
        let memory = memory.unwrap_or(0.0);
        match (are_measured, saved) {
            ([_, false], _) => Verdict::Neither,
            ([false, true], _) => Verdict::Tasks,
            (_, Some([_, high])) if high < LITTLE && memory < LITTLE => Verdict::Threads,
            (_, Some([low, _])) if low > LITTLE || memory > MUCH => Verdict::Tasks,
            _ => Verdict::Depends,
        }
    }
}

impl Compared {
    /// Both figures and their quotient as people read them.
    pub(crate) fn cells(&self) -> [String; 3] {
        let [thread, task, quotient] = &self.values;
        let show = |value: &Result<Value, String>| {
            value.as_ref().map_err(String::clone)?.show(Form::Interval)
        };
        let factor = show(quotient).map(|text| match text.split_once(' ') {
            Some((value, ends)) => format!("{value}x {ends}"),
            None => format!("{text}x"),
        });
        [show(thread), show(task), factor].map(|cell| cell.unwrap_or_else(|_| "–".to_owned()))
    }
}

impl Loaded {
    /// The verdict in words.
    pub(crate) fn sentence(&self) -> String {
        let reason = |k: usize| self.missing[k].as_deref().unwrap_or_default();
        let memory = self
            .memory
            .map_or(String::new(), |share| format!(" They hold {} of the memory.", percent(share)));
        let why = self.saved.map_or("too few rounds were measured".to_owned(), |[low, high]| {
            format!(
                "per cent of the CPUs that threads take more than tasks: {} to {}",
                number(low * 100.0),
                number(high * 100.0)
            )
        }) + "."
            + &memory;
        match self.verdict {
            Verdict::Threads => format!("Threads will do; {why}"),
            Verdict::Depends => format!("It depends on the rest of your program; {why}"),
            Verdict::Tasks if self.missing[0].is_some() => {
                format!("Take async tasks. Threads: {}.", reason(0))
            }
            Verdict::Tasks => format!("Take async tasks; {why}"),
            Verdict::Neither => format!("no server could be measured: {}", reason(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use facts::{Case, Process, Record, Samples};

    use super::*;
    use crate::plan::Plan;
    use crate::testing;

    /// A server's record on two CPUs: its CPU time per request, or why it has none.
    fn record(server: &str, cpu_ns: Result<u64, &str>) -> Record {
        let case = Case { row: server.to_owned(), ..Case::default() };
        let process = Process {
            tasks: Some(5),
            arrivals: Some(10),
            samples: cpu_ns.ok().and_then(|ns| Samples::of(&[ns; 9])),
            cpus: Some("0-1".to_owned()),
            error: cpu_ns.err().map(str::to_owned),
            ..Process::of("arrivals", Vec::new())
        };
        testing::in_case(Metric::Request, case, process)
    }

    #[test]
    fn a_load_is_told_by_the_records_of_its_plan() {
        let load = Load { rate: 10_000, connections: 5 };
        assert_eq!(Plan::parse(&load.plan()).unwrap().cases().len(), 2);
        let loaded = |thread, task| {
            let records = [record(SERVERS[0], thread), record(SERVERS[1], task)];
            Loaded::of(load, &Figures::of(&records))
        };
        // One round has no interval.
        let found = loaded(Ok(34_000), Ok(20_000));
        assert_eq!((found.saved, found.verdict), (None, Verdict::Depends));
        let cells: Vec<_> = found.rows.iter().map(|row| row.cells()[0].clone()).collect();
        assert_eq!(cells[..3], ["34 µs", "0.34", "–"]);
        let found = loaded(Err("too many"), Ok(20_000));
        assert_eq!(found.sentence(), "Take async tasks. Threads: too many.");
        let found = loaded(Err("too many"), Err("as well"));
        assert_eq!(found.sentence(), "no server could be measured: as well");
    }

    #[test]
    fn what_tasks_save_decides() {
        for (saved, memory, are_measured, verdict) in [
            ([-0.01, 0.04], 0.01, [true, true], Verdict::Threads),
            ([-0.01, 0.06], 0.01, [true, true], Verdict::Depends),
            ([0.06, 0.2], 0.01, [true, true], Verdict::Tasks),
            ([0.0, 0.01], 0.2, [true, true], Verdict::Depends),
            ([0.0, 0.01], 0.6, [true, true], Verdict::Tasks),
            ([0.0, 0.0], 0.0, [false, true], Verdict::Tasks),
            ([0.0, 0.0], 0.0, [true, false], Verdict::Neither),
        ] {
            let found = Verdict::of(Some(saved), Some(memory), are_measured);
            assert_eq!(found, verdict, "{saved:?} {memory} {are_measured:?}");
        }
    }
}
