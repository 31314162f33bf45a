//! Limits of the system against the needs of a run, before anything is built.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};

use crate::message::{Description, Need, Needs};

/// CAP_SYS_ADMIN and CAP_SYS_RESOURCE, by their bits: `ulimit -u` does not bind a process that has one of
/// them (`copy_process`, kernel/fork.c).
const PASSES_NPROC: u64 = 1 << 21 | 1 << 24;

/// Limit of the memory that a process may map.
const SPACE: &str = "the address space (ulimit -v)";

/// Raises the soft descriptor limit to the hard one, and checks that the run fits. The error names each limit
/// that is too low, how many tasks fit, and where the remedies are.
pub fn check(description: &Description) -> anyhow::Result<()> {
    raise_descriptors()?;
    let Description { program, tasks, needs, .. } = description;
    let mut most = u64::MAX;
    let mut short = Vec::new();
    for (name, need, limit, used) in limits(needs) {
        let Some(limit) = limit else { continue };
        let (left, needed) = (limit.saturating_sub(used.unwrap_or(0)), need.of(*tasks));
        if needed > left {
            short.push(format!("{name} leaves {left} of the {needed} needed"));
            most = most.min(need.most(left).unwrap_or(0));
        }
    }
    if short.is_empty() {
        return Ok(());
    }
    let beside = if most == 0 { " beside what the other flags ask for (lower that)" } else { "" };
    bail!(
        "--tasks {tasks} is more than this system allows: {}; at most {most} tasks fit{beside}; \
         `switchcost limits {program} --tasks {tasks}` has the remedies",
        short.join("; ")
    )
}

/// Message for a limit that is met in spite of the check: others may have taken what was left. What the kernel
/// reserves cannot be foretold, so that a limit of the address space is named wherever there is one.
pub fn refused(what: &str, tasks: u32) -> String {
    let status = text("/proc/self/status").unwrap_or_default();
    let limit = rlimit(Resource::RLIMIT_AS).zip(mapped_bytes(&status));
    let space = limit.map_or(String::new(), |(limit, used)| {
        format!("raise {SPACE}, which leaves {} bytes, ", limit.saturating_sub(used))
    });
    format!(
        "cannot {what}: lower --tasks, {space}or see `switchcost limits PROGRAM --tasks {tasks}`"
    )
}

fn raise_descriptors() -> anyhow::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).context("getrlimit")?;
    if soft < hard {
        // Some sandboxes forbid it: then the soft limit counts.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
    Ok(())
}

/// Name of a limit, the need of it, its value, and how much of it is in use. A value is `None` if there is
/// no limit, or if it cannot be read: then the run meets it.
type Limit = (String, Need, Option<u64>, Option<u64>);

