//! `hold`, and what the system gives while it lasts.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use observe::usage::cpu_time;
use record::Why;

use super::candidate::{Candidate, until};

/// Number of tasks in a hold that counts needs.
const MANY: u64 = 40;

/// Length of a hold that is watched.
const WATCHED: Duration = Duration::from_millis(300);

/// While it is held nothing runs; afterwards it goes on.
pub(super) fn rests(candidate: &Candidate) -> anyhow::Result<Option<Why>> {
    let mut session = candidate.ready()?;
    session.run(3, None)?;
    let pids = session.hold()?;
    let used = || pids.iter().map(|&pid| cpu_time(pid)).sum::<Option<u64>>();
    used().with_context(|| format!("a process of {pids:?} is gone"))?;
    // A runtime compiles and collects for a while after it has worked, and takes a little for its housekeeping.
    until(candidate.timeout, "it used less than a tenth of a CPU while it was held", || {
        let (before, begun) = (used(), Instant::now());
        thread::sleep(WATCHED);
        let tenth = begun.elapsed().as_nanos() as u64 / 10;
        used().zip(before).is_some_and(|(after, before)| after - before < tenth)
    })?;
    session.run(3, None)?;
    session.finish()?.expect(0)?;
    Ok(None)
}

/// What it says that it needs is enough for what it has, and not much more.
pub(super) fn needs(candidate: &Candidate) -> anyhow::Result<Option<Why>> {
    let needs = candidate.description(MANY)?.needs;
    let mut session = candidate.start_tasks(MANY, "--warmup 2 --controlled")?;
    session.ready(None)?;
    session.run(3, None)?;
    let (mut descriptors, mut threads) = (0, 0);
    for pid in session.hold()? {
        descriptors = descriptors.max(count(pid, "fd")?);
        threads += count(pid, "task")?;
    }
    // A runtime starts with some, and may have threads for each CPU that collect and compile.
    let start = 32 + 2 * thread::available_parallelism().map_or(1, |n| n.get() as u64);
    for (name, need, has) in [
        ("descriptors", needs.descriptors.of(MANY), descriptors),
        ("threads", needs.threads.of(MANY), threads - 1),
    ] {
        ensure!(has <= need + start, "it has {has} {name}, but its needs are {need}");
        ensure!(need <= 2 * has + 64, "it has only {has} {name}, but its needs are {need}");
    }
    session.finish()?.expect(0)?;
    Ok(None)
}

/// Number of entries of a process's folder in /proc.
fn count(pid: i32, folder: &str) -> anyhow::Result<u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/{folder}"));
    Ok(entries.with_context(|| format!("{pid} is gone"))?.count() as u64)
}
