//! Limits of the system against the needs of a run, before anything is built.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

use crate::message::{Description, Need, Needs};

/// Capabilities that a user limit of processes does not bind (`copy_process`, kernel/fork.c):
/// CAP_SYS_ADMIN and CAP_SYS_RESOURCE, by their bits.
const PASSES_NPROC: u64 = 1 << 21 | 1 << 24;

/// Most control groups above one another that are looked at.
const DEEPEST_GROUP: usize = 64;

/// One limit: how much of it is left.
struct Limit {
    name: String,
    need: Need,
    left: u64,
}

/// Raises the soft descriptor limit to the hard one, and checks that the run fits.
///
/// # Errors
/// Names each limit that is too low, how many tasks fit, and where the remedies are.
pub fn check(description: &Description) -> anyhow::Result<()> {
    raise_descriptors()?;
    let Description { program, tasks, needs, .. } = description;
    let mut most = u64::MAX;
    let mut short = Vec::new();
    for limit in limits(needs) {
        let needed = limit.need.of(*tasks);
        if needed > limit.left {
            short.push(format!("{} leaves {} of the {needed} needed", limit.name, limit.left));
        }
        most = most.min(limit.need.most(limit.left).unwrap_or(match needed > limit.left {
            true => 0,
            false => u64::MAX,
        }));
    }
    if short.is_empty() {
        return Ok(());
    }
    let beside = match most {
        0 => " beside what the other flags ask for (lower that)",
        _ => "",
    };
    bail!(
        "--tasks {tasks} is more than this system allows: {}; at most {most} tasks fit{beside}; \
         `switchcost limits {program} --tasks {tasks}` has the remedies",
        short.join("; ")
    )
}

/// Message for a limit that is met in spite of the check: others may have taken what was left.
pub fn refused(what: &str, tasks: u32) -> String {
    format!("cannot {what}: lower --tasks, or see `switchcost limits PROGRAM --tasks {tasks}`")
}

fn raise_descriptors() -> anyhow::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).context("getrlimit")?;
    if soft < hard {
        // Where even that is forbidden, as in some sandboxes, the check goes by the soft one.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
    Ok(())
}

/// All limits that can be read. One that cannot be read is found when it is met.
fn limits(needs: &Needs) -> Vec<Limit> {
    let mut limits = Vec::new();
    let mut add = |name: String, need: Need, limit: Option<u64>, used: Option<u64>| {
        if let Some(limit) = limit
            && !need.is_none()
        {
            let left = limit.saturating_sub(used.unwrap_or(0));
            limits.push(Limit { name, need, left });
        }
    };
    let rlimit = |resource| match getrlimit(resource) {
        Ok((soft, _)) if soft != RLIM_INFINITY => Some(soft),
        _ => None,
    };
    // The directory itself is open while it is read.
    let open = fs::read_dir("/proc/self/fd").map(|fds| fds.count() as u64 - 1);
    add(
        "the descriptor limit (ulimit -n)".to_owned(),
        needs.descriptors,
        rlimit(Resource::RLIMIT_NOFILE),
        open.ok(),
    );
    let threads = threads_of_system();
    if !may_pass_nproc() {
        add(
            "the limit of user processes (ulimit -u)".to_owned(),
            needs.threads,
            rlimit(Resource::RLIMIT_NPROC),
            threads_of_user(),
        );
    }
    for name in ["threads-max", "pid_max"] {
        let limit = number(&PathBuf::from("/proc/sys/kernel").join(name));
        add(format!("kernel.{name}"), needs.threads, limit, threads);
    }
    add(
        "vm.max_map_count".to_owned(),
        needs.maps,
        number(Path::new("/proc/sys/vm/max_map_count")),
        text(Path::new("/proc/self/maps")).map(|maps| maps.lines().count() as u64),
    );
    add(
        "the available memory".to_owned(),
        needs.bytes,
        text(Path::new("/proc/meminfo")).and_then(|t| Some(field(&t, "MemAvailable:")? * 1024)),
        None,
    );
    for group in groups("pids") {
        let name = format!("pids.max of {}", group.display());
        let (limit, used) = (group.join("pids.max"), group.join("pids.current"));
        add(name, needs.threads, number(&limit), number(&used));
    }
    for group in groups("memory") {
        for (limit, used) in
            [("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")]
        {
            let name = format!("{limit} of {}", group.display());
            let (limit, used) = (group.join(limit), group.join(used));
            add(name, needs.bytes, number(&limit), number(&used));
        }
    }
    limits
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// A file with a number in it; `max` is none.
fn number(path: &Path) -> Option<u64> {
    text(path)?.trim().parse().ok()
}

/// First number behind the name of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Threads that the whole system has: the fourth field of /proc/loadavg is runnable/all.
fn threads_of_system() -> Option<u64> {
    let load = text(Path::new("/proc/loadavg"))?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn may_pass_nproc() -> bool {
    let status = text(Path::new("/proc/self/status")).unwrap_or_default();
    let effective = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    nix::unistd::getuid().is_root() || bits.is_some_and(|bits| bits & PASSES_NPROC != 0)
}

/// Threads of all processes of this user, which is what RLIMIT_NPROC counts.
fn threads_of_user() -> Option<u64> {
    let user = nix::unistd::getuid().as_raw().to_string();
    let threads = |status: String| {
        let uid = status.lines().find_map(|l| l.strip_prefix("Uid:"))?;
        (uid.split_whitespace().next()? == user).then(|| field(&status, "Threads:")).flatten()
    };
    let processes = fs::read_dir("/proc").ok()?.flatten();
    Some(processes.filter_map(|entry| threads(text(&entry.path().join("status"))?)).sum())
}

/// The control group of this process and its ancestors, where a controller's files are: version 2
/// under /sys/fs/cgroup, version 1 in the controller's own hierarchy there.
fn groups(controller: &str) -> Vec<PathBuf> {
    let own = text(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let group = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let root = match id == "0" {
            true => PathBuf::from("/sys/fs/cgroup"),
            false if controllers.split(',').any(|c| c == controller) => {
                Path::new("/sys/fs/cgroup").join(controller)
            }
            false => return None,
        };
        // In a namespace the path may lead above its root.
        Some(root.join(path.trim_start_matches('/')))
    });
    let is_group = |path: &&Path| path.starts_with("/sys/fs/cgroup");
    let groups = group.as_deref().into_iter().flat_map(Path::ancestors);
    groups.take_while(is_group).take(DEEPEST_GROUP).map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(needs: Needs, tasks: u64) -> String {
        let description = serde_json::json!({
            "contract": 1, "program": "p", "version": "0", "tasks": tasks,
            "claim": "kernel-switch", "passes": [], "needs": needs,
        });
        let description = serde_json::from_value(description).unwrap();
        check(&description).unwrap_err().to_string()
    }

    #[test]
    fn what_is_too_low_is_named_with_what_fits() {
        let needs =
            Needs { threads: Need::new(0, 1), descriptors: Need::new(10, 2), ..Needs::default() };
        let text = short(needs, 1 << 40);
        for words in ["kernel.pid_max", "ulimit -n", "at most", "switchcost limits p --tasks"] {
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn a_fixed_need_that_is_too_much_allows_no_task() {
        let needs = Needs { threads: Need::new(1 << 40, 0), ..Needs::default() };
        let text = short(needs, 1);
        assert!(text.contains("at most 0 tasks fit beside what the other flags"), "{text}");
    }
}
