use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use contract::message::MOST_SAMPLES;
use facts::Process;

use super::*;
use crate::measure::deadline::Time;
use crate::plan::Case;
use crate::plan::setting::Setting;
use crate::system::executable::Executable;

/// The line that a program prints when it is ready.
const READY: &str = r#"echo '{"at":"ready","pids":['$$'],"setup_ns":5,"first_ns":7,"contract":1,"program":"p","version":"3","tasks":4,"hops":5,"claim":"no-switch","passes":[{"name":"main"}]}'"#;

/// Answers a run as it is asked, of one ns and of two in turns.
const RUN: &str = r#"n=${line#run }; n=${n% *}; s=1; i=1
    while [ $i -lt $n ]; do s=$s,$((i % 2 + 1)); i=$((i + 1)); done
    echo '{"at":"ran","samples_ns":['$s'],"extra":{"late":{"count":1,"mean":3.0,"stddev":0.0,"min":3,"p50":3,"p90":3,"p99":3,"max":3}}}'"#;

const HOLD: &str = r#"echo '{"at":"held","pids":['$$']}'"#;
const END: &str = r#"echo '{"at":"ended","teardown_ns":9}'; exit 0"#;

/// A program of the contract: what it does when it is ready, at `run`, at `hold` and at `end`.
fn program([ready, run, hold, end]: [&str; 4]) -> String {
    format!(
        "#!/bin/sh\n{ready}\nwhile read line; do case $line in\nrun*) {run};;\nhold) {hold};;\n\
         end) {end};;\nesac; done\n"
    )
}

/// Runs a script as a program.
fn run_script(script: &str, case: &Case, timeout: Duration) -> Process {
    run_with(script, case, &Options::new(Some(timeout)))
}

fn run_with(script: &str, case: &Case, options: &Options) -> Process {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let program = Executable::from(path.as_path());
    // A fork of another test may hold the script open for writing at this moment.
    for _ in 0..100 {
        let seat = Seat {
            case,
            program: &program,
            described: None,
            iterations: Some(case.iters.min(MOST_SAMPLES)),
            slices: None,
        };
        let mut rng = fastrand::Rng::with_seed(1);
        let measured =
            measure(&[seat], &[vec![0]], options, Instant::now(), &mut rng, |_, _| {}).remove(0);
        let process = measured.unwrap().process;
        match &process.error {
            Some(error) if error.contains("os error 26") => {
                std::thread::sleep(Duration::from_millis(20));
            }
            _ => return process,
        }
    }
    panic!("the script stays busy");
}

const LONG: Duration = Duration::from_secs(60);

fn case(iters: u64) -> Case {
    Case { program: "p".to_owned(), iters, passes: vec!["single".to_owned()], ..Case::default() }
}

#[test]
fn a_program_is_asked_for_all_that_is_wanted() {
    let process = run_script(&program([READY, RUN, HOLD, END]), &case(4), LONG);
    assert_eq!((process.error.as_ref(), process.partial), (None, false));
    assert_eq!((process.tasks, process.hops, process.tokens), (Some(4), Some(5), 1));
    let phases = (process.setup_ns, process.first_ns, process.teardown_ns);
    assert_eq!(phases, (Some(5), Some(7), Some(9)));
    let samples = process.samples.unwrap();
    assert_eq!((samples.count, samples.mean, samples.each), (4, 1.5, None));
    assert!(process.memory.unwrap().held.unwrap().resident.is_some());
    assert!(process.interference.is_some());
    // It does not count its own usage: /proc does.
    assert!(process.usage.is_some());
    // Once in the main pass, and once in the other.
    assert_eq!(process.extra["late"].count, 2);
    assert_eq!(process.extra["single"].count, 4);
    assert_eq!(process.args, ["--warmup", "0"]);
}

#[test]
fn many_iterations_are_several_runs() {
    let counting = r#"n=${line#run }; echo $n >&2
        s=$(yes 1 | head -n $n | paste -sd,); echo '{"at":"ran","samples_ns":['$s']}'"#;
    let failing = r#"echo '{"at":"failed","error":"a task died"}'; exit 1"#;
    let process = run_script(
        &program([READY, counting, HOLD, failing]),
        &Case { passes: Vec::new(), ..case(10_001) },
        LONG,
    );
    assert_eq!(process.samples.unwrap().count, 10_001);
    let error = process.error.unwrap();
    assert_eq!(error, "a task died; timed before: 10001 iterations");
}

