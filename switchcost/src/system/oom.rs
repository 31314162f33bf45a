//! Whether the kernel's OOM killer was at work.

use std::fs;

/// How many processes the OOM killer has ended so far, where the kernel tells.
#[derive(Clone, Debug)]
pub(crate) struct Kills {
    group: Option<(String, u64)>,
    system: Option<u64>,
}

impl Kills {
    /// Reads the counters: that of this process's memory control group, `oom_kill` in
    /// `memory.events` (version 2) or in `memory.oom_control` (version 1), and that of the whole
    /// system in `/proc/vmstat`.
    pub(crate) fn now() -> Self {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let of_file = |path: String| {
            let text = fs::read_to_string(&path).ok()?;
            Some((path, field(&text, "oom_kill")?))
        };
        Kills {
            group: file(&groups).and_then(of_file),
            system: fs::read_to_string("/proc/vmstat")
                .ok()
                .and_then(|text| field(&text, "oom_kill")),
        }
    }

    /// What it has done since `before`, in words; `None` where no counter has grown.
    pub(crate) fn since(self, before: Kills) -> Option<String> {
        if let (Some((path, now)), Some((_, then))) = (self.group, before.group)
            && now > then
        {
            return Some(format!(
                "the kernel's OOM killer was at work in its control group ({path}: oom_kill {then} -> {now}): lower --tasks, or raise the group's memory limit"
            ));
        }
        let (now, then) = (self.system?, before.system?);
        (now > then).then(|| {
            format!(
                "the kernel's OOM killer was at work on this system (/proc/vmstat: oom_kill {then} -> {now}): lower --tasks, or free memory"
            )
        })
    }
}

/// The file with the counter of the memory control group that `/proc/self/cgroup` names. Where
/// version 1 has the controller, version 2 does not.
fn file(groups: &str) -> Option<String> {
    let mut version_2 = None;
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let path = path.trim_end_matches('/');
        if controllers.split(',').any(|name| name == "memory") {
            return Some(format!("/sys/fs/cgroup/memory{path}/memory.oom_control"));
        }
        if controllers.is_empty() {
            version_2 = Some(format!("/sys/fs/cgroup{path}/memory.events"));
        }
    }
    version_2
}

/// The number after `name` in a file of `name value` lines.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_either_version_is_found() {
        assert_eq!(
            file("4:memory:/a/b\n1:cpu:/\n0::/c\n").as_deref(),
            Some("/sys/fs/cgroup/memory/a/b/memory.oom_control")
        );
        assert_eq!(file("1:cpu:/\n0::/c\n").as_deref(), Some("/sys/fs/cgroup/c/memory.events"));
        assert_eq!(file("0::/\n").as_deref(), Some("/sys/fs/cgroup/memory.events"));
        assert_eq!(file("nonsense"), None);
    }

    #[test]
    fn only_what_has_grown_is_told() {
        let kills = |group: Option<u64>, system: Option<u64>| Kills {
            group: group.map(|n| ("/g/memory.events".to_owned(), n)),
            system,
        };
        let since = |now: Kills, before: Kills| now.since(before).unwrap_or_default();
        let told = since(kills(Some(2), Some(9)), kills(Some(1), Some(8)));
        assert!(told.contains("/g/memory.events: oom_kill 1 -> 2"), "{told}");
        let told = since(kills(Some(1), Some(9)), kills(Some(1), Some(8)));
        assert!(told.contains("/proc/vmstat: oom_kill 8 -> 9"), "{told}");
        assert_eq!(since(kills(Some(1), Some(8)), kills(Some(1), Some(8))), "");
        assert_eq!(since(kills(None, None), kills(None, Some(8))), "");
    }
}
