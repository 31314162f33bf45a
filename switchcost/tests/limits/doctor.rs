//! `switchcost limits` on this machine.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::groups::Group;
use super::users::{Nobody, copy_for_nobody};
use crate::support::benchmarks::{self, RUNNER};
use crate::support::process::{Outcome, Run};
use crate::support::{is_installed, skip};

fn limits(flags: &str) -> Outcome {
    within(r#"exec "$0" "$@""#, flags)
}

fn within(script: &str, flags: &str) -> Outcome {
    // They are built once, and by one cargo.
    benchmarks::all();
    let run = Run::within(script, Path::new(RUNNER)).arg("limits");
    run.flags(flags).finish()
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.line()).unwrap()
}

#[test]
fn every_benchmark_stands_against_every_limit() {
    let outcome = limits("--format json").expect_quiet_success();
    let checkup = json(&outcome);
    let names = [
        "open files (hard",
        "vm.max_map_count",
        "kernel.pid_max",
        "fs.epoll",
    ];
    for name in names {
        let mut lines = checkup["limits"].as_array().unwrap().iter();
        assert!(
            lines.any(|line| line["name"].as_str().unwrap().starts_with(name)),
            "{name}: {outcome}"
        );
    }
    for verdict in checkup["programs"].as_array().unwrap() {
        assert!(verdict["error"].is_null() && verdict["demand"].is_object());
        let largest = verdict["largest"].as_u64().unwrap();
        let binding = &verdict["binding"];
        let mut lines = checkup["limits"].as_array().unwrap().iter();
        let is_it = |line: &&Value| {
            ["name", "source"]
                .iter()
                .all(|key| line[key] == binding[key])
        };
        let binding = lines.find(is_it);
        let allows = &binding.unwrap()["largest"][verdict["program"].as_str().unwrap()];
        assert!(allows.as_u64().unwrap() >= largest, "{verdict}");
    }
    let text = limits("").expect_quiet_success();
    for word in [
        "How many tasks",
        "thread-brigade",
        "max_map_count",
        "MemAvailable",
    ] {
        assert!(text.stdout.contains(word), "{word}: {text}");
    }
}

#[test]
fn the_status_tells_whether_all_of_them_fit() {
    let few = limits("--tasks 3").expect_quiet_success();
    assert!(few.stdout.contains("3 tasks fit"), "{few}");
    let many = limits("--tasks 4000000000 --format json").expect(1);
    let many = many.expect_complaint(&["4000000000 tasks", "thread-creation", "async-mem-brigade"]);
    for verdict in json(&many)["programs"].as_array().unwrap() {
        assert_eq!(verdict["fits"], false, "{verdict}");
    }
    for flags in ["--tasks 0", "--tasks -1", "--tasks many", "--format csv"] {
        limits(flags).expect_refusal(2, &[]);
    }
}

#[test]
fn few_descriptors_lead_to_the_memory_transport() {
    let script = r#"ulimit -n 64 && exec "$0" "$@""#;
    let outcome = within(script, "--tasks 500").expect(1);
    for word in ["--nofile=", "limits.d", "async-mem-brigade", "this shell"] {
        assert!(outcome.stdout.contains(word), "{word}: {outcome}");
    }
    let outcome = outcome.expect_complaint(&["thread-brigade", "async-brigade"]);
    assert!(!outcome.stderr.contains("async-mem-brigade"), "{outcome}");
}

#[test]
fn a_control_group_is_named_by_its_path() {
    let group = match Group::limited_to("doctor", 60) {
        Ok(group) => group,
        Err(why) => return skip(&why),
    };
    let script = format!(r#"{} exec "$0" "$@""#, group.enter());
    let outcome = within(&script, "--tasks 100");
    if outcome.code == 77 {
        return skip("no process can be moved to a control group");
    }
    let outcome = outcome.expect(1);
    let file = group.path().join("pids.max");
    let command = format!("tee {}", file.display());
    assert!(outcome.stdout.contains(&command), "{outcome}");
    assert!(
        outcome.stdout.contains("until the group is made anew"),
        "{outcome}"
    );
}

#[test]
fn memory_of_a_control_group_bounds_what_fits() {
    let group = match Group::of_memory("doctor", 256 << 20) {
        Ok(group) => group,
        Err(why) => return skip(&why),
    };
    let script = format!(r#"{} exec "$0" "$@""#, group.enter());
    let outcome = within(&script, "--tasks 1000000 --format json");
    if outcome.code == 77 {
        return skip("no process can be moved to a control group");
    }
    let checkup = json(&outcome.expect(1));
    let folder = group.path().to_str().unwrap();
    let verdicts = checkup["programs"].as_array().unwrap().iter();
    let bound = verdicts.filter(|verdict| {
        let source = verdict["binding"]["source"].as_str();
        source.is_some_and(|source| source.starts_with(folder))
    });
    assert!(bound.count() > 0, "{checkup}");
}

#[test]
fn in_namespaces_what_is_closed_is_said() {
    if !is_installed("unshare") || !is_installed("mount") {
        return skip("no unshare or no mount");
    }
    let script = "exec unshare --user --map-root-user --mount --pid --fork --mount-proc \
        sh -c 'mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys || exit 77; \
        exec \"$0\" \"$@\"' \"$0\" \"$@\"";
    let outcome = within(script, "--tasks 1000000");
    if outcome.stderr.contains("unshare:") || outcome.code == 77 {
        return skip("no user namespace can be made, or nothing be mounted in it");
    }
    let outcome = outcome.expect(1);
    let text: Vec<&str> = outcome.stdout.split_whitespace().collect();
    let text = text.join(" ");
    for words in [
        "root of a user namespace only",
        "/proc/sys is read-only",
        "refused here: /proc/sys is mounted read-only",
    ] {
        assert!(text.contains(words), "{words}: {outcome}");
    }
}

#[test]
fn without_the_programs_the_limits_are_told_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let runner = folder.path().join("switchcost");
    fs::copy(RUNNER, &runner).unwrap();
    let run = Run::of(&runner).flags("limits").finish();
    let run = run.expect_quiet_success();
    assert!(
        run.stdout.contains("thread-brigade: cannot be asked:"),
        "{run}"
    );
    assert!(run.stdout.contains("vm.max_map_count"), "{run}");
    // A question that has no answer is not answered with yes.
    let run = Run::of(&runner).flags("limits --tasks 10").finish();
    let run = run
        .expect(1)
        .expect_complaint(&["it is not known whether these can: ", "thread-brigade"]);
    assert!(run.stdout.contains("vm.max_map_count"), "{run}");
}

#[test]
fn an_ordinary_user_is_told_of_small_pipes() {
    let nobody = match Nobody::new() {
        Ok(nobody) => nobody,
        Err(why) => return skip(&why),
    };
    let folder = copy_for_nobody([Path::new(RUNNER)]);
    let outcome = nobody
        .run(&folder.path().join("switchcost"), "limits")
        .finish();
    if !Path::new("/proc/sys/fs/pipe-user-pages-soft").exists() {
        return skip("this kernel has no fs.pipe-user-pages-soft");
    }
    let outcome = outcome.expect_quiet_success();
    assert!(
        outcome.stdout.contains("This process is not root"),
        "{outcome}"
    );
    assert!(outcome.stdout.contains("pipe-user-pages-soft"), "{outcome}");
}
