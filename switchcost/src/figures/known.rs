//! Beside known machines: three yardsticks that depend on the machine alone, and the times that they take on
//! bare metal.
//!
//! The ranges are wide and rounded. A time that is shorter is no alarm: newer machines are faster. One that is
//! longer has a cause besides the CPU's model, which every other figure of the machine shares.

use std::fmt;

use facts::{Machine, Metric, Quantity, Yardstick};

use serde::Serialize;

use super::number::{number, pair, range, short, shown};
use super::{Figure, Figures};

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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Beside {
    /// Yardstick.
    pub what: Yardstick,
    /// Its time here, in ns.
    pub value: f64,
    /// Its shortest and its longest time on bare metal, in ns.
    pub range: [f64; 2],
}

/// Yardsticks that take longer than on bare metal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outside {
    /// All that take longer, the one that is farthest from its range first.
    pub slower: Vec<Beside>,
    /// What may be the cause for that one.
    pub cause: Cause,
}

/// What may make a yardstick slower than on bare metal, as far as the facts of the machine tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A virtual machine in another one: each exit to the host is expensive.
    Nested,
    /// The machine says that it is not virtual.
    NotVirtual,
    /// The machine does not say whether it is virtual.
    Unknown,
    /// A filter of system calls.
    Seccomp,
    /// The kernel's pages are unmapped while a program runs.
    Isolation,
}

impl Beside {
    fn new(what: Yardstick, value: f64) -> Self {
        let range = match what {
            Yardstick::Getpid => GETPID,
            Yardstick::Futex => FUTEX,
            Yardstick::PageFault => PAGE_FAULT,
        };
        Beside { what, value, range }
    }

    /// True if it takes clearly longer than on bare metal.
    pub fn is_slower(&self) -> bool {
        self.value > CLEARLY * self.range[1]
    }

    /// Its time here divided by the longest and by the shortest on bare metal.
    pub fn factors(&self) -> [f64; 2] {
        let [low, high] = self.range;
        [self.value / high, self.value / low]
    }
}

/// The line of one yardstick: `getpid(2) 66 ns: bare machines 50 to 150 ns`.
impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.what {
            Yardstick::Getpid => "getpid(2)",
            Yardstick::Futex => "futex hand-over on one CPU",
            Yardstick::PageFault => "minor page fault",
        };
        let value = short(Quantity::Time, self.value);
        let [low, high] = self.range.map(|time| shown(Quantity::Time, time));
        let known = pair(&low, "to", &high);
        write!(f, "{name} {value}: bare machines {known}")
    }
}

impl Cause {
    fn of(what: Yardstick, machine: &Machine) -> Self {
        let is_isolated =
            machine.mitigations.get("meltdown").is_some_and(|state| state.contains("PTI"));
        match machine.virtualisation.as_deref() {
            // A system call does not leave a virtual machine.
            _ if what == Yardstick::Getpid && machine.seccomp == Some(true) => Cause::Seccomp,
            _ if what == Yardstick::Getpid && is_isolated => Cause::Isolation,
            Some("none") => Cause::NotVirtual,
            Some(_) => Cause::Nested,
            None => Cause::Unknown,
        }
    }
}

/// The sentence that begins an answer.
impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(slowest) = self.slower.first() else { return Ok(()) };
        let subject = match slowest.what {
            Yardstick::Getpid => "A system call",
            Yardstick::Futex => "A thread switch",
            Yardstick::PageFault => "A page fault",
        };
        let (usual, cause) = match self.cause {
            Cause::Nested => ("that on bare metal", "nested VM"),
            Cause::NotVirtual => {
                ("the usual", "an emulator, a debug kernel or a power-saving clock")
            }
            Cause::Unknown => ("that on bare metal", "nested VM or emulator"),
            Cause::Seccomp => ("that on bare metal", "seccomp"),
            Cause::Isolation => ("the usual", "page-table isolation"),
        };
        let value = short(Quantity::Time, slowest.value);
        let times = range(slowest.factors(), number);
        write!(f, "{subject} takes {value}, {times} times {usual}: {cause}?")
    }
}

/// The yardsticks that were measured, in the order of [`Yardstick`].
pub fn measured(figures: &Figures<'_>) -> Vec<Beside> {
    readings(figures).into_iter().map(|(beside, _)| beside).collect()
}

/// The yardsticks that take longer than on bare metal; `None` if none does.
pub fn outside(figures: &Figures<'_>) -> Option<Outside> {
    let mut slower = readings(figures);
    slower.retain(|(beside, _)| beside.is_slower());
    slower.sort_by(|(a, _), (b, _)| b.factors()[0].total_cmp(&a.factors()[0]));
    let (slowest, machine) = slower.first()?;
    let cause = Cause::of(slowest.what, machine);
    Some(Outside { slower: slower.into_iter().map(|(beside, _)| beside).collect(), cause })
}

/// Each yardstick once, with its machine.
fn readings<'a>(figures: &Figures<'a>) -> Vec<(Beside, &'a Machine)> {
    let mut all: Vec<(Beside, &Machine)> = figures.iter().filter_map(reading).collect();
    all.sort_by_key(|(beside, _)| beside.what);
    all.dedup_by_key(|(beside, _)| beside.what);
    all
}

