//! A program that is alive among others: from its start to its record, a slice at a time.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use contract::message::{Description, MOST_SAMPLES, Usage};
use contract::units::counted;
use facts::{
    CacheLine, Counters, Interference, Memory, MemoryChange, Process, Samples, Side, Slice,
    distribution,
};
use facts::{counters, memory, migrations, usage};
use nix::sys::signal::Signal;

use super::process_group::Ended;
use super::session::{Fault, Ready, Session};
use super::sums::{each, merge, plus, sum};
use super::turns::{Measured, Options, SLICE, Seat};
use super::watch::{Look, Watch};
use crate::plan::scheduling::Cpus;
use crate::system::signals;

/// Threads whose usage is summed up, at most: to read more of them takes longer than most runs.
const MOST_THREADS: u64 = 10_000;

/// Threads whose moves between CPUs are summed up, at most: the kernel writes a page for each.
const MOST_MOVED: u64 = 100;

/// Most turns whose order is drawn at once.
const MOST_TURNS: u64 = 1 << 17;

/// A program that is alive.
pub(super) struct Live<'a> {
    seat: &'a Seat<'a>,
    pub(super) process: Process,
    pub(super) cpus: Vec<u32>,
    /// `None` once it has ended.
    pub(super) session: Option<Session>,
    pids: Vec<i32>,
    description: Option<Description>,
    /// True if its answers tell what it used.
    counts_usage: bool,
    /// Iterations of a slice, and slices.
    size: u64,
    pub(super) slices: u32,
    samples: Vec<u64>,
    used: Option<Usage>,
    interference: Interference,
    /// Totals before the first slice.
    before: (Option<usage::Totals>, Option<migrations::Migrations>),
    /// Time of all its requests, settling and answers included.
    asked: Duration,
    /// Time that it took until it was ended, if it took longer than it may.
    pub(super) lost: Option<Duration>,
    /// True if no time was left for a turn of its own.
    is_left_out: bool,
}

impl<'a> Live<'a> {
    pub(super) fn new(seat: &'a Seat<'a>, allowed: Option<&Cpus>) -> Self {
        let case = seat.case;
        let mut process = Process::of(&case.program, case.args());
        let setting = case.setting_among(allowed);
        process.cpus = setting.cpus.as_ref().map(ToString::to_string);
        process.policy = setting.policy.map(|policy| policy.name().to_owned());
        process.setting = Some(setting.to_string()).filter(|text| !text.is_empty());
        let cpus =
            setting.cpus.as_ref().or(allowed).map_or(Vec::new(), |cpus| cpus.list().to_vec());
        Live {
            seat,
            process,
            cpus,
            session: None,
            pids: Vec::new(),
            description: None,
            counts_usage: false,
            size: 1,
            slices: 0,
            samples: Vec::new(),
            used: Some(Usage::default()),
            interference: Interference::default(),
            before: (None, None),
            asked: Duration::ZERO,
            lost: None,
            is_left_out: false,
        }
    }

    /// Starts it, and looks at its memory before anybody else starts.
    pub(super) fn begin(&mut self, options: &Options) {
        let case = self.seat.case;
        self.process.memory = Some(MemoryChange { before: memory::system(), held: None });
        let setting = case.setting_among(Cpus::allowed().ok().as_ref());
        let mut args = self.process.args.clone();
        args.push("--controlled".to_owned());
        match Session::start(self.seat.program, &args, &setting, options.timeout) {
            Ok(session) => self.session = Some(session),
            Err(e) => self.process.error = Some(format!("{e:#}")),
        }
        self.attempt(Self::get_ready);
    }

    /// Does something with the session; one that fails ends it with its cause in the record.
    fn attempt<T>(
        &mut self,
        work: impl FnOnce(&mut Self, &mut Session) -> Result<T, Fault>,
    ) -> Option<T> {
        let mut session = self.session.take()?;
        let begun = Instant::now();
        match work(self, &mut session) {
            Ok(done) => {
                self.session = Some(session);
                Some(done)
            }
            Err(fault) => {
                self.end(session, Some(fault), begun);
                None
            }
        }
    }

    /// Side of a duel that it is of.
    pub(super) fn side(&self) -> Option<Side> {
        self.seat.case.side
    }

    /// Ends it for a reason that is not its own.
    pub(super) fn fail(&mut self, why: &str) {
        self.attempt(|_, _| Err::<(), _>(Fault::Told(why.to_owned())));
        self.process.error.get_or_insert_with(|| why.to_owned());
    }

