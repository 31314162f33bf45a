//! Description, `ready`, `run` and `end`.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::{Answer, Claim, Distribution, Extra, MOST_SAMPLES, Usage, VERSION};
use nix::sys::resource::{Resource, setrlimit};

use super::candidate::{Candidate, TASKS};
use super::run::Live;
use super::skipped;

/// CPU time beyond the elapsed time that rounding explains, in ns: clocks of 10 ms per CPU.
const ROUNDING: u64 = 50_000_000;

/// Time after which there have been switches, in ns.
const A_WHILE: u64 = 1_000_000_000;

/// `--describe`: a whole description, of any size, and nothing is built.
pub(crate) fn describes(candidate: &Candidate) -> anyhow::Result<()> {
    let first = candidate.description(TASKS)?;
    let description = candidate.description(TASKS)?;
    ensure!(first == description, "two descriptions: {first:?}, {description:?}");
    ensure!(description.contract == VERSION, "contract: {description:?}");
    // A script or a wrapper may be called otherwise.
    let is_named = match candidate.is_full() {
        true => description.program == candidate.name(),
        false => !description.program.is_empty(),
    };
    ensure!(is_named, "program: {description:?}");
    ensure!(!description.version.is_empty(), "version: {description:?}");
    ensure!(description.tasks == TASKS, "tasks: {description:?}");
    let mut names: Vec<_> = description.passes.iter().map(|p| p.name.as_str()).collect();
    ensure!(!names.is_empty(), "no passes: {description:?}");
    ensure!(
        names.iter().all(|n| !n.is_empty() && !n.contains(char::is_whitespace)),
        "a pass without a name that `run` could take: {description:?}"
    );
    names.sort_unstable();
    names.dedup();
    ensure!(names.len() == description.passes.len(), "passes: {description:?}");
    if let Some(hops) = description.hops {
        ensure!(hops > 0 && hops % description.tokens == 0, "hops: {description:?}");
    }
    // What it would need does not matter to a description.
    let tasks = 1_000_000;
    let many = candidate
        .sized(tasks, "--describe")
        .prepared(|| Ok(setrlimit(Resource::RLIMIT_NOFILE, 64, 64)?))
        .finish()?
        .expect(0)?;
    ensure!(many.stdout.len() == 1, "{many:?}");
    let many: contract::message::Description = serde_json::from_str(&many.stdout[0])?;
    ensure!(many.tasks == tasks, "{many:?}");
    let needs = description.needs;
    for (few, much) in [
        (needs.descriptors, many.needs.descriptors),
        (needs.threads, many.needs.threads),
        (needs.maps, many.needs.maps),
    ] {
        ensure!(few.each == much.each, "needs change with --tasks: {few:?}, {much:?}");
    }
    Ok(())
}

/// A whole session: `ready`, runs of each pass, `hold`, `end`.
pub(crate) fn answers(candidate: &Candidate) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut live = candidate.small("--controlled").start()?;
    let (answer, line) = live.answer_and_value()?;
    let Answer::Ready { pids, setup_ns, first_ns, description } = answer else {
        bail!("not ready: {line}");
    };
    ensure!(description == candidate.description(TASKS)?, "`ready` and --describe differ: {line}");
    ensure!(pids.first() == Some(&live.pid().as_raw()), "pids: {line}");
    let elapsed = begun.elapsed().as_nanos() as u64;
    let setup_ns = setup_ns.context("no setup_ns")?;
    let first_ns = first_ns.context("no first_ns")?;
    ensure!(setup_ns > 0 && first_ns > 0 && setup_ns + first_ns <= elapsed, "{line}");

    let has_usage = candidate.is_full() && pids.len() == 1;
    for n in [1, 2, 7] {
        run(&mut live, n, None, has_usage)?;
    }
    for pass in &description.passes {
        run(&mut live, 3, Some(&pass.name), has_usage)?;
    }
    for _ in 0..2 {
        match live.ask("hold")? {
            Answer::Held { pids: held } => ensure!(held == pids, "{held:?} held, not {pids:?}"),
            other => bail!("not held: {other:?}"),
        }
    }
    run(&mut live, 5, None, has_usage)?;
    match live.ask("end")? {
        Answer::Ended { teardown_ns, extra } => {
            ensure!(!candidate.is_full() || teardown_ns.is_some(), "no teardown_ns");
            distributions(&extra)?;
        }
        other => bail!("not ended: {other:?}"),
    }
    // It ends by the request, not by the end of file.
    let ended = live.wait()?.expect(0)?;
    // A runtime may have something to say to people.
    let is_silent = ended.stderr.is_empty() || !candidate.is_full();
    ensure!(ended.stdout.is_empty() && is_silent, "{ended:?}");
    Ok(())
}

/// One `run`, whose numbers are possible.
pub(crate) fn run(
    live: &mut Live,
    n: u64,
    pass: Option<&str>,
    has_usage: bool,
) -> anyhow::Result<()> {
    let request = format!("run {n} {}", pass.unwrap_or(""));
    let begun = Instant::now();
    let answer = live.ask(request.trim())?;
    let elapsed = begun.elapsed().as_nanos() as u64;
    let Answer::Ran { samples_ns, usage, extra } = answer else {
        bail!("{request}: {answer:?}");
    };
    ensure!(samples_ns.len() as u64 == n, "{request}: {} samples", samples_ns.len());
    ensure!(samples_ns.iter().all(|&ns| ns > 0), "{request}: {samples_ns:?}");
    let sum: u64 = samples_ns.iter().sum();
    ensure!(sum <= elapsed, "{request}: samples of {sum} ns in {elapsed} ns");
    match usage {
        Some(Usage { user_ns, system_ns, .. }) => {
            let cpus = nix::unistd::sysconf(nix::unistd::SysconfVar::_NPROCESSORS_ONLN)?;
            let most = (elapsed + ROUNDING) * cpus.unwrap_or(1).unsigned_abs();
            let used = user_ns + system_ns;
            ensure!(used <= most, "{request}: {used} ns of CPU time in {elapsed} ns");
        }
        None => ensure!(!has_usage, "{request}: no usage"),
    }
    distributions(&extra)
}

