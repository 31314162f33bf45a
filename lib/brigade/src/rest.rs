//! Threads at rest: the proof that nothing woke them.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::{Interrupted, signals};
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
pub fn beside(work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let ids = other_threads()?;
    let asleep = await_sleep(&ids)?;
    work()?;
    for (id, before) in ids.into_iter().zip(asleep) {
        let now = look(id)?;
        ensure!(
            now == before,
            "an idle task was woken (thread {id} has slept {} times, before that {}): by a signal, or a debugger?",
            now.sleeps,
            before.sleeps
        );
    }
    Ok(())
}

/// State of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    is_asleep: bool,
    /// Times that it went to sleep.
    sleeps: u64,
}

/// Looks until all sleep and none has woken since the look before: a thread may sleep on its way too, for a
/// lock.
fn await_sleep(ids: &[i32]) -> anyhow::Result<Vec<State>> {
    let begun = Instant::now();
    let mut before = Vec::new();
    loop {
        let now = ids.iter().map(|&id| look(id)).collect::<anyhow::Result<Vec<State>>>()?;
        if now == before && now.iter().all(|state| state.is_asleep) {
            return Ok(now);
        }
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        if begun.elapsed() > PATIENCE {
            bail!(
                "the threads at rest did not fall asleep within {} s: lower their number",
                PATIENCE.as_secs()
            );
        }
        before = now;
        thread::sleep(Duration::from_millis(1));
    }
}

fn look(id: i32) -> anyhow::Result<State> {
    let path = format!("/proc/{id}/status");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let state = value(&text, "State:").with_context(|| format!("{path} has no State"))?;
    let sleeps = value(&text, "voluntary_ctxt_switches:");
    let sleeps = sleeps.with_context(|| format!("{path} has no voluntary_ctxt_switches"))?;
    Ok(State { is_asleep: state.starts_with('S'), sleeps: sleeps.parse()? })
}

/// Value of a line in /proc/PID/status.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}
