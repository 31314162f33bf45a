//! A session: the runner's requests to a live program, and its answers (docs/CONTRACT.md). SessionSpread requests the program
//! waits and uses no CPU, so that many can be alive at once.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, ensure};
use contract::message::{Answer, Description, Extra, Needs, Ready, Request, Runs, Usage, VERSION};
use observe::affinity;
use record::Setting;
use record::machine::cpu_ranges;
use record::slice::CLOCK_SLACK;

use super::child::{Child, Ended};
use super::launch;
use crate::system::console::shortened;
use crate::system::program::Program;
use crate::system::signals;

/// Samples must not take longer than their answer did.
const SLACK: Duration = Duration::from_nanos(CLOCK_SLACK);

const CANNOT_BE: &str = "its answer cannot be true";

/// A program that follows the contract, and is alive.
#[derive(Debug)]
pub struct Session {
    pub(crate) child: Child,
    begun: Instant,
    /// CPUs that its processes might use when it was ready.
    cpus: Vec<(i32, Vec<u32>)>,
}

/// Answer to a request for iterations.
#[derive(Debug)]
pub struct Ran {
    pub wanted: u64,
    /// Time of the request, settling and the answer included.
    pub took: Duration,
    /// Timed iterations in order, in ns.
    pub samples: Vec<u64>,
    /// Usage of the process meanwhile, if it counts its own.
    pub usage: Option<Usage>,
    /// Other distributions that it measured.
    pub extra: Extra,
    /// What the runs of a command leave.
    pub runs: Option<Runs>,
}

impl Session {
    /// Starts a program. It is ended if it takes longer than `limit` to answer.
    ///
    /// # Errors
    /// When it cannot be started; names the setting that was refused.
    pub fn start(
        program: &Program,
        args: &[String],
        setting: &Setting,
        limit: Duration,
    ) -> anyhow::Result<Self> {
        let begun = Instant::now();
        let child = launch::start(program, args, setting, limit)?;
        Ok(Session { child, begun, cpus: Vec::new() })
    }

    /// Does a part of the session. A fault ends the program, and then the error is its end.
    pub(crate) fn attempt<T>(
        &mut self,
        part: impl FnOnce(&mut Session) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        match part(self) {
            // It answered only when a signal asked it to end.
            Ok(_) if self.child.is_overdue() => Err(self.has_ended()),
            Err(fault) if !fault.is::<Ended>() => {
                self.child.give_up();
                let mut ended = self.child.end()?;
                let cause =
                    ended.fault.as_ref().map_or(String::new(), |cause| format!("; {cause}"));
                ended.error = Some(format!("{fault:#}{cause}"));
                Err(ended.into())
            }
            done => done,
        }
    }

    /// The error of a program that has ended instead of answering: its end.
    fn has_ended(&mut self) -> anyhow::Error {
        match self.child.end() {
            Ok(mut ended) => {
                if !ended.is_interrupted {
                    ended.error = Some(ended.reason());
                }
                ended.into()
            }
            Err(e) => e.into(),
        }
    }

    /// Takes the first answer, and makes sure that the program follows this runner's version of the contract and matches
    /// its description.
    pub fn ready(&mut self, described: Option<&Description>) -> anyhow::Result<Ready> {
        self.attempt(|session| {
            let answer = session.success()?;
            let Answer::Ready(mut ready) = answer else {
                return Err(session.unexpected("ready", &answer));
            };
            if let Some(before) = described
                && ready.description.needs == Needs::default()
            {
                // They were measured.
                ready.description.needs = before.needs;
            }
            let description = &ready.description;
            ensure!(
                description.contract == VERSION,
                "it follows version {} of the contract, but this runner follows version {VERSION}",
                description.contract
            );
            // Needs and workers may follow from the CPUs that it has at the moment.
            let described = described.map(|before| Description {
                needs: description.needs,
                runtime: description.runtime.clone(),
                ..before.clone()
            });
            if let Some(what) = described.and_then(|before| difference(&before, description)) {
                bail!("it differs from its own --describe: {what}");
            }
            let took = session.begun.elapsed();
            ensure_within("setup_ns", ready.setup_ns, took)?;
            ensure_within("first_ns", ready.first_ns, took)?;
            session.ensure_own(&ready.pids)?;
            let cpus =
                ready.pids.iter().filter_map(|&pid| Some((pid, affinity::allowed_to(pid).ok()?)));
            session.cpus = cpus.collect();
            Ok(ready)
        })
    }

    /// Has it iterate; fewer times if it was asked to end.
    pub fn run(&mut self, iterations: u64, pass: Option<&String>) -> anyhow::Result<Ran> {
        self.attempt(|session| {
            let begun = Instant::now();
            let answer = session.ask(&Request::Run(iterations, pass.cloned()))?;
            let Answer::Ran { samples_ns: samples, usage, extra, runs } = answer else {
                return Err(session.unexpected("ran", &answer));
            };
            let (count, took) = (samples.len() as u64, begun.elapsed());
            if count > iterations || count < iterations && signals::received().is_none() {
                bail!("it answered `run {iterations}` with {count} samples");
            }
            let ran = Ran { wanted: iterations, took, samples, usage, extra, runs };
            ran.ensure_possible(SLACK)?;
            Ok(ran)
        })
    }

