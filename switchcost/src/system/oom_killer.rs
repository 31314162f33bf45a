//! Work of the kernel's OOM killer.

use host::cgroup::ControlGroups;
use host::source::{Source, word_after};

/// Counts of processes that the OOM killer has ended, by the files that tell: first the `oom_kill` of this process's
/// memory control group, then the whole system's.
pub(crate) fn kills() -> Vec<(String, u64)> {
    let source = Source::system();
    let group = ControlGroups::read(&source).visible_groups(&source, "memory");
    let file = group.map(|group| {
        let file = if group.version == 2 { "memory.events" } else { "memory.oom_control" };
        format!("{}/{file}", group.folders[0])
    });
    let files = file.into_iter().chain(["/proc/vmstat".to_owned()]);
    let counts = files.filter_map(|path| {
        let count = word_after(&source.text(&path)?, "oom_kill ")?;
        Some((path, count))
    });
    counts.collect()
}

/// The kills since `before`, in words; `None` if no counter has grown.
pub(crate) fn kills_since(before: &[(String, u64)]) -> Option<String> {
    let grown = kills().into_iter().find_map(|(path, now)| {
        let (_, then) = before.iter().find(|(other, _)| *other == path)?;
        (now > *then).then(|| format!("{path}: oom_kill {then} -> {now}"))
    })?;
    Some(format!(
        "the kernel's OOM killer was at work ({grown}): lower --tasks, free memory, or raise the limit of the control \
         group"
    ))
}
