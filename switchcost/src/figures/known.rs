//! Beside known machines: three yardsticks that depend on the machine alone, and the times that they take on
//! bare metal.
//!
//! The ranges are wide and rounded. A time that is shorter is no alarm: newer machines are faster. One that is
//! longer has a cause besides the CPU's model, which every other figure of the machine shares.

use std::fmt;

use facts::{Machine, Metric, Quantity, Yardstick};

use serde::Serialize;

use super::cube::Figures;
use super::figure::Figure;
use super::number::{number, pair, range, short, shown};

/// Times of a system call that does nothing, in ns.
///
/// 48.7 ns: gettid(2), AMD Threadripper PRO 5975WX, 2024
/// (<https://gist.github.com/azat/622fa1f9a5d8e7d546ee9d294501961d>). 75 ns: a machine without a name, 2023
/// (<https://github.com/xxyzz/ostep-hw/issues/19>). 34 ns: lmbench, Linux 4.10 without page-table isolation, 2017
/// (<https://github.com/isec-tugraz/KAISER/issues/3>). Settings alone can exceed the range: 191 ns with 37 audit
/// rules on a Skylake-X, 2023 (<https://blogs.oracle.com/linux/post/syscall-latency>). The upper end is our
/// reading.
const GETPID: [f64; 2] = [50.0, 150.0];

/// Times of a hand-over from one thread to another through a futex, both on one CPU, in ns.
///
/// Our reading: what is published are pipes, with a read(2) and a write(2) in each hop. 1.02 µs without them:
/// lmbench's lat_ctx, two processes on one CPU, 2023 (<https://github.com/xxyzz/ostep-hw/issues/19>). 1.1 µs
/// with them: two threads, Intel Core i7 of the 11th generation, Linux 6.6
/// (<https://ddumbying.vercel.app/experiments/ctx-switch-overhead>). 3.4 µs with them: 500 threads, a laptop
/// with four cores, 2020 (<https://github.com/jimblandy/context-switch>). The plan has 500 threads too: a hop
/// takes about 1.3 times as long as with two, which is little beside the range.
const FUTEX: [f64; 2] = [400.0, 2_000.0];

/// Times of a minor page fault of anonymous memory, in ns.
///
/// The exception and the return from it take 1,050 cycles on a Haswell, 80.7 % of a fault that maps the page of
/// zeros: 0.3 to 0.4 µs in all, without the clearing of a page (L. Torvalds, 2014,
/// <https://plus.google.com/+LinusTorvalds/posts/YDKRFDwHwr6>). 0.58 µs at least, 1.0 µs in the median: single
/// faults in cold caches, Intel Core i7 of the 11th generation
/// (<https://ddumbying.vercel.app/experiments/pagefault-latency>). Both ends are our reading.
const PAGE_FAULT: [f64; 2] = [100.0, 700.0];

/// Multiple of a range's upper end above which a time is outside of it: the ends are round numbers.
const CLEARLY: f64 = 1.25;

/// A yardstick beside the times that it takes on bare metal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// Yardstick.
    pub what: Yardstick,
    /// Its time here, in ns.
    pub value: f64,
    /// Its shortest and its longest time on bare metal, in ns.
    pub range: [f64; 2],
    /// What may make it longer, as far as the facts of the machine tell.
    cause: &'static str,
}

impl Beside {
    /// True if it takes clearly longer than on bare metal.
    pub fn is_slower(&self) -> bool {
        self.value > CLEARLY * self.range[1]
    }

    /// The sentence that begins an answer.
    pub fn alarm(&self) -> String {
        let subject = match self.what {
            Yardstick::Getpid => "A system call",
            Yardstick::Futex => "A thread switch",
            Yardstick::PageFault => "A page fault",
        };
        let value = short(Quantity::Time, self.value);
        let [low, high] = self.range;
        let times = range([self.value / high, self.value / low], number);
        format!("{subject} takes {value}: {times} times the bare-metal time ({}?)", self.cause)
    }
}

/// The line of a yardstick: `getpid(2) 66 ns: bare metal 50 to 150 ns`.
impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.what {
            Yardstick::Getpid => "getpid(2)",
            Yardstick::Futex => "futex hand-over on one CPU",
            Yardstick::PageFault => "minor page fault",
        };
        let [low, high] = self.range.map(|time| shown(Quantity::Time, time));
        let value = short(Quantity::Time, self.value);
        write!(f, "{name} {value}: bare metal {}", pair(&low, "to", &high))
    }
}

/// What may make a yardstick longer. A system call does not leave a virtual machine.
fn cause(what: Yardstick, machine: &Machine) -> &'static str {
    let meltdown = machine.mitigations.get("meltdown");
    let is_call = what == Yardstick::Getpid;
    match machine.virtualisation.as_deref() {
        _ if is_call && machine.seccomp == Some(true) => "seccomp",
        _ if is_call && meltdown.is_some_and(|state| state.contains("PTI")) => {
            "page-table isolation"
        }
        Some("none") => "a debug kernel",
        Some(_) => "nested VM",
        None => "nested VM or emulator",
    }
}

