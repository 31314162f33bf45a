//! A program among others that take turns: it waits for its start, is alive, and its end is its record.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use anyhow::bail;
use contract::message::Usage;
use contract::units::counted;
use nix::sys::signal::Signal;
use observe::memory;
use record::{MemoryChange, Metric, Process, Row, Samples, Side, Slice};

use super::alive::{Alive, merge};
use super::process_group::Ended;
use super::seat::{Measured, Options, Seat};
use super::session::{HasEnded, Session, explain};
use super::watch::{Look, Watch};
use crate::plan::scheduling::Cpus;
use crate::plan::setting::Setting;
use crate::system::signals;

/// A program until its record is taken.
pub(super) struct Live<'a> {
    seat: &'a Seat<'a>,
    setting: Setting,
    /// CPUs that it may use.
    pub(super) cpus: Vec<u32>,
    /// What is known about its command and about itself.
    row: Row,
    process: Process,
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
    pub(super) fn new(seat: &'a Seat<'a>, allowed: Option<&Cpus>) -> Self {
        let case = seat.case;
        let mut row = case.row();
        let setting = case.setting_among(allowed);
        row.cpus = setting.cpus.as_ref().map(ToString::to_string);
        row.policy = setting.policy.map(|policy| policy.name().to_owned());
        row.setting = Some(setting.to_string()).filter(|text| !text.is_empty());
        let cpus = setting.cpus.as_ref().or(allowed);
        Live {
            seat,
            cpus: cpus.map_or(Vec::new(), |cpus| cpus.list().to_vec()),
            setting,
            row,
            process: Process::begin(),
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
        if self.seat.case.shows(Metric::is_memory) {
            self.process.memory = Some(MemoryChange { before: memory::system(), held: None });
        }
        let args = [&self.row.args[..], &["--controlled".to_owned()]].concat();
        match Session::start(self.seat.program, &args, &self.setting, options.limit()) {
            Ok(session) => {
                self.alive = Some(Alive::new(session));
                let seat = self.seat;
                self.attempt(|alive, row, process| alive.get_ready(seat, row, process));
            }
            Err(e) => self.process.error = Some(format!("{e:#}")),
        }
    }

    /// Does not start it, since a signal came or no time is left.
    pub(super) fn skip(&mut self) {
        self.process.partial = signals::received().is_some();
    }

    /// Ends it for a reason that is not its own, or does not start it.
    pub(super) fn fail(&mut self, why: &str) {
        self.attempt::<()>(|_, _, _| bail!(why.to_owned()));
        self.process.error.get_or_insert_with(|| why.to_owned());
    }

    /// Side of a duel that it is of.
    pub(super) fn side(&self) -> Option<Side> {
        self.seat.case.side
    }

    /// Slices that it is to run; none unless it is alive.
    pub(super) fn slices(&self) -> u32 {
        self.alive.as_ref().map_or(0, |alive| alive.slices)
    }

    pub(super) fn has_failed(&self) -> bool {
        self.process.error.is_some()
    }

    /// True if it took longer than it may.
    pub(super) fn has_hung(&self) -> bool {
        self.lost.is_some()
    }

    /// Does something with it if it is alive; a fault ends it, with the cause in the record.
    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Alive, &mut Row, &mut Process) -> anyhow::Result<T>,
    ) -> Option<T> {
        let begun = Instant::now();
        let alive = self.alive.as_mut()?;
        let mut done = work(alive, &mut self.row, &mut self.process);
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
        let left = self.seat.case.iters.saturating_sub(self.samples.len() as u64);
        let done = self.attempt(|alive, _, _| alive.run(left))?;
        self.asked += done.took;
        let ran = done.ran;
        // Fewer, or none, if it was asked to end.
        self.process.partial |= (ran.samples.len() as u64) < done.wanted;
        if ran.samples.is_empty() {
            return None;
        }
        let after = watch.look(probed, self.cpus.len() > 1);
        let at = (place, self.process.slices.len());
        let (slice, interrupts) = watch.slice(turn, (&before, &after), &self.cpus, done.used, at);
        self.process.slices.push(Slice {
            iterations: ran.samples.len() as u64,
            total: ran.samples.iter().sum(),
            ..slice
        });
        let interrupts = [self.process.interrupts, interrupts].into_iter().flatten();
        self.process.interrupts = interrupts.reduce(u64::saturating_add);
        self.used = if self.samples.is_empty() {
            ran.usage
        } else {
            self.used.zip(ran.usage).map(|(all, more)| all.with(more, u64::saturating_add))
        };
        merge(&mut self.process.extra, ran.extra);
        self.samples.extend(ran.samples);
        Some(after)
    }

    /// Notes the share of the CPU time that others used around a slice, in parts per thousand.
    pub(super) fn note_others(&mut self, slice: usize, others: u32) {
        self.process.slices[slice].others = Some(others);
    }

    /// Sums up the slices, asks for what is not timed, and ends it: its record, or `None` if no time was left for it.
    /// `are_short` if the time was up before all slices had run.
    pub(super) fn end(mut self, options: &Options, are_short: bool) -> Option<Measured> {
        self.attempt(|alive, _, _| alive.session.ensure_placed());
        let count = self.process.slices.len() as u32;
        let is_told = self.has_begun || self.has_failed() || self.process.partial;
        if !is_told || are_short && count == 0 && self.slices() > 0 {
            return None;
        }
        self.process.partial |= !are_short && count < self.slices();
        if count > 0 {
            self.sum_up();
            self.process.samples = Samples::of(&self.samples);
        }
        if !self.process.partial && signals::received().is_none() {
            let case = self.seat.case;
            self.attempt(|alive, _, process| alive.ask_further(case, options, process));
        }
        self.end_session(None, Instant::now());
        if !self.seat.case.shows(Metric::is_life) {
            let process = &mut self.process;
            (process.setup_ns, process.first_ns, process.teardown_ns) = (None, None, None);
        }
        if let (Some(error), Some(samples)) = (&mut self.process.error, &self.process.samples) {
            *error += &format!("; timed before: {}", counted(samples.count, "iteration"));
        }
        Some(Measured { row: self.row, process: self.process, lost: self.lost })
    }

    fn sum_up(&mut self) {
        let process = &mut self.process;
        let Some(alive) = &self.alive else { return };
        // Settling is not timed, and these count it too.
        let timed = Duration::from_nanos(self.samples.iter().sum()).as_secs_f64();
        let share = match self.row.arrivals {
            // Nothing settles, and a sample is CPU time.
            Some(_) => 1.0,
            None => (timed / self.asked.as_secs_f64().max(1e-9)).min(1.0),
        };
        let scaled = |count: u64| (count as f64 * share).round() as u64;
        let (usage, moves) = alive.since_first();
        process.migrations = moves.map(scaled);
        // It does not count its own, or children do the work.
        let outside = usage.map(|usage| usage.with(usage, |count, _| scaled(count)));
        process.usage = self.used.or(outside);
    }

    /// Ends it if it is alive, and takes the cause of a fault or an interruption into the record.
    fn end_session(&mut self, fault: Option<anyhow::Error>, begun: Instant) {
        let Some(Alive { mut session, .. }) = self.alive.take() else { return };
        match session.end(fault.as_ref()) {
            Ok(ended) => {
                self.lost = ended.is_overdue.then(|| begun.elapsed());
                conclude(&ended, fault.as_ref(), &mut self.process);
            }
            Err(e) => self.process.error = Some(e.to_string()),
        }
    }
}

/// Takes the end of a process into its record: the cause of a fault, or an interruption.
fn conclude(ended: &Ended, fault: Option<&anyhow::Error>, process: &mut Process) {
    let is_asked = signals::received().is_some();
    // One that does not take SIGTERM over is ended by it.
    let is_by_term = is_asked && ended.status.signal() == Some(Signal::SIGTERM as i32);
    let is_interrupted = is_asked && ended.status.code().is_some() || is_by_term;
    process.error = match fault {
        Some(fault) if fault.is::<HasEnded>() && is_interrupted => None,
        Some(fault) => Some(explain(fault, ended)),
        None if is_by_term => None,
        None if ended.fault.is_some() => ended.fault.clone(),
        None => (!ended.status.success() && !is_interrupted).then(|| ended.reason()),
    };
    process.stderr = process.error.as_ref().and_then(|_| ended.all_words());
    process.left_behind.clone_from(&ended.left);
    if is_interrupted && !ended.status.success() {
        process.partial = true;
    }
}
