//! Comparison with known machines: three yardsticks that depend only on the machine, and their times on bare metal.
//!
//! The ranges are wide and rounded: docs/METHODOLOGY.md, 'Beside known machines', has their sources. A shorter
//! time is no alarm: newer machines are faster. A longer time has another cause than the CPU's model, and that cause
//! affects every other figure of the machine.

use std::fmt;

use record::{Machine, Quantity, Yardstick};
use serde::Serialize;

use super::cube::Figures;
use super::doubt::DoubtKind;
use super::figure::Figure;
use super::number::{number, pair, range, short};

/// Name of a yardstick, what it is in an alarm, and its shortest and longest time on bare metal, in ns.
fn reference(yardstick: Yardstick) -> (&'static str, &'static str, [f64; 2]) {
    match yardstick {
        Yardstick::Getpid => ("getpid(2)", "A system call", [50.0, 150.0]),
        // The plan has 500 threads: a hop takes about 1.3 times as long as with two.
        Yardstick::Futex => ("futex hand-over on one CPU", "A thread switch", [400.0, 2_000.0]),
        Yardstick::PageFault => ("minor page fault", "A page fault", [100.0, 700.0]),
    }
}

/// Its shortest and longest time on bare metal, in ns.
pub(crate) fn prices(yardstick: Yardstick) -> [f64; 2] {
    reference(yardstick).2
}

/// Multiple of a range's upper end above which a time is outside of it: the ends are round numbers.
const CLEARLY: f64 = 1.25;

/// A yardstick beside the times that it takes on bare metal.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    pub(crate) yardstick: Yardstick,
    /// Its time here, in ns.
    pub(crate) value: f64,
    /// Its shortest and its longest time on bare metal, in ns.
    pub(crate) range: [f64; 2],
    /// What may make it longer, as far as the facts of the machine tell.
    cause: &'static str,
}

impl Beside {
    /// How many times as long it takes as at most on bare metal.
    fn times(&self) -> f64 {
        self.value / self.range[1]
    }

    /// The sentence that begins an answer.
    pub fn alarm(&self) -> String {
        let (_, subject, _) = reference(self.yardstick);
        let [low, high] = self.range;
        let value = short(Quantity::Time, self.value);
        let times = range([self.value / high, self.value / low], number);
        format!("{subject} takes {value}: {times} times the bare-metal time ({}?)", self.cause)
    }

    /// The same in a cell of a table.
    pub fn in_short(&self) -> String {
        format!("slow ({}?)", self.cause)
    }
}

/// The line of a yardstick: `getpid(2) 66 ns: bare metal 50 to 150 ns`.
impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, ..) = reference(self.yardstick);
        let [low, high] = self.range.map(|time| short(Quantity::Time, time));
        let value = short(Quantity::Time, self.value);
        write!(f, "{name} {value}: bare metal {}", pair(&low, " to ", &high))
    }
}

/// What may make a yardstick longer. A system call does not leave a virtual machine.
fn cause(yardstick: Yardstick, machine: &Machine) -> &'static str {
    let meltdown = machine.text("mitigations/meltdown");
    let is_call = yardstick == Yardstick::Getpid;
    match machine.text("virtualisation") {
        _ if is_call && machine.get("seccomp").is_some_and(|seccomp| *seccomp == true) => "seccomp",
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
    let mut measured: Vec<Beside> = figures.iter().filter_map(beside).collect();
    measured.sort_by_key(|beside| beside.yardstick);
    measured.dedup_by_key(|beside| beside.yardstick);
    measured
}

/// The yardstick that takes clearly longer than on bare metal; of several, the one farthest from its range.
pub fn outside(figures: &Figures<'_>) -> Option<Beside> {
    let slower = measured(figures).into_iter().filter(|beside| beside.times() > CLEARLY);
    slower.max_by(|a, b| a.times().total_cmp(&b.times()))
}

/// A figure as a yardstick: a row's own, a time, on one CPU.
fn beside(figure: &Figure<'_>) -> Option<Beside> {
    let runs = &figure.runs;
    let yardstick = runs.ties()?.known?;
    let record = *runs.whole.first()?;
    // What a quota stopped takes longer on any machine.
    let is_throttled = figure.doubts.iter().any(|doubt| doubt.kind == DoubtKind::Throttled);
    if record.cpu_count() != Some(1) || is_throttled {
        return None;
    }
    let (_, _, range) = reference(yardstick);
    let value = figure.reading()?.mean.value;
    Some(Beside { yardstick, value, range, cause: cause(yardstick, record.machine()) })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use record::{Account, Group, Metric, Waits};
    use serde_json::json;

    use super::*;
    use crate::conditions::{Conditions, all_doubts};
    use crate::grade::Grade;
    use crate::testing;

    #[test]
    fn a_slow_yardstick_is_told_with_its_factors() {
        let yardstick = Yardstick::Futex;
        let machine = Machine::from_iter([("virtualisation", "KVM".into())]);
        let (range, cause) = (reference(yardstick).2, cause(yardstick, &machine));
        let beside = Beside { yardstick, value: 6_700.0, range, cause };
        let nested =
            "A thread switch takes 6.7 µs: 3.4 to 17 times the bare-metal time (nested VM?)";
        assert_eq!(beside.alarm(), nested);
        let line = "futex hand-over on one CPU 6.7 µs: bare metal 400 ns to 2.0 µs";
        assert_eq!(beside.to_string(), line);
        for (yardstick, fact, cause) in [
            (
                Yardstick::Getpid,
                json!({ "mitigations": { "meltdown": "PTI" } }),
                "page-table isolation",
            ),
            // Only a system call crosses the page tables, and the filters.
            (yardstick, json!({ "mitigations": { "meltdown": "PTI" } }), "nested VM or emulator"),
            (Yardstick::Getpid, json!({ "seccomp": true }), "seccomp"),
            (Yardstick::Getpid, json!({ "seccomp": false }), "nested VM or emulator"),
            (yardstick, json!({ "seccomp": true }), "nested VM or emulator"),
            (Yardstick::Getpid, json!({ "virtualisation": "none" }), "a debug kernel"),
        ] {
            let machine: Machine = serde_json::from_value(fact).unwrap();
            assert_eq!(super::cause(yardstick, &machine), cause, "{machine:?}");
        }
    }

    #[test]
    fn a_quota_that_stopped_the_programs_comes_before_guesses() {
        let found = |throttled| {
            let mut record = testing::record("p", 1, &[10_000; 9]);
            let row = &mut Arc::make_mut(&mut record.header).rows[0];
            row.command.setting.cpus = Some("0".parse().unwrap());
            row.place.metric = Metric::Task;
            row.ties.known = Some(Yardstick::Futex);
            // Other programs had 90 % of the time.
            let account = Some(Account { all: 100, busy: 90, ..Account::default() });
            let waits = Waits { throttled: Some(throttled), ..Waits::default() };
            record.group = Some(Arc::new(Group { run: 1, group: 0, ended: 1, account, waits }));
            let records = [record];
            let figures = Figures::of(&records);
            let (doubts, guess) = (all_doubts(&figures), outside(&figures).is_some());
            let noise = Conditions::of(&figures).in_short(&doubts);
            let grade = figures.iter().next().unwrap().grade;
            (guess, grade, doubts[0].kind, noise.contains("quota"))
        };
        assert_eq!(found(0), (true, Grade::Sure, DoubtKind::Busy, false));
        assert_eq!(found(1), (false, Grade::Disturbed, DoubtKind::Throttled, true));
    }
}
