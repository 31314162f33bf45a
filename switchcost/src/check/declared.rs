//! What a program declares, beside what the kernel and the runner see.

use std::thread;
use std::time::Duration;

use anyhow::{bail, ensure};
use contract::message::{Claim, Description, MOST_SAMPLES, Needs, Usage};
use figures::number::percent;
use host::units::Bytes;
use limits::Limits;
use observe::{affinity, usage};
use record::{Cpus, Setting, Why};

use super::candidate::Candidate;
use super::requests::run;
use crate::measure::needs::{Held, MANY, more};

/// Number of iterations during which switches are counted.
const COUNTED: u64 = 100;

/// Least share of the time of a request that its samples are. Programs that create their tasks in an iteration, and
/// join them outside of it, have a third.
const LEAST_SHARE: f64 = 0.125;

/// Time that samples should fill, in ns.
const FILLED: u64 = 50_000_000;

/// Waits after which a program is to settle, and their length.
const WAITS: u32 = 9;
const WAIT: Duration = Duration::from_millis(5);

/// Least time of the untimed iterations after a wait, in iterations: what is not timed, in the median.
const LEAST_UNTIMED: f64 = 0.5;

/// Bytes that a runtime may start with.
const START: u64 = 16 << 20;

/// Bytes of a task that no process shows, at most, such as both buffers of a connection.
const UNSEEN: u64 = 4 << 20;

/// Claim about a hop, against what the kernel counts. On one CPU no spinning takes the place of a switch.
pub(super) fn claim(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let description = candidate.description(MANY)?;
    let Some(hops) = description.hops else {
        bail!(Why::LeftOut("it has no hops".to_owned()));
    };
    let cpus = Some(Cpus::List(affinity::allowed()?.into_iter().take(1).collect()));
    let pinned = Candidate { setting: Setting { cpus, ..Setting::default() }, ..candidate.clone() };
    let (mut session, place, least) = match pinned.ready_with(MANY, 2) {
        Ok(session) => (session, "on one CPU", 0.5),
        // It needs two.
        Err(_) => (candidate.ready_with(MANY, 2)?, "on all CPUs", f64::MIN_POSITIVE),
    };
    let pids = session.hold()?;
    let before = usage::totals(&pids);
    let used = session.run(COUNTED, None)?.usage;
    let counted = before.and_then(|before| usage::totals(&pids)?.since(&before));
    session.finish()?.expect(0)?;
    let Some(Usage { voluntary_switches, involuntary_switches, .. }) = counted.or(used) else {
        bail!(Why::LeftOut("its threads change, and it reports no usage".to_owned()));
    };
    let [waits, switches] = [voluntary_switches, voluntary_switches + involuntary_switches]
        .map(|count| count as f64 / (hops as f64 * COUNTED as f64));
    let tokens = description.tokens as f64;
    let workers = description.runtime.map_or(1, |runtime| runtime.workers);
    let agrees = match description.claim {
        // Tokens that travel together may share a switch, and a lock of the runtime adds some
        // (Python: up to 2).
        Claim::KernelSwitch => switches * tokens >= least && waits <= 5.0,
        // Workers wait for each other.
        Claim::UserSwitch => waits <= 0.5 || workers > 1,
        Claim::NoSwitch => waits <= 0.1,
    };
    let claim = serde_json::to_value(description.claim)?;
    let claim = claim.as_str().unwrap_or_default();
    let measured = format!("{waits:.2} voluntary and {switches:.2} switches per hop {place}");
    ensure!(agrees, "it claims {claim}, but there were {measured}");
    let told = used.map_or(voluntary_switches, |used| used.voluntary_switches);
    ensure!(
        told.abs_diff(voluntary_switches) <= voluntary_switches / 2 + COUNTED / 2,
        "its usage has {told} voluntary switches, but there were {voluntary_switches}"
    );
    Ok(Some(format!("{claim}; {measured}")))
}

/// Samples are most of the time of a request, but for what is done between iterations.
pub(super) fn samples(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    if candidate.description(MANY)?.arrivals.is_some() {
        bail!(Why::LeftOut("a sample is CPU time of its server".to_owned()));
    }
    let mut session = candidate.ready_with(MANY, 2)?;
    let shortest = run(&mut session, 10, None)?.samples.into_iter().min().unwrap_or(1);
    let iterations = (FILLED / shortest).clamp(1, MOST_SAMPLES);
    let mut share: f64 = 0.0;
    for _ in 0..3 {
        let ran = run(&mut session, iterations, None)?;
        share = share.max(ran.total() as f64 / ran.took.as_nanos() as f64);
        if share >= LEAST_SHARE {
            break;
        }
    }
    session.finish()?.expect(0)?;
    let measured = format!("its samples are {} of the time of `run {iterations}`", percent(share));
    ensure!(share >= LEAST_SHARE, "{measured}: expected {} or more", percent(LEAST_SHARE));
    Ok(Some(measured))
}

