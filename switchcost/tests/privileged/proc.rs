//! A system on which /proc is not mounted.

use serde_json::Value;

use crate::support::house::House;
use crate::support::process::Run;
use crate::support::{build, skip};

/// Shell text that becomes the program where there is no /proc; status 77 where that cannot be made.
const WITHOUT: &str = r#"exec unshare --mount --propagation private sh -c 'umount -l /proc || exit 77
    exec "$0" "$@"' "$0" "$@""#;

/// `None` where /proc cannot be taken away.
fn mounts() -> Option<()> {
    if Run::within(WITHOUT, "true".as_ref()).finish().code == 0 {
        return Some(());
    }
    skip("/proc cannot be taken away here: that takes root and unshare");
    None
}

/// One of each kind.
const PROGRAMS: [&str; 5] =
    ["thread-brigade", "process-brigade", "async-brigade", "thread-mem-brigade", "async-creation"];

#[test]
fn programs_measure_without_proc() {
    let Some(()) = mounts() else { return };
    for program in PROGRAMS {
        let run = Run::within(WITHOUT, &build().join(program));
        let run = run.flags("--tasks 3 --iters 4 --warmup 1").finish().expect_quiet_success();
        assert!(run.stdout.starts_with("3 tasks, 4 iterations:"), "{run}");
    }
}

/// What the runner reads in /proc, as its answer names it.
const OF_PROC: [&str; 7] = [
    "/run/machine/kernel_release",
    "/run/machine/load_average",
    "/trial/usage",
    "/trial/memory/held/resident",
    "/trial/memory/before/system_slab",
    "/trial/slices/0/4",
    "/trial/counters/reads",
];

#[test]
fn what_proc_would_tell_is_absent_and_not_zero() {
    let Some(()) = mounts() else { return };
    // A fake tells no usage of its own.
    let house = House::new(1, &["one-thread-brigade"]);
    for (shell, is_told) in [(r#"exec "$0" "$@""#, true), (WITHOUT, false)] {
        let run = Run::within(shell, &house.path("switchcost"));
        let run = run.flags("stat --counters --iters 4 --format json ./one-thread-brigade");
        let run = run.folder(house.folder()).finish();
        let run = run.expect(0);
        let answer: Value = serde_json::from_str(run.line()).unwrap();
        assert_eq!(answer["trial"]["samples"]["count"], 4, "{run}");
        for path in OF_PROC {
            let value = answer.pointer(path).filter(|value| !value.is_null());
            assert_eq!(value.is_some(), is_told, "{path}: {run}");
        }
    }
}