fn distributions(extra: &Extra) -> anyhow::Result<()> {
    for (name, d) in extra {
        let Distribution { count, mean, stddev, min, p50, p90, p99, max } = *d;
        let is_sorted = [min, p50, p90, p99, max].is_sorted();
        // A histogram's ends are rounded in the third digit.
        let is_inside = mean >= min as f64 * 0.99 && mean <= max as f64 * 1.01;
        ensure!(count > 0 && is_sorted && is_inside && stddev >= 0.0, "extra {name}: {d:?}");
    }
    Ok(())
}

/// Mean time of an iteration in ns, as far as ten can tell.
pub(crate) fn mean(live: &mut Live) -> anyhow::Result<u64> {
    match live.ask("run 10")? {
        Answer::Ran { samples_ns, .. } => Ok((samples_ns.iter().sum::<u64>() / 10).max(1)),
        other => bail!("no run: {other:?}"),
    }
}

/// The most samples of one `run`.
pub(crate) fn most_samples(candidate: &Candidate) -> anyhow::Result<()> {
    let mut live = candidate.sized(1, "--warmup 0 --controlled").start()?;
    live.ready()?;
    let time = Duration::from_nanos(mean(&mut live)?.saturating_mul(MOST_SAMPLES));
    if time > candidate.patience / 2 {
        return Err(skipped(format!("{MOST_SAMPLES} iterations would take {time:.0?}")));
    }
    run(&mut live, MOST_SAMPLES, None, false)?;
    run(&mut live, 1, None, false)?;
    live.finish()?.expect(0).map(drop)
}

/// `--warmup 0`: there is no first iteration to tell of.
pub(crate) fn without_warmup(candidate: &Candidate) -> anyhow::Result<()> {
    let mut live = candidate.sized(1, "--warmup 0 --controlled").start()?;
    match live.answer()? {
        Answer::Ready { first_ns: None, .. } => {}
        other => bail!("not ready without first_ns: {other:?}"),
    }
    run(&mut live, 4, None, false)?;
    live.finish()?.expect(0).map(drop)
}

/// What a request may not be: one `failed` line, and status 1.
pub(crate) fn refuses(candidate: &Candidate) -> anyhow::Result<()> {
    let long = "x".repeat(100_000);
    let unknown = ["run 10001", "run 0", "run -1", "run", "run 1 no-such-pass", "run 1 main x"];
    for request in unknown.into_iter().chain(["stop", "", "hold 1", "RUN 1", &long]) {
        let what = &request[..request.len().min(20)];
        let mut live = candidate.ready()?;
        match live.ask(request)? {
            Answer::Failed { error } => {
                ensure!((10..400).contains(&error.len()), "'{what}': an error without use: {error}")
            }
            other => bail!("'{what}' is followed: {other:?}"),
        }
        let ended = live.wait()?.expect(1).context(what.to_owned())?;
        ensure!(ended.stdout.is_empty(), "'{what}': {ended:?}");
    }
    let mut live = candidate.ready()?;
    live.send(b"run \xff\n")?;
    ensure!(matches!(live.answer()?, Answer::Failed { .. }), "bytes that are no text");
    live.wait()?.expect(1).map(drop)
}

/// Requests as a pipe delivers them: in pieces, and several at once.
pub(crate) fn takes_pieces(candidate: &Candidate) -> anyhow::Result<()> {
    let mut live = candidate.ready()?;
    live.send("ru")?;
    std::thread::sleep(std::time::Duration::from_millis(20));
    live.send("n 2\nhold\nrun 3\nen")?;
    for n in [Some(2), None, Some(3)] {
        match (live.answer()?, n) {
            (Answer::Ran { samples_ns, .. }, Some(n)) if samples_ns.len() == n => {}
            (Answer::Held { .. }, None) => {}
            (other, _) => bail!("{other:?}"),
        }
    }
    live.send("d\n")?;
    ensure!(matches!(live.answer()?, Answer::Ended { .. }), "no end");
    live.wait()?.expect(0).map(drop)
}

/// The claim of a row, against what the kernel counts: a baseline in which nothing is switched
/// never waits.
pub(crate) fn keeps_its_claim(candidate: &Candidate) -> anyhow::Result<()> {
    let description = candidate.description(TASKS)?;
    let Some(hops) = description.hops else {
        return Err(skipped("it hands nothing over"));
    };
    let mut live = candidate.ready()?;
    let n = (A_WHILE / mean(&mut live)?).clamp(10, 1000);
    let Answer::Ran { usage, .. } = live.ask(&format!("run {n}"))? else {
        bail!("no run");
    };
    let Some(usage) = usage else {
        return Err(skipped("it gives no usage"));
    };
    let switches = usage.voluntary_switches + usage.involuntary_switches;
    match description.claim {
        // Two threads of one core at most pass a token on without a switch.
        Claim::KernelSwitch => ensure!(switches > 0, "no switch in {n} iterations"),
        Claim::NoSwitch => ensure!(
            usage.voluntary_switches < hops * n / 10,
            "{} waits in {} hops",
            usage.voluntary_switches,
            hops * n
        ),
        Claim::UserSwitch => {}
    }
    live.finish()?.expect(0).map(drop)
}
