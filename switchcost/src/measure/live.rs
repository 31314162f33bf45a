//! A program among others that take turns: it waits for its start, is alive, and its end is its record.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use contract::message::Usage;
use contract::units::counted;
use facts::{
    Account, CacheLine, Interference, MemoryChange, Process, Samples, Side, Slice, memory,
};
use nix::sys::signal::Signal;

use super::known::Known;
use super::process_group::Ended;
use super::seat::{Measured, Options, Seat};
use super::session::{Fault, Session};
use super::sums::{each, merge, plus, sum};
use super::watch::{Look, Watch};
use crate::plan::scheduling::Cpus;
use crate::plan::setting::Setting;
use crate::system::signals;

/// A program that is to be started, and its setting.
pub(super) struct Waiting<'a>(Live<'a>, Setting);

/// A program that was started, until its record is taken.
pub(super) struct Live<'a> {
    seat: &'a Seat<'a>,
    /// CPUs that it may use.
    pub(super) cpus: Vec<u32>,
    process: Process,
    /// `None` once it has ended.
    alive: Option<Alive>,
    sums: Sums,
    /// Time that it took until it was ended, if it took longer than it may.
    lost: Option<Duration>,
    /// True if no time was left for a turn of its own.
    is_left_out: bool,
}

/// A program that answers requests.
struct Alive {
    session: Session,
    known: Known,
}

/// Sums over slices.
#[derive(Default)]
struct Sums {
    samples: Vec<u64>,
    used: Option<Usage>,
    interrupts: Interference,
    /// Time of all its requests, settling and answers included.
    asked: Duration,
}

/// What is known of the turns of a group when they are over.
pub(super) struct Turns {
    /// True if its time was up before all slices had run.
    pub(super) are_short: bool,
    /// Interference while they lasted.
    pub(super) interference: Interference,
    /// CPU time of that while.
    pub(super) account: Option<Account>,
    /// Round trips of cache lines before and after.
    pub(super) lines: Vec<CacheLine>,
}

impl<'a> Waiting<'a> {
    /// A program among the CPUs that the runner may use.
    pub(super) fn new(seat: &'a Seat<'a>, allowed: Option<&Cpus>) -> Self {
        let mut process = Process::of(&seat.case.program, seat.case.args());
        let setting = seat.case.setting_among(allowed);
        process.cpus = setting.cpus.as_ref().map(ToString::to_string);
        process.policy = setting.policy.map(|policy| policy.name().to_owned());
        process.setting = Some(setting.to_string()).filter(|text| !text.is_empty());
        let cpus =
            setting.cpus.as_ref().or(allowed).map_or(Vec::new(), |cpus| cpus.list().to_vec());
        let sums = Sums::default();
        let live = Live { seat, cpus, process, alive: None, sums, lost: None, is_left_out: false };
        Waiting(live, setting)
    }

    /// CPUs that it may use.
    pub(super) fn cpus(&self) -> &[u32] {
        &self.0.cpus
    }

    /// Starts it, and looks at its memory before anybody else starts.
    pub(super) fn start(self, options: &Options) -> Live<'a> {
        let Waiting(mut live, setting) = self;
        live.process.memory = Some(MemoryChange { before: memory::system(), held: None });
        let args = [&live.process.args[..], &["--controlled".to_owned()]].concat();
        match Session::start(live.seat.program, &args, &setting, options.limit()) {
            Ok(session) => live.get_ready(session),
            Err(e) => live.process.error = Some(format!("{e:#}")),
        }
        live
    }

    /// Does not start it, since a signal came or no time is left; or for a reason that is told.
    pub(super) fn skip(self, why: Option<&str>) -> Live<'a> {
        let Waiting(mut live, _) = self;
        live.process.error = why.map(str::to_owned);
        live.process.partial = signals::received().is_some();
        live.is_left_out = why.is_none() && !live.process.partial;
        live
    }
}

