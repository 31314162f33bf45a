//! The number of a user's processes, which binds everyone but root.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use nix::unistd::{Uid, User};

use crate::support::benchmarks::all;
use crate::support::process::Run;
use crate::support::{is_installed, skip};

#[test]
fn too_few_processes_for_a_user_are_told() {
    if !Uid::effective().is_root() {
        return skip("only root can become a user who has no other processes");
    }
    if !is_installed("setpriv") || !is_installed("prlimit") {
        return skip("no setpriv or no prlimit");
    }
    let Some(nobody) = User::from_name("nobody").unwrap() else {
        return skip("there is no user nobody");
    };
    // Where root has built them, a user may not be able to reach the programs.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for benchmark in all() {
        let program = folder.path().join(&benchmark.name);
        fs::copy(&benchmark.path, &program).unwrap();
        let as_nobody = |flags: &str| {
            let run =
                Run::of("prlimit").flags("--nproc=20:20 setpriv --clear-groups --no-new-privs");
            let ids = format!("--reuid={} --regid={}", nobody.uid, nobody.gid);
            run.flags(&ids).arg(&program).flags(flags).finish()
        };
        if as_nobody("--version").code != 0 {
            return skip("nobody cannot run a copy of the programs");
        }
        let run = as_nobody("--tasks 50 --iters 2 --warmups 0");
        match run.code {
            0 => assert!(!benchmark.has_threads(), "50 threads of 20: {run}"),
            _ => {
                let words = ["user processes", "ulimit -u", "allows 20", "--tasks"];
                run.expect_refusal(1, &words);
            }
        }
    }
}
