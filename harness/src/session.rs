//! From the command line to the exit status.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, anyhow, bail};
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::Pid;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::args::{Defaults, Format, Run};
use crate::cache_line::CacheLine;
use crate::console::{complain, print};
use crate::counters::Tasks;
use crate::fault::{BadUsage, COULD_NOT_MEASURE, Interrupted};
use crate::feed::Feed;
use crate::file_system::FileSystem;
use crate::laps::Laps;
use crate::limits::{self, Demand, Exceeded, Limits, Need, Passing, Room};
use crate::machine::{Build, Machine};
use crate::notes::Note;
use crate::placement::allowed;
use crate::processes::Processes;
use crate::record::{MemoryChange, Record, Runtime, milliseconds};
use crate::recorder::{Recorder, Summary};
use crate::usage::{self, Memory};
use crate::{command, console, futex, links, notes, panics, report, signals, timer_slack};

/// A benchmark program's command line.
pub trait Program: clap::Parser + Serialize {
    /// Its usual size.
    const DEFAULTS: Defaults = Defaults::BRIGADE;

    /// The flags that every program has.
    fn run(&self) -> &Run;

    /// Its command line, where a flag that every program has means something of its own.
    fn adapt(command: clap::Command) -> clap::Command {
        command
    }
}

/// One run of a program: what it is asked for, and what it has found out so far.
pub struct Session {
    name: String,
    run: Run,
    params: Map<String, Value>,
    started: SystemTime,
    building: Option<Instant>,
    machine: Machine,
    before: Memory,
    at_rest: Option<Memory>,
    futex_slots: Option<u32>,
    rested_at: Option<Instant>,
    cpus: Vec<usize>,
    cache_line: Option<CacheLine>,
    setup: Option<Duration>,
    laps: Option<Laps>,
    hops: Option<u64>,
    tokens: u64,
    payload: Option<u64>,
    peak_alive: Option<u64>,
    peak_resident: Option<u64>,
    peak_threads: Option<u64>,
    distributions: BTreeMap<String, Summary>,
    file_system: Option<FileSystem>,
    runtime: Option<Runtime>,
    command_fault: Option<anyhow::Error>,
    raised: Option<limits::Lease>,
    processes: Processes,
    notes: Vec<Note>,
}

/// Parses the command line, measures, prints the result and returns the exit status: 0 measured,
/// 1 could not measure, 2 bad usage, 128 + signal interrupted.
///
/// Whatever `measure` has given to its session before it failed is printed all the same.
pub fn main<P: Program>(measure: fn(&P, &mut Session) -> anyhow::Result<()>) -> ExitCode {
    let command = P::adapt(P::DEFAULTS.apply(P::command()));
    let name = command.get_name().to_owned();
    let program = match P::from_arg_matches(&command.get_matches()) {
        Ok(program) => program,
        Err(e) => e.exit(),
    };
    panics::keep_quiet();
    let mut session = match Session::new(name, &program) {
        Ok(session) => session,
        Err(e) => return complain("", &e),
    };
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| measure(&program, &mut session)))
        .unwrap_or_else(|panic| Err(panics::error(&*panic)));
    session.finish(outcome)
}

impl Session {
    fn new(name: String, program: &impl Program) -> anyhow::Result<Self> {
        signals::install(&name).context("cannot install the signal handlers")?;
        let params = match serde_json::to_value(program)? {
            Value::Object(params) => params,
            other => bail!("the flags serialise to {other}, not to an object"),
        };
        Ok(Session {
            name,
            run: program.run().clone(),
            params,
            started: SystemTime::now(),
            building: None,
            machine: Machine::read(),
            before: Memory::now(),
            at_rest: None,
            futex_slots: None,
            rested_at: None,
            cpus: Vec::new(),
            cache_line: None,
            setup: None,
            laps: None,
            hops: None,
            tokens: 1,
            payload: None,
            peak_alive: None,
            peak_resident: None,
            peak_threads: None,
            distributions: BTreeMap::new(),
            file_system: None,
            runtime: None,
            command_fault: None,
            raised: None,
            processes: Processes::default(),
            notes: Vec::new(),
        })
    }

