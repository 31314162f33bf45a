//! What the switches of a running service cost: its counts, times what a hand-over costs on this machine.

use facts::service::Service;
use serde::Serialize;

use super::answer::Answer;
use super::hand_over::{self, HandOver, Range, Scheduler};

/// Share of its own CPU time below which switching does not matter.
pub(crate) const LITTLE: f64 = 0.1;

/// Share of the machine below which it does not matter.
pub(crate) const LITTLE_OF_MACHINE: f64 = 0.01;

/// Share of its own CPU time, and of the machine in use, from which switching is the bottleneck.
pub(crate) const MUCH: f64 = 0.5;

/// What a service's switches cost.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ServiceCost {
    pub(crate) service: Service,
    /// Voluntary switches a second.
    pub(crate) switches: f64,
    /// CPUs in use.
    pub(crate) cpus: f64,
    /// CPU time of a hand-over between threads, and between tasks, in ns.
    pub(crate) per_hop: [Range; 2],
    /// CPUs that its switches take as they are, and that as many hand-overs between tasks would.
    pub(crate) switching: [Range; 2],
    /// Share of its own CPU time, at most all of it.
    pub(crate) of_its_time: Range,
    /// Share of the machine's CPUs.
    pub(crate) of_machine: Range,
    /// Bytes that as many threads hold, and as many tasks.
    pub(crate) memory: Option<[Range; 2]>,
    pub(crate) verdict: ServiceVerdict,
}

/// Whether switching matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ServiceVerdict {
    DoesNotMatter,
    WorthALook,
    Bottleneck,
}

impl ServiceCost {
    /// Costs by an answer and hand-overs of a machine with so many CPUs; `None` if there are no hand-overs.
    pub(crate) fn of(
        service: Service,
        answer: &Answer,
        hand_overs: &[HandOver],
        all_cpus: usize,
    ) -> Option<Self> {
        let seconds = service.elapsed_ns as f64 / 1e9;
        let voluntary: u64 = service.groups.iter().map(|group| group.voluntary).sum();
        let switches = voluntary as f64 / seconds;
        let cpus = service.cpu_ns as f64 / service.elapsed_ns as f64;
        let of = |scheduler| hand_over::cost(hand_overs, None, scheduler).map(|cost| cost.cpu);
        let per_hop = [of(None)?, of(Some(Scheduler::Multi))?];
        let switching = per_hop.map(|range| range.map(|ns| ns * switches / 1e9));
        let of_its_time =
            switching[0].map(|used| if cpus > 0.0 { (used / cpus).min(1.0) } else { 0.0 });
        let of_machine = switching[0].map(|used| (used / all_cpus as f64).min(1.0));
        let memory = answer.sizes();
        let memory =
            memory.map(|each| each.map(|range| range.map(|bytes| bytes * service.threads as f64)));
        let in_use = cpus / all_cpus as f64;
        let verdict = verdict(of_its_time, of_machine, in_use);
        Some(ServiceCost {
            service,
            switches,
            cpus,
            per_hop,
            switching,
            of_its_time,
            of_machine,
            memory,
            verdict,
        })
    }
}

fn verdict(of_its_time: Range, of_machine: Range, in_use: f64) -> ServiceVerdict {
    if of_its_time[1] < LITTLE || of_machine[1] < LITTLE_OF_MACHINE {
        ServiceVerdict::DoesNotMatter
    } else if of_its_time[0] >= MUCH && in_use >= MUCH {
        ServiceVerdict::Bottleneck
    } else {
        ServiceVerdict::WorthALook
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_of_the_whole_range() {
        for (its, machine, in_use, expected) in [
            ([0.01, 0.09], [0.01, 0.05], 0.9, ServiceVerdict::DoesNotMatter),
            ([0.6, 1.0], [0.001, 0.009], 0.01, ServiceVerdict::DoesNotMatter),
            ([0.05, 0.2], [0.05, 0.1], 0.5, ServiceVerdict::WorthALook),
            ([0.6, 1.0], [0.3, 0.5], 0.6, ServiceVerdict::Bottleneck),
            ([0.6, 1.0], [0.1, 0.2], 0.2, ServiceVerdict::WorthALook),
        ] {
            assert_eq!(verdict(its, machine, in_use), expected, "{its:?}");
        }
    }
}
