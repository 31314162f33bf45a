//! A running service: what its switches take of its CPU time, between two bounds, and what else holds it back.

use contract::message::Usage;
use figures::grade::{Grade, Range};
use figures::{Figure, Figures};
use observe::service::{Service, Throttling};
use record::{Metric, Record};
use serde::Serialize;
use stats::Estimate;

/// Share of its CPU time from which switching is worth a look, and from which it is most of the work.
const MATTERS: [f64; 2] = [0.1, 0.5];

/// CPUs that switching must take to matter, or this share of a quota below one CPU.
const LITTLE: f64 = 0.05;

/// Share of a service's CPU time that must have been seen thread by thread if nothing else counts its switches.
const MOSTLY_SEEN: f64 = 0.9;

/// CPUs in use under which a service does nothing.
const IDLE: f64 = 0.01;

/// CPU time of a switch on this machine, in ns.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Prices {
    /// The kernel's part alone: a thread gives way to another one on its CPU.
    pub(crate) alone: f64,
    /// A hop between threads on one CPU: a write, a wake-up, a switch and a read.
    pub(crate) one_cpu: f64,
    /// The same to any CPU: at worst, another CPU is woken.
    pub(crate) any_cpu: f64,
    /// The worst grade of these.
    pub(crate) grade: Grade,
    /// File that they are from.
    pub(crate) file: String,
}

impl Prices {
    /// By the records of the usual plan; `None` if they lack a row of it.
    pub(crate) fn of(records: &[Record], file: &str) -> Option<Self> {
        let figures = Figures::of(records);
        let alone = |figure: &Figure<'_>| figure.runs.whole.iter().all(|record| yields(record));
        let hops = |is_pinned| {
            move |figure: &Figure<'_>| figure.runs.whole.iter().all(|r| is_plain_hop(r, is_pinned))
        };
        let [alone, one_cpu, any_cpu] = [
            price(&figures, alone, |usage, _| {
                (usage.voluntary_switches + usage.involuntary_switches) as f64
            })?,
            price(&figures, hops(true), |_, hops| hops)?,
            price(&figures, hops(false), |_, hops| hops)?,
        ];
        Some(Prices {
            alone: alone.ends[0],
            one_cpu: one_cpu.ends[1],
            any_cpu: any_cpu.ends[1].max(one_cpu.ends[1]),
            grade: alone.grade.max(one_cpu.grade).max(any_cpu.grade),
            file: file.to_owned(),
        })
    }

    /// A row of the prices that has no figure, and why.
    pub(crate) fn missing(records: &[Record]) -> Option<String> {
        let rows = records.iter().filter(|record| {
            let is_time = matches!(record.row().place.metric, Metric::Hop | Metric::Task);
            is_time && (yields(record) || is_plain_hop(record, true) || is_plain_hop(record, false))
        });
        let mut missing = rows.filter_map(|record| Some((&record.row().place, record.why()?)));
        let (place, why) = missing.next()?;
        Some(format!("{}: {}: {}", place.name(), why.word(), why.first_line()))
    }
}

/// True if a thread gave way to another one.
fn yields(record: &Record) -> bool {
    let is_one_cpu = record.cpu_count() == Some(1);
    let command = &record.row().command;
    command.program == "everyday-work"
        && is_one_cpu
        && command.flags.iter().any(|arg| arg == "yield")
}

/// True of hops between threads through pipes, with the program's usual flags.
fn is_plain_hop(record: &Record, is_pinned: bool) -> bool {
    let (command, place) = (&record.row().command, &record.row().place);
    command.program == "thread-brigade"
        && command.flags.iter().all(|flag| !flag.starts_with("--") || flag == "--tasks")
        && command.setting.policy.is_none()
        && place.x.is_none()
        && if is_pinned { record.cpu_count() == Some(1) } else { command.setting.cpus.is_none() }
}

/// CPU time per switch at the machine's quiet speed, by the first figure that is wanted: the ends of its interval, and
/// its grade. The interval is as wide as the time's.
fn price(
    figures: &Figures<'_>,
    is_wanted: impl Fn(&Figure<'_>) -> bool,
    switches: impl Fn(&Usage, f64) -> f64,
) -> Option<Range> {
    let is_time = |figure: &Figure<'_>| matches!(figure.metric(), Metric::Hop | Metric::Task);
    let figure = figures.iter().find(|f| is_time(f) && !f.runs.whole.is_empty() && is_wanted(f))?;
    let time = figure.reading()?.mean;
    let prices = figure.runs.cpu_times().into_iter().filter_map(|(_, record, cpu_ns)| {
        let all = record.timed()?.0 as f64;
        let each = switches(&record.usage?, all) / all;
        // Where an operation seldom switches, its time is not the switch's.
        (each >= 0.5).then(|| cpu_ns / each)
    });
    let price = Estimate::mean(&prices.collect::<Vec<f64>>())?.value;
    let ends = time.interval.map_or([time.value; 2], |found| [found.low, found.high]);
    Some(Range { ends: ends.map(|ns| price * ns / time.value), grade: figure.grade })
}

/// What switching is to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Verdict {
    /// Even the upper bound is too little to matter.
    Little,
    /// Only the upper bound matters.
    Unclear,
    /// Even the lower bound matters.
    Much,
    /// Even the lower bound is most of the CPU time.
    Most,
}

