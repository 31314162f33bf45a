//! Bad flags, limits that are too low, faults of tasks.

use std::io;

use anyhow::{Context, bail, ensure};
use contract::message::Answer;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid, setgid, setgroups, setuid};

use super::candidate::{Candidate, Start, TASKS};
use super::skipped;

/// Descriptors of a process that has too few.
const FEW: u64 = 64;

/// Bad usage: one line on standard error, nothing on standard output, status 2.
pub(crate) fn bad_flags(candidate: &Candidate) -> anyhow::Result<()> {
    let mut bad = vec![
        "--no-such-flag",
        "--tasks",
        "--tasks 0",
        "--tasks -1",
        "--tasks three",
        "--tasks 99999999999999999999",
        "--warmup -1",
        "a-word",
    ];
    if candidate.is_full() {
        bad.extend([
            "--iters 0",
            "--controlled --describe",
            "--controlled --iters 3",
            "--describe=",
        ]);
        bad.extend([
            "--tasks 1 --tasks 2",
            "--command",
            "--test-fault boredom@1",
            "--test-fault fail@999999999",
        ]);
    }
    if candidate.faults.is_empty() {
        bad.retain(|flags| !flags.contains("--test-fault"));
    }
    let check = |start: Start, what: &str| {
        let ended = start.finish()?.expect(2).context(what.to_owned())?;
        let is_one = ended.stderr.lines().count() == 1 && ended.stderr.len() < 1000;
        ensure!(ended.stdout.is_empty() && is_one, "{what}: {ended:?}");
        Ok(())
    };
    for flags in bad {
        for mode in ["", "--controlled", "--describe"] {
            if mode.is_empty() || !flags.contains(mode) {
                check(candidate.bare(&format!("{mode} {flags}")), flags)?;
            }
        }
    }
    check(candidate.bare("--tasks").arg(&"9".repeat(100_000)), "a long number")?;
    check(candidate.bare("").arg("--x\x1b[2J\n\ry"), "a flag with control characters")
}

/// Too many tasks for some limit: refused with what fits, which then does fit.
fn refused(
    candidate: &Candidate,
    within: &dyn Fn(Start) -> Start,
    limit: &str,
) -> anyhow::Result<()> {
    let tasks = 5000;
    let words = [limit, "at most ", " tasks fit", "switchcost limits", "--tasks 5000"];
    let alone = within(candidate.sized(tasks, "--warmup 0 --iters 1")).finish()?.expect(1)?;
    let alone = alone.expect_words(&words)?;
    ensure!(alone.stdout.is_empty(), "{alone:?}");
    let mut live = within(candidate.sized(tasks, "--warmup 0 --controlled")).start()?;
    let Answer::Failed { error } = live.answer()? else {
        bail!("{tasks} tasks are built");
    };
    ensure!(words.iter().all(|w| error.contains(w)), "{error}");
    live.finish()?.expect(1)?;

    let most = error.split("at most ").nth(1).and_then(|rest| rest.split(' ').next());
    let most: u64 = most.context("no number")?.parse()?;
    if most > 0 {
        let ended = within(candidate.sized(most, "--warmup 0 --iters 1")).finish()?;
        ended.expect(0).with_context(|| format!("{most} tasks do not fit: {error}"))?;
    }
    let ended = within(candidate.sized(most + 1, "--warmup 0 --iters 1")).finish()?;
    ended.expect(1).map(drop)
}

/// Too few descriptors.
pub(crate) fn few_descriptors(candidate: &Candidate) -> anyhow::Result<()> {
    let description = candidate.description(TASKS)?;
    let within =
        |start: Start| start.prepared(|| Ok(setrlimit(Resource::RLIMIT_NOFILE, FEW, FEW)?));
    if description.needs.descriptors.each > 0 {
        return refused(candidate, &within, "ulimit -n");
    }
    // Tasks without descriptors are as many as ever.
    let ended = within(candidate.sized(500, "--warmup 0 --iters 1")).finish()?;
    ended.expect(0).map(drop)
}

/// Too few processes, for a user who has no others.
pub(crate) fn few_processes(candidate: &Candidate) -> anyhow::Result<()> {
    let needs = candidate.description(TASKS)?.needs.threads;
    if needs.each == 0 {
        return Ok(());
    }
    if !Uid::effective().is_root() {
        return Err(skipped("only root can become a user who has no processes"));
    }
    let user = 2_000_000_000 + std::process::id();
    let most = needs.fixed + 20;
    let within = move |start: Start| {
        start.prepared(move || {
            setrlimit(Resource::RLIMIT_NPROC, most, most)?;
            setgroups(&[])?;
            setgid(Gid::from_raw(user))?;
            Ok(setuid(Uid::from_raw(user))?)
        })
    };
    if let Err(e) = within(candidate.bare("--version")).finish() {
        let io = e.root_cause().downcast_ref::<io::Error>();
        let is_hidden = io.is_some_and(|e| e.kind() == io::ErrorKind::PermissionDenied);
        return Err(if is_hidden { skipped("the program is in a folder of root's") } else { e });
    }
    refused(candidate, &within, "ulimit -u")
}

/// Each fault of a task is told by its true cause.
pub(crate) fn faults(candidate: &Candidate) -> anyhow::Result<()> {
    for fault in candidate.faults.iter().filter(|fault| *fault != "hang") {
        let words = match fault.as_str() {
            "fail" => "task 1: fails as --test-fault asks",
            // Where one thread does the work of all, it is the program that panics.
            "panic" => "ends as --test-fault asks (a panic",
            "absent" => "task 1: absent as --test-fault asks",
            "close" => "task 1 ended after it had passed on 3 tokens",
            // The token says what came out, and not who did it.
            "corrupt" => "expected",
            other => bail!("the table has an unknown fault: {other}"),
        };
        let flags = format!("--test-fault {fault}@1 --warmup 0");
        let mut live = candidate.sized(TASKS, &format!("{flags} --controlled")).start()?;
        let mut answer = live.answer()?;
        if let Answer::Ready { .. } = answer {
            live.send("run 50\n")?;
            answer = live.answer()?;
            if let Answer::Ran { samples_ns, .. } = &answer {
                ensure!(samples_ns.len() < 50, "{fault}: not seen");
                answer = live.answer()?;
            }
        }
        let Answer::Failed { error } = answer else {
            bail!("{fault}: {answer:?}");
        };
        ensure!(error.contains(words), "{fault}: '{words}' is missing: {error}");
        let ended = live.wait()?.expect(1).context(fault.clone())?;
        ensure!(ended.stdout.is_empty() && ended.stderr.is_empty(), "{fault}: {ended:?}");

        let ended = candidate.sized(TASKS, &format!("{flags} --iters 50")).finish()?;
        let ended = ended.expect(1).and_then(|e| e.expect_words(&[words]));
        let ended = ended.context(fault.clone())?;
        ensure!(ended.stderr.lines().count() == 1, "{fault}: {ended:?}");
    }
    Ok(())
}