    /// Has it rest with all tasks alive; its processes.
    pub fn hold(&mut self) -> anyhow::Result<Vec<i32>> {
        self.attempt(|session| {
            let answer = session.ask(&Request::Hold)?;
            let Answer::Held { pids } = answer else {
                return Err(session.unexpected("held", &answer));
            };
            session.ensure_own(&pids)?;
            Ok(pids)
        })
    }

    /// Has it take its tasks down and verify their work: time of teardown in ns, and what else it measured.
    pub fn take_down(&mut self) -> anyhow::Result<(Option<u64>, Extra)> {
        self.attempt(|session| {
            let begun = Instant::now();
            let answer = session.ask(&Request::End)?;
            let Answer::Ended { teardown_ns, extra } = answer else {
                return Err(session.unexpected("ended", &answer));
            };
            ensure_within("teardown_ns", teardown_ns, begun.elapsed())?;
            Ok((teardown_ns, extra))
        })
    }

    /// Next answer, whichever it is.
    pub fn answer(&mut self) -> anyhow::Result<Answer> {
        self.attempt(Session::next)
    }

    /// Makes sure that its processes may use the CPUs that they might use when it was ready: taskset(1), or another
    /// cpuset, changes what is measured.
    pub fn ensure_placed(&self) -> anyhow::Result<()> {
        for (pid, cpus) in &self.cpus {
            if let Some(now) = affinity::allowed_to(*pid).ok().filter(|now| now != cpus) {
                let [cpus, now] = [cpus, &now].map(|cpus| cpu_ranges(cpus));
                bail!("somebody changed its CPUs while it was measured, from {cpus} to {now}");
            }
        }
        Ok(())
    }

    /// Makes sure that the processes that it names are its own; otherwise the runner would look at somebody else's.
    fn ensure_own(&self, pids: &[i32]) -> anyhow::Result<()> {
        match pids.iter().find(|&&pid| !self.child.owns(pid)) {
            Some(pid) => bail!("its pids name {pid}, which is not its own process"),
            None => Ok(()),
        }
    }

    fn next(&mut self) -> anyhow::Result<Answer> {
        let Some(line) = self.child.line()? else {
            return Err(self.has_ended());
        };
        serde_json::from_slice(&line).map_err(|e| {
            let start: String = String::from_utf8_lossy(&line).chars().take(80).collect();
            let e = shortened(&e.to_string());
            anyhow!("it does not follow docs/CONTRACT.md ({e}): {start}")
        })
    }

    /// Sends a request and takes the answer to it, if it does not say that the program failed.
    fn ask(&mut self, request: &Request) -> anyhow::Result<Answer> {
        self.child.write(format!("{request}\n").as_bytes())?;
        self.success()
    }

    fn success(&mut self) -> anyhow::Result<Answer> {
        match self.next()? {
            Answer::Failed { error } if error.trim().is_empty() => {
                bail!("it failed without a reason")
            }
            Answer::Failed { error } => bail!(shortened(&error)),
            answer => Ok(answer),
        }
    }

    /// The error for an answer where another was expected.
    fn unexpected(&mut self, wanted: &str, answer: &Answer) -> anyhow::Error {
        // A program that is interrupted or late ends without being asked to.
        let is_stopped = signals::received().is_some() || self.child.is_overdue();
        if is_stopped && matches!(answer, Answer::Ended { .. }) {
            return self.has_ended();
        }
        let answer = serde_json::to_string(answer).unwrap_or_default();
        anyhow!("it answered {}, but '{wanted}' was expected", shortened(&answer))
    }
}

impl Ran {
    /// Time of all its iterations, in ns.
    pub(crate) fn total(&self) -> u64 {
        self.samples.iter().copied().fold(0, u64::saturating_add)
    }

    /// Makes sure that the iterations can have taken as long as they say, within the time of the request and a slack.
    pub(crate) fn ensure_possible(&self, slack: Duration) -> anyhow::Result<()> {
        let (took, wanted) = (self.took + slack, self.wanted);
        let sum = self.total();
        // Clocks may have a resolution of 10 ms for each CPU.
        let cpus = thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let available = (took + Duration::from_millis(50)).saturating_mul(cpus);
        let used = self.usage.map_or(0, Usage::cpu_ns);
        let fault = if Duration::from_nanos(sum) > took || sum == 0 && !self.samples.is_empty() {
            format!("samples of {sum} ns")
        } else if Duration::from_nanos(used) > available {
            format!("{used} ns of CPU time")
        } else {
            return Ok(());
        };
        bail!("{CANNOT_BE}: it answered `run {wanted}` within {:.0?} with {fault}", self.took)
    }
}

/// The first field that differs between a description and an earlier one, with both values.
pub(crate) fn difference(before: &Description, now: &Description) -> Option<String> {
    let [before, now] = [before, now].map(|d| serde_json::to_value(d).unwrap_or_default());
    let mut fields = now.as_object()?.iter();
    let (name, value) = fields.find(|(name, value)| before.get(name) != Some(*value))?;
    let then = before.get(name).unwrap_or_default();
    Some(shortened(&format!("{name} {value}, not {then}")))
}

/// Makes sure that nothing took longer than its answer.
fn ensure_within(name: &str, ns: Option<u64>, took: Duration) -> anyhow::Result<()> {
    match ns.filter(|&ns| Duration::from_nanos(ns) > took + SLACK) {
        Some(ns) => bail!("{CANNOT_BE}: {name} of {ns} within {took:.0?}"),
        None => Ok(()),
    }
}
