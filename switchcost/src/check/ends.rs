//! Ends of a run: the end of file, signals, a runner that is gone.

use std::fs::File;
use std::io;
use std::thread;
use std::time::Duration;

use anyhow::{Context, ensure};
use contract::message::{Answer, MOST_SAMPLES};
use nix::sys::signal::Signal;

use super::answers::mean;
use super::candidate::{Candidate, TASKS};
use super::run::{Exit, Live};
use super::skipped;

/// Moment of a session.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Building,
    Ready,
    Running,
    Held,
}

const STAGES: [Stage; 4] = [Stage::Building, Stage::Ready, Stage::Running, Stage::Held];

/// Length of a run in which something happens to it.
const RUNNING: Duration = Duration::from_millis(60);

/// Number of iterations that take so long, as far as a few can tell; at most what a run may have.
fn running(candidate: &Candidate) -> anyhow::Result<u64> {
    let mut live = candidate.ready()?;
    let mean = mean(&mut live)?;
    live.finish()?.expect(0)?;
    Ok((RUNNING.as_nanos() as u64 / mean).clamp(1, MOST_SAMPLES))
}

/// Brings a program to a stage; a run has `n` iterations.
fn at(stage: Stage, candidate: &Candidate, n: u64) -> anyhow::Result<Live> {
    if let Stage::Building = stage {
        return candidate.small("--controlled").start();
    }
    let mut live = candidate.ready()?;
    match stage {
        Stage::Building | Stage::Ready => {}
        Stage::Running => live.send(format!("run {n}\n").repeat(3))?,
        Stage::Held => ensure!(matches!(live.ask("hold")?, Answer::Held { .. }), "not held"),
    }
    Ok(live)
}

/// Makes sure that the last line says that it has ended.
fn has_ended(ended: &Exit) -> anyhow::Result<()> {
    let last = ended.stdout.last().with_context(|| format!("no line: {ended:?}"))?;
    let answer = serde_json::from_str(last).with_context(|| last.clone())?;
    ensure!(matches!(answer, Answer::Ended { .. }), "it has not ended: {last}");
    Ok(())
}

/// The end of file is `end`, at any time.
pub(crate) fn by_end_of_file(candidate: &Candidate) -> anyhow::Result<()> {
    let n = running(candidate)?;
    for stage in STAGES {
        let ended = at(stage, candidate, n)?.finish()?.expect(0);
        has_ended(&ended?).with_context(|| format!("{stage:?}"))?;
    }
    let mut live = candidate.ready()?;
    live.send("run 3")?;
    let ended = live.finish()?.expect(0)?;
    has_ended(&ended).context("a request that is cut off")
}

/// Signals end it after the iteration under way, with status 128 + N.
pub(crate) fn by_signal(candidate: &Candidate) -> anyhow::Result<()> {
    let n = running(candidate)?;
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        for stage in STAGES {
            let what = || format!("{signal} at {stage:?}");
            let mut live = at(stage, candidate, n)?;
            if let Stage::Building = stage {
                live.await_handler(signal)?;
            }
            if let Stage::Running = stage {
                thread::sleep(Duration::from_millis(20));
            }
            live.signal(signal)?;
            if matches!(stage, Stage::Building) && !candidate.is_full() {
                // Before a runtime hands signals on, they do what they do to any program on it, and one
                // may be lost.
                live.finish().with_context(what)?;
                continue;
            }
            let ended = live.wait().with_context(what)?;
            let ended = ended.expect(128 + signal as i32).with_context(what)?;
            if candidate.is_full() {
                has_ended(&ended).with_context(what)?;
                // The run under way is cut short; those behind it do not begin.
                let answers = ended.stdout.iter().map(|line| serde_json::from_str(line));
                let answers = answers.collect::<Result<Vec<Answer>, _>>()?;
                let is_short = |answer: &Answer| matches!(answer, Answer::Ran { samples_ns, .. } if (samples_ns.len() as u64) < n);
                let short = answers.iter().position(is_short);
                let is_last = short.is_none_or(|at| at + 2 == answers.len());
                ensure!(is_last, "{}: it goes on: {ended:?}", what());
            }
        }
    }
    Ok(())
}