/// A service that was watched.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Watched {
    /// Processes that were named.
    pub(crate) pids: Vec<i32>,
    pub(crate) service: Service,
    /// Share of its CPU time that threads account for which were seen twice.
    pub(crate) seen: f64,
    /// What holds it back, or would mislead, and what to do about it: a sentence each.
    pub(crate) remarks: Vec<String>,
    pub(crate) prices: Option<Prices>,
    /// Least and greatest share of its CPU time that its switches take, if there are prices and it ran.
    pub(crate) share: Option<[f64; 2]>,
    pub(crate) verdict: Option<Verdict>,
}

impl Watched {
    pub(crate) fn of(pids: Vec<i32>, service: Service, prices: Option<Prices>) -> Self {
        let counts = service.seen();
        let seen = counts.cpu_ns as f64 / (service.cpu_ns.max(counts.cpu_ns).max(1)) as f64;
        let seen = if service.cpu_ns == 0 { 1.0 } else { seen };
        let remarks = remarks(&service);
        let share = prices.as_ref().filter(|_| service.cpu_ns > 0).map(|prices| {
            // To wake another CPU there has to be one.
            let most = if service.cpus > 1.0 { prices.any_cpu } else { prices.one_cpu };
            let all = counts.voluntary + counts.involuntary + service.unseen();
            let least = all as f64 * prices.alone;
            let most = (counts.voluntary + service.unseen()) as f64 * most
                + counts.involuntary as f64 * prices.one_cpu;
            [least, most].map(|ns| (ns / service.cpu_ns as f64).min(1.0))
        });
        // Without a counter, what was not seen may have switched much more often.
        let is_known = service.counted.is_some() || seen >= MOSTLY_SEEN;
        let verdict = share.map(|share| match Verdict::of(share, &service) {
            Verdict::Little if !is_known => Verdict::Unclear,
            verdict => verdict,
        });
        Watched { pids, service, seen, remarks, prices, share, verdict }
    }
}

impl Verdict {
    /// By the bounds of the share of its CPU time, and by the CPUs that it uses.
    fn of([least, most]: [f64; 2], service: &Service) -> Self {
        let [much, nearly_all] = MATTERS;
        let (used, little) = (service.used(), LITTLE * service.cpus.min(1.0));
        if most < much || most * used < little {
            Verdict::Little
        } else if least < much || least * used < little {
            Verdict::Unclear
        } else if least < nearly_all {
            Verdict::Much
        } else {
            Verdict::Most
        }
    }
}

/// What holds a service back, or would mislead, and what to do about it.
fn remarks(service: &Service) -> Vec<String> {
    let (counts, used) = (service.seen(), service.used());
    let mut remarks = Vec::new();
    if used < IDLE {
        remarks.push("It hardly ran: watch it at its busiest.".to_owned());
    }
    let Throttling { throttled, periods } = service.throttling.unwrap_or_default();
    if throttled * 20 > periods {
        remarks.push(format!(
            "A CPU quota stopped it in {throttled} of {periods} periods: raise the quota (cpu.max), or give it fewer threads."
        ));
    } else if used >= IDLE && counts.waited_ns > counts.cpu_ns {
        let waited = "Its threads waited for a CPU longer than they ran: it needs more CPUs or less busy neighbours.";
        remarks.push(waited.to_owned());
    }
    // A hundred per second at least.
    if counts.involuntary > counts.voluntary.max(service.elapsed_ns / 10_000_000) {
        let preempted = "Its threads lost their CPU more often than they gave it up: more of them want to run than there \
                         are CPUs, or they call sched_yield(2).";
        remarks.push(preempted.to_owned());
    }
    remarks
}

#[cfg(test)]
mod tests {
    use contract::message::Description;
    use observe::service::{Counts, ThreadGroup};
    use record::{Samples, Trial};

    use super::*;
    use crate::testing;

    const SECOND: u64 = 1_000_000_000;

