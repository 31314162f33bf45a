//! `rss-per-thread.sh` and `rss-per-task.sh`.

use nix::sys::signal::Signal;

use super::{can_run, folder_of, folder_of_pmap, script, within};
use crate::support::process::Outcome;
use crate::support::until;

const THREAD: &str = "rss-per-thread.sh";
const TASK: &str = "rss-per-task.sh";
const SMALL: &str = "--from 10 --to 40 --step 10 --iters 5";

/// What procps prints for a process of 4567 KiB.
const PMAP: &str = "echo 'Address           Kbytes     RSS   Dirty Mode  Mapping'\n\
                    echo 'total kB           12345    4567     890'";

/// The rows of a table: count, virtual, resident.
fn rows(outcome: &Outcome) -> Vec<[u64; 3]> {
    let first = outcome.stdout.lines().next();
    assert_eq!(first, Some("#count\tvm_KiB\trss_KiB"), "{outcome}");
    let rows = outcome.stdout.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let cells: Vec<u64> = row
            .split('\t')
            .map(|cell| {
                cell.parse()
                    .unwrap_or_else(|_| panic!("'{cell}': {outcome}"))
            })
            .collect();
        cells
            .try_into()
            .unwrap_or_else(|_| panic!("{row}: {outcome}"))
    })
    .collect()
}

fn counts(outcome: &Outcome) -> Vec<u64> {
    rows(outcome).iter().map(|row| row[0]).collect()
}

/// The value on one of the lines below the table.
fn fitted<'a>(outcome: &'a Outcome, name: &str) -> &'a str {
    let mut lines = outcome.stdout.lines();
    lines
        .find_map(|line| line.strip_prefix("# ")?.strip_prefix(name))
        .unwrap_or_else(|| panic!("no '{name}': {outcome}"))
        .trim()
}

#[test]
fn a_sweep_is_a_table_and_a_line_through_it() {
    if !can_run(&["bash", "pmap"]) {
        return;
    }
    for (name, program, per) in [
        (THREAD, "thread-brigade", "bytes per thread"),
        (THREAD, "thread-mem-brigade", "bytes per thread"),
        (THREAD, "thread-creation", "bytes per thread"),
        (TASK, "async-brigade", "bytes per task"),
        (TASK, "async-mem-brigade", "bytes per task"),
        (TASK, "async-creation", "bytes per task"),
    ] {
        let flags = format!("{SMALL} --program {program}");
        let outcome = script(name, &flags).finish().expect_quiet_success();
        assert_eq!(counts(&outcome), [10, 20, 30, 40], "{outcome}");
        for [_, total, resident] in rows(&outcome) {
            assert!(0 < resident && resident < total, "{outcome}");
        }
        let slope: f64 = fitted(&outcome, per).parse().unwrap();
        assert!(slope.is_finite(), "{outcome}");
        assert!(fitted(&outcome, "intercept").ends_with('B'), "{outcome}");
        assert!(
            fitted(&outcome, "standard error").ends_with('B'),
            "{outcome}"
        );
        // "unknown" where all rows are alike.
        assert!(!fitted(&outcome, "R2").is_empty(), "{outcome}");
    }
}

#[test]
fn every_thread_adds_at_least_a_page() {
    if !can_run(&["bash", "pmap"]) {
        return;
    }
    let flags = "--from 50 --to=250 --step=50 --iters=1 -- --stack-size 64KiB";
    let outcome = script(THREAD, flags).finish().expect_quiet_success();
    assert_eq!(counts(&outcome), [50, 100, 150, 200, 250], "{outcome}");
    let slope: f64 = fitted(&outcome, "bytes per thread").parse().unwrap();
    assert!(slope > 4096.0, "{outcome}");
    assert!(
        outcome.stdout.contains("--iters 1 --stack-size 64KiB"),
        "{outcome}"
    );
}

#[test]
fn the_line_is_that_of_the_runner() {
    if !can_run(&["bash"]) {
        return;
    }
    // Each call adds 2 KiB, and a count goes up by 10: 0.2 KiB for each.
    let folder = folder_of_pmap(
        "n=$(cat ${0%/*}/n 2>/dev/null || echo 100); echo $((n + 2)) >${0%/*}/n\n\
        echo 'Address           Kbytes     RSS   Dirty Mode  Mapping'\n\
        echo \"total kB           12345    $n     0\"",
    );
    let path = format!(
        "PATH='{}':$PATH exec \"$0\" \"$@\"",
        folder.path().display()
    );
    let outcome = within(&path, TASK, SMALL).finish().expect_quiet_success();
    assert_eq!(rows(&outcome)[3], [40, 12_345, 106], "{outcome}");
    assert_eq!(fitted(&outcome, "bytes per task"), "204.8", "{outcome}");
    assert_eq!(fitted(&outcome, "intercept"), "98.00 KiB", "{outcome}");
    assert_eq!(fitted(&outcome, "R2"), "1.000000", "{outcome}");
}

