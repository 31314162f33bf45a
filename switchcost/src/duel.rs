//! Two builds in turns: what has changed, on a machine that never stands still.
//!
//! Rows take turns as well, a pair at a time, so that each of them sees the whole of the duel's time.
//! How many pairs there are is decided by the clock, never by what they show.

use std::time::{Duration, Instant};

use observe::interference;

use crate::executable::Executable;
use crate::plan::Case;
use crate::setting::Cpus;
use crate::signals;

mod build;
pub mod judge;
mod pair;
pub mod side;
mod slope;

use judge::{Fault, MIN_PAIRS, Row};
use pair::{Pace, Stop, Turns};
use slope::Lines;

/// Fewest twins of a row.
const MIN_TWINS: usize = 3;

/// One of so many pairs is a twin: a third of the time of the others.
const TWIN_OF: usize = 4;

/// Standard deviation of a pair's log ratio as it was seen, pinned and not: docs/METHODOLOGY.md.
const USUAL_SD: [f64; 2] = [0.03, 0.06];

/// The same of memory per task.
const USUAL_SD_OF_MEMORY: f64 = 0.01;

/// A row of the duel under way.
#[derive(Debug)]
pub struct LiveRow {
    /// One, or those of a slope.
    cases: Vec<Case>,
    programs: [Executable; 2],
    row: Row,
    pace: Option<Pace>,
    /// Time of all its pairs.
    spent: Duration,
    stolen: Duration,
}

/// Settings of a duel.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Time for all rows.
    pub budget: Duration,
    /// Most pairs of a row.
    pub most: usize,
    /// Time after which a process is ended.
    pub timeout: Duration,
    /// Seed of all orders.
    pub seed: u64,
}

/// What a row will be able to show.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// Its name.
    pub name: String,
    /// Pairs that there is time for.
    pub pairs: usize,
    /// Smallest change of its time, or of its memory, as a share.
    pub change: Option<f64>,
}

impl LiveRow {
    /// A row between the first side's program and the second's: a case and, where it is a slope, others
    /// with other numbers of tasks.
    pub fn new(case: Case, others: Vec<Case>, programs: [Executable; 2]) -> Self {
        LiveRow {
            row: row(&case, None),
            cases: slope::counts([vec![case], others].concat()),
            programs,
            pace: None,
            spent: Duration::ZERO,
            stolen: Duration::ZERO,
        }
    }

    fn is_memory(&self) -> bool {
        self.cases.len() > 1
    }

    fn is_pinned(&self) -> bool {
        self.cases.iter().any(|case| case.pin)
    }

    fn done(&self) -> usize {
        self.row.pairs.len() + self.row.twins.len()
    }

    fn is_enough(&self) -> bool {
        self.row.pairs.len() >= MIN_PAIRS && self.row.twins.len() >= MIN_TWINS
    }

    /// Time of one pair.
    fn cost(&self) -> Duration {
        self.spent / self.done().max(1) as u32
    }

    /// Time of all pairs that a verdict takes.
    fn least(&self) -> Duration {
        self.cost() * (MIN_PAIRS + MIN_TWINS) as u32
    }

    /// Measures one more pair, or a twin; `share` is the row's part of the budget. False where a signal
    /// asks to stop.
    fn advance(&mut self, options: &Options, share: Duration, rng: &mut fastrand::Rng) -> bool {
        let is_twin = self.done() % TWIN_OF == TWIN_OF / 2;
        let [a, b] = &self.programs;
        let sides = if is_twin { [("A", a), ("A", a)] } else { [("A", a), ("B", b)] };
        let timeout = options.timeout;
        let (begun, before) = (Instant::now(), self.stolen_so_far());
        let outcome = match &self.cases[..] {
            [case] => {
                let turns = Turns { case, sides, timeout, budget: options.budget, share };
                turns.measure(&mut self.pace, rng)
            }
            cases => Lines { cases, sides, timeout }.measure(rng),
        };
        self.spent += begun.elapsed();
        self.stolen += self.stolen_so_far().saturating_sub(before);
        match outcome {
            Ok(pair) if is_twin => self.row.twins.push(pair),
            Ok(pair) => self.row.pairs.push(pair),
            Err(Stop::Interrupted) => return false,
            Err(Stop::Failed(error)) => self.row.fault = Some(Fault::Failed(error)),
            Err(Stop::TooLong(all)) => self.leave_out(all),
        }
        true
    }

