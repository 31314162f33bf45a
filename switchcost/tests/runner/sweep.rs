//! `switchcost sweep` and `switchcost memory`, end to end. No test asserts a time.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::benchmarks::{self, RUNNER};

/// The runner in a folder of its own.
fn switchcost(folder: &Path, arguments: &[&str]) -> Command {
    benchmarks::all();
    let mut command = Command::new(RUNNER);
    command
        .args(arguments)
        .current_dir(folder)
        .env("SWITCHCOST_LOCK", "none")
        .stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> (TempDir, Output) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = switchcost(folder.path(), arguments)
        .output()
        .expect("switchcost runs");
    (folder, output)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The records of a file.
fn records(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the records were written");
    let record = |line: &str| serde_json::from_str(line).expect("each line is a record");
    text.lines().map(record).collect()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        panic!("{e}: {out}\n{err}")
    })
}

/// The x of each point of a series, and whether a time was measured there.
fn points(series: &Value) -> Vec<(u64, bool)> {
    let points = series["points"].as_array().expect("a series has points");
    let point = |p: &Value| (p[0].as_u64().expect("an x"), p[1].get("time").is_some());
    points.iter().map(point).collect()
}

#[test]
fn tasks_are_swept_and_the_file_can_be_reported() {
    let (folder, output) = run(&[
        "sweep",
        "--tasks",
        "2..30",
        "--points",
        "3",
        "--rounds",
        "2",
        "--hops",
        "60",
        "--placement",
        "one-cpu",
        "--out",
        "s.jsonl",
        "--seed",
        "1",
        "--format",
        "json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = json(&output);
    let curve = &answer["curves"][0];
    assert_eq!(curve["over"], "tasks");
    let series = curve["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "thread-brigade, one-cpu",
            "async-brigade, one-cpu",
            "async-mem-brigade, one-cpu"
        ]
    );
    for series in series {
        assert_eq!(points(series), [(2, true), (8, true), (30, true)]);
        assert!(series["bend"]["level"].as_f64().unwrap() > 0.0);
        assert!(series["marks"].is_array());
    }

    let records = records(&folder.path().join("s.jsonl"));
    assert_eq!(records.len(), 3 * 3 * 2);
    for record in &records {
        // Fixed beforehand: 60 hops in all, and three iterations at least.
        let tasks = record["params"]["tasks"].as_u64().unwrap();
        let expected = 60u64.div_ceil(tasks + 1).max(3);
        assert_eq!(record["params"]["iters"], expected);
        assert_eq!(record["samples"]["count"], expected);
        assert_eq!(record["plan"]["over"], "tasks");
    }

    for format in [&[][..], &["--markdown", "-"], &["--html", "-"]] {
        let report = switchcost(folder.path(), &[&["report", "s.jsonl"], format].concat())
            .output()
            .unwrap();
        let printed = text(&report.stdout);
        assert!(report.status.success(), "{}", text(&report.stderr));
        for expected in [
            "Time per hop over --tasks",
            "async-mem-brigade, one-cpu",
            "no intervals",
        ] {
            assert!(printed.contains(expected), "{expected}\n{printed}");
        }
    }
}

#[test]
fn tokens_are_swept_with_fixed_flags_over_two_transports() {
    let (_folder, output) = run(&[
        "sweep",
        "--tokens",
        "1..4",
        "--points",
        "2",
        "--linear",
        "--rounds",
        "1",
        "--hops",
        "50",
        "--program",
        "async-brigade",
        "--placement",
        "free",
        "--transport",
        "pipe",
        "--transport",
        "socketpair",
        "--format",
        "json",
        "--",
        "--tasks",
        "5",
    ]);
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let answer = json(&output);
    let curve = &answer["curves"][0];
    assert_eq!(curve["title"], "Time per hop over --tokens, --tasks 5");
    let series = curve["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "async-brigade, free, pipe",
            "async-brigade, free, socketpair"
        ]
    );
    assert!(series.iter().all(|s| points(s) == [(1, true), (4, true)]));
}