/// All limits that can be read.
fn limits(needs: &Needs) -> Vec<Limit> {
    let Needs { descriptors, threads, maps, bytes, space } = *needs;
    // The directory itself is open while it is read.
    let open = fs::read_dir("/proc/self/fd").ok().map(|fds| fds.count() as u64 - 1);
    let mapped = text("/proc/self/maps").map(|maps| maps.lines().count() as u64);
    let memory = text("/proc/meminfo").and_then(|text| number_after(&text, "MemAvailable:"));
    let status = text("/proc/self/status").unwrap_or_default();
    let most_maps = number("/proc/sys/vm/max_map_count");
    // What is reserved once is not all used: the C library does with less.
    let space = Need { fixed: 0, ..space };
    let most_open = rlimit(Resource::RLIMIT_NOFILE);
    let mut limits = vec![
        ("the descriptor limit (ulimit -n)".to_owned(), descriptors, most_open, open),
        ("vm.max_map_count".to_owned(), maps, most_maps, mapped),
        ("the available memory".to_owned(), bytes, memory.map(|kib| kib * 1024), None),
        (SPACE.to_owned(), space, rlimit(Resource::RLIMIT_AS), mapped_bytes(&status)),
    ];
    if !may_pass_nproc(&status, text("/proc/self/uid_map").as_deref()) {
        let used = threads_of_user(number_after(&status, "Uid:"));
        let name = "the limit of user processes (ulimit -u)".to_owned();
        limits.push((name, threads, rlimit(Resource::RLIMIT_NPROC), used));
    }
    for name in ["threads-max", "pid_max"] {
        let limit = number(Path::new("/proc/sys/kernel").join(name));
        limits.push((format!("kernel.{name}"), threads, limit, threads_of_system()));
    }
    // Memory has other names in version 1 of control groups.
    for (controller, need, limit, used) in [
        ("pids", threads, "pids.max", "pids.current"),
        ("memory", bytes, "memory.max", "memory.current"),
        ("memory", bytes, "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ] {
        for group in groups(controller) {
            let name = format!("{limit} of {}", group.display());
            limits.push((name, need, number(group.join(limit)), number(group.join(used))));
        }
    }
    limits
}

/// Bytes that a process with this /proc/self/status has mapped.
fn mapped_bytes(status: &str) -> Option<u64> {
    number_after(status, "VmSize:").map(|kib| kib * 1024)
}

/// A soft limit of this process; `None` if it is unlimited.
fn rlimit(resource: Resource) -> Option<u64> {
    let (soft, _) = getrlimit(resource).ok()?;
    (soft != RLIM_INFINITY).then_some(soft)
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// A file with a number in it; `None` if it has a word such as `max`.
fn number(path: impl AsRef<Path>) -> Option<u64> {
    text(path)?.trim().parse().ok()
}

/// First number behind the name of a line.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// True if `ulimit -u` does not bind a process with this /proc/self/status: that of root, or one with the
/// capability, both in the first user namespace alone. Root of a container without privileges is bound.
pub fn may_pass_nproc(status: &str, uid_map: Option<&str>) -> bool {
    let is_root = is_first_namespace(uid_map) && number_after(status, "Uid:") == Some(0);
    is_root || capabilities(status, uid_map).is_some_and(|bits| bits & PASSES_NPROC != 0)
}

/// Effective capabilities by their bits, as far as limits of the system regard them: none in a user
/// namespace. `None` if /proc/self/status does not show them.
pub fn capabilities(status: &str, uid_map: Option<&str>) -> Option<u64> {
    if !is_first_namespace(uid_map) {
        return Some(0);
    }
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(effective.trim(), 16).ok()
}

/// True if this /proc/self/uid_map is that of the first user namespace. Without the file the kernel has
/// no other.
pub fn is_first_namespace(uid_map: Option<&str>) -> bool {
    uid_map.is_none_or(|map| map.split_whitespace().eq(["0", "0", "4294967295"]))
}

/// Threads that the whole system has: the fourth field of /proc/loadavg is runnable/all.
fn threads_of_system() -> Option<u64> {
    let load = text("/proc/loadavg")?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// Threads of all processes of a user, which is what RLIMIT_NPROC counts.
fn threads_of_user(user: Option<u64>) -> Option<u64> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let statuses = processes.filter_map(|entry| text(entry.path().join("status")));
    let own = statuses.filter(|status| number_after(status, "Uid:") == user);
    Some(own.filter_map(|status| number_after(&status, "Threads:")).sum())
}

/// The control group of this process and those above it, where a controller's files are: version 2 under
/// /sys/fs/cgroup, version 1 in the controller's own hierarchy there.
fn groups(controller: &str) -> Vec<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let own = text("/proc/self/cgroup").unwrap_or_default();
    let group = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        // In a namespace the path may lead above its root.
        let path = path.trim_start_matches('/');
        if id == "0" {
            return Some(root.join(path));
        }
        let is_its_own = controllers.split(',').any(|c| c == controller);
        is_its_own.then(|| root.join(controller).join(path))
    });
    let groups = group.as_deref().into_iter().flat_map(Path::ancestors);
    groups.take_while(|path| path.starts_with(root)).map(Path::to_owned).collect()
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
    fn limits_that_are_too_low_are_named_with_what_fits() {
        let needs =
            Needs { threads: Need::new(0, 1), descriptors: Need::new(10, 2), ..Needs::default() };
        let text = short(needs, 1 << 40);
        for words in ["kernel.pid_max", "ulimit -n", "at most", "switchcost limits p --tasks"] {
            assert!(text.contains(words), "{text}");
        }
        let text = short(Needs { threads: Need::new(1 << 40, 0), ..Needs::default() }, 1);
        assert!(text.contains("at most 0 tasks fit beside what the other flags"), "{text}");
    }

    #[test]
    fn only_a_capability_in_the_first_user_namespace_passes_ulimit_u() {
        let first = Some("         0          0 4294967295\n");
        let rootless = Some("         0       1000          1\n");
        let status = |uid: u32, capabilities: u64| {
            format!("Name:\tp\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{capabilities:016x}\n")
        };
        for (uid, capabilities, uid_map, may_pass) in [
            (0, 0x1ff_ffff_ffff, first, true),
            (0, 0, None, true),
            (1000, 1 << 24, first, true),
            (1000, 1 << 23, first, false),
            (0, 0x1ff_ffff_ffff, rootless, false),
        ] {
            let passes = may_pass_nproc(&status(uid, capabilities), uid_map);
            assert_eq!(passes, may_pass, "{uid} {capabilities:x} {uid_map:?}");
        }
    }
}
