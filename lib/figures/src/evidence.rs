//! What the counters of a row's runs say about its figure: whether a hop is what its name claims.
//!
//! The kernel counts the switches of each process (getrusage(2)) around the timed iterations, and the interrupts
//! by which one CPU wakes another. A hand-over between threads or processes must show a switch a hop, and at
//! most one voluntary one: the thread that hands the token on has nothing else to do. The thread that it wakes may
//! preempt it once before it waits. Tasks of a runtime, and one thread by itself, must show none. If a runtime has
//! several workers that wait for each other, their switches are what it does, and no contradiction.

use std::fmt;

use contract::message::Claim;
use record::{Metric, Record, per_wait};
use serde::Serialize;

/// Wake-up interrupts or migrations a hop that are worth a word.
pub const FEW: f64 = 0.02;

/// Counted for each hop: means over the processes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Voluntary switches: a thread waited for something.
    pub switches: f64,
    /// Involuntary switches: a thread was preempted.
    pub preemptions: f64,
    /// Interrupts by which one CPU called another, of the whole system; `None` if unknown.
    pub wakeups: Option<f64>,
    /// Moves of a thread from one CPU to another; `None` if unknown.
    pub migrations: Option<f64>,
    /// System calls, if they were counted (`--counters`, or by the program's own event loop).
    pub calls: Option<f64>,
    /// Hops per call by which an event loop asked the kernel what is ready.
    pub hops_per_wait: Option<f64>,
    /// What the counts say about the figure's name.
    pub verdict: Meaning,
}

/// The counters' verdict on a figure's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meaning {
    /// A hop between threads is a switch.
    Switches,
    /// A hop makes system calls, and no switch.
    StaysOnCpu,
    /// A hop does not enter the kernel.
    NeverInKernel,
    /// Several tokens travel at once, and share a switch.
    SharedSwitches,
    /// Workers of a runtime wait for each other.
    WorkersSleep,
    /// A hop between threads lacks its switch.
    TooFewSwitches,
    /// A hop between threads takes more than its switch.
    TooManySwitches,
    /// One thread alone, or a runtime's only worker, sleeps and is woken.
    UnexpectedSwitches,
}

impl Meaning {
    pub(crate) fn is_contradiction(self) -> bool {
        use Meaning::{TooFewSwitches, TooManySwitches, UnexpectedSwitches};
        matches!(self, TooFewSwitches | TooManySwitches | UnexpectedSwitches)
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Meaning::Switches => {
                let [least, most] = [1.0 - TOLERANCE, 2.0 + TOLERANCE];
                return write!(f, "As claimed, {least} to {most} switches per hop");
            }
            Meaning::StaysOnCpu => "System calls, but no context switch",
            Meaning::NeverInKernel => "No hop enters the kernel",
            Meaning::SharedSwitches => "A switch serves several hops",
            Meaning::WorkersSleep => {
                "The runtime's workers sleep and wake each other, which is part of the figure"
            }
            Meaning::TooFewSwitches => "Not what its name says: there are fewer switches than hops",
            Meaning::TooManySwitches => {
                "More than its name says: there are more switches than hops"
            }
            Meaning::UnexpectedSwitches => {
                "Not what its name says: the runtime's threads sleep and are woken"
            }
        })
    }
}

/// Counts may be off by so much for each hop: the driver's own waits, and the first and last hops.
const TOLERANCE: f64 = 0.1;

/// With less time in the kernel, in ns, a hop in memory is said never to enter it: the cheapest
/// system call takes longer.
const NO_KERNEL: f64 = 30.0;

/// Time that a tick of the kernel's count of CPU time stands for, in ns, at its longest (CONFIG_HZ of
/// 100): fewer hops than make up one at [`NO_KERNEL`] each tell nothing.
const TICK: f64 = 1e7;

impl Evidence {
    /// What the runs of a row show; `None` if nothing is handed over or nothing was counted.
    pub fn of(runs: &[&Record], metric: &Metric) -> Option<Self> {
        let is_rate = matches!(metric, Metric::HopRate | Metric::HopRatePerCpu);
        if !is_rate && !matches!(metric, Metric::Hop | Metric::RoundTrip | Metric::Message) {
            return None;
        }
        let description = runs.first()?.said.as_ref()?;
        let switches = mean(runs, |run| per_hop(run, run.usage?.voluntary_switches))?;
        let in_kernel = mean(runs, |run| per_hop(run, run.usage?.system_ns));
        let calls = mean(runs, |run| run.counted_each(&["system_calls"]));
        let total: f64 = runs.iter().filter_map(|run| Some(hops(run)? as f64)).sum();
        let stays_out = in_kernel.is_some_and(|ns| ns < NO_KERNEL)
            && calls.map_or(total * NO_KERNEL >= TICK, |calls| calls < TOLERANCE);
        let preemptions = mean(runs, |run| per_hop(run, run.usage?.involuntary_switches))?;
        let workers = description.runtime.as_ref().map_or(1, |runtime| runtime.workers);
        let at_once = (description.tokens, workers);
        Some(Evidence {
            switches,
            preemptions,
            wakeups: mean(runs, Record::wakeup_interrupts),
            migrations: mean(runs, |run| per_hop(run, run.migrations?)),
            calls,
            hops_per_wait: mean(runs, Record::waits).and_then(per_wait),
            verdict: verdict(description.claim, (switches, preemptions), at_once, stays_out),
        })
    }
}

