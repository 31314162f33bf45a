//! Metrics: the figure that a table shows of a process, and its kind of quantity.

use std::fmt;
use std::str::FromStr;

use contract::message::Distribution;
use contract::units::Quantity;
use serde::{Deserialize, Serialize};

use crate::samples::{MANY, Samples};

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
    /// Time of an iteration.
    Iteration,
    /// Coefficient of variation of a process's iterations: their standard deviation divided by their
    /// mean.
    Variation,
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
    /// CPU time divided by elapsed time: the number of busy CPUs.
    CpuShare,
    /// Context switches, voluntary and involuntary, per hop, or per task if nothing is handed
    /// over.
    Switches,
    /// Page faults, minor and major, per iteration.
    Faults,
    /// Largest resident set of the process (VmHWM).
    Peak,
    /// The same, less the memory before the tasks, per task.
    PeakPerTask,
    /// Memory of the process and of the kernel with every task at rest, less that before, per task.
    SystemPerTask,
    /// A figure of all samples of a process, such as `samples.p99`: of latencies, whatever was stolen meanwhile. Times are
    /// as measured. A percentile takes ten samples beyond it.
    Samples(Stat),
    /// A distribution that the program measured: `extra.NAME.STAT`, such as `extra.echo.p99`.
    Extra {
        /// Name of the distribution. It ends in its unit if that is not ns.
        name: String,
        /// Which of its figures.
        stat: Stat,
    },
}

/// A figure of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stat {
    /// Arithmetic mean.
    Mean,
    /// Least sample.
    Min,
    /// Median.
    P50,
    /// 90th percentile.
    P90,
    /// 99th percentile.
    P99,
    /// 99.9th percentile, of samples alone.
    P999,
    /// Greatest sample.
    Max,
}

/// Each metric with its name in plans and results, and with its label.
static NAMED: [(Metric, &str, &str); 22] = [
    (Metric::Hop, "hop", "time per hop"),
    (Metric::Task, "task", "time per task"),
    (Metric::Memory, "memory", "bytes per task"),
    (Metric::SetUp, "set-up", "time per task"),
    (Metric::FirstIteration, "first-iteration", "time per hop"),
    (Metric::Teardown, "teardown", "time per task"),
    (Metric::Iteration, "iteration", "time per iteration"),
    (Metric::Variation, "variation", "standard deviation of the iterations / their mean"),
    (Metric::RoundTrip, "round-trip", "time per round trip"),
    (Metric::Message, "message", "time per message"),
    (Metric::Rate, "rate", "round trips or messages per second"),
    (Metric::HopRate, "hop-rate", "hops per second"),
    (Metric::HopRatePerCpu, "hop-rate-per-cpu", "hops per second and CPU"),
    (Metric::Throughput, "throughput", "bytes handed over per second"),
    (Metric::User, "user", "time in user mode per iteration"),
    (Metric::System, "system", "time in the kernel per iteration"),
    (Metric::CpuShare, "cpu-share", "busy CPUs"),
    (Metric::Switches, "switches", "switches per hop or task"),
    (Metric::Faults, "faults", "page faults per iteration"),
    (Metric::Peak, "peak", "peak resident memory"),
    (Metric::PeakPerTask, "peak-per-task", "peak resident memory per task"),
    (Metric::SystemPerTask, "system-per-task", "memory of process and kernel per task"),
];

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some((metric, ..)) = NAMED.iter().find(|(_, name, _)| *name == text) {
            return Ok(metric.clone());
        }
        if let Some(stat) = text.strip_prefix("samples.").and_then(Stat::named) {
            return Ok(Metric::Samples(stat));
        }
        let extra = text.strip_prefix("extra.").and_then(|rest| rest.rsplit_once('.'));
        if let Some((name, word)) = extra.filter(|(name, _)| !name.is_empty())
            && let Some(stat) = Stat::named(word).filter(|stat| *stat != Stat::P999)
        {
            return Ok(Metric::Extra { name: name.to_owned(), stat });
        }
        let names: Vec<&str> = NAMED.iter().map(|(_, name, _)| *name).collect();
        Err(format!(
            "'{text}' is no metric: write one of {}, samples.STAT or extra.NAME.STAT with a STAT of mean, min, p50, \
             p90, p99, max, and samples.p99.9",
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
            Metric::Samples(stat) => write!(f, "samples.{}", stat.words().0),
            Metric::Extra { name, stat } => write!(f, "extra.{name}.{}", stat.words().0),
            named => f.write_str(named.words().0),
        }
    }
}

