//! `switchcost estimate`: what the switches of a running service cost.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::RUNNER;
use crate::support::process::Run;

/// Results that hold an answer.
const RESULTS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../results/xeon-2vcpu-6.18/answer.jsonl");

fn estimate(args: &[&str]) -> Run {
    args.iter().fold(Run::of(RUNNER).flags("estimate"), |run, arg| run.arg(arg))
}

/// A service that sleeps and wakes until it is dropped.
struct Service(Child);

impl Service {
    fn start() -> Self {
        let script = "while :; do sleep 0.02; done";
        Service(Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_running_service_is_watched_and_told_what_its_switches_cost() {
    let service = Service::start();
    let pid = service.pid();
    let flags = ["--for", "1s", "--pid", &pid, RESULTS];
    let text = estimate(&flags).finish().expect(0).stdout;
    for words in ["sh: 1 thread,", "switches/s take", "As tasks:", "Switching does not matter here"]
    {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(line.contains(words), "'{words}' is missing: {text}");
    }
    assert!(text.lines().count() <= 12, "{text}");
    let json = estimate(&flags).flags("--format json").finish().expect(0).stdout;
    let cost: Value = serde_json::from_str(&json).unwrap();
    assert!(cost["service"]["groups"][0]["voluntary"].as_u64() > Some(0), "{cost}");
    assert_eq!(cost["verdict"], "does-not-matter");
}

#[test]
fn a_command_is_started_watched_and_ended() {
    let command = ["--for", "1s", RESULTS, "--", "sh", "-c", "exec sleep 1000"];
    // It leaves no process.
    let run = estimate(&command).finish().expect(0);
    assert!(run.stdout.starts_with("sleep: 1 thread,"), "{run}");
}

#[test]
fn what_cannot_be_watched_is_bad_usage() {
    for (flags, words) in [
        ("--pid 999999999", &["--pid", "there is no process"][..]),
        ("--pid 0", &["--pid"]),
        ("--pid 1 --tasks 3", &["--pid", "--tasks"]),
        ("--cgroup /nonexistent", &["--cgroup", "/nonexistent/cgroup.procs"]),
        ("--pid 1 --for 10ms", &["--for", "1s or more"]),
    ] {
        estimate(&[]).flags(flags).arg(RESULTS).finish().expect_refusal(2, words);
    }
    let run = estimate(&[RESULTS, "--", "true"]).finish();
    run.expect_refusal(1, &["it ended before it was seen twice"]);
}
