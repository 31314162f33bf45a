//! The frame of a timed loop: which lap comes next, and where its time goes.
//!
//! A program's loop reads
//!
//! ```ignore
//! while let Some(lap) = laps.advance()? {
//!     let clock = Instant::now();
//!     // one iteration, and nothing else
//!     laps.record(clock.elapsed());
//! }
//! ```
//!
//! so that all that this module does happens while the clock stands.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::args::Run;
use crate::counters::{self, Counters, Counting, Tasks};
use crate::disturbance::{Cpus, Stops};
use crate::notes::Note;
use crate::processes::Used;
use crate::recorder::Recorder;
use crate::signals;
use crate::units::Nanos;
use crate::usage::{Interference, Usage};
use crate::waits::Waits;
use crate::workers::{Counts, Watch, Workers};

/// The warm-up laps, the timed ones, and with `--counters` those that are counted, one after the
/// other.
#[derive(Debug)]
pub struct Laps {
    warmups: u64,
    iters: u64,
    begun: u64,
    recorder: Recorder,
    progress: Option<Progress>,
    first_at: Option<Instant>,
    first: Option<Duration>,
    stops: Stops,
    cpus: Option<Cpus>,
    cpus_changed: Vec<Note>,
    before: Option<(Used, Interference)>,
    used: Option<(Option<Usage>, Interference)>,
    tasks: Tasks,
    counted: u64,
    counting: Option<Counting>,
    counters: Option<Counters>,
    waits: Option<Waits>,
    workers: Option<Watch>,
}

impl Laps {
    /// The laps that `run` asks for. A `label` is shown with the progress.
    pub fn new(run: &Run, label: &str) -> Self {
        let counted = match run.counters {
            true => counters::laps(run.iters),
            false => 0,
        };
        Laps {
            warmups: run.warmups,
            iters: run.iters,
            begun: 0,
            recorder: Recorder::new(run.iters),
            progress: Progress::on_terminal(run, label),
            first_at: None,
            first: None,
            stops: Stops::new(),
            cpus: None,
            cpus_changed: Vec::new(),
            before: None,
            used: None,
            tasks: Tasks::default(),
            counted,
            counting: None,
            counters: None,
            waits: None,
            workers: None,
        }
    }

    /// Names whose laps they are: what these use and what they count belongs to the run.
    pub(crate) fn of(self, tasks: Tasks) -> Self {
        Laps { tasks, ..self }
    }

    /// Names a runtime whose workers' counts are read before the first timed lap and after the last
    /// one.
    #[must_use]
    pub fn on(self, runtime: Option<Box<dyn Counts>>) -> Self {
        Laps {
            workers: runtime.map(Watch::new),
            ..self
        }
    }

    /// Begins the next lap and returns its number, warm-ups included; `None` after the last one
    /// or at a signal. What the system counts is read before the first timed lap and after the
    /// last one; the counters of `--counters` are opened after that.
    ///
    /// # Errors
    /// What getrusage(2) reports.
    pub fn advance(&mut self) -> nix::Result<Option<u64>> {
        let timed = self.timed();
        let all = timed.saturating_add(self.counted);
        if self.begun == all || signals::received().is_some() {
            self.close()?;
            return Ok(None);
        }
        if self.begun == timed {
            self.close()?;
            self.counting = Some(Counting::begin(&self.tasks)?);
        }
        if self.begun == 0 {
            self.first_at = Some(Instant::now());
        }
        if self.begun == self.warmups {
            self.cpus = Some(Cpus::now());
            // It takes a while where the tasks are many processes.
            let others = self.tasks.processes.spent();
            self.stops.begin();
            if let Some(workers) = &mut self.workers {
                workers.begin();
            }
            // The usage last: reading the rest takes some itself.
            let interference = Interference::now();
            let own = Usage::now()?;
            self.before = Some((Used { own, others }, interference));
        }
        self.begun += 1;
        Ok(Some(self.begun - 1))
    }

