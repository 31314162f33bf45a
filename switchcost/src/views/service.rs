//! A running service: what its switches take of its CPU time, between two bounds, and what else holds it back.

use figures::grade::Grade;
use figures::value::Value;
use figures::{Figure, Figures};
use observe::service::{Service, Throttling};
use record::{Metric, Record};
use serde::Serialize;
use stats::Estimate;

use super::answer::HOPS_THROUGH_PIPES;

/// Share of its CPU time from which switching is worth a look.
const MUCH: f64 = 0.1;

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
    /// By the records of the usual plan.
    ///
    /// # Errors
    /// The first row of it that has no price, and why.
    pub(crate) fn of(records: &[Record], file: &str) -> Result<Self, String> {
        let figures = Figures::of(records);
        let [any_cpu, one_cpu] = HOPS_THROUGH_PIPES.map(|name| {
            cpu_time(&figures, name, |figure| figure.answers().as_deref() == Some(name))
        });
        let (alone, any_cpu, one_cpu) = (alone(&figures)?, any_cpu?, one_cpu?);
        let grade = alone.grade.max(one_cpu.grade).max(any_cpu.grade);
        let ([_, alone, _], [_, _, one_cpu]) = (alone.ends(), one_cpu.ends());
        let any_cpu = any_cpu.ends()[2].max(one_cpu);
        Ok(Prices { alone, one_cpu, any_cpu, grade, file: file.to_owned() })
    }
}

/// CPU time per hop or operation of a row.
fn cpu_time(
    figures: &Figures<'_>,
    name: &str,
    is_wanted: impl Fn(&Figure<'_>) -> bool,
) -> Result<Value, String> {
    let figure = figures.iter().find(|figure| figure.runs.ties().is_some() && is_wanted(figure));
    let figure =
        figure.ok_or_else(|| format!("no row '{name}': measure it by `switchcost --quick`"))?;
    figure.value().map_err(|why| format!("{name}: {why}"))?;
    figure.cpu_time().ok_or_else(|| format!("{name}: its CPU time is not known"))
}

/// CPU time of a switch from a thread that yields to another one on its CPU.
fn alone(figures: &Figures<'_>) -> Result<Value, String> {
    let name = "sched_yield(2) between two threads";
    let operation = cpu_time(figures, name, |figure| figure.place().row == name)?;
    let of_row = figures.iter().filter(|figure| figure.place().row == name);
    let records = of_row.flat_map(|figure| &figure.runs.whole);
    let switches: Vec<f64> =
        records.filter_map(|record| Metric::Switches.figure(record, None)).collect();
    // Where an operation seldom switches, its time is not the switch's.
    let each = Estimate::mean(&switches).filter(|each| each.value >= 0.5);
    let each = each.ok_or_else(|| format!("{name}: its threads hardly switched"))?;
    operation.times(&Value::exact(1.0 / each.value, None))
}

/// What switching is to a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SwitchingVerdict {
    /// Even the upper bound is too little to matter.
    Little,
    /// Only the upper bound matters.
    Unclear,
    /// Even the lower bound matters.
    Much,
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
    pub(crate) verdict: Option<SwitchingVerdict>,
}

impl Watched {
    pub(crate) fn of(pids: Vec<i32>, service: Service, prices: Option<Prices>) -> Self {
        let counts = service.seen();
        let seen = counts.cpu_ns as f64 / (service.cpu_ns.max(counts.cpu_ns).max(1)) as f64;
        let seen = if service.cpu_ns == 0 { 1.0 } else { seen };
        let remarks = remarks(&service);
        let share = prices.as_ref().filter(|_| service.cpu_ns > 0).map(|prices| {
            // To wake another CPU there has to be one.
            let wake = if service.cpus > 1.0 { prices.any_cpu } else { prices.one_cpu };
            let switches = counts.voluntary + counts.involuntary + service.unseen();
            let low = switches as f64 * prices.alone;
            let high = (counts.voluntary + service.unseen()) as f64 * wake
                + counts.involuntary as f64 * prices.one_cpu;
            [low, high].map(|ns| (ns / service.cpu_ns as f64).min(1.0))
        });
        // Without a counter, what was not seen may have switched much more often.
        let is_known = service.counted.is_some() || seen >= MOSTLY_SEEN;
        let verdict = share.map(|share| match SwitchingVerdict::of(share, &service) {
            SwitchingVerdict::Little if !is_known => SwitchingVerdict::Unclear,
            verdict => verdict,
        });
        Watched { pids, service, seen, remarks, prices, share, verdict }
    }
}

