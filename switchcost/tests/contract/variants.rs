//! Every value that `--help` lists, and the ends of the ranges of numbers.

use harness::record::Record;

use crate::support::benchmarks::{Benchmark, all, with};
use crate::support::process::Run;
use crate::support::{is_installed, number_after, skip};

fn record(benchmark: &Benchmark, flags: &str) -> Record {
    let run = benchmark.tiny("--format json").flags(flags).finish();
    let record = run.expect_quiet_success().record();
    assert_eq!(
        record.samples.as_ref().map(|samples| samples.count),
        Some(4)
    );
    record
}

#[test]
fn every_listed_value_runs() {
    for benchmark in all() {
        for (flag, values) in &benchmark.flags {
            // These have tests of their own.
            if ["--format", "--placement", "--policy"].contains(&flag.as_str()) {
                continue;
            }
            for value in values {
                let record = record(benchmark, &benchmark.choice(flag, value));
                assert_eq!(record.params[&flag[2..]], value.as_str());
            }
        }
    }
}

#[test]
fn every_switch_runs() {
    for benchmark in all() {
        if benchmark.has("--nonblocking") {
            for transport in &benchmark.flags["--transport"] {
                // An eventfd holds one, and there is nobody to take it out meanwhile.
                let tokens = if transport == "eventfd" { 1 } else { 2 };
                let flags = format!("--nonblocking --tokens {tokens} --transport {transport}");
                record(benchmark, &flags);
            }
        }
        if benchmark.has("--multishot") {
            for transport in &benchmark.flags["--transport"] {
                record(
                    benchmark,
                    &format!("--multishot --tokens 2 --transport {transport}"),
                );
            }
        }
    }
}

/// Tokens and links are counted by the program itself: what ends well has carried each one through
/// every task.
#[test]
fn tasks_that_use_memory_in_any_order_pass_everything_on() {
    for benchmark in with("--touch") {
        for variant in benchmark.transports().into_iter().chain([String::new()]) {
            for (touch, bytes) in [("0", 0), ("1", 1), ("5000", 5000), ("1MiB", 1 << 20)] {
                for seed in [0, u64::MAX] {
                    let flags = format!("{variant} --touch {touch} --shuffle {seed}");
                    let record = record(benchmark, &flags);
                    assert_eq!(record.param("touch"), Some(bytes));
                    assert_eq!(record.param("shuffle"), Some(seed));
                }
            }
        }
        let plain = record(benchmark, "");
        assert_eq!(plain.param("touch"), Some(0));
        assert!(plain.params["shuffle"].is_null(), "{}", benchmark.name);
    }
}

#[test]
fn what_is_touched_is_resident() {
    for benchmark in with("--touch") {
        // 3 tasks.
        let gain = record(benchmark, "--touch 8MiB").resident_gain().unwrap();
        assert!(gain > 3 * (8 << 20), "{}: {gain}", benchmark.name);
    }
}

#[test]
fn one_read_may_take_several_tokens() {
    for benchmark in with("--read-buffer") {
        let switch = match benchmark.has("--nonblocking") {
            true => "--nonblocking",
            false => "",
        };
        for transport in &benchmark.flags["--transport"] {
            let most = if transport == "eventfd" { 1 } else { 7 };
            for tokens in [1, most] {
                for size in ["1", "2", "7", "8", "4k", "1MiB"] {
                    let flags = format!(
                        "{switch} --transport {transport} --tokens {tokens} --read-buffer {size}"
                    );
                    record(benchmark, &flags);
                }
            }
        }
        if benchmark.has("--nonblocking") {
            let refused = benchmark.tiny("--read-buffer 2").finish();
            refused.expect_refusal(2, &["--read-buffer", "--nonblocking"]);
        }
    }
}

/// How many reads of a run find nothing (EAGAIN).
fn vain_reads(benchmark: &Benchmark, flags: &str) -> u64 {
    let log = tempfile::NamedTempFile::new().unwrap();
    let run = Run::of("strace").flags("-f -e trace=read,recvfrom -o");
    let run = run.arg(log.path()).arg(&benchmark.path).flags(flags);
    run.finish().expect_quiet_success();
    let calls = std::fs::read_to_string(log.path()).unwrap();
    let vain = calls.lines().filter(|line| line.contains("EAGAIN"));
    vain.count() as u64
}

