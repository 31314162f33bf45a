//! `hold`, and what the system gives while it lasts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::Answer;

use super::candidate::Candidate;
use super::run::{Live, threads};
use super::skipped;

/// Tasks of a hold whose needs are counted.
const MANY: u64 = 40;

/// Descriptors and threads that a process of this workspace, or its runtime, starts with.
const START: u64 = 16;

/// The same of any runtime: some have threads for each CPU that collect and compile.
fn start(candidate: &Candidate) -> u64 {
    let cpus = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    if candidate.is_full() { START } else { 2 * START + 2 * cpus }
}

/// Maps of an executable, its libraries, the heap and the main stack.
const MAPS: u64 = 64;

/// Length of a hold that is watched.
const WATCHED: Duration = Duration::from_millis(300);

/// CPU time and turns of a thread so far; `None` where the kernel does not count them.
fn schedule(thread: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(thread.join("schedstat")).ok()?;
    let mut numbers = text.split_whitespace().map(|n| n.parse().ok());
    Some((numbers.next()??, numbers.nth(1)??))
}

fn sleeps(thread: &Path) -> bool {
    let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    matches!(state, Some('S' | 'D' | 'I'))
}

fn hold(live: &mut Live) -> anyhow::Result<Vec<i32>> {
    match live.ask("hold")? {
        Answer::Held { pids } => Ok(pids),
        other => bail!("not held: {other:?}"),
    }
}

/// While it is held nothing runs; afterwards it goes on.
pub(crate) fn rests(candidate: &Candidate) -> anyhow::Result<()> {
    let mut live = candidate.ready()?;
    super::answers::run(&mut live, 3, None, false)?;
    let pids = hold(&mut live)?;
    ensure!(pids.iter().all(|&pid| !threads(pid).is_empty()), "a process of {pids:?} is gone");
    if schedules(&pids).is_empty() {
        return Err(skipped("the kernel does not count a thread's turns (/proc/PID/schedstat)"));
    }
    // Whoever handed on last may still be on its way to sleep.
    candidate.until("all threads sleep", || {
        pids.iter().flat_map(|&pid| threads(pid)).all(|thread| sleeps(&thread))
    })?;
    let mut seen = watch(candidate, &pids);
    if !candidate.is_full() {
        // A runtime compiles and collects for a while after it has worked.
        let waited = candidate.until("it rests", || {
            seen.is_ok() || {
                seen = watch(candidate, &pids);
                seen.is_ok()
            }
        });
        seen = seen.and(waited);
    }
    seen?;
    super::answers::run(&mut live, 3, None, false)?;
    live.finish()?.expect(0).map(drop)
}

/// Threads of these processes with their CPU time and turns so far.
fn schedules(pids: &[i32]) -> BTreeMap<PathBuf, (u64, u64)> {
    let all = pids.iter().flat_map(|&pid| threads(pid));
    all.filter_map(|thread| Some((thread.clone(), schedule(&thread)?))).collect()
}

/// Watches processes for a moment: their threads take next to no CPU time.
fn watch(candidate: &Candidate, pids: &[i32]) -> anyhow::Result<()> {
    let before = schedules(pids);
    let begun = Instant::now();
    thread::sleep(WATCHED);
    let after = schedules(pids);
    let elapsed = begun.elapsed();
    let is_same = before.keys().eq(after.keys());
    ensure!(!candidate.is_full() || is_same, "threads come and go: {before:?}, {after:?}");
    let mut ran = Duration::ZERO;
    for (thread, now) in &after {
        let then = before.get(thread).unwrap_or(&(0, 0));
        ran += Duration::from_nanos(now.0.saturating_sub(then.0));
        // The driver may look at the clock once a second. The kernel interrupts it, some ms after a ring
        // that it had was closed, for what is left to take down (io_ring_exit_work, io_uring/io_uring.c):
        // compio closes one that it asks for the operations that there are.
        let is_driver = thread.ends_with(pids[0].to_string());
        let most = if is_driver { 3 + elapsed.as_secs() } else { 0 };
        let turns = now.1.saturating_sub(then.1);
        ensure!(
            !candidate.is_full() || turns <= most,
            "{} had {turns} turns while held",
            thread.display()
        );
    }
    // A runtime with threads of its own for housekeeping takes a little.
    ensure!(ran < elapsed / 10, "{ran:?} of CPU time in a hold of {elapsed:?}");
    Ok(())
}

/// What it says that it needs is enough for what it has, and not much more.
pub(crate) fn needs(candidate: &Candidate) -> anyhow::Result<()> {
    let needs = candidate.description(MANY)?.needs;
    let mut live = candidate.sized(MANY, "--warmup 2 --controlled").start()?;
    live.ready()?;
    super::answers::run(&mut live, 3, None, false)?;
    let pids = hold(&mut live)?;
    let entries = |pid: &i32, what: &str| {
        let entries = fs::read_dir(format!("/proc/{pid}/{what}"));
        entries.map(|e| e.count() as u64).context("it is gone")
    };
    let (mut descriptors, mut tasks) = (0, 0);
    for pid in &pids {
        descriptors = entries(pid, "fd")?.max(descriptors);
        tasks += entries(pid, "task")?;
    }
    for (what, need, has) in [
        ("descriptors", needs.descriptors.of(MANY), descriptors),
        ("threads", needs.threads.of(MANY), tasks - 1),
    ] {
        // Some are there before it builds anything.
        ensure!(has <= need + start(candidate), "it has {has} {what}, and needs {need}");
        ensure!(need <= 2 * has + 64, "it has {has} {what}, and asks for {need}");
    }
    let maps = fs::read_to_string(format!("/proc/{}/maps", pids[0]))?;
    let (has, need) = (maps.lines().count() as u64, needs.maps.of(MANY));
    ensure!(!candidate.is_full() || has <= need + MAPS, "it has {has} maps, and needs {need}");
    live.finish()?.expect(0).map(drop)
}