/// The yardsticks that were measured, in the order of [`Yardstick`].
pub fn measured(figures: &Figures<'_>) -> Vec<Beside> {
    let mut all: Vec<Beside> = figures.iter().filter_map(beside).collect();
    all.sort_by_key(|beside| beside.what);
    all.dedup_by_key(|beside| beside.what);
    all
}

/// The yardstick that takes longer than on bare metal, of several the one farthest from its range.
pub fn outside(figures: &Figures<'_>) -> Option<Beside> {
    let slower = measured(figures).into_iter().filter(Beside::is_slower);
    slower.max_by(|a, b| (a.value / a.range[1]).total_cmp(&(b.value / b.range[1])))
}

/// A figure as a yardstick: the time of a hop or a task on one CPU, at one value of each flag.
fn beside(figure: &Figure<'_>) -> Option<Beside> {
    let runs = &figure.runs;
    let is_time = matches!(runs.metric, Metric::Hop | Metric::Task);
    let record = *runs.whole.first()?;
    let is_on_one = runs.is_pinned() && record.cpu_count() == Some(1);
    if !is_time || !is_on_one || runs.is_further() || figure.key.x.is_some() {
        return None;
    }
    let what = runs.place.case.known.or_else(|| unmarked(&figure.key.row, &record.program))?;
    let range = match what {
        Yardstick::Getpid => GETPID,
        Yardstick::Futex => FUTEX,
        Yardstick::PageFault => PAGE_FAULT,
    };
    let value = figure.reading()?.mean.value;
    Some(Beside { what, value, range, cause: cause(what, record.machine()) })
}

/// Yardstick of the default plan in a file that is older than the marks.
fn unmarked(row: &str, program: &str) -> Option<Yardstick> {
    match (row, program) {
        ("getpid(2)", "everyday-work") => Some(Yardstick::Getpid),
        ("thread over futexes", "thread-mem-brigade") => Some(Yardstick::Futex),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use facts::{Case, Process, Record, Samples};

    use super::*;
    use crate::testing;

    /// A pinned process whose operation takes so many ns, on a virtual machine.
    fn record(row: &str, known: Option<Yardstick>, program: &str, time: u64) -> Record {
        let case = Case { row: row.to_owned(), known, ..Case::default() };
        let process = Process {
            tasks: Some(1),
            samples: Samples::of(&[time; 9]),
            cpus: Some("0".to_owned()),
            ..Process::of(program, Vec::new())
        };
        let mut record = testing::in_case(Metric::Task, case, process);
        let header = std::sync::Arc::make_mut(&mut record.header);
        header.machine.virtualisation = Some("KVM".to_owned());
        record
    }

    fn alarm(records: &[Record]) -> Option<String> {
        outside(&Figures::of(records)).map(|beside| beside.alarm())
    }

    #[test]
    fn a_slow_machine_is_told_with_its_factors_and_a_fast_one_is_no_alarm() {
        let nested =
            "A thread switch takes 6.7 µs: 3.4 to 17 times the bare-metal time (nested VM?)";
        let switch = |time| [record("a", Some(Yardstick::Futex), "p", time)];
        assert_eq!(alarm(&switch(6_700)).as_deref(), Some(nested));
        for time in [10, 400, 2_000, 2_500] {
            assert_eq!(alarm(&switch(time)), None, "{time}");
        }
        let mut filtered = record("a", Some(Yardstick::Getpid), "p", 400);
        std::sync::Arc::make_mut(&mut filtered.header).machine.seccomp = Some(true);
        assert!(alarm(&[filtered]).unwrap().ends_with("bare-metal time (seccomp?)"));
    }

    #[test]
    fn rows_of_older_files_are_known_too_but_nothing_unpinned_or_swept() {
        for (row, program, is_known) in [
            ("getpid(2)", "everyday-work", true),
            ("getpid(2)", "another", false),
            ("thread over futexes", "thread-mem-brigade", true),
            ("thread over pipes", "thread-brigade", false),
        ] {
            let old = record(row, None, program, 9_000);
            assert_eq!(alarm(&[old]).is_some(), is_known, "{row}");
        }
        let mut unpinned = record("a", Some(Yardstick::Futex), "p", 9_000);
        unpinned.cpus = None;
        let mut swept = record("a", Some(Yardstick::Futex), "p", 9_000);
        std::sync::Arc::make_mut(&mut swept.header).plan.cases[0].over = Some("tasks".to_owned());
        swept.x = Some(5);
        assert_eq!((alarm(&[unpinned]), alarm(&[swept])), (None, None));
    }

    #[test]
    fn the_farthest_from_its_range_is_told() {
        let both = [(Yardstick::PageFault, 900), (Yardstick::Futex, 8_000)];
        let records = both.map(|(what, time)| record(&format!("{what:?}"), Some(what), "p", time));
        assert!(alarm(&records).unwrap().starts_with("A thread switch takes 8.0 µs"));
        let lines: Vec<String> =
            measured(&Figures::of(&records)).iter().map(ToString::to_string).collect();
        assert_eq!(lines[1], "minor page fault 900 ns: bare metal 100 to 700 ns");
    }
}
