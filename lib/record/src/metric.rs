//! Metrics: the figure that a table shows of a process, and its kind of quantity.

use std::fmt;
use std::str::FromStr;

use contract::message::Distribution;
use host::units::Quantity;
use serde::{Deserialize, Serialize};

/// The figure that a table shows of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Metric {
    /// Time per hop.
    #[default]
    Hop,
    /// Time per task.
    Task,
    /// Bytes per task, as a slope over the number of tasks: a figure of many processes.
    Memory,
    /// Time of set-up per task.
    SetUp,
    /// Time of the very first iteration per hop, or per task if nothing is handed over.
    FirstIteration,
    /// Time of teardown per task.
    Teardown,
    Iteration,
    /// CPU time of a server per request.
    Request,
    /// Standard deviation of a process's iterations divided by their mean.
    Variation,
    /// Time of the first thirds of a process's turns divided by that of the last thirds.
    Opening,
    /// Time of an iteration with one task and one token.
    RoundTrip,
    /// Time of an iteration divided by its tokens.
    Message,
    /// Tokens that come out per second.
    Rate,
    /// Hops per second, of all chains together.
    HopRate,
    /// The same for each CPU: of those that the process may use, as many as it has chains.
    HopRatePerCpu,
    /// Bytes handed over per second, end to end.
    Throughput,
    /// CPU time in user mode per iteration.
    User,
    /// CPU time in the kernel per iteration.
    System,
    /// CPU time per hop, or per task if nothing is handed over.
    Cpu,
    /// CPU time divided by elapsed time: the number of busy CPUs.
    CpuShare,
    /// Context switches of both kinds per hop, or per task if nothing is handed over.
    Switches,
    /// Switches of threads that were preempted, likewise.
    Preemptions,
    /// Interrupts between CPUs, likewise, of the whole system: the wake-up of a thread on an idle CPU is one.
    Interrupts,
    /// CPU time in the kernel divided by all CPU time.
    KernelShare,
    /// System calls per hop, or per task if there are no hops, in the run that counted events.
    SystemCalls,
    /// Threads that its threads woke, likewise.
    Woken,
    /// Hops, or requests, per call by which an event loop asks the kernel what is ready, likewise.
    PerWait,
    /// Page faults, minor and major, per iteration.
    Faults,
    /// Largest resident set of the process (VmHWM).
    Peak,
    /// The same per task.
    PeakPerTask,
    /// Largest address space of the process (VmPeak), per task.
    VirtualPerTask,
    /// Memory of the process, and of the kernel less that before, with every task at rest, per task.
    SystemPerTask,
    /// A distribution that the program measured: `extra.NAME.STAT`, such as `extra.heartbeat.p99`.
    Extra {
        /// Name of the distribution. It ends in its unit if that is not ns.
        name: String,
        stat: Stat,
    },
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stat {
    Mean,
    Min,
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    Max,
}

/// Each metric with its name in plans and results, its label, and the kind of its quantity.
static NAMED: [(Metric, &str, &str, Quantity); 32] = [
    (Metric::Hop, "hop", "time per hop", Quantity::Time),
    (Metric::Task, "task", "time per task", Quantity::Time),
    (Metric::Memory, "memory", "bytes per task", Quantity::Bytes),
    (Metric::SetUp, "set-up", "time per task", Quantity::Time),
    (Metric::FirstIteration, "first-iteration", "time per hop", Quantity::Time),
    (Metric::Teardown, "teardown", "time per task", Quantity::Time),
    (Metric::Iteration, "iteration", "time per iteration", Quantity::Time),
    (Metric::Request, "request", "CPU time per request", Quantity::Time),
    (
        Metric::Variation,
        "variation",
        "standard deviation of the iterations / their mean",
        Quantity::Count,
    ),
    (Metric::Opening, "opening", "first third of the turns / their last", Quantity::Count),
    (Metric::RoundTrip, "round-trip", "time per round trip", Quantity::Time),
    (Metric::Message, "message", "time per message", Quantity::Time),
    (Metric::Rate, "rate", "round trips or messages per second", Quantity::Rate),
    (Metric::HopRate, "hop-rate", "hops per second", Quantity::Rate),
    (Metric::HopRatePerCpu, "hop-rate-per-cpu", "hops per second and CPU", Quantity::Rate),
    (Metric::Throughput, "throughput", "bytes handed over per second", Quantity::Throughput),
    (Metric::User, "user", "time in user mode per iteration", Quantity::Time),
    (Metric::System, "system", "time in the kernel per iteration", Quantity::Time),
    (Metric::Cpu, "cpu", "CPU time per hop or task", Quantity::Time),
    (Metric::CpuShare, "cpu-share", "busy CPUs", Quantity::Share),
    (Metric::Switches, "switches", "switches per hop or task", Quantity::Count),
    (Metric::Preemptions, "preemptions", "preemptions per hop or task", Quantity::Count),
    (Metric::Interrupts, "interrupts", "interrupts between CPUs per hop or task", Quantity::Count),
    (Metric::KernelShare, "kernel-share", "kernel / all CPU time", Quantity::Count),
    (Metric::SystemCalls, "system-calls", "system calls per hop or task", Quantity::Count),
    (Metric::Woken, "woken", "threads woken per hop or task", Quantity::Count),
    (Metric::PerWait, "per-wait", "hops or requests per wait of an event loop", Quantity::Count),
    (Metric::Faults, "faults", "page faults per iteration", Quantity::Count),
    (Metric::Peak, "peak", "peak resident memory", Quantity::Bytes),
    (Metric::PeakPerTask, "peak-per-task", "peak resident memory per task", Quantity::Bytes),
    (Metric::VirtualPerTask, "virtual-per-task", "peak virtual memory per task", Quantity::Bytes),
    (
        Metric::SystemPerTask,
        "system-per-task",
        "memory of process and kernel per task",
        Quantity::Bytes,
    ),
];

