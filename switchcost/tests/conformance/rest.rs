//! `hold`, and what the system gives while it lasts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::Answer;

use super::subject::{Live, Subject, threads, until};

/// Tasks of a hold whose needs are counted.
const MANY: u64 = 40;

/// Descriptors and threads that a process, or its runtime, starts with.
const START: u64 = 16;

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
pub(crate) fn rests(subject: &Subject) -> anyhow::Result<()> {
    let mut live = subject.ready()?;
    super::answers::run(&mut live, 3, None, false)?;
    let pids = hold(&mut live)?;
    let all = || pids.iter().flat_map(|&pid| threads(pid)).collect::<Vec<_>>();
    ensure!(pids.iter().all(|&pid| !threads(pid).is_empty()), "a process of {pids:?} is gone");
    // Whoever handed on last may still be on its way to sleep.
    until("all threads sleep", || all().iter().all(|thread| sleeps(thread)))?;
    let before: BTreeMap<_, _> = all().into_iter().map(|t| (schedule(&t), t)).collect();
    let begun = Instant::now();
    thread::sleep(WATCHED);
    ensure!(all().len() == before.len(), "threads come and go: {before:?}, {:?}", all());
    let mut ran = Duration::ZERO;
    for (then, thread) in &before {
        let (Some(then), Some(now)) = (then, schedule(thread)) else {
            continue;
        };
        ran += Duration::from_nanos(now.0 - then.0);
        // The driver may look at the clock once a second. The kernel interrupts it, some ms after a ring
        // that it had was closed, for what is left to take down (io_ring_exit_work, io_uring/io_uring.c):
        // compio closes one that it asks for the operations that there are.
        let is_driver = thread.ends_with(live.pid().to_string());
        let turns = if is_driver { 3 + begun.elapsed().as_secs() } else { 0 };
        ensure!(
            !subject.is_full() || now.1 - then.1 <= turns,
            "{} had {} turns while held",
            thread.display(),
            now.1 - then.1
        );
    }
    // A runtime with threads of its own for housekeeping takes a little.
    ensure!(ran < begun.elapsed() / 10, "{ran:?} of CPU time in a hold of {:?}", begun.elapsed());
    super::answers::run(&mut live, 3, None, false)?;
    live.finish()?.expect(0).map(drop)
}

/// What it says that it needs is enough for what it has, and not much more.
pub(crate) fn needs(subject: &Subject) -> anyhow::Result<()> {
    let needs = subject.description(MANY)?.needs;
    let mut live = subject.sized(MANY, "--warmup 2 --controlled").start()?;
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
        ensure!(has <= need + START, "it has {has} {what}, and needs {need}");
        ensure!(need <= 2 * has + 64, "it has {has} {what}, and asks for {need}");
    }
    let maps = fs::read_to_string(format!("/proc/{}/maps", pids[0]))?;
    let (has, need) = (maps.lines().count() as u64, needs.maps.of(MANY));
    ensure!(!subject.is_full() || has <= need + MAPS, "it has {has} maps, and needs {need}");
    live.finish()?.expect(0).map(drop)
}
