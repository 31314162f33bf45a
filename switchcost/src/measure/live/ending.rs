//! The end of a live program: what its slices came to, what is not timed, and its last answer.

use std::time::Instant;

use contract::message::{COUNTED, MOST_SAMPLES, Usage};
use observe::{counters, memory};
use record::{Counters, Memory, Metric, Samples, merge};

use host::units::counted;

use super::Live;
use crate::measure::child::Ended;
use crate::measure::session::Session;
use crate::system::signals;

impl Live {
    /// Sums up the slices, asks for what is not timed, and ends it; `None` if no time was left for it. `are_short` if the
    /// time was up before all slices had run.
    pub(in crate::measure) fn end(mut self, are_short: bool) -> Option<Self> {
        self.attempt(|_, session| session.ensure_placed());
        let count = self.trial.slices.len() as u32;
        let has_begun = self.trial.description.is_some();
        let is_told = has_begun || self.has_failed() || self.trial.partial;
        if !is_told || are_short && count == 0 && self.slices() > 0 {
            return None;
        }
        self.trial.partial |= !are_short && count < self.slices();
        if count > 0 {
            self.sum_up();
            self.trial.samples = Samples::of(&self.tally.samples);
            self.trial.thirds = self.tally.thirds();
            self.trial.output = self.tally.runs.output.take();
            self.trial.peak_is_bound = self.tally.runs.peak_is_bound;
        }
        if !self.trial.partial && signals::received().is_none() {
            self.attempt(Live::ask_further);
        }
        if let Some(mut session) = self.session.take() {
            let begun = Instant::now();
            self.conclude(session.child.end().map_err(Into::into), begun);
        }
        if !self.row.metrics().any(Metric::is_life) {
            let trial = &mut self.trial;
            (trial.setup_ns, trial.first_ns, trial.teardown_ns) = (None, None, None);
        }
        if let (Some(error), Some(samples)) = (&mut self.trial.error, &self.trial.samples) {
            *error += &format!("; timed before: {}", counted(samples.count, "iteration"));
        }
        Some(self)
    }

    fn sum_up(&mut self) {
        if self.session.is_none() {
            return;
        }
        let (time, counts) = self.tally.timed(self.is_open_loop());
        let ((usage_before, moves_before), (usage, moves)) = (&self.before, self.totals());
        let usage = usage_before.as_ref().and_then(|then| usage?.since(then));
        let moves = moves_before.as_ref().and_then(|then| moves?.since(then));
        self.trial.migrations = moves.map(|moves| scaled(moves, counts));
        // It does not count its own, or children do the work.
        let outside = usage.map(|usage| Usage {
            user_ns: scaled(usage.user_ns, time),
            system_ns: scaled(usage.system_ns, time),
            ..usage.with(usage, |count, _| scaled(count, counts))
        });
        self.trial.usage = self.tally.used.or(outside);
    }

    /// Asks for what is not timed, and for the end of its tasks.
    fn ask_further(&mut self, session: &mut Session) -> anyhow::Result<()> {
        let effort = &self.row.effort;
        for pass in &effort.passes {
            let ran = session.run(effort.iters.min(MOST_SAMPLES), Some(pass))?;
            merge(&mut self.trial.extra, ran.extra);
            let samples = Samples::of(&ran.samples);
            self.trial.extra.extend(samples.map(|samples| (pass.clone(), samples.distribution)));
        }
        if let Some(change) = &mut self.trial.memory {
            let [peak_resident, peak_virtual] = memory::peaks(&self.pids);
            let held = change.held.unwrap_or_default();
            change.held = Some(Memory { peak_resident, peak_virtual, ..held });
        }
        if self.counts_events && !self.is_fresh() {
            self.trial.counters = Some(self.count(session)?);
        }
        let (teardown_ns, extra) = session.take_down()?;
        self.trial.teardown_ns = teardown_ns;
        merge(&mut self.trial.extra, extra);
        Ok(())
    }

    /// Counts events in a further run: a tenth of the iterations, but a hundred if there are as many,
    /// since counts hardly vary. Of an open loop, a few windows, in the pass that it keeps for that.
    fn count(&self, session: &mut Session) -> anyhow::Result<Counters> {
        let iters = self.row.effort.iters;
        let (aim, least) = match self.pace {
            Some(pace) if self.is_open_loop() => (pace.settling, 1),
            _ => (iters / 10, 100),
        };
        let iterations = aim.max(least).min(iters).min(MOST_SAMPLES);
        let passes = self.trial.description.iter().flat_map(|said| &said.passes);
        let pass = passes.map(|pass| &pass.name).find(|name| *name == COUNTED);
        let counting = counters::attach(&self.pids, false);
        let ran = session.run(iterations, pass)?;
        Ok(Counters { iterations: ran.samples.len() as u64, ..counting.finish() })
    }

    /// Takes its end into its record: the cause of a fault, or an interruption.
    pub(super) fn conclude(&mut self, ended: anyhow::Result<Ended>, begun: Instant) {
        let trial = &mut self.trial;
        match ended {
            Ok(ended) => {
                self.lost = ended.is_overdue.then(|| begun.elapsed());
                trial.partial |= ended.is_interrupted && !ended.status.success();
                trial.stderr = ended.error.as_ref().and_then(|_| ended.all_words());
                trial.left_behind = ended.left.or(self.tally.runs.left.take());
                trial.error = ended.error;
            }
            Err(e) => trial.error = Some(e.to_string()),
        }
    }
}

fn scaled(count: u64, share: f64) -> u64 {
    (count as f64 * share).round() as u64
}
