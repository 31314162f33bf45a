//! A program that answers requests: what is known of it, and what it is asked besides its slices.

use contract::message::{Distribution, Extra, MOST_SAMPLES, Usage};
use observe::{counters, memory, usage};
use record::{Counters, Memory, Metric, Row, Trial, distribution};

use super::seat::{Options, SLICE, Seat};
use super::session::{Ran, Ready, Session};

/// Threads whose usage is summed up, at most: to read more of them takes longer than most runs.
const MOST_THREADS: u64 = 10_000;

/// Threads whose moves between CPUs are summed up, at most: the kernel writes a page for each.
const MOST_MOVED: u64 = 100;

/// Most turns whose order is drawn at once.
const MOST_TURNS: u64 = 1 << 17;

/// A program that answers requests.
pub(super) struct Alive {
    pub(super) session: Session,
    pids: Vec<i32>,
    /// Its further processes, such as a server of its own: their CPU time is not that of others.
    helpers: Vec<i32>,
    /// Threads that it says it needs.
    threads: u64,
    has_hops: bool,
    /// True if its answers tell what it used.
    counts_usage: bool,
    /// Iterations of a slice.
    size: u64,
    pub(super) slices: u32,
    /// Usage and moves of all threads before the first slice, as far as they can be read.
    before: (Option<usage::Totals>, Option<usage::Moves>),
}

impl Alive {
    pub(super) fn new(session: Session) -> Self {
        Alive {
            session,
            pids: Vec::new(),
            helpers: Vec::new(),
            threads: 0,
            has_hops: false,
            counts_usage: false,
            size: 1,
            slices: 0,
            before: (None, None),
        }
    }

    /// Finds out what it is, what it holds, and how long its slices are.
    pub(super) fn get_ready(&mut self, seat: &Seat<'_>, trial: &mut Trial) -> anyhow::Result<()> {
        let Ready { pids, setup_ns, first_ns, description } = self.session.ready(seat.described)?;
        self.helpers = self.session.group.members().unwrap_or_default();
        self.helpers.retain(|pid| !pids.contains(pid));
        self.pids = pids;
        self.threads = description.needs.threads.of(description.tasks);
        self.has_hops = description.hops.is_some();
        (trial.setup_ns, trial.first_ns) = (setup_ns, first_ns);
        let has_turns = !description.alone && description.arrivals.is_none();
        trial.description = Some(description);
        // Of a slope nothing is timed. Its tasks must have worked once, if they do not do so in a hold.
        let is_slope = seat.row.place.metric.is_slope();
        if is_slope && self.has_hops {
            self.session.run(1, None)?;
        }
        // Before others start: the kernel's memory is that of the whole system.
        if !seat.row.effort.skip_hold && seat.row.metrics().any(Metric::is_held) {
            let held = self.session.hold()?;
            if let Some(change) = &mut trial.memory {
                change.held = Some(memory::of(&held));
            }
        }
        if is_slope {
            return Ok(());
        }
        let iters = seat.row.effort.iters;
        // A few that are not kept: how long one takes, and whether the program counts its own usage. An open loop has
        // windows of a length of their own.
        let few = if seat.iterations.is_some() { 1 } else { 3 };
        if iters > 1 && has_turns {
            let ran = self.session.run(few.min(iters), None)?;
            self.counts_usage = ran.usage.is_some();
            let shortest = ran.samples.iter().min().copied().unwrap_or(1).max(1);
            let fitting = SLICE.as_nanos() as u64 / shortest;
            self.size = fitting.clamp(1, iters.min(MOST_SAMPLES));
        }
        self.size = seat.iterations.unwrap_or(self.size);
        let all = iters.div_ceil(self.size).min(MOST_TURNS) as u32;
        self.slices = seat.slices.unwrap_or(all).min(all).max(1);
        self.before = self.totals();
        Ok(())
    }

