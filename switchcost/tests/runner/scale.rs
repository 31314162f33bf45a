//! `switchcost scale`, end to end.

use std::path::Path;

use serde_json::Value;

use super::switchcost;
use crate::support::benchmarks::{self, RUNNER};
use crate::support::process::Run;

#[test]
fn it_goes_as_far_as_the_limits_and_names_what_stops_it() {
    benchmarks::all();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("scale.jsonl");
    // The shell's own limits, soft and hard, are for this run alone.
    let scale = Run::within(r#"ulimit -n 64; exec "$0" "$@""#, Path::new(RUNNER))
        .flags("scale --from 5 --to 100 --rounds 2 --format json")
        .flags("--program thread-brigade --program async-mem-brigade --out")
        .arg(&out)
        .finish()
        .expect(0)
        .expect_complaint(&["thread-brigade: this system allows at most", "open files"]);
    let answer: Value = serde_json::from_str(scale.line()).unwrap();
    let reaches = answer["reaches"].as_array().unwrap();
    let [threads, tasks] = &reaches[..] else {
        panic!("{scale}");
    };
    let reached = |reach: &Value| reach["tasks"].as_u64().unwrap();
    assert!((5..32).contains(&reached(threads)), "{threads}");
    let reason = threads["stopped_by"].as_str().unwrap();
    assert!(reason.contains("open files"), "{reason}");
    assert_eq!((reached(tasks), &tasks["stopped_by"]), (100, &Value::Null));
    for reach in reaches {
        assert_eq!(reach["runs"], 2, "{reach}");
        for phase in ["setup", "first_iteration", "teardown"] {
            assert!(reach[phase].as_f64().unwrap() > 0.0, "{phase}: {reach}");
        }
    }
    assert_eq!(answer["curves"].as_array().unwrap().len(), 3);

    let report = switchcost("report").arg(&out).finish().expect(0);
    for words in [
        "set-up, per task",
        "teardown, per task",
        "stopped by: this system",
    ] {
        assert!(
            report.stdout.contains(words),
            "'{words}' is missing: {report}"
        );
    }
}

#[test]
fn creation_is_told_by_the_tasks_that_stay_alive() {
    let folder = tempfile::tempdir().unwrap();
    let run = switchcost("scale --from 3 --to 9 --rounds 1 --format json");
    let run = run
        .flags("--program async-creation --program")
        .arg("thread-creation --stack-size 64KiB");
    let run = run.arg("--out").arg(folder.path().join("o.jsonl"));
    let answer: Value = serde_json::from_str(run.finish().expect(0).line()).unwrap();
    let names = answer["reaches"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|reach| reach["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["async-creation", "thread-creation, --stack-size 64KiB"]
    );
    assert!(answer["reaches"][0]["setup"].as_f64().unwrap() > 0.0);
}

#[test]
fn bad_usage_is_told_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("none.jsonl");
    for (flags, words) in [
        ("--from 9 --to 8", "--from 9 is more than --to 8"),
        ("-- --iters 5", "--iters is set for each run by itself"),
        ("-- --no-such-flag 5", "--no-such-flag"),
        (
            "--program async-creation --program async-creation",
            "given twice",
        ),
        ("--from 0", "0 is not in"),
        ("--program no-such-program", "no-such-program"),
    ] {
        let run = switchcost("scale --out").arg(&out).flags(flags);
        run.finish().expect_refusal(2, &[words]);
    }
    let own = switchcost("scale --program").arg("async-creation --tasks 5");
    own.finish()
        .expect_refusal(2, &["--tasks is set for each run"]);
    assert!(!out.exists());
}