#[test]
fn a_program_without_transports_is_measured_once() {
    let flags = "sweep --tasks 2..3 --points 2 --rounds 1 --hops 20 --placement free --format json \
                 --program async-creation --transport pipe --transport socketpair \
                 --program thread-brigade";
    let (_folder, output) = run(&flags.split_whitespace().collect::<Vec<_>>());
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let line = "async-creation has no --transport: it is measured once, without";
    assert!(stderr.contains(line), "{stderr}");
    let answer = json(&output);
    let curves = answer["curves"].as_array().unwrap().iter();
    let names: Vec<&str> = curves
        .flat_map(|curve| curve["series"].as_array().unwrap())
        .map(|series| series["name"].as_str().unwrap())
        .collect();
    let expected = [
        "async-creation, free",
        "thread-brigade, free, pipe",
        "thread-brigade, free, socketpair",
    ];
    assert!(
        expected.iter().all(|name| names.contains(name)),
        "{names:?}"
    );
    assert_eq!(names.len(), expected.len());
}

#[test]
fn creation_is_swept_by_the_task() {
    let (_folder, output) = run(&[
        "sweep",
        "--tasks",
        "1..9",
        "--points",
        "2",
        "--rounds",
        "1",
        "--hops",
        "20",
        "--program",
        "async-creation",
        "--placement",
        "one-cpu",
        "--format",
        "json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = json(&output);
    assert_eq!(answer["curves"][0]["metric"], "task");
}

#[test]
fn a_flag_that_takes_a_time_is_swept_in_ns() {
    let (folder, output) = run(&[
        "sweep",
        "--over",
        "length=1us..0.1ms",
        "--points",
        "3",
        "--rounds",
        "1",
        "--placement",
        "free",
        "--program",
        "blocking-strategies --strategy direct",
        "--program",
        "blocking-strategies --strategy permit --threads 6",
        "--out",
        "l.jsonl",
        "--format",
        "json",
        "--",
        "--operation",
        "spin",
        "--batch",
        "4",
        "--iters",
        "2",
        "--no-neighbours",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let answer = json(&output);
    let curve = &answer["curves"][0];
    assert_eq!(
        curve["title"],
        "Time per task over --length in ns, --operation spin --batch 4 --iters 2 --no-neighbours"
    );
    let series = curve["series"].as_array().unwrap();
    assert_eq!(series.len(), 2);
    for series in series {
        let expected = [1_000, 10_000, 100_000].map(|x| (x, true));
        assert_eq!(points(series), expected);
    }
    for record in records(&folder.path().join("l.jsonl")) {
        assert_eq!(record["params"]["tasks"], 4, "{record}");
        let own = record["params"]["strategy"] == "permit";
        assert_eq!(record["peak_threads"], if own { 6 } else { 8 }, "{record}");
    }
}

#[test]
fn a_program_without_the_flag_is_left_out_and_it_is_said() {
    let (folder, output) = run(&[
        "sweep",
        "--capacity",
        "1..2",
        "--points",
        "2",
        "--rounds",
        "1",
        "--hops",
        "20",
        "--program",
        "thread-brigade",
        "--program",
        "async-mem-brigade",
        "--placement",
        "free",
        "--out",
        "s.jsonl",
    ]);
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let line = "thread-brigade is not run: it has no flag --capacity";
    assert_eq!(stderr.matches(line).count(), 1, "{stderr}");
    // The result says so, and so does its file.
    let printed = text(&output.stdout);
    assert!(
        printed.contains("Not run at --capacity 1, 2: thread-brigade"),
        "{printed}"
    );
    let records = records(&folder.path().join("s.jsonl"));
    let left_out = |r: &&Value| {
        r["error"]
            .as_str()
            .is_some_and(|e| e.starts_with("not run: "))
    };
    assert_eq!(records.iter().filter(left_out).count(), 2);
}

#[test]
fn points_beyond_the_limits_are_left_out() {
    // More threads than there can be process ids: no system runs the last point.
    let (_folder, output) = run(&[
        "sweep",
        "--tasks",
        "2..4194305",
        "--points",
        "2",
        "--rounds",
        "1",
        "--hops",
        "20",
        "--program",
        "thread-brigade",
        "--placement",
        "free",
        "--format",
        "json",
    ]);
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let line = "thread-brigade is not run at --tasks 4194305: this system allows at most";
    assert!(stderr.contains(line), "{stderr}");
    let answer = json(&output);
    let series = &answer["curves"][0]["series"][0];
    assert_eq!(points(series), [(2, true), (4_194_305, false)]);
}

#[test]
fn each_program_has_transports_of_its_own() {
    let flags = "sweep --tasks 2..3 --points 2 --rounds 1 --hops 20 --placement free --format json \
                 --program thread-brigade --program thread-mem-brigade \
                 --transport pipe --transport futex --transport park";
    let (_folder, output) = run(&flags.split_whitespace().collect::<Vec<_>>());
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    for (program, refused) in [("thread-brigade", "park"), ("thread-mem-brigade", "pipe")] {
        let line =
            format!("{program} is not run at --tasks 2, 3: error: invalid value '{refused}'");
        assert!(stderr.contains(&line), "{stderr}");
    }
    let answer = json(&output);
    let series = answer["curves"][0]["series"].as_array().unwrap();
    let measured = series.iter().filter(|s| points(s).iter().all(|p| p.1));
    let names: Vec<&str> = measured.map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "thread-brigade, free, pipe",
            "thread-mem-brigade, free, futex",
            "thread-mem-brigade, free, park"
        ]
    );
}

#[test]
fn bad_usage_is_told_by_the_flag_and_nothing_is_written() {
    for (arguments, expected) in [
        (&["--tasks", "5..2"][..], "--tasks"),
        (&["--tasks", "0..3"], "--tasks"),
        (&["--tokens", "a..b"], "--tokens"),
        (&["--tokens", "3..3"], "--tokens"),
        (&["--tasks", "2..9", "--points", "1"], "--points"),
        (&["--stack-size", "1x..2x"], "--stack-size"),
        (&["--over", "5..6"], "--over"),
        (&["--over", "iters=9..1"], "--over"),
        (&[], "--tasks"),
        (&["--tasks", "2..9", "--tokens", "1..2"], "--tokens"),
        (
            &["--tasks", "2..9", "--", "--threads", "4"],
            "--tasks is swept",
        ),
        (&["--over", "speed=1..3"], "has a flag --speed"),
        (&["--over", "length=1us..10"], "not a range"),
        (&["--over", "length=1ms..1us"], "runs backwards"),
        (&["--over", "length=0s..1us"], "begins at 0"),
        (
            &["--over", "length=1us..5us", "--program", "thread-brigade"],
            "has a flag --length",
        ),
        (
            &[
                "--tasks",
                "2..9",
                "--program",
                "blocking-strategies",
                "--",
                "--batch",
                "4",
            ],
            "--tasks is swept",
        ),
        (
            // One of them has no transports, and would be measured without.
            &[
                "--tasks",
                "2..9",
                "--transport",
                "pigeon",
                "--program",
                "async-creation",
                "--program",
                "thread-brigade",
            ],
            "--transport pigeon",
        ),
        (
            &["--tasks", "2..9", "--", "--bogus"],
            "it has no flag --bogus",
        ),
    ] {
        let (folder, output) = run(&[&["sweep"], arguments].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            0,
            "{arguments:?}"
        );
    }
}

#[test]
fn memory_has_slopes_and_an_outlook() {
    let (folder, output) = run(&[
        "memory", "--from", "4", "--to", "40", "--rounds", "1", "--out", "m.jsonl",
    ]);
    let printed = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for expected in [
        "thread with a pipe (4 to 40 tasks, 8 runs)",
        "process with a pipe",
        "bare async task",
        "kernel stacks",
        "Theil–Sen",
        "1 M",
    ] {
        assert!(printed.contains(expected), "{expected}\n{printed}");
    }
    assert_eq!(records(&folder.path().join("m.jsonl")).len(), 7 * 8);
    let report = switchcost(folder.path(), &["report", "m.jsonl"])
        .output()
        .unwrap();
    assert!(text(&report.stdout).contains("kernel stacks"));
}

#[test]
fn memory_refuses_ranges_without_a_slope() {
    for (arguments, expected) in [
        (&["--from", "9", "--to", "3"][..], "runs backwards"),
        (
            &["--from", "3", "--to", "7"],
            "fewer than the 8 task counts",
        ),
        (&["--from", "0"], "--from"),
    ] {
        let (_folder, output) = run(&[&["memory"], arguments].concat());
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    }
}

#[test]
fn an_interrupted_sweep_keeps_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let mut child = switchcost(
        folder.path(),
        &[
            "sweep",
            "--tasks",
            "2..9",
            "--points",
            "3",
            "--rounds",
            "100000",
            "--hops",
            "50",
            "--program",
            "async-mem-brigade",
            "--placement",
            "free",
            "--out",
            "s.jsonl",
        ],
    )
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let begun = Instant::now();
    let lines = || fs::read_to_string(&file).map_or(0, |text| text.lines().count());
    while lines() < 6 {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "nothing is measured"
        );
        assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
        sleep(Duration::from_millis(10));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("Time per hop over --tasks"));
    assert!(records(&file).len() >= 6);
}
