//! Programs that keep no promise of docs/CONTRACT.md: they say too much, or nothing, or do not end.

use nix::sys::resource::{Resource, setrlimit};
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