    /// Compares what the run is going to build with what the system allows, before it is built.
    /// Raises the soft descriptor limit to the hard one; with `--raise-limits`, what else may be
    /// raised.
    ///
    /// # Errors
    /// Names every limit that is too low and the command that raises it. With `--check-limits`
    /// the run ends here in any case.
    pub fn require(&mut self, demand: &Demand) -> anyhow::Result<()> {
        let tasks = u64::from(self.run.tasks);
        let limits = self.limits(demand, (demand, tasks))?;
        let verdict = limits.check(demand, tasks);
        self.answer(verdict, (limits.largest(demand), ""), demand)?;
        self.begin(demand.of(tasks));
        Ok(())
    }

    /// The same for tasks that end by themselves while others are still being created: tells how many
    /// of them may be there at once. Not even all of them need fit.
    ///
    /// # Errors
    /// As [`Session::require`], where not even one fits.
    pub fn require_passing(&mut self, passing: &Passing) -> anyhow::Result<Room> {
        let (raised, tasks) = passing.to_raise(&Limits::read());
        let limits = self.limits(&passing.alive, (&raised, tasks))?;
        let room = limits.room(passing);
        let verdict = limits.check(&passing.alive, room.alive.max(1));
        let largest = (limits.largest(&passing.alive), " at once");
        self.answer(verdict, largest, &passing.alive)?;
        self.begin(passing.alive.of(room.unjoined));
        Ok(room)
    }

    /// Raises what is to be raised, for so many tasks of a demand, and reads the limits.
    fn limits(&mut self, demand: &Demand, raised: (&Demand, u64)) -> anyhow::Result<Limits> {
        if self.run.raise_limits {
            let (lease, outcomes) = limits::raise(raised.0, raised.1);
            self.raised = lease;
            self.tell(&outcomes);
        }
        raise_descriptors(demand.of(u64::from(self.run.tasks)).descriptors)?;
        Ok(Limits::read())
    }