/// The other slices of a program that takes too long are left out, and what it has counts.
#[test]
fn turns_end_with_the_time_of_a_budget() {
    let begun = Instant::now() - 2 * LONG;
    let late = Options::new(Some(LONG)).within(Time::Budget(Duration::ZERO), begun);
    let counting = "n=${line#run }; n=${n% *}; s=$(yes 1 | head -n $n | paste -sd,); echo '{\"at\":\"ran\",\"samples_ns\":['$s']}'";
    let case = Case { passes: Vec::new(), ..case(20_000) };
    let process = run_with(&program([READY, counting, HOLD, END]), &case, &late);
    assert_eq!((process.error.as_ref(), process.partial), (None, false));
    assert_eq!(process.samples.map(|samples| samples.count), Some(10_000));
}

#[test]
fn an_answer_may_take_a_part_of_a_budget() {
    let within = |timeout, budget| {
        let time = Time::Budget(Duration::from_secs(budget));
        Options::new(timeout).within(time, Instant::now()).limit()
    };
    let limits = [within(None, 1), within(None, 600), within(None, 9000), within(Some(LONG), 1)];
    assert_eq!(limits.map(|limit| limit.as_secs()), [10, 150, 600, 60]);
}

#[test]
fn whatever_goes_wrong_has_its_cause() {
    const LATE: &str = "timed out: it had neither answered nor ended after 500ms";
    let other = READY.replace(r#""contract":1"#, r#""contract":7"#);
    let without_hops = READY.replace("\"hops\":5", "\"hops\":0");
    let ran = |samples: &str| format!(r#"echo '{{"at":"ran","samples_ns":[{samples}]}}'"#);
    // The first run is not kept.
    let none = format!("k=$((k + 1)); s=7; [ $k -lt 2 ] || s=; {}", ran("'$s'"));
    for (parts, cause) in [
        ([READY, "kill -SEGV $$", HOLD, END], "killed by signal 11 (SIGSEGV)"),
        ([READY, "echo no room >&2; exit 1", HOLD, END], "no room (exit status: 1)"),
        (["echo bad flag >&2; exit 2", RUN, HOLD, END], "bad flag (exit status: 2)"),
        (["exec sleep 1000", RUN, HOLD, END], LATE),
        ([READY, RUN, "sleep 1000", END], LATE),
        ([READY, RUN, "exec >&-; sleep 1000", END], LATE),
        (["echo hello", RUN, HOLD, END], "is none of docs/CONTRACT.md"),
        ([HOLD, RUN, HOLD, END], "where 'ready' was due"),
        ([READY, HOLD, HOLD, END], "where 'ran' was due"),
        ([READY, &ran("1,1,1,1,1,1"), HOLD, END], "with 6 samples"),
        ([READY, &none, HOLD, END], "it answered `run 4` with 0 samples"),
        ([READY, RUN, HOLD, "echo lost >&2; exit 1"], "lost (exit status: 1)"),
        ([&without_hops, RUN, HOLD, END], "integer `0`, expected a nonzero"),
        ([&other, RUN, HOLD, END], "version 7 of the contract"),
    ] {
        let timeout = if cause == LATE { Duration::from_millis(500) } else { LONG };
        let process = run_script(&program(parts), &case(4), timeout);
        let error = process.error.unwrap_or_default();
        assert!(error.contains(cause), "{parts:?}: {error}");
    }
    let long = ran("18446744073709551615");
    let process = run_script(&program([READY, &long, HOLD, END]), &case(1), LONG);
    assert!(process.error.unwrap().contains("cannot be true") && process.samples.is_none());
}

#[test]
fn what_cannot_be_started_says_why() {
    let process = run_script("#!/nowhere\n", &case(1), LONG);
    assert!(process.error.unwrap().starts_with("cannot start "));
    let nowhere = Case {
        setting: Setting {
            cpus: Some("8191".parse().unwrap_or_else(|_| "1023".parse().unwrap())),
            ..Setting::default()
        },
        ..case(1)
    };
    let error = run_script(&program([READY, RUN, HOLD, END]), &nowhere, LONG).error.unwrap();
    assert!(error.contains("may be used here"), "{error}");
}

#[test]
fn a_pinned_case_runs_on_one_cpu() {
    let ready = format!("grep Cpus_allowed_list /proc/self/status >&2; {READY}");
    let show = "kill -9 $$";
    let pinned = Case { pin: true, ..case(1) };
    let process = run_script(&program([&ready, show, HOLD, END]), &pinned, LONG);
    let cpu = process.cpus.unwrap();
    let error = process.error.unwrap();
    assert!(error.ends_with(&format!("Cpus_allowed_list:\t{cpu}")), "{error}");
    assert!(process.cache_line.is_none());
}
