//! `--bytes`: tokens of any size arrive whole, or are refused; and what a second carries.

use harness::record::Record;

use crate::support::benchmarks::{Benchmark, with};
use crate::support::process::{Outcome, Run};
use crate::support::{cpus, is_installed, skip};

/// Around a word, a page, and what a pipe holds.
const SIZES: [u64; 9] = [1, 2, 7, 8, 9, 4096, 65_536, 65_537, 1 << 20];

/// The baseline: one thread, so that each link has to hold all tokens.
fn is_alone(benchmark: &Benchmark) -> bool {
    benchmark.has("--nonblocking")
}

fn run(benchmark: &Benchmark, flags: &str) -> Outcome {
    let run = benchmark.run("--iters 3 --warmups 1 --format json");
    run.flags(flags).finish()
}

fn record(benchmark: &Benchmark, flags: &str) -> Record {
    let record = run(benchmark, flags).expect_quiet_success().record();
    assert_eq!(record.samples.as_ref().unwrap().count, 3, "{flags}");
    record
}

/// Each byte is checked by the program: what ends well has carried all of them.
#[test]
fn tokens_of_any_size_arrive_or_are_refused() {
    for benchmark in with("--bytes") {
        for transport in benchmark.transports() {
            for bytes in SIZES {
                for tokens in [1, 3] {
                    let flags = format!("--tasks 3 {transport} --bytes {bytes} --tokens {tokens}");
                    let eventfd = transport.contains("eventfd") && (bytes > 1 || tokens > 1);
                    if eventfd && (bytes > 1 || is_alone(benchmark)) {
                        run(benchmark, &flags).expect_refusal(2, &["--transport"]);
                        continue;
                    }
                    // A socket pair holds more than this, or less: it depends on the size.
                    if is_alone(benchmark) && bytes * tokens > 1 << 16 {
                        let outcome = run(benchmark, &flags);
                        if outcome.code != 0 || transport.contains("pipe") {
                            outcome.expect_refusal(2, &["--bytes", "lower"]);
                        }
                        continue;
                    }
                    let record = record(benchmark, &flags);
                    assert_eq!(record.param("bytes"), Some(bytes));
                    assert_eq!(record.payload, Some(bytes * tokens), "{flags}");
                }
            }
        }
    }
}

/// What else changes how tokens are read and written.
fn variants(benchmark: &Benchmark) -> Vec<String> {
    let mut variants = vec![String::new()];
    for switch in ["--nonblocking", "--multishot"] {
        if benchmark.has(switch) {
            variants.push(switch.to_owned());
        }
    }
    for flag in ["--executor", "--flavor", "--setup"] {
        for value in benchmark.flags.get(flag).into_iter().flatten() {
            variants.push(format!("{flag} {value}"));
        }
    }
    if benchmark.has("--touch") {
        variants.push("--touch 64 --shuffle 3".to_owned());
    }
    variants
}

#[test]
fn every_loop_puts_tokens_together() {
    for benchmark in with("--bytes").filter(|benchmark| benchmark.has_pipes()) {
        for transport in ["pipe", "socketpair"] {
            for variant in variants(benchmark) {
                for (bytes, tokens) in [(9, 1), (3000, 4), (5000, 3), (300_000, 1), (300_000, 3)] {
                    if is_alone(benchmark) && bytes * tokens > 1 << 16 {
                        continue;
                    }
                    let flags = format!(
                        "--tasks 3 {variant} --transport {transport} --bytes {bytes} --tokens {tokens}"
                    );
                    let record = record(benchmark, &flags);
                    assert_eq!(record.payload, Some(bytes * tokens), "{flags}");
                }
            }
        }
    }
}

/// The driver writes all tokens before it reads one: tasks that hold one each let it do so, whatever
/// the links hold.
#[test]
fn as_many_large_tokens_as_tasks_do_not_block_each_other() {
    let chains = with("--bytes").filter(|b| b.has_pipes() && !is_alone(b));
    for benchmark in chains {
        for transport in ["pipe", "socketpair"] {
            for tasks in [1, 2, 5] {
                let flags = |tokens| {
                    format!(
                        "--tasks {tasks} --transport {transport} --bytes 1MiB --tokens {tokens}"
                    )
                };
                record(benchmark, &flags(tasks));
                let refused = run(benchmark, &flags(tasks + 1));
                refused.expect_refusal(2, &["--tokens", "--bytes", &format!("at most {tasks}")]);
            }
        }
    }
}

#[test]
fn one_read_may_take_several_tokens_and_parts_of_them() {
    for benchmark in with("--bytes").filter(|benchmark| benchmark.has("--read-buffer")) {
        let switch = if is_alone(benchmark) {
            "--nonblocking"
        } else {
            ""
        };
        for transport in ["pipe", "socketpair"] {
            for buffer in [100, 101, 250, 4096] {
                let flags = format!(
                    "--tasks 3 {switch} --transport {transport} --bytes 100 --tokens 7 --read-buffer {buffer}"
                );
                record(benchmark, &flags);
            }
        }
        let small = format!("--tasks 3 {switch} --bytes 100 --read-buffer 99");
        run(benchmark, &small).expect_refusal(2, &["--read-buffer", "--bytes"]);
    }
}

