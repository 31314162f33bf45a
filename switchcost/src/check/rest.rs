//! `hold`: the tasks rest.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use observe::usage::cpu_time;

use super::candidate::{Candidate, until};

/// Length of a hold that is watched.
const WATCHED: Duration = Duration::from_millis(300);

/// While it is held nothing runs; afterwards it goes on.
pub(super) fn rests(candidate: &Candidate) -> anyhow::Result<Option<String>> {
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
