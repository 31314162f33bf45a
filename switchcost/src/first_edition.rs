//! Programs of the first edition: run with `--format json`, their record mapped onto a line of
//! today's results. To be removed with the last of them.

use std::collections::BTreeMap;

use contract::message::{Claim, Distribution, Extra, Need, Needs, Runtime, Usage};
use record::{
    Absent, CacheLine, Counters, Interference, Memory, MemoryChange, Process, Samples, Scope,
    Thirds, distribution,
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Flags for a run of so many iterations that is to print its record.
pub(crate) fn flags(iters: u64, warmup: u64) -> Vec<String> {
    let numbers = [("--iters", iters), ("--warmups", warmup)];
    let mut flags: Vec<String> = numbers
        .iter()
        .flat_map(|(name, value)| [(*name).to_owned(), value.to_string()])
        .collect();
    flags.extend(["--format", "json"].map(str::to_owned));
    flags
}

/// A record of schema 1, as far as it is used.
#[derive(Deserialize)]
struct Old {
    benchmark: String,
    params: Map<String, Value>,
    build: OldBuild,
    runtime: Option<Runtime>,
    partial: bool,
    samples: Option<Summary>,
    hops: Option<u64>,
    first_iteration: Option<u64>,
    #[serde(default)]
    distributions: BTreeMap<String, Summary>,
    usage: Option<OldUsage>,
    payload: Option<u64>,
    peak_alive: Option<u64>,
    peak_resident: Option<u64>,
    interference: Option<OldInterference>,
    counters: Option<OldCounters>,
    cache_line: Option<CacheLine>,
    memory: Option<OldMemoryChange>,
    setup: Option<u64>,
    teardown: Option<u64>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct OldBuild {
    package_version: Option<String>,
}

#[derive(Deserialize)]
struct Summary {
    #[serde(flatten)]
    distribution: Distribution,
    series: Series,
}

#[derive(Deserialize)]
struct Series {
    batch: u64,
    sums: Vec<u64>,
}

#[derive(Deserialize)]
struct OldUsage {
    user: u64,
    system: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
    minor_faults: u64,
    major_faults: u64,
}

#[derive(Deserialize)]
struct OldInterference {
    steal: Option<u64>,
    throttled: Option<u64>,
    wakeup_interrupts: Option<u64>,
}

#[derive(Deserialize)]
struct OldCounters {
    iterations: u64,
    time: u64,
    usage: Option<OldUsage>,
    idle: Option<u64>,
    steal: Option<u64>,
    reads: Option<u64>,
    writes: Option<u64>,
    scope: Option<Scope>,
    events: BTreeMap<String, u64>,
    share: Option<f64>,
    absent: Vec<Absent>,
}

#[derive(Deserialize)]
struct OldMemoryChange {
    before: OldMemory,
    at_rest: Option<OldMemory>,
}

#[derive(Deserialize)]
struct OldMemory {
    resident: Option<u64>,
    proportional: Option<u64>,
    anonymous: Option<u64>,
    huge: Option<u64>,
    page_tables: Option<u64>,
    system_kernel_stacks: Option<u64>,
    system_page_tables: Option<u64>,
    system_slab: Option<u64>,
}

impl OldUsage {
    fn map(self) -> Usage {
        Usage {
            user_ns: self.user,
            system_ns: self.system,
            voluntary_switches: self.voluntary_switches,
            involuntary_switches: self.involuntary_switches,
            minor_faults: self.minor_faults,
            major_faults: self.major_faults,
        }
    }
}

impl OldMemory {
    fn map(self) -> Memory {
        Memory {
            resident: self.resident,
            pss: self.proportional,
            anonymous: self.anonymous,
            huge: self.huge,
            page_tables: self.page_tables,
            system_kernel_stacks: self.system_kernel_stacks,
            system_page_tables: self.system_page_tables,
            system_slab: self.system_slab,
            ..Memory::default()
        }
    }
}

impl OldCounters {
    fn map(self) -> Counters {
        Counters {
            iterations: self.iterations,
            time: self.time,
            usage: self.usage.map(OldUsage::map),
            interference: Interference {
                idle: self.idle,
                steal: self.steal,
                ..Interference::default()
            },
            reads: self.reads,
            writes: self.writes,
            scope: self.scope,
            events: self.events,
            share: self.share,
            absent: self.absent,
        }
    }
}

impl Summary {
    fn map(self) -> Samples {
        let Series { batch, sums } = &self.series;
        let full = (self.distribution.count / (*batch).max(1)) as usize;
        let means: Vec<u64> = sums
            .iter()
            .take(full)
            .map(|sum| sum / (*batch).max(1))
            .collect();
        Samples {
            distribution: self.distribution,
            thirds: Thirds::of(&means),
            each: (*batch == 1).then_some(self.series.sums),
        }
    }
}

/// What a hop of the program claims to be.
fn claim(program: &str) -> Option<Claim> {
    let kinds = [
        ("one-thread", Claim::NoSwitch),
        ("thread", Claim::KernelSwitch),
        ("process", Claim::KernelSwitch),
        ("async", Claim::UserSwitch),
        ("goroutine", Claim::UserSwitch),
        ("uring", Claim::UserSwitch),
    ];
    let is_of = |(name, _): &&(&str, Claim)| program.starts_with(name);
    kinds.iter().find(is_of).map(|(_, claim)| *claim)
}

/// Adds what a program printed to its process.
///
/// # Errors
/// Where it is no record of schema 1.
pub(crate) fn read(text: &[u8], process: &mut Process) -> serde_json::Result<()> {
    let old: Old = serde_json::from_slice(text)?;
    let number = |name: &str| old.params.get(name).and_then(Value::as_u64);
    process.claim = claim(&old.benchmark);
    process.version = old.build.package_version;
    process.tasks = number("tasks");
    process.tokens = number("tokens").unwrap_or(1);
    process.hops = old.hops;
    process.bytes = old.payload;
    process.runtime = old.runtime;
    process.partial = old.partial && old.error.is_none();
    process.samples = old.samples.map(Summary::map);
    process.usage = old.usage.map(OldUsage::map);
    process.interference = old.interference.map(|old| Interference {
        steal: old.steal,
        throttled: old.throttled,
        // It does not tell the two kinds apart.
        function_calls: old.wakeup_interrupts,
        ..Interference::default()
    });
    let peak_resident = old.peak_resident;
    process.memory = old.memory.map(|memory| MemoryChange {
        before: memory.before.map(),
        held: match (memory.at_rest, peak_resident) {
            (None, None) => None,
            (held, _) => Some(Memory {
                peak_resident,
                ..held.map_or_else(Memory::default, OldMemory::map)
            }),
        },
    });
    process.counters = old.counters.map(OldCounters::map);
    process.cache_line = old.cache_line;
    process.setup_ns = old.setup;
    process.first_ns = old.first_iteration;
    process.teardown_ns = old.teardown;
    let beside = old.distributions.into_iter();
    process.extra = beside
        .map(|(name, s)| (name, s.distribution))
        .collect::<Extra>();
    if let Some(alive) = old.peak_alive.and_then(|alive| distribution(&[alive])) {
        process.extra.insert("alive_count".to_owned(), alive);
    }
    process.error = old.error;
    Ok(())
}

/// Answer of `--check-limits --format json`, as far as it is used.
#[derive(Deserialize)]
struct OldAnswer {
    demand: OldDemand,
}

#[derive(Deserialize)]
struct OldDemand {
    fixed: OldNeed,
    per_task: OldNeed,
}

#[derive(Deserialize)]
struct OldNeed {
    descriptors: u64,
    threads: u64,
    maps: u64,
    memory: u64,
}

/// Needs of a program from its answer to `--check-limits`.
///
/// # Errors
/// Where it is no such answer.
pub(crate) fn needs(text: &[u8]) -> serde_json::Result<Needs> {
    let OldAnswer { demand } = serde_json::from_slice(text)?;
    let need = |of: fn(&OldNeed) -> u64| Need::new(of(&demand.fixed), of(&demand.per_task));
    Ok(Needs {
        descriptors: need(|n| n.descriptors),
        threads: need(|n| n.threads),
        maps: need(|n| n.maps),
        bytes: need(|n| n.memory),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_first_edition_is_mapped() {
        let text = br#"{"schema":1,"benchmark":"one-thread-brigade","params":{"tasks":3},
            "build":{"package_version":"0.1.0"},"partial":false,"hops":4,"samples":{"count":2,
            "mean":5.5,"stddev":0.5,"min":5,"p50":5,"p90":6,"p99":6,"p999":6,"max":6,
            "series":{"batch":1,"sums":[5,6]}},"peak_alive":3}"#;
        let mut process = Process::of("one-thread-brigade", Vec::new());
        read(text, &mut process).unwrap();
        assert_eq!((process.tasks, process.hops), (Some(3), Some(4)));
        assert_eq!(process.claim, Some(Claim::NoSwitch));
        assert_eq!(process.samples.unwrap().each, Some(vec![5, 6]));
        assert_eq!(process.extra["alive_count"].max, 3);
        assert!(read(b"{}", &mut Process::of("x", Vec::new())).is_err());
    }
}
