//! Users without rights, file systems that cannot be written, variables and descriptors that are
//! not there.

use nix::unistd::{Uid, User};

use super::{Installed, TINY, mounted, mounts};
use crate::support::benchmarks::{RUNNER, all};
use crate::support::process::Run;
use crate::support::{is_installed, skip};

/// Every file system read-only, those that hold the programs among them, and nothing to write
/// temporary files to.
const READ_ONLY: &str = "for m in / /tmp /var/tmp /dev/shm /run; do \
     mount --bind $m $m 2>/dev/null && mount -o remount,bind,ro $m || [ $m != / ] || exit 1; done; \
     ! touch /tmp/switchcost-test";

#[test]
fn an_ordinary_user_gets_the_tables() {
    if !Uid::effective().is_root() {
        return skip("this is an ordinary user: every test is such a one");
    }
    if !is_installed("setpriv") {
        return skip("no setpriv");
    }
    let Some(nobody) = User::from_name("nobody").unwrap() else {
        return skip("there is no user nobody");
    };
    let installed = Installed::new();
    let become_nobody = format!(
        r#"exec setpriv --clear-groups --no-new-privs --bounding-set=-all --reuid={} --regid={} "$0" "$@""#,
        nobody.uid, nobody.gid
    );
    let run = Run::within(&become_nobody, &installed.path("switchcost"));
    if run.flags("--version").finish().code != 0 {
        return skip("nobody cannot run a copy of the programs");
    }
    let run = installed.plan(&become_nobody).finish().expect(0);
    assert!(run.stdout.contains("÷ task"), "{run}");
    // The folder belongs to somebody else.
    let run = Run::within(&become_nobody, &installed.path("switchcost"))
        .flags("--quick")
        .folder(installed.folder.path())
        .finish();
    run.expect_refusal(
        1,
        &["cannot make switchcost-", "--out", "Permission denied"],
    );
}

#[test]
fn nothing_needs_a_place_to_write_to() {
    if let Err(why) = mounts() {
        return skip(why);
    }
    let installed = Installed::new();
    let run = installed
        .plan(&mounted(READ_ONLY))
        .env("TMPDIR", Some("/nonexistent"))
        .finish();
    if run.code == 77 {
        return skip("the file systems cannot be made read-only here");
    }
    let run = run.expect(0);
    assert!(run.stdout.contains("÷ task"), "{run}");
    assert!(!run.stdout.contains("failed"), "{run}");
    let run = Run::within(&mounted(READ_ONLY), &installed.path("switchcost"))
        .flags("--quick")
        .folder(installed.folder.path())
        .finish();
    run.expect_refusal(1, &["cannot make switchcost-", "--out", "Read-only"]);
    for benchmark in all() {
        let run = benchmark.within(&mounted(READ_ONLY), TINY).finish();
        run.expect_quiet_success();
    }
}

#[test]
fn no_variable_is_needed() {
    let installed = Installed::new();
    let bare = |run: Run| {
        let run = run.env("HOME", None).env("PATH", None).env("TMPDIR", None);
        run.env("LC_ALL", Some("POSIX"))
            .env("LANG", Some("de_DE.ISO-8859-1"))
            .env("TERM", None)
    };
    for benchmark in all() {
        bare(benchmark.run(TINY)).finish().expect_quiet_success();
    }
    let run = Run::of(installed.path("switchcost"))
        .flags("run --budget 0s --out /dev/null --plan")
        .arg(installed.path("plan.toml"));
    let run = bare(run).finish().expect(0);
    assert!(run.stdout.contains("÷ task"), "{run}");
}

#[test]
fn closed_descriptors_do_no_harm() {
    let installed = Installed::new();
    for closed in ["<&-", "2>&-", "<&- 2>&-"] {
        let script = format!(r#"exec "$0" "$@" {closed}"#);
        for benchmark in all() {
            let record = benchmark.within(&script, TINY).finish();
            assert_eq!(
                record
                    .expect_quiet_success()
                    .record()
                    .samples
                    .unwrap()
                    .count,
                4
            );
        }
        let run = installed.plan(&script).finish().expect(0);
        assert!(run.stdout.contains("÷ task"), "{closed}: {run}");
        assert!(!run.stdout.contains("failed"), "{closed}: {run}");
        // What nobody hears is no reason for another status.
        let run = Run::within(&script, RUNNER.as_ref())
            .flags("report /nonexistent")
            .finish();
        assert_eq!(run.code, 1, "{closed}: {run}");
    }
}