/// Mean of the runs that have a count.
fn mean(runs: &[&Record], count: fn(&Record) -> Option<f64>) -> Option<f64> {
    stats::mean(&runs.iter().filter_map(|run| count(run)).collect::<Vec<f64>>())
}

fn hops(run: &Record) -> Option<u64> {
    run.timed().filter(|(_, unit)| *unit == "hop").map(|(hops, _)| hops)
}

fn per_hop(run: &Record, count: u64) -> Option<f64> {
    Some(count as f64 / hops(run)? as f64)
}

/// What counts per hop mean; `at_once` are the tokens in flight and the threads of the runtime that run
/// tasks, 1 if there is none.
fn verdict(
    claim: Claim,
    (switches, preemptions): (f64, f64),
    at_once: (u64, u32),
    stays_out: bool,
) -> Meaning {
    let (tokens, workers) = at_once;
    match claim {
        Claim::KernelSwitch
            if switches > 1.0 + TOLERANCE || switches + preemptions > 2.0 + TOLERANCE =>
        {
            Meaning::TooManySwitches
        }
        Claim::KernelSwitch if switches + preemptions >= 1.0 - TOLERANCE => Meaning::Switches,
        Claim::KernelSwitch if tokens > 1 => Meaning::SharedSwitches,
        Claim::KernelSwitch => Meaning::TooFewSwitches,
        _ if switches > TOLERANCE && workers > 1 => Meaning::WorkersSleep,
        _ if switches > TOLERANCE => Meaning::UnexpectedSwitches,
        Claim::UserSwitch if stays_out => Meaning::NeverInKernel,
        Claim::UserSwitch | Claim::NoSwitch => Meaning::StaysOnCpu,
    }
}

#[cfg(test)]
mod tests {
    use contract::message::{Description, Usage};
    use record::{Counters, Samples, Trial};

    use super::*;
    use crate::testing;

    #[test]
    fn a_figure_is_judged_by_what_it_claims() {
        use Claim::{KernelSwitch, NoSwitch, UserSwitch};
        use Meaning::*;
        for (claim, switches, at_once, stays_out, expected) in [
            (KernelSwitch, (1.002, 0.0), (1, 1), false, Switches),
            (KernelSwitch, (0.93, 0.0), (1, 1), false, Switches),
            // A thread that is preempted before it waits finds its token there.
            (KernelSwitch, (0.67, 0.66), (1, 1), false, Switches),
            (KernelSwitch, (0.5, 0.0), (1, 2), false, TooFewSwitches),
            (KernelSwitch, (0.5, 0.0), (8, 1), false, SharedSwitches),
            (KernelSwitch, (1.4, 0.0), (8, 1), false, TooManySwitches),
            (KernelSwitch, (1.0, 1.0), (1, 1), false, Switches),
            // It yields its CPU before it sleeps.
            (KernelSwitch, (0.3, 4.0), (1, 1), false, TooManySwitches),
            (UserSwitch, (0.0, 0.0), (1, 1), true, NeverInKernel),
            (UserSwitch, (0.0, 0.0), (1, 1), false, StaysOnCpu),
            (UserSwitch, (0.48, 0.0), (1, 2), false, WorkersSleep),
            (UserSwitch, (0.003, 0.0), (1, 2), true, NeverInKernel),
            (NoSwitch, (0.0, 0.0), (1, 1), true, StaysOnCpu),
            (NoSwitch, (0.4, 0.0), (1, 1), false, UnexpectedSwitches),
        ] {
            let found = verdict(claim, switches, at_once, stays_out);
            assert_eq!(found, expected, "{claim:?} {switches:?} {at_once:?} {stays_out}");
        }
    }

    /// By its calls, if they are counted, or else by the time that it spends in the kernel.
    #[test]
    fn a_hop_without_calls_does_not_enter_the_kernel() {
        for (hops, calls, verdict) in [
            (10, Some(0), Meaning::NeverInKernel),
            (10, Some(90), Meaning::StaysOnCpu),
            (10, None, Meaning::StaysOnCpu),
            (1_000_000, None, Meaning::NeverInKernel),
        ] {
            let said = Description {
                hops: Some(hops),
                claim: Claim::UserSwitch,
                ..testing::description(1)
            };
            let trial = Trial {
                samples: Samples::of(&[1000; 9]),
                usage: Some(Usage::default()),
                counters: calls.map(|calls| Counters {
                    iterations: 9,
                    events: [("system_calls".to_owned(), calls)].into(),
                    ..Counters::default()
                }),
                ..Trial::begin()
            };
            let record = testing::in_row(testing::row("", "p", &[]), said, trial);
            let evidence = Evidence::of(&[&record], &Metric::Hop).unwrap();
            assert_eq!(evidence.verdict, verdict, "{hops} {calls:?}");
        }
    }
}