/// Each figure of a distribution with its name, and its words in a label.
const STATS: [(Stat, &str, &str); 6] = [
    (Stat::Mean, "mean", "mean"),
    (Stat::Min, "min", "minimum"),
    (Stat::P50, "p50", "median"),
    (Stat::P90, "p90", "90th percentile"),
    (Stat::P99, "p99", "99th percentile"),
    (Stat::Max, "max", "maximum"),
];

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((metric, ..)) = NAMED.iter().find(|(_, name, ..)| *name == text) {
            return Ok(metric.clone());
        }
        let extra = text.strip_prefix("extra.").and_then(|rest| rest.rsplit_once('.'));
        if let Some((name, word)) = extra.filter(|(name, _)| !name.is_empty())
            && let Some((stat, ..)) = STATS.iter().find(|(_, stat, _)| *stat == word)
        {
            return Ok(Metric::Extra { name: name.to_owned(), stat: *stat });
        }
        let names: Vec<&str> = NAMED.iter().map(|(_, name, ..)| *name).collect();
        Err(format!(
            "'{text}' is not a metric: write one of {} or extra.NAME.STAT, where STAT is mean, min, p50, p90, p99 or max",
            names.join(", ")
        ))
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> String {
        metric.to_string()
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::Extra { name, stat } => write!(f, "extra.{name}.{}", stat.row().1),
            named => f.write_str(named.row().map_or("", |row| row.1)),
        }
    }
}

impl Stat {
    fn row(self) -> &'static (Stat, &'static str, &'static str) {
        // In the order of the variants.
        &STATS[self as usize]
    }

    /// The figure of a distribution.
    pub fn in_distribution(self, distribution: &Distribution) -> f64 {
        match self {
            Stat::Mean => distribution.mean,
            Stat::Min => distribution.min as f64,
            Stat::P50 => distribution.p50 as f64,
            Stat::P90 => distribution.p90 as f64,
            Stat::P99 => distribution.p99 as f64,
            Stat::Max => distribution.max as f64,
        }
    }
}

impl Metric {
    /// Row of a metric that has no [`Stat`].
    fn row(&self) -> Option<&'static (Metric, &'static str, &'static str, Quantity)> {
        NAMED.iter().find(|(metric, ..)| metric == self)
    }

    /// Label for an axis or a heading.
    pub fn label(&self) -> String {
        match self {
            Metric::Extra { name, stat } => format!("{name}, {}", stat.row().2),
            named => named.row().map_or("", |row| row.2).to_owned(),
        }
    }

    /// True if it is a size with every task at rest.
    pub fn is_held(&self) -> bool {
        matches!(self, Metric::Memory | Metric::SystemPerTask)
    }

    /// True if it is a size.
    pub fn is_memory(&self) -> bool {
        let is_peak = matches!(self, Metric::Peak | Metric::PeakPerTask | Metric::VirtualPerTask);
        is_peak || self.is_held()
    }

    /// True if it is a time that a process takes once.
    pub fn is_life(&self) -> bool {
        matches!(self, Metric::SetUp | Metric::FirstIteration | Metric::Teardown)
    }

    /// True if it is made of an iteration's time, and so follows the speed of the machine.
    pub fn follows_iteration(&self) -> bool {
        use Metric::{Hop, Iteration, Message, Request, RoundTrip, Task};
        // What is done in a second is the reverse of a time.
        matches!(self.quantity(), Quantity::Rate | Quantity::Throughput)
            || matches!(self, Hop | Task | Iteration | Request | RoundTrip | Message)
    }

    /// Kind of the quantity.
    pub fn quantity(&self) -> Quantity {
        match self {
            Metric::Extra { name, .. } if name.ends_with("_bytes") => Quantity::Bytes,
            Metric::Extra { name, .. }
                if ["_tasks", "_count", "_percent"].iter().any(|unit| name.ends_with(unit)) =>
            {
                Quantity::Count
            }
            named => named.row().map_or(Quantity::Time, |row| row.3),
        }
    }

    /// True if it is a slope over the number of tasks, and so no figure of any single process.
    pub fn is_slope(&self) -> bool {
        *self == Metric::Memory
    }

    /// Title of a sweep's curves: its times over what is swept.
    pub fn title_over(&self, swept: &str) -> String {
        let time = if *self == Metric::Request { "CPU time" } else { "Time" };
        format!("{time} per {} over {swept}", self.unit())
    }

    /// Unit of work that its times are for: `hop`, `task` or `request`.
    pub fn unit(&self) -> &'static str {
        match self {
            Metric::Hop | Metric::HopRate | Metric::HopRatePerCpu | Metric::FirstIteration => "hop",
            Metric::Request => "request",
            _ => "task",
        }
    }
}

#[cfg(test)]
mod tests;
