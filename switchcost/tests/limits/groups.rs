//! The pids controller of a control group, version 1 or 2.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::benchmarks::all;
use crate::support::{skip, until};

/// A control group of this test's own, gone when it is dropped.
struct Group(PathBuf);

impl Group {
    /// A child of the group that this process is in.
    ///
    /// # Errors
    /// Why it cannot be made here.
    fn limited_to(pids: u32) -> Result<Self, String> {
        let parent = own().ok_or("no pids controller is in sight")?;
        let path = parent.join(format!("switchcost-test-{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("no control group can be made: {e}"))?;
        let group = Group(path);
        fs::write(group.0.join("pids.max"), pids.to_string())
            .map_err(|e| format!("pids.max cannot be set: {e}"))?;
        Ok(group)
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

/// This process's group in the hierarchy that has the pids controller.
fn own() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let folders = groups.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let root = match fields.next()? {
            "" => "/sys/fs/cgroup",
            "pids" => "/sys/fs/cgroup/pids",
            _ => return None,
        };
        let path = fields.next()?.trim_start_matches('/');
        Some(Path::new(root).join(path))
    });
    // The first one may be a version 2 hierarchy without it, beside one of version 1.
    let has_pids = |folder: &PathBuf| {
        let offered = fs::read_to_string(folder.join("cgroup.subtree_control"));
        folder.starts_with("/sys/fs/cgroup/pids")
            || offered.is_ok_and(|names| names.split_whitespace().any(|name| name == "pids"))
    };
    folders.filter(|folder| folder.is_dir()).find(has_pids)
}

#[test]
fn too_few_processes_for_a_control_group_are_told() {
    let group = match Group::limited_to(20) {
        Ok(group) => group,
        Err(why) => return skip(&why),
    };
    for benchmark in all() {
        let procs = group.0.join("cgroup.procs");
        let script = format!(
            r#"echo $$ > '{}' || exit 77; exec "$0" "$@""#,
            procs.display()
        );
        let run = benchmark
            .within(&script, "--tasks 50 --iters 2 --warmups 0")
            .finish();
        match run.code {
            77 => return skip("no process can be moved to a control group"),
            0 => assert!(!benchmark.has_threads(), "50 threads of 20: {run}"),
            _ => {
                let file = group.0.join("pids.max");
                let words = ["pids.max", "allows 20", file.to_str().unwrap(), "--tasks"];
                run.expect_refusal(1, &words);
            }
        }
    }
}
