//! A program among others that take turns: it waits for its start, is alive, and its end is its record.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use anyhow::bail;
use contract::message::Usage;
use contract::units::counted;
use nix::sys::signal::Signal;
use observe::memory;
use record::{MemoryChange, Metric, Samples, Side, Slice, Trial};

use super::alive::{Alive, merge};
use super::process_group::Ended;
use super::seat::{Measured, Options, Seat};
use super::session::{HasEnded, Session, explain};
use super::watch::{Look, Watch};
use crate::system::signals;

/// A program until its record is taken.
pub(super) struct Live<'a> {
    seat: &'a Seat<'a>,
    /// CPUs that it may use.
    pub(super) cpus: Vec<u32>,
    trial: Trial,
    has_begun: bool,
    /// `None` before its start and after its end.
    alive: Option<Alive>,
    samples: Vec<u64>,
    used: Option<Usage>,
    /// Time of all its requests, settling and answers included.
    asked: Duration,
    /// Time that it took until it was ended, if it took longer than it may.
    lost: Option<Duration>,
}

impl<'a> Live<'a> {
    /// A program that is to be started among the CPUs that the runner may use.
    pub(super) fn new(seat: &'a Seat<'a>, allowed: Option<&[u32]>) -> Self {
        let cpus = seat.row.command.setting.cpu_list().or(allowed);
        Live {
            seat,
            cpus: cpus.unwrap_or_default().to_vec(),
            trial: Trial::begin(),
            has_begun: false,
            alive: None,
            samples: Vec::new(),
            used: None,
            asked: Duration::ZERO,
            lost: None,
        }
    }

    /// Starts it, and looks at its memory before anybody else starts.
    pub(super) fn start(&mut self, options: &Options) {
        self.has_begun = true;
        if self.seat.row.metrics().any(Metric::is_memory) {
            self.trial.memory = Some(MemoryChange { before: memory::system(), held: None });
        }
        let mut args = self.seat.row.args();
        args.push("--controlled".to_owned());
        let setting = &self.seat.row.command.setting;
        match Session::start(self.seat.program, &args, setting, options.limit()) {
            Ok(session) => {
                self.alive = Some(Alive::new(session));
                let seat = self.seat;
                self.attempt(|alive, trial| alive.get_ready(seat, trial));
            }
            Err(e) => self.trial.error = Some(format!("{e:#}")),
        }
    }

    /// Does not start it, since a signal came or no time is left.
    pub(super) fn skip(&mut self) {
        self.trial.partial = signals::received().is_some();
    }

    /// Ends it for a reason that is not its own, or does not start it.
    pub(super) fn fail(&mut self, why: &str) {
        self.attempt::<()>(|_, _| bail!(why.to_owned()));
        self.trial.error.get_or_insert_with(|| why.to_owned());
    }

    /// Side of a duel that it is of.
    pub(super) fn side(&self) -> Side {
        self.seat.row.place.side
    }

    /// Slices that it is to run; none unless it is alive.
    pub(super) fn slices(&self) -> u32 {
        self.alive.as_ref().map_or(0, |alive| alive.slices)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.trial.error.is_some()
    }

    /// True if it took longer than it may.
    pub(super) fn has_hung(&self) -> bool {
        self.lost.is_some()
    }

