//! What is known of a program that is ready, and what it is asked for besides its slices.

use contract::message::{Description, MOST_SAMPLES};
use facts::{Counters, Memory, Process, distribution};
use facts::{counters, memory, usage};

use super::seat::{Options, SLICE, Seat};
use super::session::{Fault, Ready, Session};
use super::sums::merge;
use crate::plan::Case;

/// Threads whose usage is summed up, at most: to read more of them takes longer than most runs.
const MOST_THREADS: u64 = 10_000;

/// Threads whose moves between CPUs are summed up, at most: the kernel writes a page for each.
const MOST_MOVED: u64 = 100;

/// Most turns whose order is drawn at once.
const MOST_TURNS: u64 = 1 << 17;

/// What is known of a program that is ready.
pub(super) struct Known {
    pids: Vec<i32>,
    description: Description,
    /// True if its answers tell what it used.
    counts_usage: bool,
    /// Iterations of a slice, and slices.
    pub(super) size: u64,
    pub(super) slices: u32,
    /// Totals before the first slice.
    pub(super) before: Totals,
}

/// Usage and moves of all threads, as far as they can be read.
pub(super) type Totals = (Option<usage::Totals>, Option<usage::Moves>);

impl Known {
    /// Finds out what it is, what it holds, and how long its slices are.
    pub(super) fn of(
        session: &mut Session,
        seat: &Seat<'_>,
        process: &mut Process,
    ) -> Result<Self, Fault> {
        let Ready { pids, setup_ns, first_ns, description } = session.ready(seat.described)?;
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
        let mut known = Known {
            pids,
            description,
            counts_usage: false,
            size: 1,
            slices: 0,
            before: (None, None),
        };
        // Of a slope nothing is timed. Its tasks must have worked once, if they do not do so in a hold.
        let is_slope = seat.case.section.metric.is_slope();
        if is_slope && process.hops.is_some() {
            session.run(1, None)?;
        }
        // Before others start: the kernel's memory is that of the whole system.
        if !seat.case.skip_hold {
            let held = session.hold()?;
            if let Some(change) = &mut process.memory {
                change.held = Some(memory::of(&held));
            }
        }
        if is_slope {
            return Ok(known);
        }
        let iters = seat.case.iters;
        // A few that are not kept: how long one takes, and whether the program counts its own usage.
        let is_sized = seat.iterations.is_some() || process.arrivals.is_some();
        let few = if is_sized { 1 } else { 3 };
        if iters > 1 && !known.description.alone {
            let ran = session.run(few.min(iters), None)?;
            known.counts_usage = ran.usage.is_some();
            let shortest = ran.samples.iter().min().copied().unwrap_or(1).max(1);
            // A latency does not tell how long an iteration takes; and an open loop is not to be cut.
            let fitting = match process.arrivals {
                Some(arrivals) => MOST_SAMPLES / arrivals.max(1),
                None => SLICE.as_nanos() as u64 / shortest,
            };
            known.size = fitting.clamp(1, iters.min(MOST_SAMPLES));
        }
        known.size = seat.iterations.unwrap_or(known.size);
        let all = iters.div_ceil(known.size).min(MOST_TURNS) as u32;
        known.slices = seat.slices.unwrap_or(all).min(all).max(1);
        known.before = known.totals();
        Ok(known)
    }

    pub(super) fn totals(&self) -> Totals {
        let threads = self.description.needs.threads.of(self.description.tasks);
        let has_usage = !self.counts_usage && threads <= MOST_THREADS;
        let is_chain = self.description.hops.is_some() && threads <= MOST_MOVED;
        (
            has_usage.then(|| usage::totals(&self.pids)).flatten(),
            is_chain.then(|| usage::moves(&self.pids)).flatten(),
        )
    }

    pub(super) fn cpu_time(&self) -> Option<u64> {
        self.pids.iter().map(|&pid| usage::cpu_time(pid)).sum()
    }

    /// Counts events in a further run: a tenth of the iterations, but a hundred if there are as many,
    /// since counts hardly vary.
    fn count(&self, session: &mut Session, iters: u64) -> Result<Counters, Fault> {
        let iterations = (iters / 10).max(100).min(iters).min(MOST_SAMPLES);
        // Where nothing is handed over, an iteration creates threads, which only their CPUs can count.
        let begins_threads = self.description.hops.is_none();
        let counting = counters::attach(&self.pids, begins_threads);
        let ran = session.run(iterations, None)?;
        Ok(Counters { iterations: ran.samples.len() as u64, ..counting.finish() })
    }

    /// Asks for what is not timed, and for the end.
    pub(super) fn ask_further(
        &self,
        session: &mut Session,
        case: &Case,
        options: &Options,
        process: &mut Process,
    ) -> Result<(), Fault> {
        for pass in &case.passes {
            let ran = session.run(case.iters.min(MOST_SAMPLES), Some(pass))?;
            merge(&mut process.extra, ran.extra);
            process.extra.extend(distribution(&ran.samples).map(|d| (pass.clone(), d)));
        }
        let peak_resident = memory::peak(&self.pids);
        if let Some(change) = &mut process.memory {
            let held = change.held.unwrap_or_default();
            change.held = Some(Memory { peak_resident, ..held });
        }
        if options.counters {
            process.counters = Some(self.count(session, case.iters)?);
        }
        let (teardown_ns, extra) = session.take_down()?;
        process.teardown_ns = teardown_ns;
        merge(&mut process.extra, extra);
        Ok(())
    }
}
