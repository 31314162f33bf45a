//! Where much is missing or forbidden. Every program measures all the same, or says what is
//! missing; nothing panics, hangs, or takes what it cannot know for zero.

/// One CPU.
mod cpus;
/// Folders, variables and descriptors that a program may expect.
mod home;
/// /proc.
mod proc;
/// A CPU quota of a control group.
mod quota;
/// System calls.
mod seccomp;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;
use tempfile::TempDir;

use crate::support::benchmarks::{self, RUNNER};
use crate::support::is_installed;
use crate::support::process::Run;

/// A run that is over at once.
const TINY: &str = "--tasks 3 --iters 4 --warmups 1 --format json";

/// Two rows that need a ratio, and a slope: all that the runner does.
const PLAN: &str = r#"
    rounds = 1

    [[section]]
    title = "A hop"
    metric = "hop"

    [[section.row]]
    name = "thread"
    program = "thread-brigade"
    flags = ["--tasks", "3"]
    iters = 4
    warmups = 1
    versus = "task"

    [[section.row]]
    name = "task"
    program = "async-brigade"
    flags = ["--tasks", "3"]
    iters = 4
    warmups = 1
"#;

/// The programs as a user would copy them: in a folder of their own, which has nothing to do with
/// cargo, and which everybody may read.
struct Installed {
    folder: TempDir,
}

impl Installed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let programs = benchmarks::all().iter().map(|b| b.path.as_path());
        for program in programs.chain([Path::new(RUNNER)]) {
            let copy = folder.path().join(program.file_name().unwrap());
            fs::hard_link(program, &copy)
                .or_else(|_| fs::copy(program, &copy).map(drop))
                .unwrap();
        }
        fs::write(folder.path().join("plan.toml"), PLAN).unwrap();
        Installed { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The runner with its small plan, in its folder.
    fn plan(&self, script: &str) -> Run {
        Run::within(script, &self.path("switchcost"))
            .flags("run --budget 0s --out /dev/null --plan")
            .arg(self.path("plan.toml"))
            .folder(self.folder.path())
    }
}

/// Whether a mount namespace of its own can be made here; why not, where it cannot.
fn mounts() -> Result<(), &'static str> {
    if !Uid::effective().is_root() {
        return Err("only root can mount");
    }
    if !is_installed("unshare") {
        return Err("no unshare");
    }
    match Run::of("unshare").flags("--mount true").finish().code {
        0 => Ok(()),
        _ => Err("no mount namespace can be made here"),
    }
}

/// A shell's line that prepares its mounts and becomes the program; status 77 where they cannot be
/// made.
fn mounted(prepare: &str) -> String {
    format!(
        r#"exec unshare --mount --propagation private sh -c '{{ {prepare}; }} >/dev/null 2>&1 || exit 77; exec "$0" "$@"' "$0" "$@""#
    )
}
