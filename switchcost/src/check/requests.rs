//! Description, `ready`, and requests that a program follows.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::{Answer, Claim, MOST_SAMPLES, VERSION};
use record::Why;

use super::candidate::{Candidate, Live, TASKS, shown};
use crate::measure::session::{Ready, Session, difference};

/// `--describe`: the same description each time, of any size, and nothing is built.
pub(super) fn describes(candidate: &Candidate) -> anyhow::Result<Option<Why>> {
    let description = candidate.description(TASKS)?;
    let shown = shown(&description);
    if let Some(what) = difference(&description, &candidate.description(TASKS)?) {
        bail!("two descriptions: {what}");
    }
    let is_of_run = description.contract == VERSION && description.tasks == TASKS;
    ensure!(is_of_run, "contract, tasks: {shown}");
    let is_named = !description.program.is_empty() && !description.version.is_empty();
    ensure!(is_named, "program, version: {shown}");
    let is_whole = |hops: u64| hops > 0 && hops.is_multiple_of(description.tokens);
    ensure!(description.hops.is_none_or(is_whole), "hops: {shown}");
    let names: BTreeSet<_> = description.passes.iter().map(|pass| &pass.name).collect();
    let are_words = names.iter().all(|n| !n.is_empty() && !n.contains(char::is_whitespace));
    let is_each_once = !names.is_empty() && names.len() == description.passes.len();
    ensure!(are_words && is_each_once, "passes: {shown}");
    // What does not fit this system can be described.
    let many = candidate.description(1_000_000)?;
    ensure!(many.tasks == 1_000_000, "tasks: {}", self::shown(&many));
    let [few, much] = [description.needs, many.needs]
        .map(|needs| [needs.descriptors.each, needs.threads.each, needs.maps.each]);
    ensure!(
        few == much,
        "the descriptors, threads or maps per task change with --tasks: {few:?}, {much:?}"
    );
    Ok(None)
}

/// A whole session: `ready`, runs of each pass, `hold`, `end`.
pub(super) fn answers(candidate: &Candidate) -> anyhow::Result<Option<Why>> {
    let described = candidate.description(TASKS)?;
    let begun = Instant::now();
    let mut live = candidate.start_small()?;
    let Ready { pids, setup_ns, first_ns, description } =
        live.attempt(|session| session.ready(Some(&described)))?;
    let elapsed = begun.elapsed().as_nanos() as u64;
    let pid = live.pid().as_raw();
    let is_measured = pids.first() == Some(&pid) || !pids.contains(&pid);
    ensure!(
        is_measured,
        "its process {pid} must be the first of pids, or not among them: {pids:?}"
    );
    let setup_ns = setup_ns.context("no setup_ns")?;
    let first_ns = first_ns.context("no first_ns")?;
    let is_possible = setup_ns > 0 && first_ns > 0 && setup_ns.saturating_add(first_ns) <= elapsed;
    ensure!(
        is_possible,
        "setup_ns {setup_ns}, first_ns {first_ns}: but it was ready within {elapsed} ns"
    );

    for n in [1, 2, 7] {
        live.run(n, None)?;
    }
    for pass in &description.passes {
        live.run(3, Some(&pass.name))?;
    }
    for _ in 0..2 {
        let held = live.hold()?;
        ensure!(held == pids, "{held:?} held, not {pids:?}");
    }
    live.run(5, None)?;
    live.attempt(Session::take_down)?;
    // It ends by the request, not by the end of file.
    let exit = live.wait()?.expect(0)?;
    ensure!(exit.lines.is_empty(), "a line after the last answer: {exit}");
    Ok(None)
}

/// Mean time of an iteration in ns, as far as ten can tell.
pub(super) fn mean(live: &mut Live) -> anyhow::Result<u64> {
    let samples = live.run(10, None)?;
    Ok(samples.into_iter().fold(0, u64::saturating_add) / 10)
}

/// `--warmup 0` leaves no `first_ns`; one `run` may have up to 10,000 samples.
pub(super) fn most_samples(candidate: &Candidate) -> anyhow::Result<Option<Why>> {
    let mut live = candidate.start_tasks(1, "--warmup 0 --controlled")?;
    let ready = live.attempt(|session| session.ready(None))?;
    ensure!(ready.first_ns.is_none(), "first_ns without an iteration: {:?}", ready.first_ns);
    let time = Duration::from_nanos(mean(&mut live)?.saturating_mul(MOST_SAMPLES));
    if time > candidate.timeout / 20 {
        let why = format!("{MOST_SAMPLES} iterations would take {time:.0?}");
        return Ok(Some(Why::LeftOut(why)));
    }
    live.run(MOST_SAMPLES, None)?;
    live.run(1, None)?;
    live.finish()?.expect(0)?;
    Ok(None)
}

/// Requests as a pipe delivers them: in pieces, and several at once.
pub(super) fn takes_pieces(candidate: &Candidate) -> anyhow::Result<Option<Why>> {
    let mut live = candidate.ready()?;
    live.send("ru")?;
    thread::sleep(Duration::from_millis(20));
    live.send("n 2\nhold\nrun 3\nen")?;
    let answers = [live.answer()?, live.answer()?, live.answer()?];
    let [
        Answer::Ran { samples_ns: first, .. },
        Answer::Held { .. },
        Answer::Ran { samples_ns: second, .. },
    ] = &answers
    else {
        bail!("expected two runs with a hold between them: {}", shown(&answers));
    };
    ensure!((first.len(), second.len()) == (2, 3), "expected 2 and 3 samples: {}", shown(&answers));
    live.send("d\n")?;
    ensure!(matches!(live.answer()?, Answer::Ended { .. }), "no end");
    live.wait()?.expect(0)?;
    Ok(None)
}

/// Claim about a hop, against what the kernel counts.
pub(super) fn keeps_its_claim(candidate: &Candidate) -> anyhow::Result<Option<Why>> {
    let description = candidate.description(TASKS)?;
    let Some(hops) = description.hops else {
        return Ok(Some(Why::LeftOut("it has no hops".to_owned())));
    };
    let mut live = candidate.ready()?;
    let Some(usage) = live.attempt(|session| session.run(100, None))?.usage else {
        return Ok(Some(Why::LeftOut("it reports no usage".to_owned())));
    };
    let waits = usage.voluntary_switches;
    let switches = waits + usage.involuntary_switches;
    match description.claim {
        // Two threads of one core at most pass a token on without a switch.
        Claim::KernelSwitch => {
            ensure!(switches > 0, "it claims kernel-switch, but there was no context switch")
        }
        // A baseline without switches never waits.
        Claim::NoSwitch => {
            let hops = hops * 100;
            ensure!(
                waits < hops / 10,
                "it claims no-switch, but there were {waits} voluntary switches in {hops} hops"
            );
        }
        Claim::UserSwitch => {}
    }
    live.finish()?.expect(0)?;
    Ok(None)
}
