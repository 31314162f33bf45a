//! Description, `ready`, and requests that a program follows.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::{Answer, Description, MOST_SAMPLES, Ready, VERSION};
use record::Why;

use super::candidate::{Candidate, TASKS, shown};
use crate::measure::session::{Ran, Session, difference};

/// `--describe`: the same description each time, of any size, and nothing is built.
pub(super) fn describes(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let description = candidate.description(TASKS)?;
    if let Some(what) = difference(&description, &candidate.description(TASKS)?) {
        bail!("two descriptions: {what}");
    }
    for (field, text) in [("program", &description.program), ("version", &description.version)] {
        let is_printable = !text.is_empty() && !text.contains(char::is_control);
        ensure!(is_printable, "{field}: it is empty, or has control characters");
    }
    // A round trip with each task has two hops.
    let Description { contract, tokens, chains, trips, tasks, .. } = description;
    ensure!(contract == VERSION, "contract: {contract}, not {VERSION}");
    ensure!(tasks == TASKS, "tasks: {tasks}, but --tasks is {TASKS}");
    let each = 2 * (tasks + 1);
    let possible = [tokens, chains, trips].into_iter().fold(each, u64::saturating_mul);
    let hops = description.hops.unwrap_or_default();
    ensure!(hops.is_multiple_of(tokens), "hops: {hops} are no multiple of the {tokens} tokens");
    ensure!(hops == 0 || description.arrivals.is_none(), "hops: an open loop (arrivals) has none");
    ensure!(hops <= possible, "hops: {hops} are more than two per task and trip, {possible}");
    let names: BTreeSet<_> = description.passes.iter().map(|pass| &pass.name).collect();
    let are_words = names.iter().all(|n| !n.is_empty() && !n.contains(char::is_whitespace));
    let is_each_once = !names.is_empty() && names.len() == description.passes.len();
    ensure!(are_words && is_each_once, "passes: name at least one, each with a word of its own");
    // What does not fit this system can be described.
    let many = candidate.description(1_000_000)?;
    ensure!(many.tasks == 1_000_000, "tasks: {}, but --tasks is 1000000", many.tasks);
    let [few, much] = [description.needs, many.needs]
        .map(|needs| [needs.descriptors.each, needs.threads.each, needs.maps.each]);
    ensure!(
        few == much,
        "the descriptors, threads or maps per task change with --tasks: {few:?}, {much:?}"
    );
    Ok(None)
}

/// A whole session: `ready`, runs of each pass, `hold`, `end`.
pub(super) fn answers(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let described = candidate.description(TASKS)?;
    let begun = Instant::now();
    let mut session = candidate.start_small()?;
    let Ready { pids, setup_ns, first_ns, description } = session.ready(Some(&described))?;
    let elapsed = begun.elapsed().as_nanos() as u64;
    let pid = session.pid().as_raw();
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
        run(&mut session, n, None)?;
    }
    for pass in &description.passes {
        run(&mut session, 3, Some(&pass.name))?;
    }
    for _ in 0..2 {
        let held = session.hold()?;
        ensure!(held == pids, "{held:?} held, not {pids:?}");
    }
    run(&mut session, 5, None)?;
    session.take_down()?;
    // It ends by the request, not by the end of file.
    let ended = session.wait()?.expect(0)?;
    ensure!(ended.lines.is_empty(), "a line after the last answer: {ended}");
    Ok(None)
}

/// Asks for iterations of a pass, and makes sure that their times are possible.
pub(super) fn run(session: &mut Session, n: u64, pass: Option<&String>) -> anyhow::Result<Ran> {
    let ran = session.run(n, pass)?;
    ensure!(!ran.samples.contains(&0), "run {n}: a sample of 0 ns");
    ran.ensure_possible(Duration::ZERO)?;
    Ok(ran)
}

/// Mean time of an iteration in ns, as far as ten can tell.
pub(super) fn mean(session: &mut Session) -> anyhow::Result<u64> {
    Ok(run(session, 10, None)?.total() / 10)
}

/// `--warmup 0` leaves no `first_ns`; one `run` may have up to 10,000 samples.
pub(super) fn most_samples(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let mut session = candidate.start_tasks(1, "--warmup 0 --controlled")?;
    let ready = session.ready(None)?;
    ensure!(ready.first_ns.is_none(), "first_ns without an iteration: {:?}", ready.first_ns);
    let time = Duration::from_nanos(mean(&mut session)?.saturating_mul(MOST_SAMPLES));
    if time > candidate.timeout / 20 {
        bail!(Why::LeftOut(format!("{MOST_SAMPLES} iterations would take {time:.0?}")));
    }
    run(&mut session, MOST_SAMPLES, None)?;
    run(&mut session, 1, None)?;
    session.finish()?.expect(0)?;
    Ok(None)
}

/// Requests as a pipe delivers them: in pieces, and several at once.
pub(super) fn takes_pieces(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let mut session = candidate.ready()?;
    session.send("ru")?;
    thread::sleep(Duration::from_millis(20));
    session.send("n 2\nhold\nrun 3\nen")?;
    let answers = [session.answer()?, session.answer()?, session.answer()?];
    let [
        Answer::Ran { samples_ns: first, .. },
        Answer::Held { .. },
        Answer::Ran { samples_ns: second, .. },
    ] = &answers
    else {
        bail!("expected two runs with a hold between them: {}", shown(&answers));
    };
    ensure!((first.len(), second.len()) == (2, 3), "expected 2 and 3 samples: {}", shown(&answers));
    session.send("d\n")?;
    ensure!(matches!(session.answer()?, Answer::Ended { .. }), "no end");
    session.wait()?.expect(0)?;
    Ok(None)
}
