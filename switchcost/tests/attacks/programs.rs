//! Programs that keep no promise of docs/CONTRACT.md: they say too much, or nothing, or do not end.

use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::house::{House, executable};
use crate::support::process::Run;
use crate::support::{RUNNER, is_installed, skip};

const BAD: &str = "one-thread-brigade";

/// A house with the bad program, which does this before it answers a request.
fn house(before: &str) -> House {
    let house = House::new(1, &[BAD, "async-brigade"]);
    house.fake(BAD, before);
    house
}

/// A house whose bad program does this if it is asked for its description.
fn undescribed(describes: &str) -> House {
    let house = house(":");
    let text = House::fake_text(BAD, ":");
    let text = text.replace("echo \"{$description}\"; exit", describes);
    executable(&house.path(BAD), &text);
    house
}

#[test]
fn a_million_processes_are_more_than_can_be_observed() {
    let house = house(
        "[ $what = hold ] && echo \"{\\\"at\\\":\\\"held\\\",\\\"pids\\\":[$(seq -s , 1000000)]}\"",
    );
    let run = house.switchcost(&format!("stat --iters 4 {BAD}")).start().finish_all();
    run.expect(1).expect_complaint(&["1000000 processes", "10000 are the most"]);
}

/// Memory and CPU time are looked at by number: those of others would be taken for the program's.
#[test]
fn a_program_names_processes_of_its_own_each_once() {
    for (pids, word) in [
        ("1", "name 1, which is no process of its own"),
        ("$$,$PPID", "no process of its own"),
        ("0", "no process of its own"),
        ("-1", "no process of its own"),
        ("", "each once: []"),
        ("$$,$$", "each once: ["),
    ] {
        let house =
            house(&format!(r#"[ $what = hold ] && echo "{{\"at\":\"held\",\"pids\":[{pids}]}}""#));
        refused(&house, &[word]);
    }
}

/// `stat` fails for this reason.
fn refused(house: &House, words: &[&str]) {
    let run = house.switchcost(&format!("stat --iters 4 {BAD}")).start().finish_all();
    run.expect(1).expect_complaint(words);
}

#[test]
fn samples_are_no_longer_than_their_answer_took() {
    let house = house(":");
    let text = House::fake_text(BAD, ":").replace("yes 1000", "yes 900000000");
    executable(&house.path(BAD), &text);
    refused(&house, &["cannot be true", "samples of 3600000000 ns"]);
    executable(&house.path(BAD), &text.replace("yes 900000000", "yes 0"));
    refused(&house, &["cannot be true", "samples of 0 ns"]);
    executable(&house.path(BAD), &text.replace("setup_ns\\\":1", "setup_ns\\\":90000000000"));
    refused(&house, &["cannot be true", "setup_ns of 90000000000"]);
    executable(
        &house.path(BAD),
        &text
            .replace("teardown_ns\":1", "teardown_ns\":90000000000")
            .replace("yes 900000000", "yes 1"),
    );
    refused(&house, &["cannot be true", "teardown_ns of 90000000000"]);
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
    let run = house.switchcost(&format!("stat --iters 4 --timeout 1s {BAD}")).start();
    run.finish_all().expect(1).expect_complaint(&["timed out"]);
}

/// The second answer to a request would be taken for that to the next.
#[test]
fn an_answer_has_all_samples_that_were_asked_for() {
    let twice = house(r#"[ $what = run ] && echo "{\"at\":\"ran\",\"samples_ns\":[7]}""#);
    refused(&twice, &["answered `run 4` with 1 samples"]);
}

#[test]
fn a_program_is_what_it_was_described_to_be() {
    let house = undescribed(r#"echo "{$description}" | sed 's/"hops":2/"hops":3/'; exit"#);
    house.run("").finish().expect(1);
    let errors = house.errors(BAD);
    let words = ["not as --describe has it", "hops 2, not 3"];
    assert!(words.iter().all(|word| errors[0].contains(word)), "{errors:?}");
}

/// A program may name whatever it likes at any length.
#[test]
fn texts_of_a_program_are_bounded() {
    let long = "n".repeat(100_000);
    let failed = format!(r#"echo '{{"at":"failed","error":"{long}"}}'; exit 1"#);
    let version = undescribed(":");
    let text = House::fake_text(BAD, ":");
    executable(
        &version.path(BAD),
        &text.replace(r#""version":"0""#, &format!(r#""version":"{long}""#)),
    );
    let lines = r#"echo '{"at":"failed","error":"a\\nswitchcost: b"}'; exit 1"#;
    let empty = r#"echo '{"at":"failed","error":" "}'; exit 1"#;
    for (house, word) in [
        (house(&failed), "nnn …"),
        (house(lines), "a\nswitchcost: b"),
        (house(empty), "does not say why"),
        (house(r#"echo '{"at":"x\\nswitchcost: b"}'"#), "x\nswitchcost: b`"),
        (version, "a text of 100000 bytes"),
    ] {
        house.run("").finish().expect(1);
        let errors = house.errors(BAD);
        assert!(errors[0].contains(word), "{errors:?}");
        assert!(house.text().len() < 60_000, "{} bytes", house.text().len());
    }
}

#[test]
fn other_cpus_in_the_middle_are_told() {
    let Ok(all) = sched_getaffinity(Pid::from_raw(0)) else { return skip("no CPUs") };
    let cpus: Vec<usize> = (0..CpuSet::count()).filter(|&k| all.is_set(k) == Ok(true)).collect();
    if cpus.len() < 2 || !is_installed("taskset") {
        return skip("one CPU, or no taskset");
    }
    let house = house(&format!("taskset --pid --cpu-list {} $$ >/dev/null", cpus[0]));
    house.run("").finish().expect(1);
    let errors = house.errors(BAD);
    assert!(errors.len() == 1 && errors[0].contains("CPUs were changed while"), "{errors:?}");
}

/// They go into no file, which would fill the memory or the disk: no file may have more than a megabyte here.
#[test]
fn endless_words_take_neither_memory_nor_the_measurement() {
    let house = house(
        "yes words >&2 & yes=$!; sleep 1; kill $yes; wait $yes; echo the last ones >&2; [ $what = run ] && exit 3",
    );
    let bounded = || {
        setrlimit(Resource::RLIMIT_FSIZE, 1 << 20, 1 << 20)?;
        Ok(())
    };
    // SAFETY: it makes a system call and nothing else.
    #[expect(unsafe_code, reason = "as `prepared` asks for")]
    let run = unsafe { house.run("").prepared(bounded) };
    run.start().finish_all().expect(1);
    let errors = house.errors(BAD);
    assert!(errors.len() == 1 && errors[0].contains("the last ones"), "{errors:?}");
    assert!(errors[0].len() < 1000, "{} bytes", errors[0].len());
}

#[test]
fn what_is_no_description_is_told() {
    let house = undescribed("echo '{\"contract\":-1}'; exit");
    let run = house.switchcost(&format!("limits {BAD}")).finish();
    run.expect_refusal(1, &["no description of docs/CONTRACT.md: invalid value: integer `-1`"]);
}

#[test]
fn a_description_that_does_not_come_is_not_waited_for() {
    let silent = undescribed("trap '' TERM; sleep 1000; true");
    let words = "it does not describe itself within 10 s";
    let run = silent.switchcost(&format!("limits {BAD}")).start().finish_all();
    run.expect_refusal(1, &[words]);
    // One wait for all points.
    let run = silent.switchcost(&format!("sweep --tasks 1..9 --program {BAD}"));
    run.start().finish_all().expect_refusal(2, &[words]);
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
    house.run("").start().finish_all().expect(0);
    let left: Vec<_> = house.processes().into_iter().map(|p| p["left_behind"].clone()).collect();
    assert!(
        left.iter().any(|names| names.as_str().is_some_and(|names| names.starts_with("sh"))),
        "{left:?}"
    );
    let run = house.switchcost(&format!("stat --iters 4 {BAD}")).start().finish_all().expect(0);
    assert!(run.stdout.contains("left processes running, which were ended: sh"), "{run}");
    let run = house.switchcost(&format!("check {BAD}")).start().finish_all().expect(1);
    assert!(run.stdout.contains("it left processes running: "), "{run}");
}

#[test]
fn a_traceback_is_told_by_its_cause_and_kept_whole() {
    let house = house(
        "printf '%s\\n' 'Traceback:' '  File 1' '    write' 'BrokenPipeError: 32' '    at x' >&2; exit 1",
    );
    let stat = |flags: &str| house.switchcost(&format!("stat {flags} {BAD}")).finish().expect(1);
    let run = stat("--iters 4");
    let errors: Vec<&str> = run.stderr.lines().collect();
    let [error] = errors[..] else { panic!("one line: {run}") };
    assert!(error.contains(": BrokenPipeError: 32 (") && error.contains("all 5 lines"), "{run}");
    let run = stat("--iters 4 --format json");
    let report: Value = serde_json::from_str(run.line()).unwrap();
    let words = report["process"]["stderr"].as_str().unwrap();
    assert_eq!(words.lines().count(), 5, "{run}");
}

#[test]
fn threads_that_the_address_space_has_no_room_for_are_refused_with_its_limit() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let program = folder.path().join("thread-brigade");
    std::fs::hard_link(RUNNER, &program).unwrap();
    let run = Run::within("ulimit -v 300000; exec \"$0\" \"$@\"", &program).flags("--tasks 5000");
    let words = ["the address space (ulimit -v)", "tasks fit", "switchcost limits"];
    run.finish().expect_refusal(1, &words);
}

#[test]
fn the_help_of_a_program_is_its_own() {
    let house = House::new(1, &[BAD]);
    for verb in ["stat", "limits"] {
        let run = house.switchcost(&format!("{verb} {BAD} --help")).finish();
        assert_eq!(run.expect_quiet_success().stdout, "  --tasks <N>\n");
    }
}