impl SwitchingVerdict {
    /// By the bounds of the share of its CPU time, and by the CPUs that it uses.
    fn of([least, most]: [f64; 2], service: &Service) -> Self {
        let (used, little) = (service.used(), LITTLE * service.cpus.min(1.0));
        if most < MUCH || most * used < little {
            SwitchingVerdict::Little
        } else if least < MUCH || least * used < little {
            SwitchingVerdict::Unclear
        } else {
            SwitchingVerdict::Much
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
    use contract::message::{Description, Usage};
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
        let record = |row: &str, column: &str, hops: Option<u64>, user_ns| {
            let mut row = testing::row(row, "p", &[]);
            row.place.metric = if hops.is_some() { Metric::Hop } else { Metric::Task };
            row.place.column = column.to_owned();
            row.ties.answer = Some("switch through pipes".to_owned());
            let said = Description { hops, ..testing::description(100) };
            let trial = Trial {
                samples: Samples::of(&[1000; 9]),
                usage: Some(Usage { user_ns, involuntary_switches: 450, ..Usage::default() }),
                ..Trial::begin()
            };
            testing::in_row(row, said, trial)
        };
        let mut records = [
            record("thread over pipes", "unpinned", Some(100), 3600),
            record("thread over pipes", "one CPU", Some(100), 1800),
            record("sched_yield(2) between two threads", "", None, 450),
        ];
        let prices = Prices::of(&records, "a.jsonl").unwrap();
        assert_eq!([prices.alone, prices.one_cpu, prices.any_cpu], [1.0, 2.0, 4.0]);
        let lacking = Prices::of(&records[1..], "a.jsonl").unwrap_err();
        assert!(lacking.contains("no row 'switch through pipes, unpinned'"), "{lacking}");
        records[2].trial.error = Some("no CPU".to_owned());
        records[2].trial.samples = None;
        let failed = Prices::of(&records, "a.jsonl").unwrap_err();
        assert!(failed.contains("two threads") && failed.contains("no CPU"), "{failed}");
    }

    #[test]
    fn both_bounds_have_to_agree() {
        for (counts, share, verdict) in [
            (switches(4_000, 0, SECOND), [0.008, 0.04], SwitchingVerdict::Little),
            (switches(20_000, 0, SECOND), [0.04, 0.2], SwitchingVerdict::Unclear),
            (switches(60_000, 0, SECOND), [0.12, 0.6], SwitchingVerdict::Much),
            // It takes most of its time, and hardly any of a CPU.
            (switches(1_000, 0, SECOND / 100), [0.2, 1.0], SwitchingVerdict::Little),
            // Preempted switches count, and wake no other CPU.
            (switches(0, 270_000, SECOND), [0.54, 1.0], SwitchingVerdict::Much),
            (switches(0, 10_000, SECOND), [0.02, 0.05], SwitchingVerdict::Little),
        ] {
            let found = watched(counts, |_| ());
            assert_eq!((found.share, found.verdict), (Some(share), Some(verdict)), "{counts:?}");
        }
        let on_one = watched(switches(20_000, 0, SECOND), |service| service.cpus = 1.0);
        assert_eq!(
            (on_one.share, on_one.verdict),
            (Some([0.04, 0.1]), Some(SwitchingVerdict::Unclear))
        );
    }

    #[test]
    fn threads_that_were_not_seen_count_if_perf_counted_them() {
        let half = |service: &mut Service| service.cpu_ns *= 2;
        let found = watched(switches(100, 0, SECOND), half);
        assert_eq!((found.seen, found.verdict), (0.5, Some(SwitchingVerdict::Unclear)));
        let counted = watched(switches(100, 0, SECOND), |service| {
            half(service);
            service.counted = Some(100_100);
        });
        assert_eq!(
            (counted.share, counted.verdict),
            (Some([0.1001, 0.5005]), Some(SwitchingVerdict::Much))
        );
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
