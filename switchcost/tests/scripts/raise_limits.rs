//! `raise-limits.sh`.

use super::{can_run, script, within};

const NAME: &str = "raise-limits.sh";

#[test]
fn what_is_allowed_needs_no_command() {
    if !can_run(&["bash"]) {
        return;
    }
    for flags in [
        "10",
        "10 async-mem-brigade",
        "--apply 10",
        "10 --apply thread-creation",
    ] {
        let outcome = script(NAME, flags).finish().expect_quiet_success();
        assert!(
            outcome.stdout.contains("# nothing to raise: 10 tasks"),
            "{outcome}"
        );
        let command = outcome.stdout.lines().find(|line| !line.starts_with('#'));
        assert_eq!(command, None, "{outcome}");
    }
}

#[test]
fn what_is_not_allowed_comes_with_its_command_once() {
    if !can_run(&["bash"]) {
        return;
    }
    let few = r#"ulimit -n 128 && exec "$0" "$@""#;
    let outcome = within(few, NAME, "100").finish().expect(1);
    for program in ["thread-brigade", "async-brigade"] {
        assert!(
            outcome
                .stdout
                .contains(&format!("# {program} with 100 tasks")),
            "{outcome}"
        );
    }
    let is_command = |line: &&str| line.contains("prlimit --pid $$ --nofile=");
    assert_eq!(
        outcome.stdout.lines().filter(is_command).count(),
        1,
        "{outcome}"
    );
    assert!(outcome.stdout.contains("--apply 100"), "{outcome}");
}

#[test]
fn applying_raises_the_limits_of_the_calling_shell() {
    if !can_run(&["bash", "prlimit"]) {
        return;
    }
    // A soft limit below the hard one, which anyone may raise.
    let shell = r#"ulimit -S -v 1000000 && "$0" "$@"; echo "status $?, limit $(ulimit -S -v)""#;
    let denied = within(shell, NAME, "500 thread-creation")
        .finish()
        .expect(0);
    assert!(denied.stdout.contains("ulimit -S -v"), "{denied}");
    assert!(
        denied.stdout.contains("status 1, limit 1000000\n"),
        "{denied}"
    );

    let applied = within(shell, NAME, "--apply 500 thread-creation")
        .finish()
        .expect(0);
    assert!(applied.stdout.contains("prlimit --pid "), "{applied}");
    assert!(
        applied
            .stdout
            .contains("# 500 tasks are allowed now\nstatus 0"),
        "{applied}"
    );
    assert!(!applied.stdout.contains("limit 1000000\n"), "{applied}");
}

#[test]
fn a_command_that_fails_ends_it() {
    if !can_run(&["bash"]) {
        return;
    }
    let refused = "d=$(mktemp -d); trap 'rm -r \"$d\"' EXIT\n\
        printf '#!/bin/sh\\nexit 7\\n' >\"$d/prlimit\"; cp \"$d/prlimit\" \"$d/sudo\"; chmod +x \"$d\"/*\n\
        ulimit -n 128; PATH=$d:$PATH \"$0\" \"$@\"";
    let outcome = within(refused, NAME, "--apply 100").finish().expect(1);
    let outcome = outcome.expect_complaint(&["failed with status 7", "thread-brigade"]);
    assert!(!outcome.stdout.contains("async-brigade"), "{outcome}");
}

#[test]
fn bad_usage_is_named() {
    if !can_run(&["bash"]) {
        return;
    }
    for (flags, words) in [
        ("", &["N is missing"][..]),
        ("--apply", &["N is missing"]),
        ("many", &["N takes", "'many'"]),
        ("0", &["N takes", "'0'"]),
        ("10 no-such-brigade", &["PROGRAM", "'no-such-brigade'"]),
        ("10 ../switchcost", &["PROGRAM"]),
        ("10 switchcost", &["PROGRAM"]),
        ("10 thread-brigade async-brigade", &["'async-brigade'"]),
        ("--force 10", &["'--force'"]),
    ] {
        script(NAME, flags).finish().expect_refusal(2, words);
    }
}
