//! CPUs that change in mid-run. (A CPU that goes offline disturbs the whole machine: the procedure
//! is in CONTRIBUTING.md.)

use std::thread;
use std::time::Duration;

use harness::notes::Note;
use harness::record::Record;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::Signal::SIGINT;

use crate::support::benchmarks::{Benchmark, all};
use crate::support::{cpus, skip};

/// A run whose process is confined to its first CPU from outside after `wait`.
fn confined_after(benchmark: &Benchmark, wait: Duration) -> Record {
    let endless = "--tasks 5 --warmups 0 --iters 4000000000 --format json";
    let running = benchmark.run(endless).start();
    running.await_handler(SIGINT);
    thread::sleep(wait);
    let allowed = sched_getaffinity(running.pid()).unwrap();
    let first = (0..CpuSet::count()).find(|&cpu| allowed.is_set(cpu).unwrap());
    let mut one = CpuSet::new();
    one.set(first.unwrap()).unwrap();
    sched_setaffinity(running.pid(), &one).unwrap();
    thread::sleep(Duration::from_millis(50));
    running.signal(SIGINT);
    running.finish_all().expect(130).record()
}

#[test]
fn an_affinity_that_was_changed_from_outside_is_noted() {
    if cpus() < 2 {
        return skip("there is only one CPU");
    }
    for benchmark in all() {
        let mut wait = Duration::from_millis(300);
        let note = loop {
            let record = confined_after(benchmark, wait);
            let note = record
                .notes
                .into_iter()
                .find(|n| matches!(n, Note::CpusChanged { .. }));
            // When the timed laps begin cannot be seen from outside.
            if note.is_some() || wait > Duration::from_secs(5) {
                break note;
            }
            wait *= 3;
        };
        let note = note.unwrap_or_else(|| panic!("no note of {}", benchmark.name));
        let Note::CpusChanged {
            which,
            before,
            after,
        } = &note
        else {
            unreachable!("it was looked for");
        };
        assert_eq!(which, "that the process may use");
        assert!(before != after && after.parse::<u32>().is_ok(), "{note}");
    }
}
