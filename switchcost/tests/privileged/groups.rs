//! Limits of a control group of version 1 or 2, made for each test below one of this process's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::support::house::House;
use crate::support::process::{Outcome, Run};
use crate::support::{build, skip, until};

/// A control group, which is gone when it is dropped.
struct Group(PathBuf);

impl Group {
    /// A group with a controller, and with settings by their files. A file of the other version is not
    /// there, and not set. `None` where it cannot be made, which is said.
    fn new(controller: &str, settings: &[(&str, &str)]) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("switchcost-{}-{}", process::id(), COUNT.fetch_add(1, Relaxed));
        let made = parent(controller).ok_or(format!("no {controller} controller is given on"));
        let made = made.map(|parent| parent.join(name)).and_then(|folder| {
            fs::create_dir(&folder).map_err(|e| format!("no control group can be made: {e}"))?;
            let group = Group(folder);
            for (path, value) in settings.iter().map(|(file, value)| (group.0.join(file), value)) {
                if path.exists() {
                    fs::write(&path, value).map_err(|e| format!("{}: {e}", path.display()))?;
                }
            }
            Ok(group)
        });
        made.inspect_err(|why| skip(why)).ok()
    }

    /// Shell text that moves the shell into the group, or exits with status 77.
    fn enter(&self) -> String {
        format!("echo $$ > '{}' || exit 77", self.0.join("cgroup.procs").display())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that has just ended may still be in it for a moment.
        until("the control group is empty", || !self.0.exists() || fs::remove_dir(&self.0).is_ok());
    }
}

fn may_enter(run: Outcome) -> Option<Outcome> {
    if run.code == 77 {
        skip("no process can be moved to a control group");
        return None;
    }
    Some(run)
}

/// The nearest group of this process that can give a controller to a child.
fn parent(controller: &str) -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = |is_it: &dyn Fn(&str) -> bool| {
        own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            is_it(controllers).then(|| path.trim_start_matches('/'))
        })
    };
    let root = Path::new("/sys/fs/cgroup");
    if let Some(path) = path(&|names| names.split(',').any(|name| name == controller)) {
        return Some(root.join(controller).join(path)).filter(|folder| folder.is_dir());
    }
    let gives_it = |folder: &&Path| {
        let names = fs::read_to_string(folder.join("cgroup.subtree_control"));
        names.is_ok_and(|names| names.split_whitespace().any(|name| name == controller))
    };
    let own = root.join(path(&str::is_empty)?);
    own.ancestors().find(gives_it).map(Path::to_owned)
}

/// A limit of memory, in the file of either version. What can be swapped out would not be held to it.
fn memory(bytes: &'static str) -> [(&'static str, &'static str); 4] {
    [
        ("memory.max", bytes),
        ("memory.swap.max", "0"),
        ("memory.limit_in_bytes", bytes),
        ("memory.memsw.limit_in_bytes", bytes),
    ]
}

#[test]
fn what_a_group_has_too_little_of_is_named() {
    let processes = [("pids.max", "20")];
    for (controller, settings, program, many, few) in [
        ("pids", &processes[..], "thread-brigade", "--tasks 50", "--tasks 5"),
        ("pids", &processes, "process-brigade", "--tasks 50", "--tasks 5"),
        ("memory", &memory("67108864"), "async-mem-brigade", "--tasks 1000000", "--tasks 50"),
    ] {
        let Some(group) = Group::new(controller, settings) else { return };
        let run = |flags: &str| {
            let script = format!(r#"{}; exec "$0" "$@""#, group.enter());
            let run = Run::within(&script, &build().join(program)).flags(flags);
            may_enter(run.flags("--iters 2 --warmup 0").finish())
        };
        let file = format!("{}/{controller}.", group.0.display());
        let words = [&file, "at most ", " tasks fit", "switchcost limits"];
        run(many).map(|run| run.expect_refusal(1, &words));
        run(few).map(|run| run.expect(0));
    }
}

#[test]
fn a_case_that_the_oom_killer_ends_says_so_and_the_plan_goes_on() {
    let Some(group) = Group::new("memory", &memory("104857600")) else { return };
    let (good, bad) = ("async-mem-brigade", "one-thread-brigade");
    let house = House::new(2, &[good, bad]);
    // It keeps what it reads until a line ends, which none does.
    house.fake(bad, "exec tail /dev/zero");
    let run = house.run_after(&group.enter(), "").finish();
    let Some(run) = may_enter(run) else { return };
    let run = run.expect(1);
    assert_eq!((house.processes().len(), house.errors(good).len()), (4, 0), "{run}");
    let errors = house.errors(bad);
    assert_eq!(errors.len(), 2, "{run}");
    for (kills, error) in errors.iter().enumerate() {
        let counted = format!("oom_kill {kills} -> {}", kills + 1);
        let folder = group.0.to_str().unwrap();
        for word in ["killed by signal 9 (SIGKILL)", "OOM killer", folder, &counted, "--tasks"] {
            assert!(error.contains(word), "'{word}' is missing: {error}");
        }
    }
}
