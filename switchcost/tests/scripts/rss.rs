//! `rss-per-thread.sh` and `rss-per-task.sh`.

use nix::sys::signal::Signal;
use tempfile::TempDir;

use super::{can_run, executable, script, within};
use crate::support::process::{Outcome, Run, ignores};
use crate::support::{build, skip, until};

const THREAD: &str = "rss-per-thread.sh";
const TASK: &str = "rss-per-task.sh";
const SMALL: &str = "--from 10 --to 40 --step 10 --iters 5";

/// What procps prints.
const PMAP: &str = "echo 'Address           Kbytes     RSS   Dirty Mode  Mapping'\n\
                    echo \"total kB           12345    ${n:-4567}     890\"";

/// A script that finds the programs of this profile.
fn built(run: Run) -> Run {
    run.env("SWITCHCOST_BIN_DIR", build().to_str())
}

/// A folder with a `pmap` that is this shell text, and a script that finds it first.
fn with_pmap(text: &str, name: &str) -> (TempDir, Run) {
    let folder = tempfile::tempdir().unwrap();
    executable(&folder.path().join("pmap"), &format!("#!/bin/sh\n{text}\n"));
    let path = format!("PATH='{}':$PATH exec \"$0\" \"$@\"", folder.path().display());
    let run = built(within(&path, name, SMALL));
    (folder, run)
}

/// The rows of a table: count, virtual, resident.
fn rows(outcome: &Outcome) -> Vec<[u64; 3]> {
    let rows = outcome.stdout.lines().filter(|line| !line.starts_with('#'));
    let cells = |row: &str| row.split('\t').map(|cell| cell.parse().unwrap()).collect::<Vec<_>>();
    rows.map(|row| cells(row).try_into().unwrap()).collect()
}

#[test]
fn a_sweep_is_a_table_and_a_line_through_it() {
    if !can_run(&["bash", "pmap"]) {
        return;
    }
    for (name, per) in [(THREAD, "# bytes per thread: "), (TASK, "# bytes per task: ")] {
        let run = built(script(name, SMALL)).finish().expect_quiet_success();
        let counts: Vec<u64> = rows(&run).iter().map(|row| row[0]).collect();
        assert_eq!(counts, [10, 20, 30, 40], "{run}");
        assert!(rows(&run).iter().all(|row| 0 < row[2] && row[2] < row[1]), "{run}");
        let fitted = run.stdout.lines().find_map(|line| line.strip_prefix(per));
        assert!(fitted.unwrap().parse::<f64>().unwrap().is_finite(), "{run}");
    }
}

#[test]
fn the_line_is_the_least_squares_one() {
    if !can_run(&["bash", "awk"]) {
        return;
    }
    // 102, 104, 106, 110 KiB at 10 to 40: worked out by hand.
    let rss = "for n in 102 104 106 110; do [ -e ${0%/*}/$n ] || break; done; : >${0%/*}/$n";
    let (_folder, run) = with_pmap(&format!("{rss}\n{PMAP}"), TASK);
    let run = run.finish().expect_quiet_success();
    assert_eq!(rows(&run)[3], [40, 12_345, 110], "{run}");
    for line in ["# bytes per task: 266.2\n", "# intercept: 99.0 KiB\n", "# R2: 0.965714\n"] {
        assert!(run.stdout.contains(line), "{line}: {run}");
    }
    let (_folder, run) = with_pmap(PMAP, TASK);
    let run = run.finish().expect_quiet_success();
    assert!(run.stdout.contains("# R2: unknown"), "{run}");
}

#[test]
fn an_interrupt_leaves_the_rows_so_far_and_no_process() {
    if !can_run(&["bash"]) {
        return;
    }
    for (signal, code) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        if ignores(signal) {
            skip(&format!("{signal} is ignored here"));
            continue;
        }
        // The second reading takes for ever.
        let again = "[ -e ${0%/*}/again ] && exec sleep 1000\n: >${0%/*}/again";
        let (_folder, run) = with_pmap(&format!("{again}\n{PMAP}"), THREAD);
        let running = run.start();
        until("the second reading", || running.has("sleep"));
        running.signal(signal);
        let outcome = running.finish().expect(code);
        assert_eq!(rows(&outcome), [[10, 12_345, 4567]], "{outcome}");
        assert!(outcome.stdout.contains("# interrupted"), "{outcome}");
    }
}
