//! `--sleep`: bodies that sleep, with a gate and without.

use std::thread;
use std::time::{Duration, Instant};

use harness::notes::Note;
use harness::record::Record;
use nix::sys::signal::Signal::SIGINT;

use crate::support::benchmarks::{Benchmark, with};
use crate::support::number_after;
use crate::support::process::Outcome;

/// In ns.
const SLEEP: u64 = 50_000_000;

fn record(benchmark: &Benchmark, flags: &str) -> Record {
    let run = benchmark.run("--sleep 50ms --format json").flags(flags);
    run.finish().expect_quiet_success().record()
}

fn fewer_alive(record: &Record) -> Option<(u64, u64)> {
    record.notes.iter().find_map(|note| match note {
        Note::FewerAlive { most, of } => Some((*most, *of)),
        _ => None,
    })
}

fn held_back(record: &Record) -> Option<(u64, &[String])> {
    record.notes.iter().find_map(|note| match note {
        Note::HeldBack { at_once, limits } => Some((*at_once, &limits[..])),
        _ => None,
    })
}

#[test]
fn there_are_programs_whose_bodies_sleep() {
    let names: Vec<&str> = with("--sleep").map(|b| b.name.as_str()).collect();
    assert!(names.contains(&"thread-creation"), "{names:?}");
    assert!(names.contains(&"async-creation"), "{names:?}");
}

#[test]
fn an_iteration_is_as_long_as_the_sleep_at_least() {
    for benchmark in with("--sleep") {
        for flags in ["", "--gate"] {
            let flags = format!("--tasks 40 --iters 3 --warmups 1 {flags}");
            let record = record(benchmark, &flags);
            let samples = record.samples.as_ref().unwrap();
            assert_eq!(samples.count, 3);
            assert!(samples.min >= SLEEP, "{}: {samples:?}", benchmark.name);
            assert!(record.first_iteration.unwrap() >= SLEEP);
            assert_eq!(record.hops, None, "nothing is handed over");
            assert!(!record.partial && record.error.is_none());
        }
    }
}

#[test]
fn every_body_of_a_timed_iteration_tells_how_late_it_was() {
    for benchmark in with("--sleep") {
        for flags in ["", "--gate"] {
            let flags = format!("--tasks 40 --iters 3 --warmups 2 {flags}");
            let record = record(benchmark, &flags);
            let names: Vec<&String> = record.distributions.keys().collect();
            assert_eq!(names, ["late"], "{}", benchmark.name);
            let late = &record.distributions["late"];
            assert_eq!(late.count, 40 * 3, "{}", benchmark.name);
            assert!(late.max > 0, "no timer is that exact");
            // Whoever was late has delayed the iteration as well.
            let longest = record.samples.unwrap().max;
            assert!(late.max + SLEEP <= longest, "{late:?}, {longest}");
        }
    }
}

#[test]
fn all_are_alive_at_once_behind_a_gate() {
    for benchmark in with("--sleep") {
        let record = record(benchmark, "--tasks 300 --iters 2 --gate");
        assert_eq!(record.params["gate"], true);
        assert_eq!(record.peak_alive, Some(300), "{}", benchmark.name);
        assert_eq!(fewer_alive(&record), None);
        assert!(record.setup.is_some() && record.teardown.is_some());
    }
}

/// They sleep for less than it takes to create one.
#[test]
fn those_that_have_ended_are_not_alive_and_a_note_says_so() {
    for benchmark in with("--sleep").filter(|benchmark| benchmark.has_threads()) {
        let flags = "--sleep 1ns --tasks 3000 --format json";
        let record = benchmark.run(flags).finish().expect_quiet_success();
        let record = record.record();
        let most = record.peak_alive.unwrap();
        assert!((1..3000).contains(&most), "{}: {most}", benchmark.name);
        assert_eq!(fewer_alive(&record), Some((most, 3000)));
    }
}