#[test]
fn any_folder_will_do() {
    if !can_run(&["bash", "pmap"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let linked = format!(
        "cd '{}' && ln -s \"$0\" linked && exec ./linked \"$@\"",
        folder.path().display()
    );
    let outcome = within(&linked, TASK, SMALL).finish().expect_quiet_success();
    assert_eq!(counts(&outcome), [10, 20, 30, 40], "{outcome}");
}

#[test]
fn bad_flags_are_named() {
    if !can_run(&["bash"]) {
        return;
    }
    for (flags, words) in [
        ("--from 0", &["--from", "'0'"][..]),
        ("--to ten", &["--to", "'ten'"]),
        ("--step 0", &["--step", "'0'"]),
        ("--iters -1", &["--iters", "'-1'"]),
        ("--iters 08", &["--iters", "'08'"]),
        ("--to 99999999999999999999", &["--to"]),
        ("--from 50 --to 40", &["--from 50", "--to 40"]),
        ("--from 10 --to 20 --step 10", &["--step 10", "at least 3"]),
        ("--from 99999", &["--from 99999", "default"]),
        ("--program async", &["--program", "'async'", "brigade"]),
        ("--from", &["--from"]),
        ("--tasks 10", &["--tasks", "after --"]),
        ("-- --format json", &["--format", "after --"]),
    ] {
        for name in [THREAD, TASK] {
            let outcome = script(name, flags).finish();
            outcome
                .expect_refusal(2, words)
                .expect_complaint(&[name, "--help"]);
        }
    }
}

#[test]
fn a_missing_pmap_is_said_with_the_package_that_has_it() {
    if !can_run(&["bash"]) {
        return;
    }
    let folder = folder_of(&["bash", "env", "dirname", "readlink"]);
    let path = format!("PATH='{}' exec \"$0\" \"$@\"", folder.path().display());
    let hints = [
        "apt install procps",
        "dnf install procps-ng",
        "pacman -S procps-ng",
        "apk add procps",
    ];
    within(&path, THREAD, SMALL)
        .finish()
        .expect_refusal(1, &hints);
}

#[test]
fn a_pmap_with_other_columns_is_refused() {
    if !can_run(&["bash"]) {
        return;
    }
    let folder = folder_of_pmap(
        "echo 'Address           Kbytes     PSS   Dirty    Swap  Mode  Mapping'\n\
         echo 'total kB           12345    4567     890       0'",
    );
    let path = format!(
        "PATH='{}':$PATH exec \"$0\" \"$@\"",
        folder.path().display()
    );
    let outcome = within(&path, TASK, SMALL).finish().expect(1);
    let outcome = outcome.expect_complaint(&["RSS", "procps"]);
    assert_eq!(counts(&outcome), [0; 0], "{outcome}");
}

#[test]
fn a_program_that_fails_speaks_for_itself() {
    if !can_run(&["bash", "pmap"]) {
        return;
    }
    let flags = format!("{SMALL} -- --transport pigeon");
    let outcome = script(THREAD, &flags).finish();
    outcome.expect_refusal(2, &["'pigeon'", "--transport"]);

    let folder = folder_of_pmap("echo no such process >&2; exit 42");
    let path = format!(
        "PATH='{}':$PATH exec \"$0\" \"$@\"",
        folder.path().display()
    );
    let outcome = within(&path, THREAD, SMALL).finish().expect(1);
    outcome.expect_complaint(&[
        "no such process",
        "thread-brigade: --command",
        "--tasks 10 ended",
    ]);
}

#[test]
fn a_default_range_ends_where_the_limits_do() {
    if !can_run(&["bash", "pmap"]) {
        return;
    }
    let few = r#"ulimit -n 128 && exec "$0" "$@""#;
    let outcome = within(few, THREAD, "--from 10 --step 10 --iters 1")
        .finish()
        .expect(0);
    let counts = counts(&outcome);
    let last = counts[counts.len() - 1];
    assert!(
        (30..64).contains(&last) && last.is_multiple_of(10),
        "{outcome}"
    );
    let outcome = outcome.expect_complaint(&[
        &format!("stopping at {last} threads instead of 1000"),
        "open files",
        "raise-limits.sh 1000 thread-brigade",
        "--program thread-mem-brigade",
    ]);
    assert_eq!(outcome.stderr.lines().count(), 1, "{outcome}");
}

#[test]
fn a_range_that_was_asked_for_is_not_shortened() {
    if !can_run(&["bash", "pmap"]) {
        return;
    }
    let few = r#"ulimit -n 128 && exec "$0" "$@""#;
    for flags in [
        "--from 10 --to 100 --step 10",
        // The default end, but too few counts are left of it.
        "--from 40 --step 20",
    ] {
        let outcome = within(few, THREAD, flags).finish();
        outcome.expect_refusal(1, &["at most", "open files", "nofile"]);
    }
}

#[test]
fn an_interrupt_leaves_the_rows_so_far_and_no_process() {
    if !can_run(&["bash"]) {
        return;
    }
    // The second reading takes for ever.
    let folder = folder_of_pmap(&format!(
        "[ -e ${{0%/*}}/again ] && exec sleep 1000\n: >${{0%/*}}/again\n{PMAP}"
    ));
    let path = format!(
        "PATH='{}':$PATH exec \"$0\" \"$@\"",
        folder.path().display()
    );
    for (signal, code, to_all) in [
        (Signal::SIGINT, 130, false),
        (Signal::SIGINT, 130, true),
        (Signal::SIGTERM, 143, false),
    ] {
        let _ = std::fs::remove_file(folder.path().join("again"));
        let running = within(&path, THREAD, SMALL).start();
        until("the second reading", || running.has("sleep"));
        match to_all {
            true => running.signal_all(signal),
            false => running.signal(signal),
        }
        let outcome = running.finish_all().expect(code);
        assert_eq!(rows(&outcome), [[10, 12_345, 4567]], "{outcome}");
        let last = outcome.stdout.lines().last().unwrap();
        assert!(
            last.starts_with(&format!("# interrupted by {signal}")),
            "{outcome}"
        );
    }
}
