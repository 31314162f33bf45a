//! The runner in a folder without a checkout, as `cargo install` leaves it.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::house::install;
use crate::support::process::Run;
use crate::support::{RUNNER, build};

/// The runner in a folder with `thread-brigade` alone.
fn installed() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let runner = folder.path().join("switchcost");
    install(Path::new(RUNNER), &runner);
    install(&build().join("thread-brigade"), &folder.path().join("thread-brigade"));
    (folder, runner)
}

#[test]
fn programs_beside_the_runner_are_run() {
    let (folder, runner) = installed();
    let run = |flags: &str| Run::of(&runner).folder(folder.path()).flags(flags).finish();
    let stat = run("stat --format json --iters 4 thread-brigade --tasks 2").expect(0);
    let report: Value = serde_json::from_str(stat.line()).unwrap();
    assert_eq!(report["run"]["rows"][0]["command"]["program"], "thread-brigade", "{stat}");
    run("stat thread-brigade --no-such-flag").expect(1).expect_complaint(&["--no-such-flag"]);
}

#[test]
fn what_is_not_installed_is_said() {
    let (folder, runner) = installed();
    let run = |flags: &str| Run::of(&runner).folder(folder.path()).flags(flags).finish();
    for (flags, code) in [("stat waiting", 2), ("run --plan blocking", 2), ("duel git:HEAD .", 125)]
    {
        run(flags).expect(code).expect_complaint(&["checkout"]);
    }
    // Of a plan the other rows are measured.
    let plan = ["uring-brigade", "thread-brigade"].map(|program| {
        format!(
            "[[section.row]]\nname = '{program}'\nprogram = '{program}'\niters = 4\nwarmup = 1\n"
        )
    });
    let plan = format!("rounds = 1\n[[section]]\ntitle = 'All'\nmetric = 'hop'\n{}", plan.concat());
    std::fs::write(folder.path().join("plan.toml"), plan).unwrap();
    let run = run("run --plan plan.toml --out out.jsonl").expect(0);
    let text = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["uring-brigade not run: there is no program 'uring-brigade' in", "; 1 round."] {
        assert!(text.contains(words), "{words}: {run}");
    }
}
