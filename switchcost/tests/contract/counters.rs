//! `--counters`, the interrupts between CPUs, and the way of a cache line.

use harness::counters::{Counters, Scope};
use harness::record::Record;
use nix::unistd::Uid;

use crate::limits::users::{Nobody, copy_for_nobody};
use crate::support::benchmarks::{Benchmark, all, with};
use crate::support::{cpus, skip};

/// How many perf events there are.
const EVENTS: usize = 14;

fn counted(benchmark: &Benchmark, flags: &str) -> Record {
    let run = benchmark.run(flags).flags("--counters --format json");
    run.finish().expect_quiet_success().record()
}

/// Each event is there, or has its reason.
fn is_complete(counters: &Counters) {
    let absent: usize = counters.absent.iter().map(|a| a.events.len()).sum();
    assert_eq!(counters.events.len() + absent, EVENTS, "{counters:?}");
    for absent in &counters.absent {
        assert!(absent.reason.len() > 10, "{counters:?}");
        let both = absent
            .events
            .iter()
            .any(|e| counters.events.contains_key(e));
        assert!(!both, "{counters:?}");
    }
    assert_eq!(counters.scope.is_some(), !counters.events.is_empty());
}

#[test]
fn the_second_pass_is_counted_and_no_sample() {
    for benchmark in with("--counters") {
        let record = counted(benchmark, "--tasks 3 --iters 110 --warmups 1");
        let counters = record.counters.as_ref().unwrap();
        assert_eq!(counters.iterations, 100, "{}", benchmark.name);
        assert_eq!(record.samples.as_ref().unwrap().count, 110);
        assert!(!record.partial);
        assert!(counters.time > 0 && counters.usage.is_some());
        is_complete(counters);
        let (repeats, _) = record.repeats().unwrap();
        assert_eq!(record.counted().map(|(all, _)| all), Some(100 * repeats));
    }
}

#[test]
fn a_hop_between_threads_on_one_cpu_is_one_switch() {
    let threads = with("--tokens").filter(|benchmark| benchmark.has_threads());
    for benchmark in threads {
        let record = counted(
            benchmark,
            "--tasks 20 --iters 300 --placement one-cpu --warmups 5",
        );
        let (hops, _) = record.counted().unwrap();
        let counters = record.counters.unwrap();
        let voluntary = counters.usage.unwrap().voluntary_switches as f64 / hops as f64;
        assert!((0.8..=1.2).contains(&voluntary), "{voluntary} a hop");
        if counters.scope != Some(Scope::Threads) {
            skip("switches are not counted for each thread here");
            continue;
        }
        let Some(&switches) = counters.events.get("context_switches") else {
            skip("context switches may not be counted here");
            continue;
        };
        // Those that preempt, too: they are told apart by getrusage alone.
        let usage = counters.usage.unwrap();
        let both = usage.voluntary_switches + usage.involuntary_switches;
        let ratio = switches as f64 / both as f64;
        assert!((0.95..=1.05).contains(&ratio), "{switches} of {both}");
    }
}

#[test]
fn a_hop_between_tasks_in_memory_enters_no_kernel() {
    let in_memory = with("--flavor").filter(|b| b.has("--tokens") && !b.has_descriptors());
    for benchmark in in_memory {
        let record = counted(benchmark, "--tasks 50 --iters 300 --flavor current-thread");
        let (hops, _) = record.counted().unwrap();
        let counters = record.counters.unwrap();
        let voluntary = counters.usage.unwrap().voluntary_switches as f64 / hops as f64;
        assert!(voluntary < 0.01, "{voluntary} a hop");
        if let (Some(Scope::Threads), Some(&calls)) =
            (counters.scope, counters.events.get("system_calls"))
        {
            assert!(
                (calls as f64) < 0.05 * hops as f64,
                "{calls} in {hops} hops"
            );
        }
    }
}