    /// Takes the time of the lap that was begun last; a warm-up's is dropped, but for the very
    /// first one's, which is kept by itself.
    pub fn record(&mut self, elapsed: Duration) {
        if let Some(counting) = &mut self.counting {
            return counting.record(elapsed);
        }
        self.first.get_or_insert(elapsed);
        if self.begun > self.warmups {
            self.recorder.record(elapsed);
            self.stops.look(elapsed);
        }
        if let Some(progress) = &mut self.progress {
            progress.lap(elapsed, self.begun, self.warmups.saturating_add(self.iters));
        }
    }

    /// Adds what the program's event loop counted in the lap that was begun last; a warm-up's and
    /// that of one that is counted are dropped.
    pub fn waited(&mut self, waits: Waits) {
        if self.is_timed() {
            self.waits = Some(self.waits.unwrap_or_default().and(waits));
        }
    }

    /// Whether the lap that was begun last is a sample: no warm-up, and none that is counted.
    pub fn is_timed(&self) -> bool {
        self.begun > self.warmups && self.counting.is_none()
    }

    /// How many laps there are before those that are counted.
    fn timed(&self) -> u64 {
        self.warmups.saturating_add(self.iters)
    }

    /// Reads what the timed laps used, or what was counted after them.
    fn close(&mut self) -> nix::Result<()> {
        if let (Some((before, interference)), None) = (self.before, self.used) {
            let own = Usage::now()?;
            let interference = Interference::now().since(interference);
            let others = self.tasks.processes.spent();
            self.used = Some((Used { own, others }.since(before), interference));
            self.stops.finish();
            if let Some(workers) = &mut self.workers {
                workers.end();
            }
        }
        if let Some(counting) = self.counting.take() {
            self.counters = Some(counting.end(&self.tasks)?);
        }
        self.end();
        Ok(())
    }

    /// Ends the progress line, and looks where the process can run now; also where an error has
    /// cut the laps short.
    pub(crate) fn end(&mut self) {
        self.stops.finish();
        if let Some(before) = self.cpus.take() {
            self.cpus_changed = Cpus::now().since(before);
        }
        if self
            .progress
            .take()
            .is_some_and(|p| p.drawn > Duration::ZERO)
        {
            draw(format_args!(""));
        }
    }

    /// What happened to the process meanwhile.
    pub(crate) fn notes(&self) -> impl Iterator<Item = Note> {
        self.stops
            .note()
            .into_iter()
            .chain(self.cpus_changed.clone())
    }

    /// How many laps were begun, warm-ups included.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Whether every lap asked for was timed.
    pub(crate) fn complete(&self) -> bool {
        self.recorder.count() == self.iters
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// What the timed laps used; no usage where that of some task is not known.
    pub(crate) fn used(&self) -> Option<(Option<Usage>, Interference)> {
        self.used
    }

    /// What the event loop counted in the timed laps.
    pub(crate) fn waits(&self) -> Option<Waits> {
        self.waits
    }

    /// What the runtime's workers did in the timed laps.
    pub(crate) fn workers(&self) -> Option<Workers> {
        self.workers.as_ref()?.did()
    }

    /// What was counted in the second pass, if it took place.
    pub(crate) fn counters(&mut self) -> Option<Counters> {
        self.counters.take()
    }

    /// How long the first lap took, timed or not.
    pub(crate) fn first(&self) -> Option<Duration> {
        self.first
    }

    /// When the first lap, timed or not, was begun: set-up ends there.
    pub(crate) fn first_at(&self) -> Option<Instant> {
        self.first_at
    }
}

/// A line on the terminal, redrawn between laps.
#[derive(Debug)]
struct Progress {
    label: String,
    spent: Duration,
    drawn: Duration,
}

impl Progress {
    /// So much lap time passes between two drawings.
    const PERIOD: Duration = Duration::from_millis(200);

    fn on_terminal(run: &Run, label: &str) -> Option<Self> {
        (std::io::stderr().is_terminal() && !run.quiet).then(|| Progress {
            label: label.to_owned(),
            spent: Duration::ZERO,
            drawn: Duration::ZERO,
        })
    }

