//! Programs, and tools that build them, found in a folder that others may write to.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{script, switchcost};
use crate::support::house::House;
use crate::support::process::Run;
use crate::support::until;

const PLAN: &str = r#"
    rounds = 1

    [[section]]
    title = "One of them"
    metric = "hop"

    [[section.row]]
    name = "one"
    program = "one-thread-brigade"
    flags = ["--tasks", "1"]
    iters = 1
    warmup = 0
"#;

/// A run in a folder of the user's that a build precedes.
fn built(folder: &Path) -> Run {
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    switchcost("run --plan plan.toml --out out.jsonl").folder(folder)
}

#[test]
fn cargo_starts_in_the_checkout_and_builds_for_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let text = format!("echo \"$(pwd -P)$CARGO_BUILD_TARGET\" >> '{}'", log.display());
    let cargo = script(&folder.path().join("fake-cargo"), &text);
    let run = built(folder.path()).env("CARGO", cargo.to_str());
    run.env("CARGO_BUILD_TARGET", Some("elsewhere")).finish();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let checkout = checkout.canonicalize().unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), format!("{}\n", checkout.display()));
}

#[test]
fn a_build_that_takes_long_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let go_on = folder.path().join("go on");
    let text = format!("until [ -e '{}' ]; do sleep 0.01; done; exit 1", go_on.display());
    let cargo = script(&folder.path().join("fake-cargo"), &text);
    let run = switchcost("limits one-thread-brigade").env("CARGO", cargo.to_str()).start();
    let told = "building the programs of this checkout …";
    until("it is told", || run.stderr_so_far().contains(told));
    fs::write(go_on, "").unwrap();
    run.finish().expect_refusal(1, &["cargo could not build"]);
}

#[test]
fn a_cargo_in_the_current_folder_is_not_started() {
    for variable in [None, Some("cargo"), Some("./cargo"), Some("")] {
        for path in [":/nonexistent", ".:/nonexistent", "/nonexistent:"] {
            let folder = tempfile::tempdir().unwrap();
            script(&folder.path().join("cargo"), "touch planted");
            let run = built(folder.path());
            run.env("CARGO", variable).env("PATH", Some(path)).finish();
            assert!(!folder.path().join("planted").exists(), "{variable:?} {path}");
        }
    }
}

#[test]
fn what_others_may_put_beside_the_runner_is_not_started() {
    let house = House::new(1, &[]);
    let planted = |name: &str| script(&house.path(name), "touch planted");
    planted("one-thread-brigade");
    planted("uring-brigade");
    let open = |name: &str, mode| {
        fs::set_permissions(house.path(name), Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir(house.path("plans")).unwrap();
    let plan = PLAN.replace("one-thread-brigade", "./p");
    fs::write(house.path("plans/path.toml"), &plan).unwrap();
    script(&house.path("plans/p"), "touch ../planted");
    let table =
        format!("{}[program.p]\nrun = ['plans/p']\n", PLAN.replace("one-thread-brigade", "p"));
    fs::write(house.path("table.toml"), table).unwrap();
    let refused = |flags: &str, code: i32, words: &[&str]| {
        let run = Run::of(house.path("switchcost")).flags(flags).folder(house.folder());
        run.finish().expect_refusal(code, words);
        assert!(!house.path("planted").exists(), "{flags}");
    };
    for (name, mode) in [("", 0o777), ("", 0o1777), ("uring-brigade", 0o757)] {
        open(name, mode);
        refused("stat uring-brigade", 2, &["others may write to"]);
        open(name, 0o755);
    }
    for (name, mode) in [("plans", 0o1777), ("plans/p", 0o757)] {
        open(name, mode);
        refused("run --plan plans/path.toml --list", 2, &["others may write to", "plans"]);
        let run = Run::of(house.path("switchcost")).flags("run --plan table.toml --out out");
        let run = run.folder(house.folder()).finish();
        assert!(run.stdout.contains("others may write to"), "{run}");
        assert!(!house.path("planted").exists());
        open(name, 0o755);
    }
    fs::create_dir(house.path("side")).unwrap();
    script(&house.path("side/one-thread-brigade"), "touch planted");
    open("side", 0o777);
    fs::write(house.path("plan.toml"), PLAN).unwrap();
    refused("duel side side --plan plan.toml", 125, &["others may write to", "side"]);
    // What it carries comes first.
    let own = Run::of(house.path("switchcost")).flags("stat --iters 1 one-thread-brigade");
    own.folder(house.folder()).finish().expect(0);
    assert!(!house.path("planted").exists());
}
