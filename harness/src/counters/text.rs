//! The counters for people, per hop.

use std::io::{self, Write};

use super::{Counters, Scope};
use crate::record::Record;
use crate::report::row;

/// Writes what was counted, for each hop, or task where nothing is handed over, and what was not.
pub(crate) fn write(record: &Record, out: &mut impl Write) -> io::Result<()> {
    let (Some(counters), Some((all, what))) = (&record.counters, record.counted()) else {
        return Ok(());
    };
    let figures = Figures { counters, all };
    let [switches, calls, hardware] = [figures.switches(), figures.calls(what), figures.hardware()];
    let scope = match counters.scope {
        Some(Scope::Cpus) => ", of all that ran on its CPUs",
        _ => "",
    };
    let iterations = counters.iterations;
    let counted =
        format!("in a second pass of {iterations} iterations{scope}, per {what}: {switches}");
    row(out, "counted", &counted)?;
    for (name, text) in [("calls", calls), ("hardware", hardware)] {
        if !text.is_empty() {
            row(out, name, &text)?;
        }
    }
    for absent in &counters.absent {
        let text = format!("{}: {}", names(&absent.events), absent.reason);
        row(out, "not counted", &text)?;
    }
    Ok(())
}

/// A call that is made less often than once in so many hops is no part of them.
const FEWEST: u64 = 10_000;

/// The names of events for people: one for its two sides, where both are there.
fn names(events: &[String]) -> String {
    let other_side = |name: &str| Some(format!("{}_kernel", name.strip_suffix("_user")?));
    let mut names: Vec<String> = Vec::new();
    for name in events {
        let is_whole = other_side(name).is_some_and(|other| events.contains(&other));
        let side = if is_whole { "_user" } else { "" };
        let name = name.trim_end_matches(side);
        let base = name.trim_end_matches("_kernel").replace('_', " ");
        if !names.contains(&base) {
            names.push(match is_whole {
                true => base,
                false => name.replace('_', " "),
            });
        }
    }
    names.join(", ")
}

/// The counters, and what they are divided by.
struct Figures<'a> {
    counters: &'a Counters,
    all: u64,
}

impl Figures<'_> {
    fn each(&self, count: u64) -> String {
        format!("{:.3}", count as f64 / self.all as f64)
    }

    fn event(&self, name: &str) -> Option<u64> {
        self.counters.events.get(name).copied()
    }

    /// The event for each hop, if it was counted.
    fn of(&self, name: &str, words: &str) -> Option<String> {
        Some(format!("{} {words}", self.each(self.event(name)?)))
    }

    fn switches(&self) -> String {
        let usage = self.counters.usage.map(|usage| {
            let [voluntary, involuntary] =
                [usage.voluntary_switches, usage.involuntary_switches].map(|n| self.each(n));
            format!("{voluntary} voluntary and {involuntary} involuntary switches")
        });
        let wakeups = self.counters.interrupts.wakeups();
        let parts = [
            self.of("context_switches", "context switches"),
            usage,
            self.of("cpu_migrations", "migrations"),
            self.of("page_faults", "page faults"),
            wakeups.map(|n| format!("{} interrupts between CPUs", self.each(n))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn calls(&self, what: &str) -> String {
        let calls = |count: Option<u64>, words| Some(format!("{} {words}", self.each(count?)));
        let waits = |name, words, of| {
            let count = self
                .event(name)
                .filter(|&count| count > self.all / FEWEST)?;
            let hops = self.all as f64 / count as f64;
            Some(format!(
                "{} {words} ({hops:.1} {what}s per {of})",
                self.each(count)
            ))
        };
        let parts = [
            self.of("system_calls", "system calls"),
            calls(self.counters.reads, "reads"),
            calls(self.counters.writes, "writes"),
            waits("epoll_waits", "epoll_wait", "wait"),
            waits("io_uring_enters", "io_uring_enter", "call"),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// User and kernel apart.
    fn hardware(&self) -> String {
        let pair = |name: &str, words: &str| {
            let side = |side: &str| {
                let count = self.event(&format!("{name}_{side}"))?;
                Some(format!("{:.1} {side}", count as f64 / self.all as f64))
            };
            let sides: Vec<String> = ["user", "kernel"].into_iter().filter_map(side).collect();
            (!sides.is_empty()).then(|| format!("{words} {}", sides.join(" + ")))
        };
        let share = self.counters.share.map(|share| {
            format!(
                "(counters took turns, {:.0} % of the time at least)",
                share * 100.0
            )
        });
        let parts = [
            pair("cycles", "cycles"),
            pair("instructions", "instructions"),
            pair("cache_references", "cache references"),
            pair("cache_misses", "cache misses"),
            share,
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::counters::Absent;
    use crate::interrupts::Interrupts;
    use crate::usage::Usage;

    fn counted(events: &[(&str, u64)], absent: Vec<Absent>) -> String {
        let mut record = Record::empty("test", Vec::new());
        record.hops = Some(4);
        let counters = Counters {
            iterations: 250,
            time: 1,
            usage: Some(Usage {
                voluntary_switches: 1000,
                involuntary_switches: 2,
                ..Usage::default()
            }),
            interrupts: Interrupts {
                rescheduling: Some(50),
                function_call: Some(300),
            },
            idle: None,
            steal: None,
            reads: Some(1000),
            writes: None,
            scope: Some(Scope::Threads),
            events: events
                .iter()
                .map(|&(name, n)| (name.to_owned(), n))
                .collect::<BTreeMap<_, _>>(),
            share: None,
            absent,
        };
        record.counters = Some(counters);
        let mut out = Vec::new();
        write(&record, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn counts_are_divided_by_the_hops() {
        let text = counted(
            &[
                ("context_switches", 1002),
                ("cpu_migrations", 1),
                ("page_faults", 0),
                ("system_calls", 4000),
                ("epoll_waits", 500),
                ("io_uring_enters", 0),
                ("cycles_user", 1_500_000),
                ("cycles_kernel", 2_000_000),
            ],
            Vec::new(),
        );
        assert_eq!(
            text,
            "  counted         in a second pass of 250 iterations, per hop: 1.002 context switches, \
             1.000 voluntary and 0.002 involuntary switches, 0.001 migrations, 0.000 page faults, \
             0.350 interrupts between CPUs\n  \
             calls           4.000 system calls, 1.000 reads, 0.500 epoll_wait (2.0 hops per wait)\n  \
             hardware        cycles 1500.0 user + 2000.0 kernel\n"
        );
    }

    #[test]
    fn two_sides_have_one_name() {
        let names =
            |events: &[&str]| names(&events.iter().map(|&e| e.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            names(&[
                "cycles_user",
                "cycles_kernel",
                "cache_misses_user",
                "cache_misses_kernel"
            ]),
            "cycles, cache misses"
        );
        assert_eq!(
            names(&["cycles_kernel", "system_calls"]),
            "cycles kernel, system calls"
        );
        assert_eq!(names(&["cycles_user"]), "cycles user");
    }

    #[test]
    fn what_is_missing_has_its_reason() {
        let absent = Absent {
            events: vec!["cycles_user".to_owned(), "system_calls".to_owned()],
            reason: "because".to_owned(),
        };
        let text = counted(&[], vec![absent]);
        assert!(
            text.contains("  not counted     cycles user, system calls: because\n"),
            "{text}"
        );
        assert!(!text.contains("context switches,"), "{text}");
        assert!(!text.contains("hardware"), "{text}");
    }
}