    fn lap(&mut self, elapsed: Duration, done: u64, all: u64) {
        self.spent += elapsed;
        if self.spent - self.drawn < Self::PERIOD {
            return;
        }
        self.drawn = self.spent;
        let left = self.spent.as_nanos() as f64 / done as f64 * (all - done) as f64;
        draw(format_args!(
            "{}: {done} of {all} iterations, about {:.1} left",
            self.label,
            Nanos(left)
        ));
    }
}

/// Replaces the progress line.
fn draw(line: std::fmt::Arguments<'_>) {
    // A terminal that has gone away is no reason to stop a measurement.
    let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Format;

    fn laps(warmups: u64, iters: u64, counters: bool) -> Laps {
        let run = Run {
            tasks: 1,
            iters,
            warmups,
            quiet: true,
            format: Format::Text,
            command: None,
            counters,
            check_limits: false,
            raise_limits: false,
        };
        Laps::new(&run, "test")
    }

    #[test]
    fn warm_ups_are_not_recorded() {
        let mut laps = laps(2, 3, false);
        let mut numbers = Vec::new();
        while let Some(lap) = laps.advance().unwrap() {
            numbers.push(lap);
            laps.record(Duration::from_nanos(100 + lap));
        }
        assert_eq!(numbers, [0, 1, 2, 3, 4]);
        let summary = laps.recorder().summary().unwrap();
        assert_eq!((summary.count, summary.min, summary.max), (3, 102, 104));
        assert!(laps.complete() && laps.used().is_some());
        assert_eq!(laps.first(), Some(Duration::from_nanos(100)));
    }

    #[test]
    fn what_an_event_loop_counts_is_added_up_without_the_warm_ups() {
        let waits = |enters, completions| Waits {
            enters,
            completions,
        };
        let mut laps = laps(1, 2, true);
        assert_eq!(laps.waits(), None);
        let mut before = waits(7, 7);
        while let Some(lap) = laps.advance().unwrap() {
            let now = waits(before.enters + 10 + lap, before.completions + 20);
            laps.waited(now.since(before));
            before = now;
        }
        assert_eq!(laps.waits(), Some(waits(11 + 12, 40)));
    }

    #[test]
    fn laps_that_are_counted_follow_the_timed_ones_and_are_no_samples() {
        let mut laps = laps(1, 150, true);
        let mut last = None;
        while let Some(lap) = laps.advance().unwrap() {
            last = Some(lap);
            assert_eq!(
                laps.used().is_some(),
                lap > 150,
                "what they used is known by then"
            );
            laps.record(Duration::from_nanos(10));
        }
        assert_eq!((last, laps.begun()), (Some(250), 251));
        assert_eq!(laps.recorder().summary().unwrap().count, 150);
        assert!(laps.complete());
        let counters = laps.counters().unwrap();
        assert_eq!((counters.iterations, counters.time), (100, 1000));
    }

    #[test]
    fn nothing_is_counted_where_it_is_not_asked_for() {
        let mut laps = laps(0, 3, false);
        while laps.advance().unwrap().is_some() {
            laps.record(Duration::from_nanos(10));
        }
        assert_eq!((laps.begun(), laps.counters()), (3, None));
    }

    #[test]
    fn laps_that_were_cut_short_are_not_complete() {
        let mut laps = laps(0, 3, false);
        laps.advance().unwrap();
        laps.record(Duration::from_nanos(5));
        laps.advance().unwrap();
        laps.close().unwrap();
        assert!(!laps.complete() && laps.used().is_some());
        assert_eq!(laps.begun(), 2);
    }

    #[test]
    fn only_laps_between_the_warm_ups_and_the_counted_ones_are_timed() {
        let mut laps = laps(1, 2, true);
        let mut timed = Vec::new();
        while laps.advance().unwrap().is_some() {
            timed.push(laps.is_timed());
            laps.record(Duration::from_nanos(5));
        }
        assert_eq!(timed, [false, true, true, false, false]);
    }
}
