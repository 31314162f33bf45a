//! One case in one process: what docs/CONTRACT.md asks of a program, and what is observed meanwhile.

use std::time::Duration;

use contract::message::{Answer, Description, Extra, MOST_SAMPLES, Request, Usage, VERSION};
use observe::{cache_line, interference, memory, migrations, perf, usage};
use record::{Counters, Memory, MemoryChange, Process, Samples, Scope, distribution};

use crate::executable::Executable;
use crate::plan::Case;
use crate::process::{Ended, Running};
use crate::setting::Cpus;
use crate::{signals, store};

/// Threads whose usage is summed up, at most: to read more of them takes longer than most runs.
const MOST_THREADS: u64 = 10_000;

/// Threads whose moves between CPUs are summed up, at most: the kernel writes a page for each.
const MOST_MOVED: u64 = 100;

/// How a process is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time after which it is ended.
    pub timeout: Duration,
    /// True if each sample is kept.
    pub keep_samples: bool,
    /// True if events are counted in a further run.
    pub counters: bool,
    /// Longest time for the timed iterations, which are fewer where they would take longer.
    pub longest: Option<Duration>,
}

/// Iterations that tell how long one takes.
const PROBE: u64 = 5;

/// Why a process measured nothing more.
pub(crate) enum Fault {
    /// It ended; the cause is in how it did.
    Ended,
    /// It says so, or it does not follow the contract.
    Told(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        Fault::Told(error.to_string())
    }
}

/// Runs a case in a fresh process. Whatever fails is an error of the process; what was measured before
/// stays.
pub fn run(program: &Executable, case: &Case, options: &Options) -> Process {
    let mut process = Process::of(&case.program, case.args());
    if let Err(error) = measure(program, case, options, &mut process) {
        process.error = Some(format!("{error:#}"));
    }
    // In a file nobody would believe it, and its line would be lost.
    match store::ensure_possible(&process) {
        Ok(()) => process,
        Err(what) => Process {
            error: Some(format!("what it says cannot be true: {what}")),
            ..Process::of(&case.program, case.args())
        },
    }
}

fn measure(
    program: &Executable,
    case: &Case,
    options: &Options,
    process: &mut Process,
) -> anyhow::Result<()> {
    let mut setting = case.setting.clone();
    let allowed = Cpus::allowed()?;
    if case.pin {
        setting.cpus = Some(allowed.first());
    }
    process.cpus = setting.cpus.as_ref().map(ToString::to_string);
    process.policy = setting.policy.map(|policy| policy.name().to_owned());
    let cpus = setting.cpus.as_ref().unwrap_or(&allowed).list();
    let cpus: Vec<usize> = cpus.iter().map(|&cpu| cpu as usize).collect();
    process.cache_line = cache_line::measure(&cpus);
    process.memory = Some(MemoryChange { before: memory::system(), held: None });
    let mut args = process.args.clone();
    args.push("--controlled".to_owned());
    let mut running = Running::start(program, &args, &setting, options.timeout)?;
    let fault = controlled(&mut running, case, options, process).err();
    if let Some(Fault::Told(_)) = fault {
        running.give_up();
    }
    let ended = running.end()?;
    if let Some(line) = &mut process.cache_line {
        cache_line::measure_again(line);
    }
    conclude(&ended, fault, process);
    Ok(())
}

/// Asks for all that is wanted of a program, and fills in what it answers.
fn controlled(
    running: &mut Running,
    case: &Case,
    options: &Options,
    process: &mut Process,
) -> Result<(), Fault> {
    let (pids, description) = match answer(running)? {
        Answer::Ready { pids, setup_ns, first_ns, description } => {
            process.setup_ns = setup_ns;
            process.first_ns = first_ns;
            (pids, description)
        }
        other => return Err(unexpected("ready", &other)),
    };
    describe(&description, process)?;
    let timed = timed_run(running, case.iters, options.longest, (&pids, &description), process)?;
    process.samples = Samples::of(&timed)
        .map(|samples| Samples { each: options.keep_samples.then_some(timed), ..samples });
    if process.partial {
        return Ok(());
    }
    for pass in &case.passes {
        let iterations = case.iters.min(MOST_SAMPLES);
        let (samples, _) = ran(running, iterations, Some(pass), &mut process.extra)?;
        process.extra.extend(distribution(&samples).map(|d| (pass.clone(), d)));
    }
    // What creates its tasks creates them once more for a rest.
    let peak_resident = memory::peak(&pids);
    let held = match case.skip_hold {
        true => Memory::default(),
        false => {
            running.send(&Request::Hold.to_string())?;
            match answer(running)? {
                Answer::Held { pids } => memory::of(&pids),
                other => return Err(unexpected("held", &other)),
            }
        }
    };
    if let Some(change) = &mut process.memory {
        change.held = Some(Memory { peak_resident, ..held });
    }
    if options.counters {
        count(running, case.iters, &pids, process)?;
    }
    running.send(&Request::End.to_string())?;
    match answer(running)? {
        Answer::Ended { teardown_ns, extra } => {
            process.teardown_ns = teardown_ns;
            merge(&mut process.extra, extra);
            Ok(())
        }
        other => Err(unexpected("ended", &other)),
    }
}