#[test]
fn a_read_that_comes_back_short_saves_the_next() {
    if !is_installed("strace") || Run::of("strace").flags("-o /dev/null true").finish().code != 0 {
        return skip("no strace, or nothing can be traced");
    }
    // A runtime that reads before it waits, whatever came before, has nothing to save.
    let saving = |b: &&Benchmark| b.has("--nonblocking") || b.has("--flavor");
    for benchmark in with("--read-buffer").filter(saving) {
        for transport in &benchmark.flags["--transport"] {
            let mut flags = format!("-q --tasks 9 --iters 20 --warmups 0 --transport {transport}");
            flags += match benchmark.has("--nonblocking") {
                true => " --nonblocking",
                false => " --flavor current-thread",
            };
            let hops = 10 * 20;
            let one = vain_reads(benchmark, &flags);
            assert!(one >= hops - 10, "{transport}: {one} of {hops}");
            let sixteen = vain_reads(benchmark, &format!("{flags} --read-buffer 16"));
            assert!(sixteen <= 10, "{transport}: {sixteen} of {hops}");
        }
    }
}

#[test]
fn workers_are_as_many_as_asked_for() {
    for benchmark in with("--workers").filter(|benchmark| !benchmark.has("--flavor")) {
        for workers in [1, 3] {
            let runtime = record(benchmark, &format!("--workers {workers}")).runtime;
            assert_eq!(runtime.unwrap().workers, workers, "{}", benchmark.name);
        }
    }
    for benchmark in with("--workers").filter(|benchmark| benchmark.has("--flavor")) {
        for workers in [1, 3] {
            let flags = format!("--flavor multi-thread --workers {workers}");
            let runtime = record(benchmark, &flags).runtime.unwrap();
            assert_eq!(
                (runtime.workers, runtime.flavor.as_str()),
                (workers, "multi-thread")
            );
        }
        let runtime = record(benchmark, "--flavor current-thread")
            .runtime
            .unwrap();
        assert_eq!(
            (runtime.workers, runtime.flavor.as_str()),
            (1, "current-thread")
        );
    }
}

#[test]
fn stacks_are_as_large_as_asked_for() {
    for benchmark in with("--stack-size") {
        for (size, bytes) in [
            ("16KiB", 16384),
            ("64k", 65536),
            ("17000", 17000),
            ("2MiB", 2 << 20),
        ] {
            for stacks in &benchmark.flags["--stacks"] {
                let flags = format!("--stack-size {size} --stacks {stacks}");
                let record = record(benchmark, &flags);
                assert_eq!(record.param("stack_size"), Some(bytes));
            }
        }
    }
}

#[test]
fn channels_hold_as_much_as_asked_for() {
    for (benchmark, channel) in channels() {
        // 4 channels.
        let flags = format!("{channel} --capacity 5 --tokens");
        let record = record(benchmark, &format!("{flags} 20"));
        assert_eq!(record.hops, Some(4 * 20));
        let refused = benchmark.tiny(&format!("{flags} 21")).finish();
        refused.expect_refusal(2, &["--tokens", "at most 20", "--capacity", "--feed"]);
    }
}

/// The transports whose links hold as many tokens as asked for, with the flags that choose them.
fn channels() -> Vec<(&'static Benchmark, String)> {
    let mut channels = Vec::new();
    for benchmark in with("--capacity") {
        for transport in benchmark.transports() {
            let flags = format!("{transport} --capacity 2 -q");
            if benchmark.tiny(&flags).finish().code == 0 {
                channels.push((benchmark, transport));
            }
        }
        assert!(
            channels
                .iter()
                .any(|(found, _)| found.name == benchmark.name),
            "{}",
            benchmark.name
        );
    }
    channels
}

#[test]
fn a_stream_that_the_first_task_feeds_needs_no_room() {
    for benchmark in with("--feed") {
        for variant in benchmark.transports_on_executors() {
            for (flags, hops) in [
                ("--tokens 300 --feed first-task", 3 * 300 + 1),
                (
                    "--tokens 300 --feed first-task --bytes 17 --shuffle 3",
                    3 * 300 + 1,
                ),
                ("--tokens 1 --feed first-task", 3 + 1),
            ] {
                let record = record(benchmark, &format!("{flags} {variant}"));
                assert_eq!(record.hops, Some(hops), "{flags} {variant}");
                assert_eq!(record.params["feed"], "first-task");
            }
        }
    }
    for (benchmark, channel) in channels().into_iter().filter(|(b, _)| b.has("--feed")) {
        let flags = format!("{channel} --tasks 1 --iters 4 --capacity 64 --tokens 4096");
        let run = benchmark
            .run(&flags)
            .flags("--feed first-task --format json");
        let record = run.finish().expect_quiet_success().record();
        assert_eq!(record.hops, Some(4096 + 1), "one link, and the start");
    }
}

#[test]
fn a_channel_without_room_hands_from_hand_to_hand() {
    for (benchmark, channel) in channels() {
        let none = format!("{channel} --capacity 0");
        let run = benchmark.tiny(&none).flags("--tokens 3 -q").finish();
        if run.code == 2 {
            run.expect_refusal(2, &["--capacity"]);
            continue;
        }
        run.expect_quiet_success();
        let refused = benchmark.tiny(&none).flags("--tokens 4").finish();
        refused.expect_refusal(2, &["--tokens", "at most 3"]);
    }
}