    /// Does something with it if it is alive; a fault ends it, with the cause in the record.
    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Alive, &mut Trial) -> anyhow::Result<T>,
    ) -> Option<T> {
        let begun = Instant::now();
        let alive = self.alive.as_mut()?;
        let mut done = work(alive, &mut self.trial);
        if done.is_ok() && alive.session.group.is_overdue() {
            // It answered only when a signal asked it to end.
            done = Err(HasEnded.into());
        }
        done.map_err(|fault| self.end_session(Some(fault), begun)).ok()
    }

    /// Runs a slice between two looks; returns the second.
    pub(super) fn slice(
        &mut self,
        turn: u32,
        place: usize,
        before: Look,
        probed: &[u32],
        watch: &mut Watch,
    ) -> Option<Look> {
        let left = self.seat.row.effort.iters.saturating_sub(self.samples.len() as u64);
        let (ran, used) = self.attempt(|alive, _| alive.run(left))?;
        self.asked += ran.took;
        // Fewer, or none, if it was asked to end.
        self.trial.partial |= (ran.samples.len() as u64) < ran.wanted;
        if ran.samples.is_empty() {
            return None;
        }
        let after = watch.look(probed, self.cpus.len() > 1);
        let at = (place, self.trial.slices.len());
        let (slice, interrupts) = watch.slice(turn, (&before, &after), &self.cpus, used, at);
        self.trial.slices.push(Slice {
            iterations: ran.samples.len() as u64,
            total: ran.samples.iter().sum(),
            ..slice
        });
        let interrupts = [self.trial.interrupts, interrupts].into_iter().flatten();
        self.trial.interrupts = interrupts.reduce(u64::saturating_add);
        self.used = if self.samples.is_empty() {
            ran.usage
        } else {
            self.used.zip(ran.usage).map(|(all, more)| all.with(more, u64::saturating_add))
        };
        merge(&mut self.trial.extra, ran.extra);
        self.samples.extend(ran.samples);
        Some(after)
    }

    /// Notes the share of the CPU time that others used around a slice, in parts per thousand.
    pub(super) fn note_others(&mut self, slice: usize, others: u32) {
        self.trial.slices[slice].others = Some(others);
    }

    /// Sums up the slices, asks for what is not timed, and ends it: its record, or `None` if no time was left for it.
    /// `are_short` if the time was up before all slices had run.
    pub(super) fn end(mut self, options: &Options, are_short: bool) -> Option<Measured> {
        self.attempt(|alive, _| alive.session.ensure_placed());
        let count = self.trial.slices.len() as u32;
        let is_told = self.has_begun || self.has_failed() || self.trial.partial;
        if !is_told || are_short && count == 0 && self.slices() > 0 {
            return None;
        }
        self.trial.partial |= !are_short && count < self.slices();
        if count > 0 {
            self.sum_up();
            self.trial.samples = Samples::of(&self.samples);
        }
        if !self.trial.partial && signals::received().is_none() {
            let row = self.seat.row;
            self.attempt(|alive, trial| alive.ask_further(row, options, trial));
        }
        self.end_session(None, Instant::now());
        if !self.seat.row.metrics().any(Metric::is_life) {
            let trial = &mut self.trial;
            (trial.setup_ns, trial.first_ns, trial.teardown_ns) = (None, None, None);
        }
        if let (Some(error), Some(samples)) = (&mut self.trial.error, &self.trial.samples) {
            *error += &format!("; timed before: {}", counted(samples.count, "iteration"));
        }
        Some(Measured { trial: self.trial, lost: self.lost })
    }

    fn sum_up(&mut self) {
        let trial = &mut self.trial;
        let Some(alive) = &self.alive else { return };
        // Settling is not timed, and these count it too.
        let timed = Duration::from_nanos(self.samples.iter().sum()).as_secs_f64();
        let arrivals = trial.description.as_ref().and_then(|said| said.arrivals);
        let share = match arrivals {
            // Nothing settles, and a sample is CPU time.
            Some(_) => 1.0,
            None => (timed / self.asked.as_secs_f64().max(1e-9)).min(1.0),
        };
        let scaled = |count: u64| (count as f64 * share).round() as u64;
        let (usage, moves) = alive.since_first();
        trial.migrations = moves.map(scaled);
        // It does not count its own, or children do the work.
        let outside = usage.map(|usage| usage.with(usage, |count, _| scaled(count)));
        trial.usage = self.used.or(outside);
    }

    /// Ends it if it is alive, and takes the cause of a fault or an interruption into the record.
    fn end_session(&mut self, fault: Option<anyhow::Error>, begun: Instant) {
        let Some(Alive { mut session, .. }) = self.alive.take() else { return };
        match session.end(fault.as_ref()) {
            Ok(ended) => {
                self.lost = ended.is_overdue.then(|| begun.elapsed());
                conclude(&ended, fault.as_ref(), &mut self.trial);
            }
            Err(e) => self.trial.error = Some(e.to_string()),
        }
    }
}

/// Takes the end of a process into its record: the cause of a fault, or an interruption.
fn conclude(ended: &Ended, fault: Option<&anyhow::Error>, trial: &mut Trial) {
    let is_asked = signals::received().is_some();
    // One that does not take SIGTERM over is ended by it.
    let is_by_term = is_asked && ended.status.signal() == Some(Signal::SIGTERM as i32);
    let is_interrupted = is_asked && ended.status.code().is_some() || is_by_term;
    trial.error = match fault {
        Some(fault) if fault.is::<HasEnded>() && is_interrupted => None,
        Some(fault) => Some(explain(fault, ended)),
        None if is_by_term => None,
        None if ended.fault.is_some() => ended.fault.clone(),
        None => (!ended.status.success() && !is_interrupted).then(|| ended.reason()),
    };
    trial.stderr = trial.error.as_ref().and_then(|_| ended.all_words());
    trial.left_behind.clone_from(&ended.left);
    if is_interrupted && !ended.status.success() {
        trial.partial = true;
    }
}
