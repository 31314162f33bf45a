//! A program among others that take turns: it waits for its start, is alive, and its end is its record.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use contract::message::{Description, Ready, Usage};
use observe::{affinity, counters, memory, usage};
use record::{Counters, MemoryChange, Metric, Row, Side, Slice, Trial, merge};

use super::options::Options;
use super::pace::Pace;
use super::session::{Ran, Session};
use super::tally::Tally;
use super::watch::{Look, Watch};
use crate::system::program::Program;
use crate::system::signals;

mod ending;

/// Time after an answer, until which a program sleeps.
const ANSWERED: Duration = Duration::from_millis(2);

/// Variable that makes an environment longer: where it ends, a program's stack begins, which can cost or save a few per
/// cent (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong", 2009).
const PADDING: &str = "SWITCHCOST_PADDING";

/// Most threads for which usage is summed up: reading more would take longer than most runs.
const MOST_THREADS: u64 = 10_000;

/// Most threads for which moves between CPUs are summed up: the kernel writes a page for each.
const MOST_MOVED: u64 = 100;

/// A program of a group: what is asked of it, and what came of it.
#[derive(Debug)]
pub struct Live {
    row: Row,
    program: Program,
    /// Its description of the command line, if it was asked for it.
    pub described: Option<Description>,
    /// How it takes its turns; `None` to find out.
    pub pace: Option<Pace>,
    /// True if its figure is that of steady work: its turns begin with untimed iterations.
    pub is_steady: bool,
    /// Most slices; `None` for as many as the row has iterations.
    pub most_slices: Option<u32>,
    /// Block of the group, whose programs are compared.
    pub block: usize,
    pub(super) cpus: Vec<u32>,
    pub trial: Trial,
    /// Time that it took until it was ended, if it took longer than it may.
    pub lost: Option<Duration>,
    /// `None` before its start and after its end.
    session: Option<Session>,
    pids: Vec<i32>,
    /// Its further processes, such as a server: their CPU time is not other programs'.
    helpers: Vec<i32>,
    /// CPU time of the children that it has awaited so far, in ns.
    awaited: u64,
    /// True if its answers tell what it used.
    counts_usage: bool,
    /// True if its row has had no process yet.
    is_first: bool,
    /// True if events are counted: in an extra run, or in an untimed one if its iterations are fresh processes.
    counts_events: bool,
    slices: u32,
    /// Usage and moves of all threads before the first slice, as far as they can be read.
    before: (Option<usage::Totals>, Option<usage::Moves>),
    tally: Tally,
}

impl Live {
    /// The program of a row, which is to be started.
    pub fn new(row: &Row, program: &Program) -> Self {
        let cpus = row.command.setting.cpu_list().map(<[u32]>::to_vec);
        Live {
            row: row.clone(),
            program: program.clone(),
            described: None,
            pace: None,
            is_steady: true,
            most_slices: None,
            block: 0,
            cpus: cpus.or_else(|| affinity::allowed().ok()).unwrap_or_default(),
            trial: Trial::begin(),
            lost: None,
            session: None,
            pids: Vec::new(),
            helpers: Vec::new(),
            awaited: 0,
            counts_usage: false,
            is_first: false,
            counts_events: row.effort.counters,
            slices: 0,
            before: (None, None),
            tally: Tally::default(),
        }
    }

