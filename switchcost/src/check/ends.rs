//! Ends of a run: the end of file, signals, a runner that is gone.

use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use contract::message::{Answer, MOST_SAMPLES};
use nix::sys::signal::Signal;

use super::candidate::Candidate;
use super::requests::mean;

/// Length, in ns, of a run during which something happens to the program.
const RUNNING: u64 = 60_000_000;

/// Stages of a session, each with the requests that lead to it.
fn stages(candidate: &Candidate) -> anyhow::Result<[(&'static str, String); 3]> {
    let mut session = candidate.ready()?;
    let n = (RUNNING / mean(&mut session)?).clamp(1, MOST_SAMPLES);
    session.finish()?.expect(0)?;
    let runs = format!("run {n}\n").repeat(3);
    Ok([("ready", String::new()), ("running", runs), ("held", "hold\n".to_owned())])
}

/// The end of file is `end`, at any time; a request that it cuts off is not followed.
pub(super) fn by_end_of_file(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let cut_off = ("in a request", "run 3".to_owned());
    for (stage, requests) in stages(candidate)?.into_iter().chain([cut_off]) {
        let mut session = candidate.start_small()?;
        session.send(&requests)?;
        let ended = session.finish()?.expect(0)?;
        let last = ended.lines.last().map(|line| serde_json::from_str(line));
        let has_ended = matches!(last, Some(Ok(Answer::Ended { .. })));
        ensure!(has_ended, "{stage}: its last line must be 'ended': {ended}");
    }
    Ok(None)
}

/// Signals end it after the iteration under way, with status 128 + N.
pub(super) fn by_signal(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let stages = stages(candidate)?;
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for (stage, requests) in &stages {
            let mut session = candidate.ready()?;
            session.send(requests)?;
            thread::sleep(Duration::from_millis(20));
            session.signal(signal)?;
            let ended = session.wait().and_then(|ended| ended.expect(128 + signal as i32));
            ended.with_context(|| format!("{signal}, {stage}"))?;
        }
    }
    Ok(None)
}

/// A runner that is killed closes both pipes at once; one that stops reading closes one.
pub(super) fn without_runner(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    for (stage, requests) in stages(candidate)? {
        let mut session = candidate.start_small()?;
        session.send(&requests)?;
        session.child.drop_stdout();
        session.finish().with_context(|| format!("its runner is gone, {stage}"))?;

        let mut session = candidate.ready()?;
        session.send(&requests)?;
        session.child.drop_stdout();
        // So many, as a child that another thread starts has the reading end too until it becomes its program.
        session.send("run 1\n".repeat(20_000))?;
        let ended = session.wait().with_context(|| format!("nobody reads its answers, {stage}"))?;
        ensure!(!ended.status.success(), "an answer is lost, {stage}: {ended}");
    }
    Ok(None)
}