#[test]
fn reads_writes_and_waits_are_those_of_the_loop() {
    for benchmark in all().iter().filter(|b| b.has("--nonblocking")) {
        let hops = 100 * (50 + 1);
        let calls = |flags: &str| {
            let flags = format!("--tasks 50 --iters 300 {flags}");
            counted(benchmark, &flags).counters.unwrap()
        };
        let blocking = calls("");
        if blocking.reads.is_none() {
            return skip("/proc/self/io cannot be read here");
        }
        assert_eq!((blocking.reads, blocking.writes), (Some(hops), Some(hops)));
        let nonblocking = calls("--nonblocking");
        assert_eq!(
            nonblocking.reads,
            Some(2 * hops),
            "the second finds nothing"
        );
        assert_eq!(nonblocking.writes, Some(hops));
        let event = |counters: &Counters, name: &str| counters.events.get(name).copied();
        let Some(waits) = event(&nonblocking, "epoll_waits") else {
            return skip("system calls may not be counted here");
        };
        assert_eq!(waits, hops);
        assert_eq!(event(&blocking, "epoll_waits"), Some(0));
        // And the one that stops the counter, with a few that a time-out of the test may add.
        for (counters, each) in [(blocking, 2), (nonblocking, 4)] {
            let all = event(&counters, "system_calls").unwrap();
            assert!((each * hops..each * hops + 10).contains(&all), "{all}");
        }
    }
}

#[test]
fn an_ordinary_user_is_told_what_would_allow_the_rest() {
    let nobody = match Nobody::new() {
        Ok(nobody) => nobody,
        Err(why) => return skip(&why),
    };
    let folder = copy_for_nobody(with("--counters").map(|benchmark| &*benchmark.path));
    for benchmark in with("--counters") {
        let program = folder.path().join(&benchmark.name);
        let flags = "--tasks 3 --iters 4 --counters --format json";
        let run = nobody
            .run(&program, flags)
            .flags(benchmark.light())
            .finish();
        let record = run.expect_quiet_success().record();
        let counters = record.counters.unwrap();
        is_complete(&counters);
        assert!(counters.usage.is_some());
        let reasons: Vec<&str> = counters.absent.iter().map(|a| &*a.reason).collect();
        if record.machine.perf_event_paranoid >= Some(2) {
            let named = |reason: &&str| reason.contains("sysctl -w kernel.perf_event_paranoid=1");
            assert!(reasons.iter().any(named), "{reasons:?}");
            assert!(
                !counters.events.contains_key("context_switches"),
                "they would be 0"
            );
        }
    }
}

#[test]
fn the_text_has_them_for_each_hop() {
    for benchmark in with("--counters") {
        let run = benchmark.tiny("--counters").finish();
        let run = run.expect_quiet_success();
        let what = if benchmark.has("--tokens") {
            "hop"
        } else {
            "task"
        };
        let line = format!("in a second pass of 4 iterations, per {what}: ");
        assert!(run.stdout.contains(&line), "{run}");
        assert!(run.stdout.contains(" voluntary and "), "{run}");
        let plain = benchmark.tiny("").finish().expect_quiet_success();
        assert!(!plain.stdout.contains("second pass"), "{plain}");
    }
}

#[test]
fn interrupts_between_cpus_are_in_every_record() {
    let counted = std::fs::read_to_string("/proc/interrupts")
        .is_ok_and(|text| text.contains("Function call interrupts"));
    if !counted {
        return skip("/proc/interrupts has no interrupts between CPUs");
    }
    for benchmark in all() {
        let run = benchmark.tiny("--format json").finish();
        let record = run.expect_quiet_success().record();
        let interference = record.interference.unwrap();
        assert!(interference.wakeup_interrupts.is_some());
        assert!(record.wakeup_interrupts().is_some_and(|each| each >= 0.0));
    }
}

#[test]
fn a_run_on_several_cpus_has_the_way_of_a_cache_line() {
    if cpus() < 2 {
        return skip("a cache line needs 2 CPUs to travel between");
    }
    for benchmark in all() {
        let run = benchmark.tiny("--format json").finish();
        let line = run.expect_quiet_success().record().cache_line.unwrap();
        assert!(line.cpus[0] < line.cpus[1], "{line:?}");
        for time in [line.before, line.after].into_iter().flatten() {
            assert!(time > 0.0, "{line:?}");
        }
        let text = benchmark.tiny("").finish().expect_quiet_success();
        assert!(text.stdout.contains("  cache line "), "{text}");
        let alone = benchmark.tiny("--format json --placement one-cpu").finish();
        assert_eq!(alone.expect_quiet_success().record().cache_line, None);
    }
}

#[test]
fn root_may_count_threads() {
    if !Uid::effective().is_root() {
        return skip("only root may count in the kernel under the usual setting");
    }
    for benchmark in with("--counters") {
        let record = counted(benchmark, "--tasks 3 --iters 4");
        let counters = record.counters.unwrap();
        match counters.events.get("context_switches") {
            Some(_) => assert_eq!(counters.scope, Some(Scope::Threads)),
            None => return skip("a sandbox forbids perf events"),
        }
    }
}