/// A ping-pong, and a batch of 4096 in flight, wherever the tasks are.
#[test]
fn one_task_with_one_token_or_many_runs_in_every_place() {
    for benchmark in with("--bytes").filter(|benchmark| benchmark.has_pipes()) {
        let mut places = vec!["free", "one-cpu"];
        let one_thread = run(benchmark, "--tasks 1 --placement half").code != 0;
        if cpus() > 1 && !one_thread {
            places.extend(["half", "spread"]);
        }
        for placement in places {
            for transport in &benchmark.flags["--transport"] {
                let flags = |tokens| {
                    format!(
                        "--tasks 1 --placement {placement} --transport {transport} --tokens {tokens}"
                    )
                };
                record(benchmark, &flags(1));
                match transport.as_str() {
                    "pipe" => {
                        let record = record(benchmark, &flags(4096));
                        assert_eq!((record.hops, record.payload), (Some(8192), Some(4096)));
                    }
                    // A socket keeps a buffer for each byte, and an eventfd is one number.
                    _ => {
                        run(benchmark, &flags(4096)).expect_refusal(2, &["--tokens", "at most"]);
                    }
                }
            }
        }
    }
}

/// How many calls of a run, by a word of its name, moved exactly so many bytes.
fn calls(trace: &str, word: &str, bytes: u64) -> u64 {
    let end = format!(" = {bytes}");
    let lines = trace.lines();
    let moved = lines.filter(|line| line.contains(word) && line.ends_with(&end));
    moved.count() as u64
}

#[test]
fn a_hop_is_one_write_and_one_read_whatever_the_size() {
    if !is_installed("strace") || Run::of("strace").flags("-o /dev/null true").finish().code != 0 {
        return skip("no strace, or nothing can be traced");
    }
    let by_calls = |b: &&Benchmark| b.has_pipes() && !b.needs_io_uring();
    for benchmark in with("--bytes").filter(by_calls) {
        for bytes in [1, 1234] {
            let log = tempfile::NamedTempFile::new().unwrap();
            let run = Run::of("strace").flags("-f -e trace=read,write -o");
            let run = run.arg(log.path()).arg(&benchmark.path);
            let flags = format!("-q --tasks 9 --iters 20 --warmups 0 --bytes {bytes}");
            run.flags(&flags).finish().expect_quiet_success();
            let trace = std::fs::read_to_string(log.path()).unwrap();
            let hops = 10 * 20;
            // A few are none of a hop: tasks that report, the link that is filled to learn its size.
            for word in ["read", "write"] {
                let calls = calls(&trace, word, bytes);
                let name = &benchmark.name;
                assert!(
                    (hops..hops + 80).contains(&calls),
                    "{name}, {bytes} bytes: {calls} calls of {word} in {hops} hops"
                );
            }
        }
    }
}

/// The figure behind a name in the text, if there is such a line.
fn line<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix("  ")?.strip_prefix(name));
    rest.map(str::trim)
}

#[test]
fn the_text_tells_what_a_second_carries() {
    for benchmark in with("--tokens") {
        let text = |flags: &str| {
            let run = benchmark.run("--iters 50 --warmups 5").flags(flags);
            run.finish().expect_quiet_success().stdout
        };
        for (flags, name) in [
            ("--tasks 1", Some("round trips")),
            ("--tasks 1 --tokens 2", Some("messages")),
            ("--tasks 3 --tokens 2", Some("messages")),
            ("--tasks 3", None),
        ] {
            let text = text(flags);
            for other in ["round trips", "messages"] {
                let told = line(&text, other);
                assert_eq!(told.is_some(), Some(other) == name, "{flags}: {text}");
                if let Some(told) = told {
                    agrees(told);
                }
            }
            assert_eq!(line(&text, "throughput"), None, "{flags}: {text}");
        }
        if benchmark.has("--bytes") {
            let text = text("--tasks 1 --bytes 512");
            let told = line(&text, "throughput").unwrap();
            let number = told.strip_suffix(" MiB/s").unwrap();
            assert!(number.parse::<f64>().unwrap() > 0.0, "{text}");
        }
    }
}

/// So many a second, and a second divided by that.
fn agrees(told: &str) {
    let figures = told.split_once(" per second (");
    let figures = figures.and_then(|(rate, rest)| Some((rate, rest.strip_suffix(" each)")?)));
    let (rate, each) = figures.unwrap_or_else(|| panic!("not a rate: {told}"));
    let rate: f64 = rate.replace(',', "").parse().unwrap();
    let unit = each.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let size = match unit {
        "ns" => 1e-9,
        "µs" => 1e-6,
        "ms" => 1e-3,
        _ => 1.0,
    };
    let each = each[..each.len() - unit.len()].parse::<f64>().unwrap() * size;
    assert!((rate * each - 1.0).abs() < 2e-3, "{told}");
}