/// A link without a buffer holds nothing: each task has one token in its hand, and the driver none.
#[test]
fn links_that_hold_nothing_run_with_a_token_for_each_task() {
    for benchmark in with("--capacity").filter(|benchmark| benchmark.has_rendezvous()) {
        for tasks in [1, 2, 7] {
            let run = |tokens: u64, flags: &str| {
                let size = format!("--tasks {tasks} --iters 50 --warmups 1 --capacity 0");
                let run = benchmark.run(&size).flags(&format!("--tokens {tokens}"));
                run.flags(flags).finish()
            };
            for tokens in 1..=tasks {
                run(tokens, "").expect_quiet_success();
            }
            let refused = run(tasks + 1, "");
            refused.expect_refusal(
                2,
                &["--tokens", &format!("at most {tasks}"), "--feed first-task"],
            );
            for tokens in [1, tasks + 1, 1000] {
                run(tokens, "--feed first-task -q").expect_quiet_success();
            }
        }
    }
}

/// The first task has the tokens: it hands on all of them, and one hop brings it the word.
#[test]
fn a_chain_that_the_first_task_feeds_has_room_for_any_number() {
    for benchmark in with("--feed") {
        let mut flags = "--feed first-task --tokens 100 --capacity 1".to_owned();
        if benchmark.takes("--transport", "mpsc") {
            flags += " --transport mpsc";
        }
        for bytes in ["", "--bytes 1000"] {
            let bytes = if benchmark.has("--bytes") { bytes } else { "" };
            let record = record(benchmark, &format!("{flags} {bytes}"));
            assert_eq!(record.hops, Some(3 * 100 + 1), "{}", benchmark.name);
        }
    }
}

/// N tasks have N + 1 links between them.
#[test]
fn a_link_in_memory_holds_one_token() {
    for benchmark in with("--transport").filter(|benchmark| !benchmark.has_pipes()) {
        for transport in benchmark.transports_on_executors() {
            let flags = format!("--tokens 4 {transport}");
            assert_eq!(record(benchmark, &flags).hops, Some(4 * 4));
        }
        let refused = benchmark.tiny("--tokens 5").finish();
        refused.expect_refusal(2, &["--tokens 5", "at most 4", "--tasks"]);
    }
}

/// Whether these are links without a bound.
fn holds_any_number(flags: &str) -> bool {
    ["oneshot", "unbounded"].iter().any(|t| flags.contains(t))
}

#[test]
fn links_without_a_bound_hold_what_the_memory_holds() {
    for benchmark in with("--tokens") {
        for variant in benchmark.transports_on_executors() {
            if !holds_any_number(&variant) {
                continue;
            }
            let many = record(benchmark, &format!("{variant} --tokens 20000"));
            assert_eq!(many.hops, Some(4 * 20000));
            let script = r#"ulimit -v 8000000; exec "$0" "$@""#;
            let flags = format!("--tasks 2 --iters 1 --tokens 4000000000 {variant}");
            let refused = benchmark.within(script, &flags).finish();
            refused.expect_refusal(1, &["--tokens", "ulimit -v"]);
        }
    }
}

/// The driver sends all tokens before it takes one back: where they find no room it would wait
/// for ever. What a program says to be possible must be so.
#[test]
fn as_many_tokens_as_the_links_hold_run() {
    let few = |benchmark: &Benchmark, flags: &str| -> Run {
        benchmark
            .run("--tasks 2 --iters 2 --warmups 0")
            .flags(flags)
    };
    for benchmark in with("--tokens") {
        let bounded = |variant: &String| !holds_any_number(variant);
        for variant in benchmark.transports().iter().filter(|v| bounded(v)) {
            let refused = few(benchmark, variant)
                .flags("--tokens 4000000000")
                .finish();
            let refused = refused.expect_refusal(2, &["--tokens", "at most"]);
            let most = number_after(&refused.stderr, "at most").unwrap();
            let run = few(benchmark, variant).flags(&format!("--tokens {most}"));
            run.finish().expect_quiet_success();
            let run = few(benchmark, variant).flags(&format!("--tokens {}", most + 1));
            run.finish().expect_refusal(2, &["--tokens"]);
        }
    }
}

/// Tokens take memory: more than there is must be refused, not tried.
#[test]
fn more_tokens_than_the_memory_holds_are_refused() {
    for (benchmark, channel) in channels() {
        let script = r#"ulimit -v 8000000; exec "$0" "$@""#;
        let flags = "--tasks 20 --iters 1 --warmups 0 --capacity 268435456 --tokens 4000000000";
        let run = benchmark.within(script, flags).flags(&channel).finish();
        assert!([1, 2].contains(&run.code), "{run}");
    }
}