    /// A service on four CPUs that was watched for a second, at 2 to 5 µs per switch on one CPU and 10 µs to others.
    fn watched(counts: Counts, change: impl Fn(&mut Service)) -> Watched {
        let mut service = Service {
            elapsed_ns: SECOND,
            groups: vec![ThreadGroup { counts, threads: 1, ..ThreadGroup::default() }],
            processes: 1,
            cpu_ns: counts.cpu_ns,
            cpus: 4.0,
            ..Service::default()
        };
        change(&mut service);
        let (alone, one_cpu, any_cpu) = (2e3, 5e3, 10e3);
        let prices = Prices { alone, one_cpu, any_cpu, grade: Grade::Sure, file: String::new() };
        Watched::of(vec![1], service, Some(prices))
    }

    fn switches(voluntary: u64, involuntary: u64, cpu_ns: u64) -> Counts {
        Counts { voluntary, involuntary, cpu_ns, waited_ns: 0 }
    }

    #[test]
    fn prices_are_those_of_three_rows() {
        let record = |row: &str, program, args: &[&str], cpus: Option<&str>, user_ns| {
            let mut row = testing::row(row, program, args);
            row.place.metric = Metric::Task;
            row.command.setting.cpus = cpus.map(|cpus| cpus.parse().unwrap());
            let hops = (program == "thread-brigade").then_some(100);
            let said = Description { hops, ..testing::description(100) };
            let trial = Trial {
                samples: Samples::of(&[1000; 9]),
                usage: Some(Usage { user_ns, involuntary_switches: 450, ..Usage::default() }),
                ..Trial::begin()
            };
            testing::in_row(row, said, trial)
        };
        let chain = ["--tasks", "100"];
        let records = [
            record("yield", "everyday-work", &["--work", "yield"], Some("1"), 450),
            record("through futexes", "thread-mem-brigade", &chain, None, 900_000),
            record("pinned", "thread-brigade", &chain, Some("1"), 1800),
            record("free", "thread-brigade", &chain, None, 3600),
            record("with tokens", "thread-brigade", &["--tokens", "9"], None, 900_000),
        ];
        let prices = Prices::of(&records, "a.jsonl").unwrap();
        assert_eq!([prices.alone, prices.one_cpu, prices.any_cpu], [1.0, 2.0, 4.0]);
        assert!(Prices::of(&records[1..], "a.jsonl").is_none());
    }

    #[test]
    fn both_bounds_have_to_agree() {
        for (counts, share, verdict) in [
            (switches(4_000, 0, SECOND), [0.008, 0.04], Verdict::Little),
            (switches(20_000, 0, SECOND), [0.04, 0.2], Verdict::Unclear),
            (switches(60_000, 0, SECOND), [0.12, 0.6], Verdict::Much),
            // It takes most of its time, and hardly any of a CPU.
            (switches(1_000, 0, SECOND / 100), [0.2, 1.0], Verdict::Little),
            // Preempted switches count, and wake no other CPU.
            (switches(0, 270_000, SECOND), [0.54, 1.0], Verdict::Most),
            (switches(0, 10_000, SECOND), [0.02, 0.05], Verdict::Little),
        ] {
            let found = watched(counts, |_| ());
            assert_eq!((found.share, found.verdict), (Some(share), Some(verdict)), "{counts:?}");
        }
        let on_one = watched(switches(20_000, 0, SECOND), |service| service.cpus = 1.0);
        assert_eq!((on_one.share, on_one.verdict), (Some([0.04, 0.1]), Some(Verdict::Unclear)));
    }

    #[test]
    fn threads_that_were_not_seen_count_if_perf_counted_them() {
        let half = |service: &mut Service| service.cpu_ns *= 2;
        let found = watched(switches(100, 0, SECOND), half);
        assert_eq!((found.seen, found.verdict), (0.5, Some(Verdict::Unclear)));
        let counted = watched(switches(100, 0, SECOND), |service| {
            half(service);
            service.counted = Some(100_100);
        });
        assert_eq!((counted.share, counted.verdict), (Some([0.1001, 0.5005]), Some(Verdict::Much)));
    }

    #[test]
    fn what_holds_a_service_back_is_seen() {
        let busy = switches(1_000, 0, SECOND);
        let throttling = Some(Throttling { periods: 242, throttled: 240 });
        let throttled = watched(busy, |service| service.throttling = throttling);
        for (watched, expected) in [
            (watched(busy, |_| ()), &[][..]),
            (watched(switches(10, 0, SECOND / 1000), |_| ()), &["hardly ran"]),
            (throttled, &["in 240 of 242 periods"]),
            (watched(Counts { waited_ns: 2 * SECOND, ..busy }, |_| ()), &["needs more CPUs"]),
            (watched(switches(1_000, 2_000, SECOND), |_| ()), &["sched_yield(2)"]),
        ] {
            let remarks = watched.remarks;
            assert_eq!(remarks.len(), expected.len(), "{remarks:?}");
            assert!(remarks.iter().zip(expected).all(|(remark, words)| remark.contains(words)));
        }
    }
}
