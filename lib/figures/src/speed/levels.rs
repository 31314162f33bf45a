//! How quick the CPUs are when nothing slows them: what slowness is counted from.

use std::collections::BTreeMap;

use record::{Probe, Record};

/// Quantile of a CPU's probes near which its quick level is: the quickest of thousands may be a freak, and a CPU may be
/// slowed for all but a few per cent of the time.
const QUICK: f64 = 0.005;

/// Fewest probes up to that quantile.
const FEWEST: f64 = 5.0;

/// Probes up to so many times that quantile are of a quiet CPU; the level is their median.
pub(super) const LIKE_QUICK: f64 = 1.05;

/// Probes up to so many times the quickest one of a session are near it.
const NEAR: f64 = 1.1;

/// The quick levels of a machine's CPUs. Sessions that are read together share them: one that was never quiet does not
/// show them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    /// Of each CPU a time of the probe, in ns.
    quick: BTreeMap<u32, f64>,
    /// Share of the probes of each session and CPU that are near the quickest of them.
    near: BTreeMap<((u64, u64), u32), f64>,
}

impl Levels {
    /// Those of all sessions in some records.
    pub(crate) fn of(records: &[Record]) -> Self {
        let mut times: BTreeMap<((u64, u64), u32), Vec<f64>> = BTreeMap::new();
        for record in records {
            for probe in probes(record) {
                let both = [probe.before, probe.after].map(f64::from);
                times.entry((record.session(), probe.cpu)).or_default().extend(both);
            }
        }
        let near = times.iter().map(|(key, times)| (*key, near(times))).collect();
        let mut of_cpus: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for ((_, cpu), times) in times {
            of_cpus.entry(cpu).or_default().extend(times);
        }
        let quick = of_cpus.into_iter().filter_map(|(cpu, times)| Some((cpu, quick(times)?)));
        Levels { quick: quick.collect(), near }
    }

    /// How slow a probe's CPU was before and after, as logarithms; `None` if either took no time.
    pub(super) fn slowness(&self, probe: &Probe) -> Option<[f64; 2]> {
        let level = self.quick.get(&probe.cpu)?;
        let logs = [probe.before, probe.after].map(|time| (f64::from(time) / level).ln());
        logs.iter().all(|log| log.is_finite()).then_some(logs)
    }

    /// Share of the probes of its session that were near the quickest, on the one of its CPUs that has the fewest.
    pub(super) fn near(&self, record: &Record) -> f64 {
        let of_cpus =
            probes(record).filter_map(|probe| self.near.get(&(record.session(), probe.cpu)));
        of_cpus.copied().fold(1.0, f64::min)
    }
}

fn probes(record: &Record) -> impl Iterator<Item = &Probe> {
    record.slices.iter().flat_map(|slice| &slice.probes)
}

/// The quick level by these times of a CPU's probes.
fn quick(mut times: Vec<f64>) -> Option<f64> {
    let share = QUICK.max(FEWEST / times.len() as f64).min(1.0);
    let quantile = stats::quantile(&times, share)?;
    times.retain(|time| *time <= LIKE_QUICK * quantile);
    stats::median(&times)
}

fn near(times: &[f64]) -> f64 {
    let quickest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let near = times.iter().filter(|time| **time <= NEAR * quickest).count();
    near as f64 / times.len() as f64
}
