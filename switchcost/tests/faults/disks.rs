//! Where the records go: a disk that fills up, a folder that cannot be written, a file that was
//! begun elsewhere.

use std::fs;

use nix::unistd::{Uid, User};

use super::{House, records};
use crate::support::process::Run;
use crate::support::{is_installed, skip};

/// A plan of 24 quick runs.
fn house() -> House {
    let rows = [
        ("async-mem-brigade", "--tasks 3", 4),
        ("one-thread-brigade", "--tasks 3", 4),
    ];
    House::new(12, &rows)
}

/// Whether a mount namespace of one's own can be had.
fn may_mount() -> bool {
    let mount = "unshare -m sh -c";
    is_installed("unshare")
        && Run::of("env")
            .flags(mount)
            .arg("mount -t tmpfs -o size=64k none /mnt")
            .finish()
            .code
            == 0
}

#[test]
fn a_disk_that_fills_up_keeps_what_it_has_and_the_run_can_go_on() {
    if !may_mount() {
        return skip("no mount namespace can be made here");
    }
    let house = house();
    let small = house.path("small");
    fs::create_dir(&small).unwrap();
    let script = format!(
        r#"mount -t tmpfs -o size=32k none {0} || exit 77
           "$0" "$@"; code=$?; cp {0}/out.jsonl {1}; exit $code"#,
        small.display(),
        house.path("out.jsonl").display()
    );
    let run = Run::of("unshare").flags("-m sh -c").arg(script);
    let run = run
        .arg(house.path("switchcost"))
        .flags("run --budget 0s --plan");
    let run = run.arg(house.path("plan.toml")).arg("--out");
    let run = run.arg(small.join("out.jsonl")).finish().expect(1);
    let run = run.expect_complaint(&["out.jsonl", "No space left", "--resume"]);
    assert!(run.stdout.contains("of async-mem-brigade"), "{run}");
    let kept = house.records().len();
    assert!((1..24).contains(&kept), "{kept} records: {run}");

    let run = house.run("--resume").arg(house.path("out.jsonl"));
    run.finish().expect(0);
    assert_eq!(house.records().len(), 24);
}

#[test]
fn a_read_only_file_system_is_told_before_anything_is_measured() {
    if !may_mount() {
        return skip("no mount namespace can be made here");
    }
    let house = house();
    let folder = house.folder.path().display();
    let script = format!(
        r#"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder} || exit 77
           cd {folder} && exec "$0" "$@""#
    );
    let within = || {
        let run = Run::of("unshare").flags("-m sh -c").arg(&script);
        let run = run.arg(house.path("switchcost")).flags("run --plan");
        run.arg(house.path("plan.toml"))
    };
    let words = ["Read-only file system", "--out", "switchcost-"];
    within().finish().expect_refusal(1, &words);
    let run = within().arg("--out").arg(house.path("out.jsonl")).finish();
    run.expect_refusal(1, &["Read-only file system", "--out", "out.jsonl"]);
}

#[test]
fn a_folder_of_somebody_else_is_told_before_anything_is_measured() {
    let Some(nobody) = User::from_name("nobody").unwrap() else {
        return skip("there is no user nobody");
    };
    if !Uid::effective().is_root() || !is_installed("setpriv") {
        return skip("only root can become nobody, and by setpriv");
    }
    let house = house();
    let ids = format!("--reuid={} --regid={}", nobody.uid, nobody.gid);
    let as_nobody = |program: &str| {
        let run = Run::of("setpriv").flags("--clear-groups").flags(&ids);
        run.arg(house.path(program))
    };
    if as_nobody("switchcost").flags("--version").finish().code != 0 {
        return skip("nobody cannot run a copy of the programs");
    }
    let run = house.arguments(as_nobody("switchcost"), "").finish();
    run.expect_refusal(1, &["Permission denied", "--out", "out.jsonl"]);
}

/// A machine that stopped leaves a part of a line.
#[test]
fn a_run_goes_on_behind_a_line_that_was_cut() {
    let house = house();
    house.run("--rounds 1").finish().expect(0);
    let out = house.path("out.jsonl");
    let text = fs::read_to_string(&out).unwrap();
    fs::write(&out, &text[..text.len() - 100]).unwrap();
    let run = house.run("--rounds 1 --resume").arg(&out).finish();
    run.expect(0).expect_complaint(&["line 2 is skipped"]);
    let text = fs::read_to_string(&out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    fs::write(&out, format!("{}\n{}\n", lines[0], lines[2])).unwrap();
    let records = records(&out);
    assert_ne!(records[0].benchmark, records[1].benchmark);
}

#[test]
fn a_run_goes_on_only_where_it_was_begun() {
    let house = house();
    house.run("--rounds 1").finish().expect(0);
    let out = house.path("out.jsonl");
    let text = fs::read_to_string(&out).unwrap();
    for fact in ["kernel_release", "cpu_model", "rustc"] {
        let changed = text.replace(&format!("\"{fact}\":\""), &format!("\"{fact}\":\"other "));
        if changed == text {
            skip(&format!("{fact} is not known here"));
            continue;
        }
        fs::write(&out, &changed).unwrap();
        let run = house.run("--rounds 1 --resume").arg(&out).finish();
        run.expect_refusal(2, &["--resume", "out.jsonl", fact, "--out"]);
        assert_eq!(
            fs::read_to_string(&out).unwrap(),
            changed,
            "it is left alone"
        );
    }
}
