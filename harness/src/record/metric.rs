//! Metrics: which figure a table shows of a record, and what kind of quantity that is.

use serde::{Deserialize, Serialize};

use super::Record;
use crate::recorder::Summary;
use crate::units::{Nanos, bytes, bytes_like, significant};

/// Nanoseconds in a second.
const SECOND: f64 = 1e9;

/// What a table shows of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Time per hop.
    Hop,
    /// Time per task.
    Task,
    /// Bytes per task, as a slope over the number of tasks: a figure of many records.
    Memory,
    /// Time of set-up per task.
    SetUp,
    /// Time of the very first iteration per hop, or per task where nothing is handed over.
    FirstIteration,
    /// Time of teardown per task.
    Teardown,
    /// The last three, each by itself.
    Scale,
    /// Time of an iteration.
    Iteration,
    /// Time of a round trip: of an iteration with one task and one token.
    RoundTrip,
    /// Time per message: of an iteration divided by its tokens. There and back through one task is
    /// one message.
    Message,
    /// Tokens that come out per second: round trips of one task and one token, messages of more.
    Rate,
    /// Bytes handed over per second, end to end.
    Throughput,
    /// CPU time in user mode per iteration.
    User,
    /// CPU time in the kernel per iteration.
    System,
    /// CPU time in both, divided by the time that the iterations took: how many CPUs were busy.
    CpuShare,
    /// Context switches, voluntary and involuntary, per hop, or per task where nothing is handed
    /// over.
    Switches,
    /// Page faults, minor and major, per iteration.
    Faults,
    /// The largest resident set of the process (VmHWM).
    Peak,
    /// By how much it exceeds that of the process before its tasks, per task.
    PeakPerTask,
    /// What the process holds (resident set) and the kernel (stacks, page tables, slab) with every
    /// task at rest, more than before, per task.
    SystemPerTask,
    /// The largest number of tasks that were alive at once.
    Alive,
    /// How late a sleeping task woke: the median of the run.
    LateP50,
    /// Its 99th percentile.
    LateP99,
    /// The latest.
    LateMax,
    /// How late a heartbeat beside the work came: the median of the run.
    HeartbeatP50,
    /// Its 99th percentile.
    HeartbeatP99,
    /// The latest.
    HeartbeatMax,
    /// How long an echo beside the work took: the median of the run.
    EchoP50,
    /// Its 99th percentile.
    EchoP99,
    /// The longest.
    EchoMax,
}

/// What kind of quantity a figure is, which decides how it is shown and what is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// In ns.
    Time,
    /// In bytes.
    Bytes,
    /// Per second.
    Rate,
    /// In bytes per second.
    Throughput,
    /// A number of things, or their mean.
    Count,
    /// In whole CPUs.
    Share,
}

impl Metric {
    /// The figure that a record has for it, in the unit of its [`Quantity`]; `None` where the record
    /// does not tell, and for [`Metric::Memory`] and [`Metric::Scale`], which are no single figure.
    pub fn figure(self, record: &Record) -> Option<f64> {
        let tasks = || Some(record.tasks()? as f64);
        let samples = || record.samples.as_ref();
        let per_iteration = |all: u64| Some(all as f64 / samples()?.count as f64);
        let figure = match self {
            Metric::Hop
            | Metric::Task
            | Metric::Iteration
            | Metric::RoundTrip
            | Metric::Message => samples()?.mean / self.parts(record)?,
            Metric::Memory | Metric::Scale => return None,
            Metric::SetUp => record.setup? as f64 / tasks()?,
            Metric::FirstIteration => record.first_iteration? as f64 / record.repeats()?.0 as f64,
            Metric::Teardown => record.teardown? as f64 / tasks()?,
            Metric::Rate => SECOND * record.tokens() as f64 / samples()?.mean,
            Metric::Throughput => SECOND * record.payload? as f64 / samples()?.mean,
            Metric::User => per_iteration(record.usage?.user)?,
            Metric::System => per_iteration(record.usage?.system)?,
            Metric::CpuShare => {
                let used = record.usage?.user as f64 + record.usage?.system as f64;
                used / (samples()?.mean * samples()?.count as f64)
            }
            Metric::Switches => {
                let usage = record.usage?;
                let all = usage.voluntary_switches as f64 + usage.involuntary_switches as f64;
                all / (record.repeats()?.0 as f64 * samples()?.count as f64)
            }
            Metric::Faults => {
                let usage = record.usage?;
                per_iteration(usage.minor_faults)? + per_iteration(usage.major_faults)?
            }
            Metric::Peak => record.peak_resident? as f64,
            Metric::PeakPerTask => record.peak_gain()? as f64 / tasks()?,
            Metric::SystemPerTask => record.system_gain()? / tasks()?,
            Metric::Alive => record.peak_alive? as f64,
            Metric::LateP50 | Metric::HeartbeatP50 | Metric::EchoP50 => {
                self.beside(record)?.p50 as f64
            }
            Metric::LateP99 | Metric::HeartbeatP99 | Metric::EchoP99 => {
                self.beside(record)?.p99 as f64
            }
            Metric::LateMax | Metric::HeartbeatMax | Metric::EchoMax => {
                self.beside(record)?.max as f64
            }
        };
        figure.is_finite().then_some(figure)
    }

    /// By what the time of an iteration is divided, where the figure is a part of that time: its
    /// percentiles are then those of the iteration, divided alike. `None` for any other figure.
    pub fn parts(self, record: &Record) -> Option<f64> {
        let tokens = record.tokens();
        match self {
            Metric::Hop => Some(record.hops? as f64),
            Metric::Task => Some(record.tasks()? as f64 * tokens as f64),
            Metric::Iteration => Some(1.0),
            Metric::RoundTrip => (record.tasks()? == 1 && tokens == 1).then_some(1.0),
            Metric::Message => Some(tokens as f64),
            _ => None,
        }
    }

