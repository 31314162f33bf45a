//! Figures of records by their metrics, and what the tasks of a process took.

use crate::{Memory, Metric, Record, Trial, per_wait};

/// Largest share by which a CPU time may exceed what its CPUs can do: clocks differ.
const TOLERANCE: f64 = 0.02;

/// CPUs that were busy, of so many if that is known: a CPU time divided by the elapsed time of the same span. `None` if
/// they would be more than there are, since the spans then differ.
pub fn busy_cpus(cpu_ns: f64, elapsed_ns: f64, cpus: Option<f64>) -> Option<f64> {
    let (busy, cpus) = (cpu_ns / elapsed_ns, cpus.unwrap_or(f64::INFINITY));
    (busy <= cpus * (1.0 + TOLERANCE)).then(|| busy.min(cpus))
}

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;

impl Metric {
    /// The figure of a process, given the ns that its iteration takes; `None` if the record does not have it.
    pub fn figure(&self, record: &Record, iteration: Option<f64>) -> Option<f64> {
        let tasks = record.tasks().map(|tasks| tasks as f64 * record.chains() as f64);
        let samples = record.samples.as_ref();
        let iterations = samples.map(|samples| samples.count as f64);
        let cpu_time = record.usage.map(|usage| usage.cpu_ns() as f64);
        let figure = match self {
            Metric::Hop
            | Metric::Task
            | Metric::Iteration
            | Metric::Request
            | Metric::RoundTrip
            | Metric::Message => iteration? / self.divisor(record)?,
            Metric::Variation => samples?.spread()? / samples?.mean,
            Metric::Opening => record.thirds?.first / record.thirds?.last,
            Metric::Memory => return None,
            Metric::SetUp => record.setup_ns? as f64 / tasks?,
            Metric::FirstIteration => record.first_ns? as f64 / record.repeats()?.0 as f64,
            Metric::Teardown => record.teardown_ns? as f64 / tasks?,
            Metric::Rate => SECOND * record.sent() / iteration?,
            Metric::HopRate => SECOND * record.hops()? as f64 / iteration?,
            Metric::HopRatePerCpu => {
                let cpus_at_work = record.chains().min(record.cpu_count()? as u64);
                SECOND * record.hops()? as f64 / cpus_at_work as f64 / iteration?
            }
            Metric::Throughput => SECOND * record.said.as_ref()?.bytes? as f64 / iteration?,
            Metric::User => record.usage?.user_ns as f64 / iterations?,
            Metric::System => record.usage?.system_ns as f64 / iterations?,
            Metric::Cpu => cpu_time? / record.timed()?.0 as f64,
            // How long an iteration of an open loop took is not known.
            Metric::CpuShare if record.arrivals().is_some() => return None,
            Metric::CpuShare => {
                let timed = samples?.mean * samples?.count as f64;
                let elapsed = record.usage?.elapsed_ns.map_or(timed, |ns| ns as f64);
                busy_cpus(cpu_time?, elapsed, record.cpu_count().map(|cpus| cpus as f64))?
            }
            Metric::Switches => {
                let usage = record.usage?;
                let switches = usage.voluntary_switches as f64 + usage.involuntary_switches as f64;
                switches / record.timed()?.0 as f64
            }
            Metric::Preemptions => {
                record.usage?.involuntary_switches as f64 / record.timed()?.0 as f64
            }
            Metric::Interrupts => record.wakeup_interrupts()?,
            Metric::KernelShare => record.usage?.system_ns as f64 / cpu_time?,
            Metric::SystemCalls => record.counted_each(&["system_calls"])?,
            Metric::Woken => record.counted_each(&["threads_woken"])?,
            Metric::PerWait => per_wait(record.waits()?)?,
            Metric::Faults => {
                let usage = record.usage?;
                usage.minor_faults as f64 / iterations? + usage.major_faults as f64 / iterations?
            }
            Metric::Peak => record.peak_resident()? as f64,
            Metric::PeakPerTask => record.peak_resident()? as f64 / tasks?,
            Metric::VirtualPerTask => record.held()?.peak_virtual? as f64 / tasks?,
            Metric::SystemPerTask => (record.resident()? as f64 + record.kernel_gain()?) / tasks?,
            Metric::Extra { name, stat } => stat.in_distribution(record.extra.get(name)?),
        };
        figure.is_finite().then_some(figure)
    }

    /// What an iteration's time is divided by. `None` for a figure that is no part of that time.
    pub fn divisor(&self, record: &Record) -> Option<f64> {
        let sent = record.sent();
        match self {
            Metric::Hop => Some(record.hops()? as f64),
            Metric::Task => Some(record.tasks()? as f64 * sent),
            Metric::Iteration => Some(1.0),
            Metric::Request => record.arrivals().map(|_| 1.0),
            // Of one pair, with one token: what is sent is as many trips.
            Metric::RoundTrip => {
                let description = record.said.as_ref()?;
                let numbers = [description.tasks, description.tokens, description.chains];
                (numbers == [1; 3]).then_some(sent)
            }
            Metric::Message => Some(sent),
            _ => None,
        }
    }
}

/// What the tasks of a process took.
impl Trial {
    fn held(&self) -> Option<Memory> {
        self.memory?.held
    }

    /// Resident memory at rest, in bytes.
    pub fn resident(&self) -> Option<u64> {
        self.held()?.resident
    }

    /// Largest resident set, in bytes.
    pub fn peak_resident(&self) -> Option<u64> {
        self.held()?.peak_resident
    }

    /// Kernel memory at rest that was not there before, in bytes: negative if others freed more.
    pub fn kernel_gain(&self) -> Option<f64> {
        Some(self.held()?.kernel()? - self.memory?.before.kernel()?)
    }
}