/// After a wait, it begins with untimed iterations if it says so.
pub(super) fn settling(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let Description { passes, needs, .. } = candidate.description(MANY)?;
    let settle = passes.first().map_or(0, |pass| pass.settle);
    if settle == 0 {
        bail!(Why::LeftOut("it says that it does not".to_owned()));
    }
    // Enough tasks, so that an iteration takes longer than an answer.
    let mut session = candidate.ready_with(MANY + more(&needs), 2)?;
    let mut untimed = Vec::new();
    for _ in 0..WAITS {
        thread::sleep(WAIT);
        let ran = run(&mut session, 1, None)?;
        let iteration = ran.total() as f64;
        untimed.push(ran.took.as_nanos() as f64 / iteration - 1.0);
    }
    session.finish()?.expect(0)?;
    let untimed = stats::median(&untimed).unwrap_or_default();
    ensure!(
        untimed >= LEAST_UNTIMED,
        "settle is {settle}, but only {} of an iteration's time passes before `run 1` is timed",
        percent(untimed)
    );
    Ok(None)
}

/// What it says that it needs is enough for what it has, and not much more.
pub(super) fn needs(candidate: &Candidate) -> anyhow::Result<Option<String>> {
    let needs = candidate.description(MANY)?.needs;
    if needs == Needs::default() {
        bail!(Why::LeftOut("it does not say: the runner measures what it needs".to_owned()));
    }
    let few = hold(candidate, MANY)?;
    // A runtime starts with some, and may have threads for each CPU that collect and compile.
    let start = 32 + 2 * thread::available_parallelism().map_or(1, |n| n.get() as u64);
    for (name, need, has) in [
        ("descriptors", needs.descriptors.of_tasks(MANY), few.descriptors),
        ("threads", needs.threads.of_tasks(MANY), few.threads),
    ] {
        ensure!(has.saturating_sub(start) <= need, "it has {has} {name}, but its needs are {need}");
        ensure!(need <= 2 * has + 64, "it has only {has} {name}, but its needs are {need}");
    }
    if let Some(resident) = few.resident {
        // Of the kernel's share nothing is seen, and an upper bound may be generous.
        ensure!(
            needs.bytes.each <= 2 * resident / MANY + UNSEEN,
            "each needs {}, but all {MANY} hold {}",
            Bytes(needs.bytes.each),
            Bytes(resident)
        );
    }
    let more = more(&needs);
    let tasks = MANY + more;
    if let Some((limit, most)) =
        Limits::read().tightest(&needs).filter(|(_, most)| *most < 2 * tasks)
    {
        bail!(Why::LeftOut(format!(
            "what each task holds is told by {} tasks, and this system allows at most {most} ({})",
            2 * tasks,
            limit.name
        )));
    }
    let many = hold(candidate, tasks)?;
    // The last number is the part of what is there by which a need may exceed it: a file may be open only in an iteration.
    // The one before it is what further tasks may have without a need: an allocator maps memory for many of them at once.
    for (name, need, few, many, spare, part) in [
        ("descriptors", needs.descriptors, few.descriptors, many.descriptors, start, 1),
        ("threads", needs.threads, few.threads, many.threads, start, 10),
        ("memory maps", needs.maps, few.maps, many.maps, start + more / 32, 10),
    ] {
        let (need, has) = (need.each * more, many.saturating_sub(few));
        // What is there only in an iteration, and not at rest, is not judged.
        ensure!(
            has <= need + spare && (need <= has + has / part + start || has == 0),
            "{more} further tasks have {has} {name}, but their needs are {need}"
        );
    }
    Ok(Some(format!(
        "{MANY} tasks have {} descriptors, {} threads and {} memory maps; {}",
        few.descriptors,
        few.threads,
        few.maps,
        bytes(&needs, few.resident.zip(many.resident), more)?
    )))
}

/// The same of its memory: what a few tasks hold, and what they hold with `more` of them.
fn bytes(needs: &Needs, resident: Option<(u64, u64)>, more: u64) -> anyhow::Result<String> {
    let need = needs.bytes;
    let Some((few, many)) = resident.filter(|_| !need.is_none()) else {
        return Ok("their memory is not told".to_owned());
    };
    let each = many.saturating_sub(few) / more;
    let measured = format!("each needs {}, and holds {}", Bytes(need.each), Bytes(each));
    let (tasks, enough) = (MANY + more, need.of_tasks(MANY + more));
    // What a runtime starts with, or keeps for later, may be in the fixed part.
    let is_near = each <= need.each.saturating_mul(2) && many / 2 <= enough.saturating_add(START);
    ensure!(
        is_near || many <= enough,
        "{measured}: {tasks} tasks need {}, and hold {}",
        Bytes(enough),
        Bytes(many)
    );
    Ok(measured)
}

/// What so many tasks have while they rest.
fn hold(candidate: &Candidate, tasks: u64) -> anyhow::Result<Held> {
    let mut session = candidate.ready_with(tasks, 0)?;
    let held = Held::of(&mut session, tasks)?;
    session.finish()?.expect(0)?;
    Ok(held)
}