    /// The distribution that was measured beside the iterations.
    fn beside(self, record: &Record) -> Option<&Summary> {
        let name = match self {
            Metric::LateP50 | Metric::LateP99 | Metric::LateMax => "late",
            Metric::HeartbeatP50 | Metric::HeartbeatP99 | Metric::HeartbeatMax => "heartbeat",
            Metric::EchoP50 | Metric::EchoP99 | Metric::EchoMax => "echo",
            _ => return None,
        };
        record.distributions.get(name)
    }

    /// What kind of quantity it is.
    pub fn quantity(self) -> Quantity {
        match self {
            Metric::Memory | Metric::Peak | Metric::PeakPerTask | Metric::SystemPerTask => {
                Quantity::Bytes
            }
            Metric::Rate => Quantity::Rate,
            Metric::Throughput => Quantity::Throughput,
            Metric::CpuShare => Quantity::Share,
            Metric::Switches | Metric::Faults | Metric::Alive => Quantity::Count,
            _ => Quantity::Time,
        }
    }

    /// Whether it is a slope over the number of tasks, and so no figure of any single run.
    pub fn is_slope(self) -> bool {
        self == Metric::Memory
    }

    /// What its times are for, such as `hop`; of any other figure, what it would be a time for.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Hop | Metric::FirstIteration => "hop",
            _ => "task",
        }
    }

    /// What it is, for an axis or a heading.
    pub fn label(self) -> &'static str {
        match self {
            Metric::Hop | Metric::FirstIteration => "time per hop",
            Metric::Task | Metric::SetUp | Metric::Teardown | Metric::Scale => "time per task",
            Metric::Memory => "bytes per task",
            Metric::Iteration => "time per iteration",
            Metric::RoundTrip => "time per round trip",
            Metric::Message => "time per message",
            Metric::Rate => "round trips or messages per second",
            Metric::Throughput => "bytes handed over per second",
            Metric::User => "time in user mode per iteration",
            Metric::System => "time in the kernel per iteration",
            Metric::CpuShare => "CPUs that were busy",
            Metric::Switches => "switches per hop or task",
            Metric::Faults => "page faults per iteration",
            Metric::Peak => "peak resident memory",
            Metric::PeakPerTask => "peak resident memory per task",
            Metric::SystemPerTask => "memory of process and kernel per task",
            Metric::Alive => "tasks alive at once",
            Metric::LateP50 => "lateness of a sleeper, median",
            Metric::LateP99 => "lateness of a sleeper, 99th percentile",
            Metric::LateMax => "lateness of a sleeper, maximum",
            Metric::HeartbeatP50 => "lateness of a heartbeat, median",
            Metric::HeartbeatP99 => "lateness of a heartbeat, 99th percentile",
            Metric::HeartbeatMax => "lateness of a heartbeat, maximum",
            Metric::EchoP50 => "time of an echo, median",
            Metric::EchoP99 => "time of an echo, 99th percentile",
            Metric::EchoMax => "time of an echo, maximum",
        }
    }
}

impl Quantity {
    /// Its name as a program reads it.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Time => "time",
            Quantity::Bytes => "bytes",
            Quantity::Rate => "rate",
            Quantity::Throughput => "throughput",
            Quantity::Count => "count",
            Quantity::Share => "share",
        }
    }

    /// In one word: the heading of a column that has no name of its own.
    pub fn noun(self) -> &'static str {
        match self {
            Quantity::Time => "time",
            Quantity::Bytes => "memory",
            Quantity::Rate => "rate",
            Quantity::Throughput => "throughput",
            Quantity::Count => "number",
            Quantity::Share => "CPUs",
        }
    }

    /// A figure as people read it: with four significant figures, in the unit that suits its size.
    pub fn show(self, figure: f64) -> String {
        match self {
            Quantity::Time => Nanos(figure).to_string(),
            Quantity::Bytes => bytes(figure),
            _ => format!("{}{}", self.like(figure, figure), self.scale(figure).1),
        }
    }

    /// Another figure in the unit and with the decimals that `model` is shown with, but without the
    /// unit's name: for the bounds of an interval.
    pub fn like(self, figure: f64, model: f64) -> String {
        match self {
            Quantity::Time => Nanos(model).like(figure),
            Quantity::Bytes => bytes_like(figure, model),
            _ => {
                let (size, _) = self.scale(model);
                let decimals = match self {
                    Quantity::Count if model.fract() == 0.0 && figure.fract() == 0.0 => 0,
                    _ => significant(model / size),
                };
                format!("{:.decimals$}", figure / size)
            }
        }
    }

    /// The unit that suits a figure: how much it is, and its name with what sets it apart.
    fn scale(self, figure: f64) -> (f64, &'static str) {
        match (self, figure.abs()) {
            (Quantity::Rate, a) if a < 999.95 => (1.0, " /s"),
            (Quantity::Rate, a) if a < 999.95e3 => (1e3, " k/s"),
            (Quantity::Rate, a) if a < 999.95e6 => (1e6, " M/s"),
            (Quantity::Rate, _) => (1e9, " G/s"),
            // One unit for all, so that rows can be compared at a glance.
            (Quantity::Throughput, _) => (f64::from(1 << 20), " MiB/s"),
            (Quantity::Share, _) => (1.0, " CPUs"),
            _ => (1.0, ""),
        }
    }
}

#[cfg(test)]
mod tests;