    fn leave_out(&mut self, all: Duration) {
        self.row.fault = Some(Fault::TooLong(all.as_secs() + 1));
    }

    /// CPUs that its processes may use.
    fn cpus(&self) -> Vec<u32> {
        let all = Cpus::allowed().map_or(Vec::new(), |cpus| cpus.list().to_vec());
        let most = if self.is_pinned() { 1 } else { all.len() };
        all.into_iter().take(most).collect()
    }

    /// Time that others got of them; nothing where the system does not tell.
    fn stolen_so_far(&self) -> Duration {
        Duration::from_nanos(interference::stolen(&self.cpus()).unwrap_or(0))
    }

    /// The row as it can be judged.
    pub fn into_row(mut self) -> Row {
        let all = self.spent.as_secs_f64() * self.cpus().len() as f64;
        self.row.stolen = self.stolen.as_secs_f64() / all.max(1e-9);
        self.row
    }
}

/// A row without pairs.
pub fn row(case: &Case, left_out: Option<String>) -> Row {
    Row {
        section: case.section.title.clone(),
        name: case.cell.name(),
        fault: left_out.map(Fault::LeftOut),
        ..Row::default()
    }
}

/// Measures the first pair of each row, and leaves out those that are too long for the budget: returns
/// what the others will be able to show.
pub fn begin(live_rows: &mut [LiveRow], options: &Options) -> Vec<Forecast> {
    let mut rng = fastrand::Rng::with_seed(options.seed);
    let share = options.budget / live_rows.len().max(1) as u32;
    let mut order: Vec<&mut LiveRow> = live_rows.iter_mut().collect();
    rng.shuffle(&mut order);
    for live in &mut order {
        if signals::received().is_some() || !live.advance(options, share, &mut rng) {
            return Vec::new();
        }
    }
    order.retain(|live| live.row.fault.is_none());
    order.sort_by_key(|live| live.least());
    let mut all = Duration::ZERO;
    for live in order {
        all += live.least();
        // The shortest row is measured in any case.
        if all > options.budget && all > live.least() {
            live.leave_out(live.least());
        }
    }
    forecasts(live_rows, options)
}

/// What rows show that have the same time each, and not less than a verdict takes.
fn forecasts(live_rows: &[LiveRow], options: &Options) -> Vec<Forecast> {
    let rest: Vec<&LiveRow> = live_rows.iter().filter(|c| c.row.fault.is_none()).collect();
    let each = options.budget.as_secs_f64() / rest.len().max(1) as f64;
    let forecast = |live: &&LiveRow| {
        let all = each / live.cost().as_secs_f64().max(1e-9);
        let pairs = (all * (1.0 - 1.0 / TWIN_OF as f64)) as usize;
        let pairs = pairs.min(options.most).max(MIN_PAIRS);
        let sd = match live.is_memory() {
            true => USUAL_SD_OF_MEMORY,
            false => USUAL_SD[usize::from(!live.is_pinned())],
        };
        Forecast {
            name: live.row.name.clone(),
            pairs,
            change: judge::smallest_change(sd, pairs, rest.len()),
        }
    };
    rest.iter().map(forecast).collect()
}

/// Measures pairs until the budget is used up and each row has what a verdict takes, or a signal asks to
/// stop. `tell` is called before each pair.
pub fn measure(
    live_rows: &mut [LiveRow],
    options: &Options,
    begun: Instant,
    mut tell: impl FnMut(&str),
) {
    // Not the orders of the first pairs again.
    let mut rng = fastrand::Rng::with_seed(options.seed.wrapping_add(1 << 32));
    let share = options.budget / live_rows.len().max(1) as u32;
    loop {
        let left = options.budget.saturating_sub(begun.elapsed());
        let next = live_rows
            .iter_mut()
            .filter(|c| c.row.fault.is_none())
            .filter(|c| !c.is_enough() || c.cost() <= left && c.row.pairs.len() < options.most)
            .min_by_key(|c| match c.is_enough() {
                false => (false, c.done() as u128),
                true => (true, c.spent.as_nanos()),
            });
        let Some(live) = next else {
            return;
        };
        tell(&live.row.name);
        if signals::received().is_some() || !live.advance(options, share, &mut rng) {
            return;
        }
    }
}