    fn get_ready(&mut self, session: &mut Session) -> Result<(), Fault> {
        let Ready { pids, setup_ns, first_ns, description } = session.ready(self.seat.described)?;
        let process = &mut self.process;
        (process.setup_ns, process.first_ns) = (setup_ns, first_ns);
        process.version = Some(description.version.clone());
        process.tasks = Some(description.tasks);
        process.tokens = description.tokens;
        (process.chains, process.trips) = (description.chains, description.trips);
        process.hops = description.hops;
        process.bytes = description.bytes;
        process.arrivals = description.arrivals;
        process.claim = Some(description.claim);
        process.runtime.clone_from(&description.runtime);
        self.pids = pids;
        self.description = Some(description);
        // Of a slope nothing is timed. Its tasks must have worked once, if they do not do so in a hold.
        let is_slope = self.seat.case.section.metric.is_slope();
        if is_slope && self.process.hops.is_some() {
            session.run(1, None)?;
        }
        // Before others start: the kernel's memory is that of the whole system.
        if !self.seat.case.skip_hold {
            let held = session.hold()?;
            if let Some(change) = &mut self.process.memory {
                change.held = Some(memory::of(&held));
            }
        }
        if is_slope {
            return Ok(());
        }
        let iters = self.seat.case.iters;
        // A few that are not kept: how long one takes, and whether the program counts its own usage.
        let is_sized = self.seat.iterations.is_some() || self.process.arrivals.is_some();
        let few = if is_sized { 1 } else { 3 };
        let is_long = self.description.as_ref().is_some_and(|description| description.alone);
        if iters > 1 && !is_long {
            let ran = session.run(few.min(iters), None)?;
            self.counts_usage = ran.usage.is_some();
            let shortest = ran.samples.iter().min().copied().unwrap_or(1).max(1);
            // A latency does not tell how long an iteration takes; and an open loop is not to be cut.
            let fitting = match self.process.arrivals {
                Some(arrivals) => MOST_SAMPLES / arrivals.max(1),
                None => SLICE.as_nanos() as u64 / shortest,
            };
            self.size = fitting.clamp(1, iters.min(MOST_SAMPLES));
        }
        self.size = self.seat.iterations.unwrap_or(self.size);
        let all = iters.div_ceil(self.size).min(MOST_TURNS) as u32;
        self.slices = self.seat.slices.unwrap_or(all).min(all).max(1);
        Ok(())
    }

    fn threads(&self) -> u64 {
        self.description.as_ref().map_or(0, |d| d.needs.threads.of(d.tasks))
    }

    fn totals(&self) -> (Option<usage::Totals>, Option<migrations::Migrations>) {
        let is_chain = self.process.hops.is_some() && self.threads() <= MOST_MOVED;
        (
            (!self.counts_usage && self.threads() <= MOST_THREADS)
                .then(|| usage::totals(&self.pids))
                .flatten(),
            is_chain.then(|| migrations::totals(&self.pids)).flatten(),
        )
    }

    /// Notes the totals before the first slice.
    pub(super) fn set_out(&mut self) {
        if self.session.is_some() && self.slices > 0 {
            self.before = self.totals();
        }
    }

    /// Leaves out the slices that it has not run; if these are all, the process.
    pub(super) fn stop_short(&mut self) {
        let count = self.process.slices.len() as u32;
        if count == 0 && self.slices > 0 && self.process.error.is_none() {
            self.leave_out();
        }
        self.slices = count;
    }

    /// Ends it without a record: no time is left.
    pub(super) fn leave_out(&mut self) {
        self.is_left_out = true;
        self.fail("no time is left");
    }

    fn cpu_time(&self) -> Option<u64> {
        self.pids.iter().map(|&pid| usage::cpu_time(pid)).sum()
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
        let wanted = self.size.min(left).max(1);
        let (time, clock) = (self.cpu_time(), Instant::now());
        let ran = self.attempt(|_, session| session.run(wanted, None))?;
        self.asked += clock.elapsed();
        // Fewer, or none, if it was asked to end.
        self.process.partial |= (ran.samples.len() as u64) < wanted;
        if ran.samples.is_empty() {
            return None;
        }
        let used = self.cpu_time().zip(time).map(|(now, then)| now.saturating_sub(then));
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
        self.interference.rescheduling =
            plus(self.interference.rescheduling, interrupts.rescheduling);
        self.interference.function_calls =
            plus(self.interference.function_calls, interrupts.function_calls);
        self.used = self.used.zip(ran.usage).map(|(all, more)| sum(all, more));
        merge(&mut self.process.extra, ran.extra);
        self.samples.extend(ran.samples);
        Some(after)
    }

    /// Sums up the slices.
    pub(super) fn sum_up(&mut self, options: &Options, since: Interference) {
        self.attempt(|_, session| session.ensure_placed());
        if self.description.is_none() && self.process.error.is_none() {
            // A signal came before it was started.
            self.process.partial = true;
        }
        let count = self.process.slices.len() as u32;
        self.process.partial |= self.process.error.is_none() && count < self.slices;
        if self.samples.is_empty() {
            return;
        }
        let stolen = self.process.slices.iter().map(|slice| slice.stolen);
        self.process.interference = Some(Interference {
            steal: stolen.sum::<Option<u64>>().map(|us| us * 1000),
            rescheduling: self.interference.rescheduling,
            function_calls: self.interference.function_calls,
            ..since
        });
        if self.session.is_some() {
            let (totals, moves) = self.totals();
            // Settling is not timed, and these count it too.
            let timed = Duration::from_nanos(self.samples.iter().sum()).as_secs_f64();
            let share = (timed / self.asked.as_secs_f64().max(1e-9)).min(1.0);
            let scaled = |count: u64| (count as f64 * share).round() as u64;
            let (before, moves_before) = (self.before.0.take(), self.before.1.take());
            self.process.migrations =
                moves.zip(moves_before).and_then(|(now, then)| now.since(&then)).map(scaled);
            // It does not count its own, or children do the work.
            let outside = || totals.zip(before).and_then(|(now, then)| now.since(&then));
            self.process.usage = self.used.or_else(|| outside().map(|usage| each(usage, scaled)));
        }
        let samples = std::mem::take(&mut self.samples);
        self.process.samples = Samples::of(&samples)
            .map(|summary| Samples { each: options.keep_samples.then_some(samples), ..summary });
    }

