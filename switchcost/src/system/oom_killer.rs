//! Work of the kernel's OOM killer.

use limits::cgroup::ControlGroups;
use limits::source::{Source, word_after};

/// Counts of processes that the OOM killer has ended: files with an `oom_kill`, that of this
/// process's memory control group first, then that of the whole system.
#[derive(Clone, Debug)]
pub(crate) struct Kills(Vec<(String, u64)>);

impl Kills {
    /// Reads the counters that this system has.
    pub(crate) fn now() -> Self {
        let source = Source::system();
        let group = ControlGroups::read(&source).own(&source, "memory");
        let file = group.map(|group| {
            let file = if group.version == 2 { "memory.events" } else { "memory.oom_control" };
            format!("{}/{file}", group.folders[0])
        });
        let count = |path: String| {
            let count = word_after(&source.text(&path)?, "oom_kill ")?;
            Some((path, count))
        };
        Kills(file.into_iter().chain(["/proc/vmstat".to_owned()]).filter_map(count).collect())
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
