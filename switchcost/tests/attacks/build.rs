//! Programs, and tools that build them, found in a folder that others may write to.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::house::{House, executable, plan_of};
use crate::support::process::Run;
use crate::support::{switchcost, until};

const PROGRAM: &str = "one-thread-brigade";

/// A run in a folder of the user's that a build precedes.
fn built(folder: &Path) -> Run {
    fs::write(folder.join("plan.toml"), plan_of(1, &[PROGRAM])).unwrap();
    switchcost("run --plan plan.toml --out out.jsonl").folder(folder)
}

#[test]
fn cargo_starts_in_the_checkout_builds_for_this_machine_and_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let [log, go_on, cargo] = ["log", "go on", "fake-cargo"].map(|name| folder.path().join(name));
    let text = format!(
        "#!/bin/sh\necho \"$(pwd -P)$CARGO_BUILD_TARGET\" >'{}'\nuntil [ -e '{}' ]; do sleep 0.01; done; exit 1",
        log.display(),
        go_on.display()
    );
    executable(&cargo, &text);
    let run = built(folder.path()).env("CARGO", cargo.to_str());
    let run = run.env("CARGO_BUILD_TARGET", Some("elsewhere")).start();
    let told = "building the programs of this checkout …";
    until("it is told", || run.stderr_so_far().contains(told));
    fs::write(go_on, "").unwrap();
    run.finish().expect_refusal(1, &["cargo could not build"]);
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let checkout = checkout.canonicalize().unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), format!("{}\n", checkout.display()));
}

#[test]
fn a_cargo_in_the_current_folder_is_not_started() {
    for (variable, path) in [
        (None, ":/nonexistent"),
        (None, "/nonexistent:"),
        (Some("cargo"), ".:/nonexistent"),
        (Some("./cargo"), "/nonexistent"),
        (Some(""), ":/nonexistent"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        executable(&folder.path().join("cargo"), "#!/bin/sh\ntouch planted");
        built(folder.path()).env("CARGO", variable).env("PATH", Some(path)).finish();
        assert!(!folder.path().join("planted").exists(), "{variable:?} {path}");
    }
}

#[test]
fn what_others_may_put_beside_the_runner_is_not_started() {
    let house = House::new(1, &[]);
    let planted = |name: &str| executable(&house.path(name), "#!/bin/sh\ntouch planted");
    let open = |name: &str, mode| {
        fs::set_permissions(house.path(name), Permissions::from_mode(mode)).unwrap();
    };
    planted(PROGRAM);
    planted("uring-brigade");
    for folder in ["plans", "side"] {
        fs::create_dir(house.path(folder)).unwrap();
    }
    planted("plans/p");
    planted("side/one-thread-brigade");
    house.set_plan(&plan_of(1, &[PROGRAM]));
    fs::write(house.path("plans/path.toml"), plan_of(1, &["./p"])).unwrap();
    for (name, mode, flags, code) in [
        ("", 0o777, "stat uring-brigade", 2),
        ("uring-brigade", 0o757, "stat uring-brigade", 2),
        ("plans", 0o1777, "run --plan plans/path.toml --list", 2),
        ("plans/p", 0o757, "run --plan plans/path.toml --list", 2),
        ("side", 0o777, "duel side side --plan plan.toml", 125),
    ] {
        open(name, mode);
        let run = Run::of(house.path("switchcost")).flags(flags).folder(house.folder());
        run.finish().expect_refusal(code, &["others may write to", name]);
        open(name, 0o755);
    }
    assert!(!house.path("planted").exists());
}