impl Stat {
    const ALL: [Stat; 7] =
        [Stat::Mean, Stat::Min, Stat::P50, Stat::P90, Stat::P99, Stat::P999, Stat::Max];

    fn named(word: &str) -> Option<Self> {
        Stat::ALL.into_iter().find(|stat| stat.words().0 == word)
    }

    /// Name, and the words of a label.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Stat::Mean => ("mean", "mean"),
            Stat::Min => ("min", "minimum"),
            Stat::P50 => ("p50", "median"),
            Stat::P90 => ("p90", "90th percentile"),
            Stat::P99 => ("p99", "99th percentile"),
            Stat::P999 => ("p99.9", "99.9th percentile"),
            Stat::Max => ("max", "maximum"),
        }
    }

    /// The figure of a distribution, which has no 99.9th percentile.
    pub fn of(self, distribution: &Distribution) -> Option<f64> {
        Some(match self {
            Stat::Mean => distribution.mean,
            Stat::Min => distribution.min as f64,
            Stat::P50 => distribution.p50 as f64,
            Stat::P90 => distribution.p90 as f64,
            Stat::P99 => distribution.p99 as f64,
            Stat::P999 => return None,
            Stat::Max => distribution.max as f64,
        })
    }

    /// The figure of samples, if there are enough of them.
    pub(crate) fn of_samples(self, samples: &Samples) -> Option<f64> {
        let fewest = match self {
            Stat::Mean | Stat::Min | Stat::Max => 1,
            Stat::P50 => 20,
            Stat::P90 => 100,
            Stat::P99 => 1000,
            Stat::P999 => MANY,
        };
        let figure = match self {
            Stat::P999 => samples.p999.map(|ns| ns as f64),
            stat => stat.of(samples),
        };
        figure.filter(|_| samples.count >= fewest)
    }
}

impl Metric {
    /// Name and label of a metric that is no [`Metric::Extra`].
    fn words(&self) -> (&'static str, &'static str) {
        let found = NAMED.iter().find(|(metric, ..)| metric == self);
        found.map_or(("", ""), |&(_, name, label)| (name, label))
    }

    /// Label for an axis or a heading.
    pub fn label(&self) -> String {
        match self {
            Metric::Samples(stat) => format!("{} of the samples", stat.words().1),
            Metric::Extra { name, stat } => format!("{name}, {}", stat.words().1),
            named => named.words().1.to_owned(),
        }
    }

    /// True if it is done in a second: the reverse of a time.
    pub fn is_per_second(&self) -> bool {
        matches!(self, Metric::Rate | Metric::HopRate | Metric::HopRatePerCpu | Metric::Throughput)
    }

    /// True if it is made of an iteration's time, and so follows the speed of the machine.
    pub fn follows_iteration(&self) -> bool {
        use Metric::{Hop, Iteration, Message, RoundTrip, Task};
        self.is_per_second() || matches!(self, Hop | Task | Iteration | RoundTrip | Message)
    }

    /// Kind of the quantity.
    pub fn quantity(&self) -> Quantity {
        match self {
            Metric::Memory | Metric::Peak | Metric::PeakPerTask | Metric::SystemPerTask => {
                Quantity::Bytes
            }
            Metric::Rate | Metric::HopRate | Metric::HopRatePerCpu => Quantity::Rate,
            Metric::Throughput => Quantity::Throughput,
            Metric::CpuShare => Quantity::Share,
            Metric::Switches | Metric::Faults | Metric::Variation => Quantity::Count,
            Metric::Extra { name, .. } if name.ends_with("_bytes") => Quantity::Bytes,
            Metric::Extra { name, .. }
                if ["_tasks", "_count", "_percent"].iter().any(|unit| name.ends_with(unit)) =>
            {
                Quantity::Count
            }
            _ => Quantity::Time,
        }
    }

    /// True if it is a slope over the number of tasks, and so no figure of any single process.
    pub fn is_slope(&self) -> bool {
        *self == Metric::Memory
    }

    /// Title of a sweep's curves: its times over what is swept.
    pub fn title_over(&self, swept: &str) -> String {
        format!("Time per {} over {swept}", self.unit())
    }

    /// Unit of work that its times are for: `hop` or `task`.
    pub fn unit(&self) -> &'static str {
        match self {
            Metric::Hop | Metric::HopRate | Metric::HopRatePerCpu | Metric::FirstIteration => "hop",
            _ => "task",
        }
    }
}

#[cfg(test)]
mod tests;