    /// Starts it, and looks at its memory before anybody else starts. Fresh processes of its own get an environment that is
    /// longer by `padding`.
    pub(super) fn start(&mut self, options: &Options, padding: usize) {
        if self.row.metrics().any(Metric::is_memory) {
            self.trial.memory = Some(MemoryChange { before: memory::system(), held: None });
        }
        self.counts_events |= options.counters;
        let mut args = self.row.args();
        args.push("--controlled".to_owned());
        let mut setting = self.row.command.setting.clone();
        if self.described.as_ref().is_some_and(|said| said.fresh) {
            setting.env.insert(PADDING.to_owned(), "x".repeat(padding));
        }
        match Session::start(&self.program, &args, &setting, options.limit()) {
            Ok(session) => {
                self.session = Some(session);
                self.attempt(Live::get_ready);
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
        self.row.place.side
    }

    /// Slices that it is to run; none unless it is alive.
    pub(super) fn slices(&self) -> u32 {
        self.session.as_ref().map_or(0, |_| self.slices)
    }

    /// Turns in which it is to run them.
    pub(super) fn turns(&self) -> u32 {
        self.pace.map_or(0, |pace| pace.turns(self.slices()))
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
        part: impl FnOnce(&mut Self, &mut Session) -> anyhow::Result<T>,
    ) -> Option<T> {
        let (begun, mut session) = (Instant::now(), self.session.take()?);
        match session.attempt(|session| part(self, session)) {
            Ok(done) => {
                self.session = Some(session);
                Some(done)
            }
            Err(fault) => {
                self.conclude(fault.downcast(), begun);
                None
            }
        }
    }

    /// Finds out what it is, what it holds, and how long its slices are.
    fn get_ready(&mut self, session: &mut Session) -> anyhow::Result<()> {
        let described = self.described.as_ref();
        let Ready { pids, setup_ns, first_ns, description } = session.ready(described)?;
        self.helpers = session.child.members().unwrap_or_default();
        self.helpers.retain(|pid| !pids.contains(pid));
        self.pids = pids;
        (self.trial.setup_ns, self.trial.first_ns) = (setup_ns, first_ns);
        self.trial.description = Some(description);
        // Of a slope nothing is timed. Its tasks must have worked once, if they do not do so in a hold.
        let is_slope = self.row.place.metric.is_slope();
        if is_slope && self.has_hops() {
            session.run(1, None)?;
        }
        // Before others start, since the kernel's memory is the whole system's.
        if !self.row.effort.skip_hold && self.row.metrics().any(Metric::is_held) {
            let held = session.hold()?;
            if let Some(change) = &mut self.trial.memory {
                change.held = Some(memory::of_processes(&held));
            }
        }
        if is_slope {
            return Ok(());
        }
        let iters = self.row.effort.iters;
        // A few that are not kept: whether the program counts its own usage, and how long an iteration takes. A window of
        // an open loop lasts longer than its sample says.
        let is_known = self.pace.is_some();
        if self.is_fresh() {
            self.counts_usage = true;
            self.is_first = !is_known;
            if self.is_first {
                let ran = session.run(1, None)?;
                self.pace = Some(Pace::of_fresh(ran.took));
            }
        } else if iters > 1 && !self.is_alone() && !(is_known && self.is_open_loop()) {
            let few = if is_known || self.is_open_loop() { 1 } else { 3 };
            let ran = session.run(few.min(iters), None)?;
            self.counts_usage = ran.usage.is_some();
            let shortest =
                ran.samples.iter().min().map_or(ran.took, |&ns| Duration::from_nanos(ns));
            let iteration = if self.is_open_loop() { ran.took } else { shortest };
            self.pace.get_or_insert_with(|| Pace::of(iteration, self.is_steady));
        }
        let slice = self.pace.get_or_insert(Pace::whole(1)).slice;
        let slices = iters.div_ceil(slice).min(u32::MAX.into()) as u32;
        self.slices = self.most_slices.unwrap_or(slices).min(slices).max(1);
        self.before = self.totals();
        self.awaited = self.awaited_time();
        Ok(())
    }

    fn has_hops(&self) -> bool {
        self.trial.description.as_ref().is_some_and(|said| said.hops.is_some())
    }

    fn is_open_loop(&self) -> bool {
        self.trial.description.as_ref().is_some_and(|said| said.arrivals.is_some())
    }

    fn is_fresh(&self) -> bool {
        self.trial.description.as_ref().is_some_and(|said| said.fresh)
    }

    fn is_alone(&self) -> bool {
        self.trial.description.as_ref().is_some_and(|said| said.alone)
    }

    fn cpu_time(&self) -> Option<u64> {
        let measured: Option<u64> = self.pids.iter().map(|&pid| usage::cpu_time(pid)).sum();
        Some(measured? + self.helpers.iter().filter_map(|&pid| usage::cpu_time(pid)).sum::<u64>())
    }

    /// CPU time of the children that it has awaited, if its iterations are such. The kernel tells it in ticks.
    fn awaited_time(&self) -> u64 {
        let pids = self.pids.iter().filter(|_| self.is_fresh());
        pids.filter_map(|&pid| usage::awaited_time(pid)).sum()
    }

    /// Usage and moves between CPUs of all its threads, unless they are too many.
    fn totals(&self) -> (Option<usage::Totals>, Option<usage::Moves>) {
        let description = self.trial.description.as_ref();
        let threads = description.map_or(0, |said| said.needs.threads.of_tasks(said.tasks));
        let has_usage = !self.counts_usage && threads <= MOST_THREADS;
        if has_usage {
            // The kernel adds up the CPU time of a thread at a tick, or when it goes to sleep (update_curr,
            // kernel/sched/fair.c), and one that has just answered is not asleep yet.
            thread::sleep(ANSWERED);
        }
        let is_chain = self.has_hops() && threads <= MOST_MOVED;
        (
            has_usage.then(|| usage::totals(&self.pids)).flatten(),
            is_chain.then(|| usage::moves(&self.pids)).flatten(),
        )
    }

    /// Begins a turn of it by untimed iterations, or by the pause that its row asks for instead. Returns the number of
    /// slices of the turn.
    pub(super) fn begin_turn(&mut self, watch: &mut Watch) -> u32 {
        let (turns, begun) = (u64::from(self.turns()), self.tally.turn_starts.len() as u64);
        self.tally.turn_starts.push(self.tally.samples.len());
        if let Some(pause) = self.row.effort.pause_ms {
            thread::sleep(Duration::from_millis(pause));
        } else if let Some(settling) = self.pace.map(|pace| pace.settling).filter(|&n| n > 0) {
            let counting =
                (self.is_fresh() && self.counts_events).then(|| counters::attach(&self.pids, true));
            if let Some((ran, used)) = self.iterate(settling) {
                let iterations = ran.samples.len() as u64;
                self.tally.untimed += iterations;
                watch.add_own(used);
                let counted = counting.map(|counting| Counters { iterations, ..counting.finish() });
                // The first process has told why there are none.
                self.trial.counters = counted.filter(|it| self.is_first || !it.events.is_empty());
            }
        }
        let [before, after] =
            [begun, begun + 1].map(|turn| (u64::from(self.slices()) * turn / turns.max(1)) as u32);
        after - before
    }

    /// True if its turns begin with something else than a slice.
    pub(super) fn settles(&self) -> bool {
        self.row.effort.pause_ms.is_some() || self.pace.is_some_and(|pace| pace.settling > 0)
    }

    /// Has it iterate; returns also the CPU time that it used, in ns, if that can be read.
    fn iterate(&mut self, iterations: u64) -> Option<(Ran, Option<u64>)> {
        let (ran, used) = self.attempt(|live, session| {
            let then = live.cpu_time();
            let ran = session.run(iterations, None)?;
            let used = live.cpu_time().zip(then).map(|(now, then)| now.saturating_sub(then));
            // What it says is exact, and ticks have also what it ran untimed.
            let awaited = live.awaited_time();
            let told = ran.usage.filter(|_| live.is_fresh()).map_or(0, Usage::cpu_ns);
            let children = told.max(awaited.saturating_sub(live.awaited));
            live.awaited = awaited;
            Ok((ran, used.map(|used| used + children)))
        })?;
        self.tally.asked += ran.took;
        // The program itself leaves some out after each request.
        let passes = self.trial.description.as_ref().map(|said| &said.passes);
        self.tally.untimed +=
            passes.and_then(|passes| passes.first()).map_or(0, |pass| pass.settle);
        // Fewer, or none, if it was asked to end.
        self.trial.partial |= (ran.samples.len() as u64) < ran.wanted;
        Some((ran, used))
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
        let left = self.row.effort.iters.saturating_sub(self.tally.samples.len() as u64);
        let slice = self.pace.map_or(1, |pace| pace.slice);
        let (ran, used) = self.iterate(slice.min(left).max(1))?;
        if ran.samples.is_empty() {
            return None;
        }
        let after = watch.look(probed, self.cpus.len() > 1);
        let at = (place, self.trial.slices.len());
        let slice = watch.slice(turn, (&before, &after), &self.cpus, used, at);
        self.trial.slices.push(Slice {
            iterations: ran.samples.len() as u64,
            total: ran.samples.iter().sum(),
            ..slice
        });
        let interrupts = [self.trial.interrupts, after.interrupts_since(&before)];
        let interrupts = interrupts.into_iter().flatten();
        self.trial.interrupts = interrupts.reduce(u64::saturating_add);
        merge(&mut self.trial.extra, ran.extra);
        self.tally.runs.add(ran.runs.unwrap_or_default());
        self.tally.add(ran.samples, ran.usage);
        Some(after)
    }
}
