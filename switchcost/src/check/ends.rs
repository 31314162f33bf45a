//! Ends of a run: the end of file, signals, a runner that is gone.

use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use contract::message::{Answer, MOST_SAMPLES};
use nix::sys::signal::Signal;

use super::Conformity;
use super::candidate::Candidate;
use super::requests::mean;

/// Length in ns of a run in which something happens to it.
const RUNNING: u64 = 60_000_000;

/// Requests that a program has got when its end comes: none, runs of some length, and a hold.
fn requests(candidate: &Candidate) -> anyhow::Result<[String; 3]> {
    let mut live = candidate.ready()?;
    let n = (RUNNING / mean(&mut live)?).clamp(1, MOST_SAMPLES);
    live.finish()?.expect(0)?;
    Ok([String::new(), format!("run {n}\n").repeat(3), "hold\n".to_owned()])
}

/// The end of file is `end`, at any time; a request that it cuts off is not followed.
pub(super) fn by_end_of_file(candidate: &Candidate) -> anyhow::Result<Conformity> {
    for requests in requests(candidate)?.into_iter().chain(["run 3".to_owned()]) {
        let mut live = candidate.start_small()?;
        live.send(&requests)?;
        let exit = live.finish()?.expect(0)?;
        let last = exit.lines.last().map(|line| serde_json::from_str(line));
        let has_ended = matches!(last, Some(Ok(Answer::Ended { .. })));
        ensure!(has_ended, "not ended behind '{}': {exit}", requests.trim_end());
    }
    Ok(Conformity::Passed)
}

/// Signals end it after the iteration under way, with status 128 + N.
pub(super) fn by_signal(candidate: &Candidate) -> anyhow::Result<Conformity> {
    let requests = requests(candidate)?;
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for requests in &requests {
            let mut live = candidate.ready()?;
            live.send(requests)?;
            thread::sleep(Duration::from_millis(20));
            live.signal(signal)?;
            let exit = live.wait().and_then(|exit| exit.expect(128 + signal as i32));
            exit.with_context(|| format!("{signal} behind '{}'", requests.trim_end()))?;
        }
    }
    Ok(Conformity::Passed)
}

/// A runner that is killed closes both pipes at once; one that stops reading closes one.
pub(super) fn without_runner(candidate: &Candidate) -> anyhow::Result<Conformity> {
    for requests in requests(candidate)? {
        let mut live = candidate.start_small()?;
        live.send(&requests)?;
        live.session.drop_stdout();
        live.finish().context("its runner is gone")?;

        let mut live = candidate.ready()?;
        live.send(&requests)?;
        live.session.drop_stdout();
        // So many, as a child that another thread starts has the reading end too until it becomes its program.
        live.send("run 1\n".repeat(20_000))?;
        let exit = live.wait().context("nobody reads its answers")?;
        ensure!(exit.code() != Some(0), "an answer is lost: {exit}");
    }
    Ok(Conformity::Passed)
}
