//! A case that the kernel's OOM killer ends, in a memory control group of version 1 or 2.

use std::fs;
use std::path::{Path, PathBuf};

use super::{House, errors};
use crate::support::{skip, until};

/// A memory control group of this test's own, gone when it is dropped.
struct Group(PathBuf);

impl Group {
    /// A child of the group that this process is in.
    ///
    /// # Errors
    /// Why it cannot be made here.
    fn limited_to(bytes: u64) -> Result<Self, String> {
        let (parent, file) = own().ok_or("no memory controller is in sight")?;
        let path = parent.join(format!("switchcost-oom-{}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("no control group can be made: {e}"))?;
        let group = Group(path);
        fs::write(group.0.join(file), bytes.to_string())
            .map_err(|e| format!("{file} cannot be set: {e}"))?;
        // Memory that can be swapped out is not the end of it.
        for swap in ["memory.swap.max", "memory.memsw.limit_in_bytes"] {
            let limit = match swap {
                "memory.swap.max" => 0,
                _ => bytes,
            };
            let path = group.0.join(swap);
            if path.exists() {
                fs::write(path, limit.to_string()).map_err(|e| format!("{swap}: {e}"))?;
            }
        }
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

/// This process's group in the hierarchy that has the memory controller, and the limit's name.
fn own() -> Option<(PathBuf, &'static str)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let of = |controllers: &str| {
        groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let path = (fields.next()? == controllers).then(|| fields.next())?;
            path.map(|path| path.trim_start_matches('/').to_owned())
        })
    };
    let version_1 = of("memory").map(|path| Path::new("/sys/fs/cgroup/memory").join(path));
    if let Some(folder) = version_1.filter(|folder| folder.is_dir()) {
        return Some((folder, "memory.limit_in_bytes"));
    }
    let folder = Path::new("/sys/fs/cgroup").join(of("")?);
    let offered = fs::read_to_string(folder.join("cgroup.subtree_control")).ok()?;
    let has_memory = offered.split_whitespace().any(|name| name == "memory");
    has_memory.then_some((folder, "memory.max"))
}

#[test]
fn a_case_that_the_oom_killer_ends_says_so_and_the_plan_goes_on() {
    let group = match Group::limited_to(100 << 20) {
        Ok(group) => group,
        Err(why) => return skip(&why),
    };
    let (good, bad) = ("async-mem-brigade", "one-thread-brigade");
    let house = House::new(2, &[(good, "--tasks 3", 4), (bad, "--tasks 3", 4)]);
    // It keeps what it reads until a line is over, which never is.
    house.fake(bad, "exec tail /dev/zero");
    let procs = group.0.join("cgroup.procs");
    let script = format!(
        r#"echo $$ > '{}' || exit 77; exec "$0" "$@""#,
        procs.display()
    );
    let run = house.within(&script, "").start().finish_all();
    if run.code == 77 {
        return skip("no process can be moved to a control group");
    }
    let run = run.expect(0);
    let records = house.records();
    assert_eq!(
        (records.len(), errors(&records, good).len()),
        (4, 0),
        "{run}"
    );
    let errors = errors(&records, bad);
    assert_eq!(errors.len(), 2, "{run}");
    for (kills, error) in (0..).zip(errors) {
        let counted = format!("oom_kill {kills} -> {}", kills + 1);
        for word in [
            "killed by signal 9 (SIGKILL)",
            "OOM killer",
            group.0.to_str().unwrap(),
            &counted,
            "--tasks",
        ] {
            assert!(error.contains(word), "'{word}' is missing: {error}");
        }
    }
}