/// Makes sure that a program follows the contract as this runner does.
pub(crate) fn check_version(description: &Description) -> Result<(), Fault> {
    match description.contract {
        VERSION => Ok(()),
        other => Err(Fault::Told(format!(
            "it follows version {other} of the contract, and this runner version {VERSION}"
        ))),
    }
}

fn describe(description: &Description, process: &mut Process) -> Result<(), Fault> {
    check_version(description)?;
    process.version = Some(description.version.clone());
    process.tasks = Some(description.tasks);
    process.tokens = description.tokens;
    process.hops = description.hops;
    process.bytes = description.bytes;
    process.claim = Some(description.claim);
    process.runtime.clone_from(&description.runtime);
    Ok(())
}

/// The main pass, in slices where it has more iterations than one run may have; returns the samples.
fn timed_run(
    running: &mut Running,
    mut iters: u64,
    longest: Option<Duration>,
    (pids, description): (&[i32], &Description),
    process: &mut Process,
) -> Result<Vec<u64>, Fault> {
    let threads = description.needs.threads.of(description.tasks);
    let totals = || (threads <= MOST_THREADS).then(|| usage::totals(pids)).flatten();
    let has_moves = description.hops.is_some() && threads <= MOST_MOVED;
    let moves = || has_moves.then(|| migrations::totals(pids)).flatten();
    let (moves_before, totals_before, before) = (moves(), totals(), interference::totals());
    let mut samples = Vec::new();
    let mut used = Some(Usage::default());
    while (samples.len() as u64) < iters {
        let is_probe = longest.is_some() && samples.is_empty();
        let most = if is_probe { PROBE } else { MOST_SAMPLES };
        let wanted = (iters - samples.len() as u64).min(most);
        let (slice, of_slice) = ran(running, wanted, None, &mut process.extra)?;
        used = used.zip(of_slice).map(|(all, more)| sum(all, more));
        let is_whole = slice.len() as u64 == wanted;
        samples.extend(slice);
        if let (true, Some(longest)) = (is_probe, longest) {
            let each = samples.iter().sum::<u64>() / samples.len().max(1) as u64;
            iters = iters.min(longest.as_nanos() as u64 / each.max(1)).max(samples.len() as u64);
        }
        if !is_whole {
            process.partial = true;
            break;
        }
    }
    process.interference = Some(interference::totals().since(before));
    process.migrations = moves().zip(moves_before).and_then(|(now, then)| now.since(&then));
    process.usage = match used {
        // It does not count its own, or children do the work.
        None => totals().zip(totals_before).and_then(|(now, then)| now.since(&then)),
        used => used,
    };
    Ok(samples)
}

/// Counts events in a further run: a tenth of the iterations, but a hundred where there are as many,
/// since counts hardly vary.
fn count(
    running: &mut Running,
    iters: u64,
    pids: &[i32],
    process: &mut Process,
) -> Result<(), Fault> {
    let iterations = (iters / 10).max(100).min(iters).min(MOST_SAMPLES);
    // Where nothing is handed over, an iteration creates threads, which only their CPUs can count.
    let scope = process.hops.is_none().then_some(Scope::Cpus);
    let counting = perf::attach(pids, scope);
    let (samples, usage) = ran(running, iterations, None, &mut Extra::new())?;
    process.counters = Some(Counters {
        iterations: samples.len() as u64,
        time: samples.iter().sum(),
        usage,
        ..counting.finish()
    });
    Ok(())
}