impl Live<'_> {
    /// Side of a duel that it is of.
    pub(super) fn side(&self) -> Option<Side> {
        self.seat.case.side
    }

    /// Slices that it is to run; none once it has ended.
    pub(super) fn slices(&self) -> u32 {
        self.alive.as_ref().map_or(0, |alive| alive.known.slices)
    }

    /// True if it took longer than it may.
    pub(super) fn has_hung(&self) -> bool {
        self.lost.is_some()
    }

    /// Does something with the session; one that fails ends it with its cause in the record.
    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Self, &mut Session, &Known) -> Result<T, Fault>,
    ) -> Option<T> {
        let Alive { mut session, known } = self.alive.take()?;
        let begun = Instant::now();
        match work(self, &mut session, &known) {
            Ok(done) => {
                self.alive = Some(Alive { session, known });
                Some(done)
            }
            Err(fault) => {
                self.end_session(session, Some(fault), begun);
                None
            }
        }
    }

    /// Ends it for a reason that is not its own.
    pub(super) fn fail(&mut self, why: &str) {
        self.attempt(|_, _, _| Err::<(), _>(Fault::Told(why.to_owned())));
        self.process.error.get_or_insert_with(|| why.to_owned());
    }

    fn get_ready(&mut self, mut session: Session) {
        let begun = Instant::now();
        match Known::of(&mut session, self.seat, &mut self.process) {
            Ok(known) => self.alive = Some(Alive { session, known }),
            Err(fault) => self.end_session(session, Some(fault), begun),
        }
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
        let left = self.seat.case.iters.saturating_sub(self.sums.samples.len() as u64);
        let (wanted, ran, used, took) = self.attempt(|_, session, known| {
            let wanted = known.size.min(left).max(1);
            let (time, clock) = (known.cpu_time(), Instant::now());
            let ran = session.run(wanted, None)?;
            let took = clock.elapsed();
            let used = known.cpu_time().zip(time).map(|(now, then)| now.saturating_sub(then));
            Ok((wanted, ran, used, took))
        })?;
        self.sums.asked += took;
        // Fewer, or none, if it was asked to end.
        self.process.partial |= (ran.samples.len() as u64) < wanted;
        if ran.samples.is_empty() {
            return None;
        }
        let after = watch.look(probed, self.cpus.len() > 1);
        let at = (place, self.process.slices.len());
        let (slice, interrupts) = watch.slice(turn, (&before, &after), &self.cpus, used, at);
        let mut sorted = ran.samples.clone();
        sorted.sort_unstable();
        self.process.slices.push(Slice {
            iterations: sorted.len() as u64,
            total: sorted.iter().sum(),
            median: sorted.get(sorted.len() / 2).copied().unwrap_or(0),
            ..slice
        });
        let all = &mut self.sums;
        all.interrupts.rescheduling = plus(all.interrupts.rescheduling, interrupts.rescheduling);
        all.interrupts.function_calls =
            plus(all.interrupts.function_calls, interrupts.function_calls);
        all.used = if all.samples.is_empty() {
            ran.usage
        } else {
            all.used.zip(ran.usage).map(|(all, more)| sum(all, more))
        };
        merge(&mut self.process.extra, ran.extra);
        self.sums.samples.extend(ran.samples);
        Some(after)
    }

    /// Notes the share of the CPU time that others used around a slice, in parts per thousand.
    pub(super) fn note_others(&mut self, slice: usize, others: u32) {
        self.process.slices[slice].others = Some(others);
    }

    /// Sums up the slices, asks for what is not timed, and ends it: its record, or `None` if no time was left for it.
    pub(super) fn end(mut self, options: &Options, turns: &Turns) -> Option<Measured> {
        self.attempt(|_, session, _| session.ensure_placed());
        let count = self.process.slices.len() as u32;
        if self.is_left_out || turns.are_short && count == 0 && self.slices() > 0 {
            return None;
        }
        self.process.partial |= !turns.are_short && count < self.slices();
        if count > 0 {
            self.sum_up(turns);
            let samples = std::mem::take(&mut self.sums.samples);
            self.process.samples = Samples::of(&samples)
                .map(|all| Samples { each: options.keep_samples.then_some(samples), ..all });
        }
        if !self.process.partial && signals::received().is_none() {
            self.attempt(|live, session, known| {
                known.ask_further(session, live.seat.case, options, &mut live.process)
            });
        }
        if let Some(Alive { session, .. }) = self.alive.take() {
            self.end_session(session, None, Instant::now());
        }
        if let (Some(error), Some(samples)) = (&mut self.process.error, &self.process.samples) {
            *error += &format!("; timed before: {}", counted(samples.count, "iteration"));
        }
        Some(Measured { process: self.process, lost: self.lost })
    }

    fn sum_up(&mut self, turns: &Turns) {
        let process = &mut self.process;
        let stolen = process.slices.iter().map(|slice| slice.stolen).sum::<Option<u64>>();
        process.interference = Some(Interference {
            steal: stolen.map(|us| us * 1000),
            rescheduling: self.sums.interrupts.rescheduling,
            function_calls: self.sums.interrupts.function_calls,
            ..turns.interference
        });
        process.account = turns.account;
        let pair = self.cpus.get(..2);
        process.cache_line = turns.lines.iter().find(|line| Some(&line.cpus[..]) == pair).copied();
        let Some(Alive { known, .. }) = &self.alive else { return };
        let ((then, moves_then), (now, moves_now)) = (&known.before, known.totals());
        // Settling is not timed, and these count it too.
        let timed = Duration::from_nanos(self.sums.samples.iter().sum()).as_secs_f64();
        let share = (timed / self.sums.asked.as_secs_f64().max(1e-9)).min(1.0);
        let scaled = |count: u64| (count as f64 * share).round() as u64;
        let moves = moves_now.zip(moves_then.as_ref()).and_then(|(now, then)| now.since(then));
        process.migrations = moves.map(scaled);
        // It does not count its own, or children do the work.
        let outside = || now.zip(then.as_ref()).and_then(|(now, then)| now.since(then));
        process.usage = self.sums.used.or_else(|| outside().map(|usage| each(usage, scaled)));
    }

    /// Ends a session, and takes the cause of a fault or an interruption into the record.
    fn end_session(&mut self, mut session: Session, fault: Option<Fault>, begun: Instant) {
        match session.end(fault.as_ref()) {
            Ok(ended) => {
                self.lost = ended.is_overdue.then(|| begun.elapsed());
                conclude(&ended, fault, &mut self.process);
            }
            Err(e) => self.process.error = Some(e.to_string()),
        }
    }
}

/// Takes the end of a process into its record: the cause of a fault, or an interruption.
fn conclude(ended: &Ended, fault: Option<Fault>, process: &mut Process) {
    let is_asked = signals::received().is_some();
    // One that does not take SIGTERM over is ended by it.
    let is_by_term = is_asked && ended.status.signal() == Some(Signal::SIGTERM as i32);
    let is_interrupted = is_asked && ended.status.code().is_some() || is_by_term;
    process.error = match fault {
        Some(fault @ Fault::Told(_)) => Some(fault.explain(ended)),
        Some(Fault::Ended) => (!is_interrupted).then(|| ended.reason()),
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