/// A figure as a yardstick: the time of a hop or a task on one CPU, at one value of each flag.
fn reading<'a>(figure: &Figure<'a>) -> Option<(Beside, &'a Machine)> {
    let runs = &figure.runs;
    let is_time = matches!(runs.metric, Metric::Hop | Metric::Task);
    if !is_time || !runs.is_pinned() || runs.is_further() || figure.key.x.is_some() {
        return None;
    }
    let record = *runs.whole.first()?;
    let what = runs.place.case.known.or_else(|| unmarked(&figure.key.row, &record.program))?;
    Some((Beside::new(what, figure.reading()?.mean.value), record.machine()))
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
    use std::sync::Arc;

    use facts::{Case, Process, Record, Samples};

    use super::*;
    use crate::testing;

    /// A process whose operation takes so many ns.
    fn record(row: &str, known: Option<Yardstick>, program: &str, time: u64) -> Record {
        let case = Case { row: row.to_owned(), known, ..Case::default() };
        let process = Process {
            tasks: Some(1),
            samples: Samples::of(&[time; 9]),
            cpus: Some("0".to_owned()),
            ..Process::of(program, Vec::new())
        };
        testing::in_case(Metric::Task, case, process)
    }

    fn on(host: Option<&str>, mut record: Record) -> Record {
        Arc::make_mut(&mut record.header).machine.virtualisation = host.map(str::to_owned);
        record
    }

    /// The sentence about one yardstick.
    fn sentence(record: Record) -> Option<String> {
        outside(&Figures::of(&[record])).map(|outside| outside.to_string())
    }

    fn switch(time: u64) -> Record {
        record("a", Some(Yardstick::Futex), "p", time)
    }

    fn call(time: u64) -> Record {
        record("a", Some(Yardstick::Getpid), "p", time)
    }

    #[test]
    fn a_slow_machine_is_told_with_its_factors() {
        let nested = "A thread switch takes 6.7 µs, 3.4 to 17 times that on bare metal: nested VM?";
        assert_eq!(sentence(on(Some("KVM"), switch(6_700))).as_deref(), Some(nested));
        assert!(nested.chars().count() <= 79);
        let bare = "A thread switch takes 3.0 µs, 1.5 to 7.5 times the usual: \
                    an emulator, a debug kernel or a power-saving clock?";
        assert_eq!(sentence(on(Some("none"), switch(3_000))).as_deref(), Some(bare));
        let unknown = "A system call takes 400 ns, 2.7 to 8.0 times that on bare metal: \
                       nested VM or emulator?";
        assert_eq!(sentence(on(None, call(400))).as_deref(), Some(unknown));
    }

    #[test]
    fn a_slow_system_call_has_causes_of_its_own() {
        for (seccomp, meltdown, cause) in [
            (true, "Mitigation: PTI", Cause::Seccomp),
            (false, "Mitigation: PTI", Cause::Isolation),
            (false, "Not affected", Cause::Nested),
        ] {
            let machine = Machine {
                virtualisation: Some("KVM".to_owned()),
                seccomp: Some(seccomp),
                mitigations: [("meltdown".to_owned(), meltdown.to_owned())].into(),
                ..Machine::default()
            };
            assert_eq!(Cause::of(Yardstick::Getpid, &machine), cause);
            assert_eq!(Cause::of(Yardstick::PageFault, &machine), Cause::Nested);
        }
    }

    #[test]
    fn a_fast_machine_is_no_alarm() {
        for time in [10, 400, 2_000, 2_500] {
            assert_eq!(sentence(switch(time)), None, "{time}");
        }
        assert!(sentence(switch(2_501)).is_some());
    }

    #[test]
    fn rows_of_older_files_are_known_too() {
        let old = [
            ("getpid(2)", "everyday-work", true),
            ("getpid(2)", "another", false),
            ("thread over futexes", "thread-mem-brigade", true),
            ("thread over pipes", "thread-brigade", false),
        ];
        for (row, program, is_known) in old {
            assert_eq!(sentence(record(row, None, program, 9_000)).is_some(), is_known, "{row}");
        }
    }

    #[test]
    fn what_is_unpinned_or_swept_is_no_yardstick() {
        let mut unpinned = switch(9_000);
        unpinned.cpus = None;
        let mut swept = switch(9_000);
        Arc::make_mut(&mut swept.header).plan.cases[0].over = Some("tasks".to_owned());
        swept.x = Some(5);
        for record in [unpinned, swept] {
            assert!(measured(&Figures::of(&[record])).is_empty());
        }
    }

    #[test]
    fn each_yardstick_stands_beside_its_range() {
        for (what, line) in [
            (Yardstick::Getpid, "getpid(2) 66 ns: bare machines 50 to 150 ns"),
            (Yardstick::Futex, "futex hand-over on one CPU 66 ns: bare machines 400 ns to 2.0 µs"),
            (Yardstick::PageFault, "minor page fault 66 ns: bare machines 100 to 700 ns"),
        ] {
            assert_eq!(Beside::new(what, 66.0).to_string(), line);
        }
    }

    #[test]
    fn the_loudest_comes_first() {
        let cases =
            [(Yardstick::PageFault, 900), (Yardstick::Futex, 8_000), (Yardstick::Getpid, 100)];
        let mut records: Vec<Record> = Vec::new();
        for (what, time) in cases {
            records.push(record(&format!("{what:?}"), Some(what), "p", time));
        }
        let figures = Figures::of(&records);
        let times: Vec<f64> = measured(&figures).iter().map(|beside| beside.value).collect();
        assert_eq!(times, [100.0, 8_000.0, 900.0]);
        let slower: Vec<Yardstick> =
            outside(&figures).unwrap().slower.iter().map(|beside| beside.what).collect();
        assert_eq!(slower, [Yardstick::Futex, Yardstick::PageFault]);
    }
}