/// The same alone: what was measured is printed, and standard error says that it is not all.
pub(crate) fn by_signal_alone(candidate: &Candidate) -> anyhow::Result<()> {
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        let mut live = candidate.small("--iters 1000000000").start()?;
        live.await_handler(signal)?;
        thread::sleep(Duration::from_millis(50));
        live.signal(signal)?;
        let ended = live.wait()?.expect(128 + signal as i32)?;
        let ended = ended.expect_words(&["interrupted", "1000000000"])?;
        ensure!(ended.stderr.lines().count() == 1, "{ended:?}");
        // A slow machine may not have come to the first iteration.
        if let Some(first) = ended.stdout.first() {
            let words = format!("{TASKS} tasks, ");
            ensure!(first.starts_with(&words) && !first.contains(" 1000000000 "), "{ended:?}");
        }
    }
    Ok(())
}

/// A second signal ends a program that is stuck.
pub(crate) fn by_second_signal(candidate: &Candidate) -> anyhow::Result<()> {
    if !candidate.faults.iter().any(|fault| fault == "hang") {
        return Err(skipped("it knows no fault that hangs"));
    }
    for flags in ["--controlled", "--iters 1000"] {
        let mut head_start = Duration::from_millis(100);
        loop {
            let mut live = candidate.small(&format!("{flags} --test-fault hang@1")).start()?;
            if flags == "--controlled" {
                live.ready()?;
                live.send("run 1000\n")?;
            } else {
                live.await_handler(Signal::SIGTERM)?;
            }
            thread::sleep(head_start);
            live.signal(Signal::SIGINT)?;
            // Two within half a second count as one, and a busy machine may hand both over together.
            candidate.until("a further signal ends it", || {
                thread::sleep(Duration::from_millis(700));
                live.has_ended() || live.signal(Signal::SIGTERM).is_err()
            })?;
            let ended = live.wait()?.expect(130)?;
            // On a slow machine the first signal may come before it hangs, and ends it.
            let was_stuck = ended.stderr.contains("interrupted again");
            if was_stuck || head_start > Duration::from_secs(5) {
                ended.expect_words(&["interrupted again"])?;
                break;
            }
            head_start *= 3;
        }
    }
    Ok(())
}

/// A runner that is killed closes both pipes at once; one that stops reading closes one.
pub(crate) fn without_runner(candidate: &Candidate) -> anyhow::Result<()> {
    let n = running(candidate)?;
    for stage in STAGES {
        let mut live = at(stage, candidate, n)?;
        live.drop_stdout();
        live.finish().with_context(|| format!("the runner ends at {stage:?}"))?;

        let mut live = at(stage, candidate, n)?;
        live.drop_stdout();
        // A child that another test starts has the reading end too until it becomes its program.
        candidate
            .until("it misses its reader", || live.send("run 1\n").is_err() || live.has_ended())?;
        let ended = live.wait().with_context(|| format!("nobody reads at {stage:?}"))?;
        ensure!(ended.code != Some(0), "{stage:?}: an answer is lost: {ended:?}");
    }
    Ok(())
}

/// Standard output that takes nothing is an error, not a result without a reader.
pub(crate) fn without_output(candidate: &Candidate) -> anyhow::Result<()> {
    for flags in ["--describe", "--controlled", "--iters 3"] {
        let full = File::options().write(true).open("/dev/full")?;
        let ended = candidate.small(flags).stdout(full).finish()?.expect(1);
        ensure!(!ended.context(flags)?.stderr.is_empty(), "{flags}: not a word");
        let closed = || {
            // SAFETY: nobody else uses the descriptor between fork and exec.
            #[expect(unsafe_code, reason = "a descriptor is closed between fork and exec")]
            match unsafe { libc::close(1) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        let ended = candidate.small(flags).prepared(closed).finish()?.expect(1);
        ended.and_then(|e| e.expect_words(&["output is closed"])).context(flags)?;
    }
    // A reader that has seen enough, such as head(1), is no error of a program run alone.
    let mut live = candidate.small("--iters 3").start()?;
    live.drop_stdout();
    let ended = live.finish()?.expect(0)?;
    ensure!(ended.stderr.is_empty(), "{ended:?}");
    Ok(())
}