    /// Ends the run where it cannot be, or where nothing but this answer is asked for.
    fn answer(
        &self,
        verdict: Result<(), Exceeded>,
        (largest, at_once): (u64, &'static str),
        demand: &Demand,
    ) -> anyhow::Result<()> {
        if self.run.check_limits {
            return Err(anyhow::Error::new(LimitsChecked {
                verdict,
                tasks: u64::from(self.run.tasks),
                largest,
                at_once,
                demand: demand.clone(),
            }));
        }
        Ok(verdict?)
    }

    /// Building begins, of what needs so much.
    fn begin(&mut self, need: Need) {
        // The program has confined itself to them. Where it cannot be told, nothing goes by them.
        self.cpus = allowed(Pid::from_raw(0)).unwrap_or_default();
        self.cache_line = CacheLine::measure(&self.cpus);
        self.building = Some(Instant::now());
        links::make_room(need.descriptors);
    }

    fn tell(&self, outcomes: &[limits::Outcome]) {
        for outcome in outcomes {
            console::say(format_args!("{}: {outcome}", self.name));
        }
    }

    /// The laps to time. Give them back by [`Session::timed`], also after an error.
    pub fn laps(&self) -> Laps {
        Laps::new(&self.run, &self.name).of(Tasks {
            processes: self.processes.clone(),
            cpus: self.cpus.clone(),
        })
    }

    /// Declares that the tasks are these processes, children of this one: what they use in the laps
    /// and what they hold at rest belongs to the result. Call it before [`Session::laps`].
    pub fn tasks_are(&mut self, processes: &[Pid]) {
        self.processes = Processes::new(processes);
        // As it will be read of all of them.
        self.before.resident = self.before.proportional;
    }

    /// Adds to the result what a reader should know of it.
    pub fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    /// Keeps the laps that were timed.
    pub fn timed(&mut self, mut laps: Laps) {
        laps.end();
        self.laps = Some(laps);
    }

    /// Keeps how long it took to build the tasks that are at rest. Only for programs that build
    /// them after their laps: elsewhere set-up ends where the first lap begins.
    pub fn built(&mut self, setup: Duration) {
        self.setup = Some(setup);
    }

    /// Declares how many tokens an iteration carries, each over `tasks + 1` hops.
    pub fn carries(&mut self, tokens: u32) {
        self.tokens = u64::from(tokens);
        self.hops = Some((u64::from(self.run.tasks) + 1) * self.tokens);
    }

    /// Declares the same where it matters who feeds them in.
    pub fn carries_fed(&mut self, tokens: u32, feed: Feed) {
        self.carries(tokens);
        self.hops = Some(feed.hops(self.run.tasks, tokens));
    }

    /// Declares how many bytes an iteration hands over, end to end.
    pub fn hands_over(&mut self, bytes: u64) {
        self.payload = Some(bytes);
    }

    /// Keeps the largest number of tasks that were alive at once.
    pub fn alive_at_once(&mut self, most: u64) {
        self.peak_alive = Some(most);
    }

    /// Keeps the largest resident set so far: what follows is no part of what is measured. Without it
    /// the whole run is.
    pub fn peaked(&mut self) {
        self.peak_resident = usage::peak_resident();
    }

    /// Keeps the file system that files of the run are on.
    pub fn keeps_files_on(&mut self, file_system: FileSystem) {
        self.file_system = Some(file_system);
    }

    /// Keeps the number of threads that there are now besides the main one, as the largest: for a
    /// program whose threads live until its teardown. Returns it; `None` where /proc does not tell.
    pub fn threads_are_all_there(&mut self) -> Option<u64> {
        self.peak_threads = usage::thread_count().map(|threads| threads.saturating_sub(1));
        self.peak_threads
    }

    /// Keeps the runtime that the tasks ran on.
    pub fn runs_on(&mut self, runtime: Runtime) {
        self.runtime = Some(runtime);
    }

    /// Keeps a distribution beside that of the iterations.
    pub fn distribution(&mut self, name: &str, recorder: &Recorder) {
        if let Some(summary) = recorder.summary() {
            self.distributions.insert(name.to_owned(), summary);
        }
    }

    /// Reads the memory and runs the user's `--command`. Call it when the last iteration is done
    /// and every task is still alive, or as many as ever are. A command that fails does not stop the teardown: it makes
    /// the program end with status 1.
    pub fn at_rest(&mut self) {
        self.at_rest = Some(match self.processes.is_none() {
            true => Memory::now(),
            false => self.processes.memory(),
        });
        self.futex_slots = futex::slots_now();
        if let Some(line) = &mut self.cache_line {
            line.measure_again();
        }
        if let Some(command) = &self.run.command
            && signals::received().is_none()
        {
            self.command_fault = command::run(command, self.run.format).err();
        }
        self.rested_at = Some(Instant::now());
    }

    /// Prints the result and the error, and decides about the exit status.
    fn finish(mut self, outcome: anyhow::Result<()>) -> ExitCode {
        let teardown = self.rested_at.map(|at| at.elapsed());
        // Nothing that needed them is alive now.
        if let Some(lease) = self.raised.take() {
            self.tell(&lease.end());
        }
        if let Err(e) = &outcome {
            if let Some(checked) = e.downcast_ref::<LimitsChecked>() {
                return checked.print(&self);
            }
            if e.downcast_ref::<BadUsage>().is_some() {
                return complain(&self.name, e);
            }
        }
        let error = outcome.err().or(self.command_fault.take());
        let record = self.record(error.as_ref(), teardown);
        let printed = match self.run.quiet {
            true => Ok(()),
            false => print(|out| report::write(&record, self.run.format, out)),
        };
        let mut status = ExitCode::SUCCESS;
        if let Err(e) = printed {
            status = complain(&self.name, &anyhow!(e).context("cannot print the result"));
        }
        if let Some(e) = &error
            && e.downcast_ref::<Interrupted>().is_none()
        {
            status = complain(&self.name, e);
        }
        if let Some(signal) = signals::received() {
            console::say(format_args!(
                "{}: interrupted after {} of {} iterations",
                self.name,
                record.samples.as_ref().map_or(0, |s| s.count),
                self.run.iters
            ));
            status = ExitCode::from(128 + signal as u8);
        }
        status
    }

    fn record(&mut self, error: Option<&anyhow::Error>, teardown: Option<Duration>) -> Record {
        let mut laps = self.laps.take();
        let counters = laps.as_mut().and_then(Laps::counters);
        let samples = laps.as_ref().and_then(|laps| laps.recorder().summary());
        let used = laps.as_ref().and_then(Laps::used);
        let first_at = laps.as_ref().and_then(Laps::first_at);
        let before_laps = first_at
            .zip(self.building)
            .map(|(at, building)| at.duration_since(building));
        let mean = samples.as_ref().map(|s| s.mean);
        let has_samples = samples.is_some();
        let ns = |d: Duration| d.as_nanos() as u64;
        let command_line = std::env::args_os()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect();
        let mut record = Record {
            params: std::mem::take(&mut self.params),
            started: milliseconds(self.started),
            build: Build::current(),
            machine: std::mem::take(&mut self.machine),
            runtime: self.runtime.take(),
            partial: !laps.as_ref().is_some_and(Laps::complete),
            hops: self.hops,
            per_hop: mean.zip(self.hops).map(|(mean, hops)| mean / hops as f64),
            per_task: mean.map(|mean| mean / (f64::from(self.run.tasks) * self.tokens as f64)),
            samples,
            distributions: std::mem::take(&mut self.distributions),
            usage: used.and_then(|(usage, _)| usage),
            waits: laps.as_ref().and_then(Laps::waits),
            workers: laps.as_ref().and_then(Laps::workers),
            payload: self.payload,
            peak_alive: self.peak_alive,
            peak_resident: self.peak_resident.or_else(usage::peak_resident),
            peak_threads: self.peak_threads,
            timer_slack: timer_slack::now(),
            file_system: self.file_system.take(),
            interference: used.map(|(_, interference)| interference),
            counters,
            cache_line: self.cache_line,
            memory: Some(MemoryChange {
                before: self.before,
                at_rest: self.at_rest,
            }),
            // Where nothing is handed over the laps come before what is built: see `built`.
            setup: self.setup.or(self.hops.and(before_laps)).map(ns),
            first_iteration: laps.as_ref().and_then(Laps::first).map(ns),
            teardown: teardown.map(ns),
            futex_slots: self.futex_slots,
            error: error
                // What was measured before the signal is a result, if only a part of it.
                .filter(|e| !has_samples || !e.is::<Interrupted>())
                .map(|e| format!("{e:#}")),
            ..Record::empty(&self.name, command_line)
        };
        record.notes = notes::of(&record);
        record.notes.append(&mut self.notes);
        record.notes.extend(links::pipes::note());
        record.notes.extend(laps.iter().flat_map(Laps::notes));
        record
    }
}

/// Raises the soft descriptor limit to the hard one. Where even that is forbidden, as a sandbox may,
/// the soft one has to do.
fn raise_descriptors(needed: u64) -> anyhow::Result<()> {
    let Err(e) = limits::raise_descriptors() else {
        return Ok(());
    };
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    match needed < soft {
        true => Ok(()),
        false => Err(e).with_context(|| {
            format!(
                "cannot raise the soft descriptor limit, {soft}, to the {needed} that are needed: \
                 start it with a higher `ulimit -n`"
            )
        }),
    }
}

/// The answer to `--check-limits`; an error only in that it ends the run.
#[derive(Debug)]
struct LimitsChecked {
    verdict: Result<(), Exceeded>,
    tasks: u64,
    largest: u64,
    /// Behind that number, for people.
    at_once: &'static str,
    demand: Demand,
}

impl std::fmt::Display for LimitsChecked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("only the limits were checked")
    }
}

impl std::error::Error for LimitsChecked {}

impl LimitsChecked {
    fn print(&self, session: &Session) -> ExitCode {
        let printed = print(|out| match session.run.format {
            Format::Json => {
                let shortages = self.verdict.as_ref().err().map(|e| &e.shortages);
                let answer = serde_json::json!({
                    "benchmark": session.name,
                    "tasks": self.tasks,
                    "largest": self.largest,
                    "demand": self.demand,
                    "shortages": shortages.map_or(&[][..], Vec::as_slice),
                });
                writeln!(out, "{answer}")
            }
            Format::Text => {
                writeln!(
                    out,
                    "# {} with {} tasks: this system allows at most {}{}",
                    session.name, self.tasks, self.largest, self.at_once
                )?;
                match &self.verdict {
                    Ok(()) => Ok(()),
                    Err(exceeded) => exceeded.write_commands(out),
                }
            }
        });
        match (printed, &self.verdict) {
            (Err(e), _) => complain(
                &session.name,
                &anyhow!(e).context("cannot print the limits"),
            ),
            (Ok(()), Ok(())) => ExitCode::SUCCESS,
            (Ok(()), Err(_)) => ExitCode::from(COULD_NOT_MEASURE),
        }
    }
}