#[test]
fn one_iteration_is_the_usual_run() {
    for benchmark in with("--sleep") {
        let record = record(benchmark, "--tasks 3");
        let asked = |name| record.param(name).unwrap();
        assert_eq!([asked("iters"), asked("warmups")], [1, 0]);
        assert_eq!([asked("sleep"), record.samples.unwrap().count], [SLEEP, 1]);
        let usual = benchmark.tiny("--format json").finish().record();
        assert!(usual.params["sleep"].is_null() && usual.params["timer_slack"].is_null());
        assert_eq!(usual.params["gate"], false);
        assert_eq!((usual.peak_alive, usual.distributions.len()), (None, 2));
    }
}

#[test]
fn its_memory_is_known() {
    for benchmark in with("--sleep") {
        for flags in ["", "--gate"] {
            let record = record(benchmark, &format!("--tasks 200 {flags}"));
            let gain = record.peak_gain().unwrap();
            assert!(gain >= 200 * 64, "{}: {gain}", benchmark.name);
            assert!(record.system_gain().is_some() && record.resident_gain().is_some());
        }
    }
}

#[test]
fn a_command_finds_those_behind_the_gate() {
    for benchmark in with("--gate").filter(|benchmark| benchmark.has_threads()) {
        let run = benchmark.run("--sleep 10ms --gate --tasks 30 -q");
        let run = run
            .arg("--command")
            .arg("ls /proc/{pid}/task | wc -l")
            .finish();
        assert_eq!(run.expect_quiet_success().line().trim(), "31");
    }
}

#[test]
fn a_person_reads_what_it_is_for() {
    for benchmark in with("--sleep") {
        let run = benchmark.run("--sleep 10ms --tasks 50 --gate").finish();
        let run = run.expect_quiet_success();
        assert!(run.stdout.starts_with("50 tasks, 1 iterations:\nmean "));
        let row = |name: &str| {
            let mut lines = run.stdout.lines();
            lines.find_map(|line| line.strip_prefix(&format!("  {name:<16}")))
        };
        assert_eq!(row("alive at once"), Some("50 of 50"), "{run}");
        assert!(row("cpu share").unwrap().ends_with(" CPUs"), "{run}");
        assert!(row("late").unwrap().contains("p99 "), "{run}");
        assert!(row("switches").unwrap().ends_with(" per task"), "{run}");
        let peak = row("peak memory").unwrap();
        assert!(
            peak.ends_with(" per task more than the empty process"),
            "{run}"
        );
        let system = row("system memory").unwrap();
        assert!(system.contains(" per task at rest, of it "), "{run}");
        let usual = benchmark.tiny("").finish();
        assert!(!usual.stdout.contains("alive at once"), "{usual}");
    }
}

#[test]
fn the_timer_slack_is_set_and_told() {
    for benchmark in with("--timer-slack").filter(|benchmark| benchmark.has("--gate")) {
        let record = record(benchmark, "--tasks 3 --timer-slack 1234ns");
        assert_eq!(record.param("timer_slack"), Some(1234));
        // Not every runtime can tell.
        assert!(record.timer_slack.is_none_or(|slack| slack == 1234));
    }
}

#[test]
fn what_needs_a_sleep_is_refused_without() {
    for benchmark in with("--sleep") {
        for flags in [
            "--gate",
            "--timer-slack 1ms",
            "--sleep 0s",
            "--sleep 86401s",
            "--sleep 1",
            "--sleep -1s",
            "--sleep",
            "--sleep 1ms --timer-slack 0s",
        ] {
            let flag = flags.split(' ').rfind(|word| word.starts_with("--"));
            let refused = benchmark.run("--tasks 3").flags(flags).finish();
            refused.expect_refusal(2, &[flag.unwrap()]);
        }
        if benchmark.has("--floor") {
            let refused = benchmark.tiny("--floor --sleep 1ms").finish();
            refused.expect_refusal(2, &["--floor", "--sleep"]);
        }
    }
}

/// Starts a run that would take an hour, and interrupts it when its bodies are there.
fn interrupt(benchmark: &Benchmark, flags: &str) -> Outcome {
    let running = benchmark.run("--sleep 3600s").flags(flags).start();
    running.await_handler(SIGINT);
    thread::sleep(Duration::from_millis(400));
    running.signal_all(SIGINT);
    running.finish_all().expect(130)
}