    /// Runs a slice of the iterations that are left; also the CPU time meanwhile, in ns.
    pub(super) fn run(&mut self, left: u64) -> anyhow::Result<(Ran, Option<u64>)> {
        let time = self.cpu_time();
        let ran = self.session.run(self.size.min(left).max(1), None)?;
        let used = self.cpu_time().zip(time).map(|(now, then)| now.saturating_sub(then));
        Ok((ran, used))
    }

    fn cpu_time(&self) -> Option<u64> {
        let own: Option<u64> = self.pids.iter().map(|&pid| usage::cpu_time(pid)).sum();
        Some(own? + self.helpers.iter().filter_map(|&pid| usage::cpu_time(pid)).sum::<u64>())
    }

    fn totals(&self) -> (Option<usage::Totals>, Option<usage::Moves>) {
        let has_usage = !self.counts_usage && self.threads <= MOST_THREADS;
        let is_chain = self.has_hops && self.threads <= MOST_MOVED;
        (
            has_usage.then(|| usage::totals(&self.pids)).flatten(),
            is_chain.then(|| usage::moves(&self.pids)).flatten(),
        )
    }

    /// Usage and moves between CPUs of all threads since the first slice.
    pub(super) fn since_first(&self) -> (Option<Usage>, Option<u64>) {
        let ((usage_before, moves_before), (usage, moves)) = (&self.before, self.totals());
        let usage = usage_before.as_ref().and_then(|then| usage?.since(then));
        let moves = moves_before.as_ref().and_then(|then| moves?.since(then));
        (usage, moves)
    }

    /// Counts events in a further run: a tenth of the iterations, but a hundred if there are as many,
    /// since counts hardly vary.
    fn count(&mut self, iters: u64) -> anyhow::Result<Counters> {
        let iterations = (iters / 10).max(100).min(iters).min(MOST_SAMPLES);
        // Where nothing is handed over, an iteration creates threads, which only their CPUs can count.
        let counting = counters::attach(&self.pids, !self.has_hops);
        let ran = self.session.run(iterations, None)?;
        Ok(Counters { iterations: ran.samples.len() as u64, ..counting.finish() })
    }

    /// Asks for what is not timed, and for the end.
    pub(super) fn ask_further(
        &mut self,
        row: &Row,
        options: &Options,
        trial: &mut Trial,
    ) -> anyhow::Result<()> {
        for pass in &row.effort.passes {
            let ran = self.session.run(row.effort.iters.min(MOST_SAMPLES), Some(pass))?;
            merge(&mut trial.extra, ran.extra);
            trial.extra.extend(distribution(&ran.samples).map(|d| (pass.clone(), d)));
        }
        if let Some(change) = &mut trial.memory {
            let [peak_resident, peak_virtual] = memory::peaks(&self.pids);
            let held = change.held.unwrap_or_default();
            change.held = Some(Memory { peak_resident, peak_virtual, ..held });
        }
        if options.counters {
            trial.counters = Some(self.count(row.effort.iters)?);
        }
        let (teardown_ns, extra) = self.session.take_down()?;
        trial.teardown_ns = teardown_ns;
        merge(&mut trial.extra, extra);
        Ok(())
    }
}

/// Adds distributions of a further slice. Count, mean, deviation and extremes are exact; a percentile
/// is the mean of the slices', weighted by their counts.
pub(super) fn merge(all: &mut Extra, more: Extra) {
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
        *a = Distribution {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_of_a_distribution_add_up() {
        let samples = [[1_u64, 2, 3, 4], [5, 6, 7, 100]];
        let mut all = Extra::new();
        for slice in samples {
            merge(&mut all, [("a".to_owned(), distribution(&slice).unwrap())].into());
        }
        let whole = distribution(&samples.concat()).unwrap();
        let found = all["a"];
        assert_eq!((found.count, found.min, found.max), (8, 1, 100));
        assert!((found.mean - whole.mean).abs() < 1e-9);
        assert!((found.stddev - whole.stddev).abs() < 1e-9);
        assert_eq!(found.p50, 4);
    }
}
