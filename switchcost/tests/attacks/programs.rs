//! Programs that keep no promise of docs/CONTRACT.md: they say too much, or nothing, or do not end.

use serde_json::Value;

use crate::support::house::{House, executable};
use crate::support::process::Outcome;
use crate::support::{is_installed, skip};

const BAD: &str = "one-thread-brigade";

/// A house with the bad program, which does this before it answers a request.
fn house(before: &str) -> House {
    let house = House::new(1, &[BAD, "async-brigade"]);
    house.fake(BAD, before);
    house
}

/// A house whose bad program has some of its text replaced.
fn replaced(texts: &[(&str, &str)]) -> House {
    let house = house(":");
    let fake = House::fake_text(BAD, ":");
    let text = texts.iter().fold(fake, |text, (old, new)| text.replace(old, new));
    executable(&house.path(BAD), &text);
    house
}

/// A house whose bad program does this if it is asked for its description.
fn undescribed(describes: &str) -> House {
    replaced(&[("echo \"{$description}\"; exit", describes)])
}

/// `stat` ends with this status.
fn stat(house: &House, code: i32) -> Outcome {
    house.switchcost(&format!("stat --iters 4 {BAD}")).finish().expect(code)
}

/// Memory and CPU time are looked at by number: those of others would be taken for the program's.
#[test]
fn a_program_names_processes_of_its_own_each_once() {
    for (pids, word) in [
        ("1", "name 1, which is not its own process"),
        ("$$,$PPID", "not its own process"),
        ("-1", "not its own process"),
        ("", "each of them once: []"),
        ("$$,$$", "each of them once: ["),
        ("$(seq -s , 1000000)", "1000000 processes"),
    ] {
        let held = format!(r#"[ $what = hold ] && echo "{{\"at\":\"held\",\"pids\":[{pids}]}}""#);
        stat(&house(&held), 1).expect_complaint(&[word]);
    }
}

#[test]
fn what_cannot_be_true_is_refused() {
    let long = ("ns=1000", "ns=900000000 lies=yes");
    let set_up = ("setup_ns\\\":1", "setup_ns\\\":90000000000");
    let teardown = ("teardown_ns\":1", "teardown_ns\":90000000000");
    for (house, words) in [
        (replaced(&[long]), "samples of 900000000 ns"),
        (replaced(&[("ns=1000", "ns=0")]), "samples of 0 ns"),
        (replaced(&[set_up]), "setup_ns of 90000000000"),
        (replaced(&[teardown]), "teardown_ns of 90000000000"),
        // The second answer to a request would be taken for that to the next.
        (
            house(r#"[ $what = run ] && echo "{\"at\":\"ran\",\"samples_ns\":[7]}""#),
            "answered `run 4` with 1 samples",
        ),
    ] {
        stat(&house, 1).expect_complaint(&[words]);
    }
}

/// A signal to its group no longer reaches it.
#[test]
fn a_program_that_leaves_its_group_is_ended() {
    if !is_installed("python3") {
        return skip("no python3");
    }
    let leaves = r#"exec python3 -c 'import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_DFL)
os.setpgid(0, os.getpgid(os.getppid()))
time.sleep(1000)'"#;
    let house = house(leaves);
    let run = house.switchcost(&format!("stat --iters 4 --timeout 1s {BAD}"));
    run.finish().expect(1).expect_complaint(&["timed out"]);
}

/// A program may name whatever it likes at any length; and it is what it was described to be.
#[test]
fn what_a_program_says_is_bounded_and_its_error() {
    let long = "n".repeat(100_000);
    let failed = format!(r#"echo '{{"at":"failed","error":"{long}"}}'; exit 1"#);
    let extra =
        r#"field=',"extra":{"x":{"count":1,"mean":5,"min":5,"p50":5,"p90":5,"p99":5,"max":4}}'"#;
    let lines = r#"echo '{"at":"failed","error":"a\\nswitchcost: b"}'; exit 1"#;
    for (house, word) in [
        (house(&failed), "nnn …"),
        (house(lines), "a\\nswitchcost: b"),
        (house(r#"echo '{"at":"failed","error":" "}'; exit 1"#), "it failed without a reason"),
        (house(r#"echo '{"at":"x\\nswitchcost: b"}'"#), "x\\nswitchcost: b`"),
        (house(extra), "extra: x: min must not be above max"),
        (
            undescribed(r#"echo "{$description}" | sed 's/"hops":2/"hops":3/'; exit"#),
            "it differs from its own --describe",
        ),
    ] {
        house.run("").finish().expect(1);
        let errors = house.errors(BAD);
        assert!(errors[0].contains(word), "{errors:?}");
        assert!(house.text().len() < 60_000, "{} bytes", house.text().len());
    }
}

#[test]
fn other_cpus_in_the_middle_are_told() {
    let cpus = observe::affinity::allowed().unwrap();
    if cpus.len() < 2 || !is_installed("taskset") {
        return skip("one CPU, or no taskset");
    }
    let house = house(&format!("taskset --pid --cpu-list {} $$ >/dev/null", cpus[0]));
    house.run("").finish().expect(1);
    let errors = house.errors(BAD);
    assert!(errors.len() == 1 && errors[0].contains("changed its CPUs while"), "{errors:?}");
}

/// They go into no file, which would fill the memory or the disk: no file may have more than a megabyte here.
#[test]
fn endless_words_take_neither_memory_nor_the_measurement() {
    let house = house(
        "yes words >&2 & yes=$!; sleep 1; kill $yes; wait $yes; echo the last ones >&2; [ $what = run ] && exit 3",
    );
    let run = house.run_after("ulimit -f 2048", "");
    run.finish().expect(1);
    let errors = house.errors(BAD);
    assert!(errors.len() == 1 && errors[0].contains("the last ones"), "{errors:?}");
    assert!(errors[0].len() < 1000, "{} bytes", errors[0].len());
}

#[test]
fn a_description_that_is_none_is_told() {
    let limits = format!("limits {BAD}");
    let none = undescribed("echo '{\"contract\":-1}'; exit").switchcost(&limits).finish();
    none.expect_refusal(
        1,
        &["not a description as in docs/CONTRACT.md: invalid value: integer `-1`"],
    );
}

/// It has left its process group, keeps no descriptor, and its parent ends at once.
const ESCAPE: &str = "rm -f away; setsid sh -c 'sleep 1000 & >away; sleep 1000; :' </dev/null >/dev/null 2>&1 & \
                      until [ -e away ]; do sleep 0.01; done";

#[test]
fn what_escapes_from_a_program_is_ended_and_told() {
    if !is_installed("setsid") {
        return skip("no setsid");
    }
    let house = house(ESCAPE);
    let run = stat(&house, 0);
    assert!(run.words().contains("left processes running, and they were ended: sh"), "{run}");
    let run = house.switchcost(&format!("check {BAD}")).finish().expect(1);
    assert!(run.stdout.contains("it left processes running: "), "{run}");
}

#[test]
fn a_traceback_is_told_by_its_cause_and_kept_whole() {
    let house = house(
        "printf '%s\\n' 'Traceback:' '  File 1' '    write' 'BrokenPipeError: 32' '    at x' >&2; exit 1",
    );
    let run = stat(&house, 1).expect_complaint(&[": BrokenPipeError: 32 (", "all 5 lines"]);
    assert_eq!(run.stderr.lines().count(), 1, "{run}");
    let run = house.switchcost(&format!("stat --iters 4 --format json {BAD}")).finish().expect(1);
    let report: Value = serde_json::from_str(run.line()).unwrap();
    assert_eq!(report["trial"]["stderr"].as_str().map(|words| words.lines().count()), Some(5));
}