/// What hangs is killed after 30 s.
#[test]
fn nobody_waits_for_bodies_that_sleep_for_an_hour() {
    for benchmark in with("--sleep") {
        for flags in ["", "--gate"] {
            let flags = format!("--tasks 200 --format json {flags}");
            let run = interrupt(benchmark, &flags);
            let run = run.expect_complaint(&["interrupted after 0 of 1 iterations"]);
            let record = run.record();
            assert!(record.partial && record.samples.is_none(), "{run}");
        }
        for flavor in benchmark.flags.get("--flavor").into_iter().flatten() {
            interrupt(benchmark, &format!("--tasks 200 -q --flavor {flavor}"));
        }
        for stacks in benchmark.flags.get("--stacks").into_iter().flatten() {
            interrupt(benchmark, &format!("--tasks 200 -q --stacks {stacks}"));
        }
    }
}

#[test]
fn an_interrupted_run_keeps_the_iterations_that_ended() {
    for benchmark in with("--sleep") {
        let flags = "--sleep 100ms --tasks 20 --iters 4000000000 --format json";
        let begun = Instant::now();
        let record = loop {
            let running = benchmark.run(flags).start();
            running.await_handler(SIGINT);
            thread::sleep(Duration::from_millis(900));
            running.signal_all(SIGINT);
            let record = running.finish_all().expect(130).record();
            // A busy machine may not have come so far.
            if record.samples.is_some() || begun.elapsed() > Duration::from_secs(20) {
                break record;
            }
        };
        let samples = record.samples.unwrap();
        assert!(record.partial && record.error.is_none());
        assert_eq!(record.distributions["late"].count, 20 * samples.count);
        assert!(record.peak_alive.is_some());
    }
}

/// Where 3000 threads do not fit at once, each still has its turn.
#[test]
fn who_does_not_fit_waits_for_the_oldest_to_end() {
    for benchmark in with("--sleep").filter(|benchmark| benchmark.has_threads()) {
        for stacks in &benchmark.flags["--stacks"] {
            let few = r#"ulimit -v 2000000 && exec "$0" "$@""#;
            let flags = format!("--sleep 20ms --tasks 3000 --format json --stacks {stacks}");
            let record = benchmark.within(few, &flags).finish();
            let record = record.expect_quiet_success().record();
            let most = record.peak_alive.unwrap();
            assert_eq!(record.distributions["late"].count, 3000);
            let (at_once, limits) = held_back(&record).unwrap();
            assert!(most <= at_once && at_once < 3000, "{most}, {at_once}");
            assert_eq!(limits, ["virtual memory (ulimit -v)"]);

            let asked = benchmark.within(few, &flags).flags("--check-limits");
            let asked = asked.finish().expect(0);
            assert!(asked.stdout.contains("\"largest\""), "{asked}");
            let refused = benchmark.within(few, &flags).flags("--gate").finish();
            refused
                .expect(1)
                .expect_complaint(&["3000 tasks are more", "ulimit -v"]);
        }
    }
}

/// Also a driver that waits for an end before it begins one more hears a signal.
#[test]
fn who_is_held_back_can_be_interrupted() {
    for benchmark in with("--sleep") {
        let (script, _) = benchmark.in_space(2_000_000);
        let flags = "--sleep 50ms --tasks 4000000 --iters 1000 -q";
        let running = benchmark.within(&script, flags).start();
        running.await_handler(SIGINT);
        thread::sleep(Duration::from_millis(700));
        running.signal_all(SIGINT);
        running.finish_all().expect(130);
    }
}

#[test]
fn what_fits_at_once_is_told_beforehand() {
    for benchmark in with("--sleep").filter(|benchmark| benchmark.has_threads()) {
        let flags = "--sleep 1s --tasks 4000000000 --check-limits";
        let run = benchmark.run(flags).finish().expect(0);
        let most = number_after(&run.stdout, "allows at most").unwrap();
        assert!(most > 0 && run.stdout.ends_with(" at once\n"), "{run}");
        let gated = benchmark.run(flags).flags("--gate").finish().expect(1);
        assert!(gated.stdout.lines().count() > 1, "{gated}");
    }
}
