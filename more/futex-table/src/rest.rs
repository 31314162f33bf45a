//! Threads at rest: the proof that nothing woke them.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::Interrupted;
use host::signals;
use nix::unistd::gettid;

/// Longest time until all sleep.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ids of all threads of this process but the calling one.
fn other_threads() -> anyhow::Result<Vec<i32>> {
    let own = gettid().as_raw();
    let entries = fs::read_dir("/proc/self/task").context("/proc/self/task")?;
    let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(ids.filter(|&id| id != own).collect())
}

/// Does `work` when all other threads of this process sleep, and checks that they slept all the time.
pub(crate) fn beside(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let ids = other_threads()?;
    let before = await_sleep(&ids)?;
    work()?;
    let is_asleep = sleeps(&ids)? == Some(before);
    ensure!(is_asleep, "an idle task was woken: by a signal, or a debugger?");
    Ok(())
}

/// Looks until all sleep and none has woken since the look before: a thread may sleep on its way too, for a
/// lock. Returns how often they went to sleep.
fn await_sleep(ids: &[i32]) -> anyhow::Result<u64> {
    let begun = Instant::now();
    let mut before = None;
    loop {
        let now = sleeps(ids)?;
        if let Some(sleeps) = now.filter(|_| now == before) {
            return Ok(sleeps);
        }
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        ensure!(
            begun.elapsed() <= PATIENCE,
            "the threads at rest did not fall asleep within {} s: lower their number",
            PATIENCE.as_secs()
        );
        before = now;
        thread::sleep(Duration::from_millis(1));
    }
}

/// How often the threads went to sleep; `None` if one is awake.
fn sleeps(ids: &[i32]) -> anyhow::Result<Option<u64>> {
    let mut count = 0;
    for id in ids {
        let path = format!("/proc/{id}/status");
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        let value = |name| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if value("State:").is_none_or(|state| !state.starts_with('S')) {
            return Ok(None);
        }
        let sleeps = value("voluntary_ctxt_switches:");
        let sleeps = sleeps.with_context(|| format!("{path} has no voluntary_ctxt_switches"))?;
        count += sleeps.parse::<u64>()?;
    }
    Ok(Some(count))
}