/// Asks for one run.
pub(crate) fn ran(
    running: &mut Running,
    iterations: u64,
    pass: Option<&String>,
    extra: &mut Extra,
) -> Result<(Vec<u64>, Option<Usage>), Fault> {
    running.send(&Request::Run(iterations, pass.cloned()).to_string())?;
    match answer(running)? {
        Answer::Ran { samples_ns, .. } if samples_ns.len() as u64 > iterations => Err(Fault::Told(
            format!("it answered `run {iterations}` with {} samples", samples_ns.len()),
        )),
        Answer::Ran { samples_ns, usage, extra: more } => {
            merge(extra, more);
            Ok((samples_ns, usage))
        }
        other => Err(unexpected("ran", &other)),
    }
}

/// The next answer of a program.
pub(crate) fn answer(running: &mut Running) -> Result<Answer, Fault> {
    let line = running.line()?.ok_or(Fault::Ended)?;
    match serde_json::from_slice(&line) {
        Ok(Answer::Failed { error }) => Err(Fault::Told(error)),
        Ok(answer) => Ok(answer),
        Err(e) => {
            let line = String::from_utf8_lossy(&line);
            let start: String = line.chars().take(80).collect();
            Err(Fault::Told(format!("its answer is none of docs/CONTRACT.md ({e}): {start}")))
        }
    }
}

/// What is wrong with an answer in the place of another.
pub(crate) fn unexpected(wanted: &str, found: &Answer) -> Fault {
    let found = match found {
        Answer::Ready { .. } => "ready",
        Answer::Ran { .. } => "ran",
        Answer::Held { .. } => "held",
        Answer::Ended { .. } => "ended",
        Answer::Failed { .. } => "failed",
    };
    // An interrupted program ends without being asked to.
    match (found, signals::received()) {
        ("ended", Some(_)) => Fault::Ended,
        _ => Fault::Told(format!("it answered '{found}' where '{wanted}' was due")),
    }
}

/// Usage of two slices.
pub(crate) fn sum(a: Usage, b: Usage) -> Usage {
    let both = |count: fn(&Usage) -> u64| count(&a).saturating_add(count(&b));
    Usage {
        user_ns: both(|used| used.user_ns),
        system_ns: both(|used| used.system_ns),
        voluntary_switches: both(|used| used.voluntary_switches),
        involuntary_switches: both(|used| used.involuntary_switches),
        minor_faults: both(|used| used.minor_faults),
        major_faults: both(|used| used.major_faults),
    }
}

/// Adds distributions of a further slice. Count, mean, deviation and extremes are exact; a percentile
/// is the mean of the slices', weighted by their counts.
fn merge(all: &mut Extra, more: Extra) {
    for (name, b) in more {
        let Some(a) = all.get_mut(&name) else {
            all.insert(name, b);
            continue;
        };
        let (n, m) = (a.count as f64, b.count as f64);
        let weighted = |x: f64, y: f64| (x * n + y * m) / (n + m).max(1.0);
        let percentile = |x: u64, y: u64| weighted(x as f64, y as f64).round() as u64;
        let mean = weighted(a.mean, b.mean);
        let spread = |d: f64, own: f64| d.powi(2) + (own - mean).powi(2);
        let variance = weighted(spread(a.stddev, a.mean), spread(b.stddev, b.mean));
        *a = contract::message::Distribution {
            count: a.count.saturating_add(b.count),
            mean,
            stddev: variance.sqrt(),
            min: a.min.min(b.min),
            p50: percentile(a.p50, b.p50),
            p90: percentile(a.p90, b.p90),
            p99: percentile(a.p99, b.p99),
            max: a.max.max(b.max),
        };
    }
}

/// Takes the end of a process into its record: the cause of a fault, or an interruption.
fn conclude(ended: &Ended, fault: Option<Fault>, process: &mut Process) {
    let is_interrupted = signals::received().is_some() && ended.status.code().is_some();
    process.error = match (fault, &ended.fault) {
        (Some(Fault::Told(error)), None) => Some(error),
        (Some(Fault::Told(error)), Some(cause)) => Some(format!("{cause}; it says: {error}")),
        (Some(Fault::Ended), _) if is_interrupted => None,
        (Some(Fault::Ended), _) => Some(ended.reason()),
        (None, Some(cause)) => Some(cause.clone()),
        (None, None) if ended.status.success() || is_interrupted => None,
        (None, None) => Some(ended.reason()),
    };
    if is_interrupted && !ended.status.success() {
        process.partial = true;
    }
    if let (Some(error), Some(samples)) = (&mut process.error, &process.samples) {
        *error += &format!("; {} iterations were timed before", samples.count);
    }
}

#[cfg(test)]
mod tests;
