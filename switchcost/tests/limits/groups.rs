//! The pids and memory controllers of a control group, version 1 or 2.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::benchmarks::all;
use crate::support::{skip, until};

/// A control group of a test's own, gone when it is dropped.
pub(super) struct Group(PathBuf);

impl Group {
    /// A child of the group that this process is in, with so many processes at most.
    ///
    /// # Errors
    /// Why it cannot be made here.
    pub(super) fn limited_to(name: &str, pids: u32) -> Result<Self, String> {
        let group = Group::of("pids", name)?;
        group.set("pids.max", pids)?;
        Ok(group)
    }

    /// The same with so many bytes of memory at most.
    pub(super) fn of_memory(name: &str, bytes: u64) -> Result<Self, String> {
        let group = Group::of("memory", name)?;
        let file = match group.0.join("memory.max").exists() {
            true => "memory.max",
            false => "memory.limit_in_bytes",
        };
        group.set(file, bytes)?;
        Ok(group)
    }

    fn of(controller: &str, name: &str) -> Result<Self, String> {
        let parent =
            own(controller).ok_or_else(|| format!("no {controller} controller is in sight"))?;
        let path = parent.join(format!("switchcost-test-{name}-{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("no control group can be made: {e}"))?;
        Ok(Group(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Sets one of its limits.
    pub(super) fn set(&self, file: &str, value: impl ToString) -> Result<(), String> {
        let written = fs::write(self.0.join(file), value.to_string());
        written.map_err(|e| format!("{file} cannot be set: {e}"))
    }

    /// Shell text that moves the shell into the group, or exits with status 77.
    pub(super) fn enter(&self) -> String {
        let procs = self.0.join("cgroup.procs");
        format!("echo $$ > '{}' || exit 77;", procs.display())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended may still be in it for a moment.
        until("the control group is empty", || {
            !self.0.exists() || fs::remove_dir(&self.0).is_ok()
        });
    }
}

/// This process's group in the hierarchy that has a controller.
fn own(controller: &str) -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let version_1 = Path::new("/sys/fs/cgroup").join(controller);
    let folders = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let root = match fields.next()? {
            "" => Path::new("/sys/fs/cgroup"),
            name if name == controller => &version_1,
            _ => return None,
        };
        let path = fields.next()?.trim_start_matches('/');
        Some(root.join(path))
    });
    // The first one may be a version 2 hierarchy without it, beside one of version 1.
    let has_it = |folder: &PathBuf| {
        let offered = fs::read_to_string(folder.join("cgroup.subtree_control"));
        folder.starts_with(&version_1)
            || offered.is_ok_and(|names| names.split_whitespace().any(|name| name == controller))
    };
    folders.filter(|folder| folder.is_dir()).find(has_it)
}

#[test]
fn too_few_processes_for_a_control_group_are_told() {
    let group = match Group::limited_to("few", 20) {
        Ok(group) => group,
        Err(why) => return skip(&why),
    };
    for benchmark in all() {
        let script = format!(r#"{} exec "$0" "$@""#, group.enter());
        let run = benchmark
            .within(&script, "--tasks 50 --iters 2 --warmups 0")
            .finish();
        match run.code {
            77 => return skip("no process can be moved to a control group"),
            0 => assert!(
                !benchmark.has_threads() && !benchmark.has_processes(),
                "50 threads of 20: {run}"
            ),
            _ => {
                let file = group.path().join("pids.max");
                let words = ["pids.max", "allows 20", file.to_str().unwrap(), "--tasks"];
                run.expect_refusal(1, &words);
            }
        }
    }
}
