//! Work of the kernel's OOM killer.

use std::fs;

/// Counts of processes that the OOM killer has ended: files with an `oom_kill`, that of this
/// process's memory control group first, then that of the whole system.
#[derive(Clone, Debug)]
pub(crate) struct Kills(Vec<(String, u64)>);

impl Kills {
    /// Reads the counters that this system has.
    pub(crate) fn now() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let files = groups.lines().filter_map(group_file).chain(["/proc/vmstat".to_owned()]);
        Kills(files.filter_map(|path| read_count(&path).map(|count| (path, count))).collect())
    }

    /// The kills since `before`, in words; `None` if no counter has grown.
    pub(crate) fn since(self, before: Kills) -> Option<String> {
        let grown = self.0.into_iter().find_map(|(path, now)| {
            let (_, then) = before.0.iter().find(|(other, _)| *other == path)?;
            (now > *then).then(|| format!("{path}: oom_kill {then} -> {now}"))
        })?;
        Some(format!(
            "the kernel's OOM killer was at work ({grown}): lower --tasks, free memory, or raise \
             the limit of the control group"
        ))
    }
}

/// The file with the counter of a line of `/proc/self/cgroup`: of version 2, or of version 1's memory
/// controller.
fn group_file(line: &str) -> Option<String> {
    let (_, group) = line.split_once(':')?;
    let (controllers, path) = group.split_once(':')?;
    let path = path.trim_end_matches('/');
    if controllers.is_empty() {
        return Some(format!("/sys/fs/cgroup{path}/memory.events"));
    }
    let has_memory = controllers.split(',').any(|name| name == "memory");
    has_memory.then(|| format!("/sys/fs/cgroup/memory{path}/memory.oom_control"))
}

/// The number after `oom_kill` in a file of `name value` lines.
fn read_count(path: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_counter_that_has_grown_is_told() {
        assert_eq!(
            group_file("4:memory:/a").unwrap(),
            "/sys/fs/cgroup/memory/a/memory.oom_control"
        );
        assert_eq!(group_file("0::/").unwrap(), "/sys/fs/cgroup/memory.events");
        assert_eq!((group_file("1:cpu:/"), group_file("nonsense")), (None, None));
        let kills = |count| Kills(vec![("f".to_owned(), 1), ("g".to_owned(), count)]);
        assert!(kills(3).since(kills(2)).unwrap().contains("(g: oom_kill 2 -> 3)"));
        assert_eq!(kills(3).since(kills(3)), None);
    }
}