    /// Asks for what is not timed, and ends it.
    pub(super) fn finish(&mut self, options: &Options) {
        let is_interrupted = self.process.partial || signals::received().is_some();
        self.attempt(|live, session| {
            if is_interrupted {
                return Ok(());
            }
            live.ask_further(session, options)
        });
        if let Some(session) = self.session.take() {
            self.end(session, None, Instant::now());
        }
    }

    fn ask_further(&mut self, session: &mut Session, options: &Options) -> Result<(), Fault> {
        let case = self.seat.case;
        for pass in &case.passes {
            let ran = session.run(case.iters.min(MOST_SAMPLES), Some(pass))?;
            merge(&mut self.process.extra, ran.extra);
            self.process.extra.extend(distribution(&ran.samples).map(|d| (pass.clone(), d)));
        }
        let peak_resident = memory::peak(&self.pids);
        if let Some(change) = &mut self.process.memory {
            let held = change.held.unwrap_or_default();
            change.held = Some(Memory { peak_resident, ..held });
        }
        if options.counters {
            self.count(session)?;
        }
        let (teardown_ns, extra) = session.take_down()?;
        self.process.teardown_ns = teardown_ns;
        merge(&mut self.process.extra, extra);
        Ok(())
    }

    /// Counts events in a further run: a tenth of the iterations, but a hundred if there are as many,
    /// since counts hardly vary.
    fn count(&mut self, session: &mut Session) -> Result<(), Fault> {
        let iters = self.seat.case.iters;
        let iterations = (iters / 10).max(100).min(iters).min(MOST_SAMPLES);
        // Where nothing is handed over, an iteration creates threads, which only their CPUs can count.
        let begins_threads = self.process.hops.is_none();
        let counting = counters::attach(&self.pids, begins_threads);
        let ran = session.run(iterations, None)?;
        self.process.counters = Some(Counters {
            iterations: ran.samples.len() as u64,
            time: ran.samples.iter().sum(),
            usage: ran.usage,
            ..counting.finish()
        });
        Ok(())
    }

    /// Ends a session, and takes the cause of a fault or an interruption into the record.
    fn end(&mut self, session: Session, fault: Option<Fault>, begun: Instant) {
        match session.end(fault.as_ref()) {
            Ok(ended) => {
                self.lost = ended.is_overdue.then(|| begun.elapsed());
                conclude(&ended, fault, &mut self.process);
            }
            Err(e) => self.process.error = Some(e.to_string()),
        }
    }

    /// What became of it; `None` if no time was left for it.
    pub(super) fn into_measured(
        mut self,
        account: Option<facts::Account>,
        lines: &[CacheLine],
    ) -> Option<Measured> {
        if self.is_left_out {
            return None;
        }
        let lost = self.lost;
        if let (Some(error), Some(samples)) = (&mut self.process.error, &self.process.samples) {
            *error += &format!("; timed before: {}", counted(samples.count, "iteration"));
        }
        self.process.account = account.filter(|_| !self.process.slices.is_empty());
        let pair = self.cpus.get(..2);
        self.process.cache_line = lines.iter().find(|line| Some(&line.cpus[..]) == pair).copied();
        Some(Measured { process: self.process, lost })
    }
}

/// Takes the end of a process into its record: the cause of a fault, or an interruption.
fn conclude(ended: &Ended, fault: Option<Fault>, process: &mut Process) {
    let is_asked = signals::received().is_some();
    // One that does not take SIGTERM over is ended by it.
    let is_by_term = is_asked && ended.status.signal() == Some(Signal::SIGTERM as i32);
    let is_interrupted = is_asked && ended.status.code().is_some() || is_by_term;
    process.error = match (fault, &ended.fault) {
        (Some(Fault::Told(error)), None) => Some(error),
        (Some(Fault::Told(error)), Some(cause)) => Some(format!("{error}; {cause}")),
        (Some(Fault::Ended), _) if is_interrupted => None,
        (Some(Fault::Ended), _) => Some(ended.reason()),
        (None, Some(_)) if is_by_term => None,
        (None, Some(cause)) => Some(cause.clone()),
        (None, None) if ended.status.success() || is_interrupted => None,
        (None, None) => Some(ended.reason()),
    };
    process.stderr = process.error.as_ref().and_then(|_| ended.all_words());
    process.left_behind.clone_from(&ended.left);
    if is_interrupted && !ended.status.success() {
        process.partial = true;
    }
}
