//! Places for results: full, read-only, somebody else's.

use std::fs;

use nix::unistd::Uid;

use crate::support::house::House;
use crate::support::process::Run;
use crate::support::{is_installed, skip};

const TWO: [&str; 2] = ["one-thread-brigade", "async-brigade"];

/// Shell text in a mount namespace of its own; `None`, which is told, where there is none.
fn mounted(text: &str) -> Option<Run> {
    let unshare = || Run::of("unshare").flags("-m sh -c");
    let can = is_installed("unshare")
        && unshare().arg("mount -t tmpfs -o size=64k none /mnt").finish().code == 0;
    if !can {
        skip("no mount namespace can be made here");
    }
    can.then(|| unshare().arg(text))
}

#[test]
fn a_disk_that_fills_up_keeps_what_it_has_and_the_run_can_go_on() {
    let house = House::new(12, &TWO);
    let small = house.path("small");
    fs::create_dir(&small).unwrap();
    let script = format!(
        r#"mount -t tmpfs -o size=16k none {0} || exit 77
           "$0" "$@"; code=$?; cp {0}/out.jsonl {1}; exit $code"#,
        small.display(),
        house.out().display()
    );
    let Some(run) = mounted(&script) else { return };
    let run = house.of_plan(run.arg(house.path("switchcost")).flags("run"), "--out");
    let run = run.arg(small.join("out.jsonl")).finish().expect(1);
    let run = run.expect_complaint(&["out.jsonl", "No space left", "--resume"]);
    assert!(run.stdout.contains("row async-brigade"), "{run}");
    let kept = house.processes().len();
    assert!((1..24).contains(&kept), "{kept}: {run}");
    house.run("--resume out.jsonl").finish().expect(0);
    assert_eq!(house.processes().len(), 24);
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is_measured() {
    let house = House::new(1, &TWO);
    for program in TWO {
        house.fake(program, "sleep 1000");
    }
    house.run("--out missing/out.jsonl").finish().expect_refusal(1, &["--out", "missing"]);
    house.run("--out .").finish().expect_refusal(1, &["--out"]);
    let folder = house.folder().display();
    let script = format!(
        r#"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} || exit 77
           cd {folder} && exec "$0" "$@""#
    );
    let Some(run) = mounted(&script) else { return };
    let run = house.of_plan(run.arg(house.path("switchcost")).flags("run"), "").finish();
    run.expect_refusal(1, &["Read-only file system", "--out", "out.jsonl"]);
}

#[test]
fn a_folder_of_somebody_else_is_told_before_anything_is_measured() {
    if !Uid::effective().is_root() || !is_installed("setpriv") {
        return skip("only root can become another user, and by setpriv");
    }
    let house = House::new(1, &TWO);
    let as_other = || {
        let run = Run::of("setpriv").flags("--clear-groups --reuid=65534 --regid=65534");
        run.arg(house.path("switchcost"))
    };
    if as_other().flags("--version").finish().code != 0 {
        return skip("another user cannot reach a copy of the programs");
    }
    let run = house.of_plan(as_other().flags("run"), "").finish();
    run.expect_refusal(1, &["Permission denied", "--out", "out.jsonl"]);
}
