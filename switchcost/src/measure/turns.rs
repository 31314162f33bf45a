//! A group of live programs that take turns.
//!
//! Each turn runs one slice of each program, in an order shuffled anew; programs that are compared lie next
//! to each other. Never two slices at once: the others wait for their standard input.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use contract::message::Description;
use facts::{CacheLine, Process, Side, cache_line, interference};
use nix::sched::sched_setaffinity;
use nix::unistd::Pid;

use super::around::{Around, Within};
use super::live::Live;
use super::watch::{Look, Watch, drawn};
use crate::plan::Case;
use crate::plan::scheduling::Cpus;
use crate::system::executable::Executable;
use crate::system::signals;

/// Length of a slice: in longer ones the machine changes, shorter ones are mostly settling.
pub const SLICE: Duration = Duration::from_millis(8);

/// Time that a program may take to answer or to end, if neither a user nor a budget limits it.
const USUAL: Duration = Duration::from_secs(600);

/// CPUs that this process might use when it began to measure.
static FIRST: OnceLock<Option<Cpus>> = OnceLock::new();

/// How programs are measured.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Time after which a program is ended; [`USUAL`] if there is none.
    pub timeout: Option<Duration>,
    /// Time after which a group ends its turns: what has begun one has it, what has none is left out.
    pub end: Option<Instant>,
    /// True if each sample is kept.
    pub keep_samples: bool,
    /// True if events are counted in a further run.
    pub counters: bool,
    /// Commands around each side of a duel.
    pub around: [Around; 2],
}

impl Options {
    /// Nothing but figures.
    pub fn new(timeout: Option<Duration>) -> Self {
        Options { timeout, ..Options::default() }
    }

    /// Time that a program may take to answer or to end.
    pub(super) fn limit(&self) -> Duration {
        self.timeout.unwrap_or(USUAL)
    }

    /// The same for a run that began then with this budget, which the last group may exceed by what an answer may
    /// take: unless it is given a quarter of the budget, since an interval takes five rounds, and 10 s in any case.
    #[must_use]
    pub fn within(self, begun: Instant, budget: Duration) -> Self {
        let most = (budget / 4).max(Duration::from_secs(10)).min(USUAL);
        let timeout = self.timeout.unwrap_or(most);
        Options { timeout: Some(timeout), end: Some(begun + budget + timeout), ..self }
    }
}

/// A program of a group, and what is asked of it.
#[derive(Clone, Debug)]
pub struct Seat<'a> {
    /// Its command line and setting.
    pub case: &'a Case,
    /// Its executable.
    pub program: &'a Executable,
    /// Its description of the command line, if it was asked for it.
    pub described: Option<&'a Description>,
    /// Iterations of a slice; `None` to find out how many make up [`SLICE`].
    pub iterations: Option<u64>,
    /// Most slices; `None` for as many as the case has iterations.
    pub slices: Option<u32>,
}

/// A process that was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its record.
    pub process: Process,
    /// Time that it took until it was ended, if it took longer than it may.
    pub lost: Option<Duration>,
}

/// Measures a group whose programs are all alive: `blocks` names the seats that are compared. Records come
/// in the seats' order, without those for which no time was left. Whatever fails is an error of its process, and the others go on; a signal leaves what
/// was measured marked as partial.
pub fn measure(
    seats: &[Seat<'_>],
    blocks: &[Vec<usize>],
    options: &Options,
    begun: Instant,
    rng: &mut fastrand::Rng,
    mut tell: impl FnMut(u32, u32),
) -> Vec<Option<Measured>> {
    let allowed = ensure_same_cpus();
    let mut lives: Vec<Live<'_>> =
        seats.iter().map(|seat| Live::new(seat, allowed.as_ref().ok())).collect();
    if let Err(why) = &allowed {
        lives.iter_mut().for_each(|live| live.fail(why));
    }
    let lines = cache_lines(&lives);
    let mut order: Vec<usize> = (0..lives.len()).collect();
    rng.shuffle(&mut order);
    let mut within = Within::none(&options.around, options.limit());
    if !within.is_plain() {
        order.sort_by_key(|&k| seats[k].case.side);
    }
    for &k in &order {
        if is_over(&lives, options.end) {
            lives[k].leave_out();
        }
        let is_due = signals::received().is_none() && lives[k].process.error.is_none();
        if is_due && enter(&mut lives, k, &mut within).is_some() {
            lives[k].begin(options);
        }
    }
    let mut watch = Watch::new(begun, lives.iter().flat_map(|live| live.cpus.clone()));
    let before = interference::totals();
    for live in &mut lives {
        live.set_out();
    }
    take_turns(&mut lives, blocks, options.end, &mut watch, &mut within, rng, &mut tell);
    drop(within);
    let since = interference::totals().since(before);
    for live in &mut lives {
        live.sum_up(options, since);
    }
    for live in &mut lives {
        live.finish(options);
    }
    let lines: Vec<CacheLine> = lines
        .into_iter()
        .map(|mut line| {
            cache_line::measure_again(&mut line);
            line
        })
        .collect();
    let account = watch.account();
    lives.into_iter().map(|live| live.into_measured(account, &lines)).collect()
}

/// True if programs that timed out have brought a group to the end of its time.
fn is_over(lives: &[Live<'_>], end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end) && lives.iter().any(|live| live.lost.is_some())
}

/// CPUs that this process may use: those with which it began, since programs inherit them.
fn ensure_same_cpus() -> Result<Cpus, String> {
    let allowed = || Cpus::allowed().map_err(|e| format!("cannot read the CPUs: {e}"));
    let first = FIRST.get_or_init(|| allowed().ok());
    let Some(first) = first else { return allowed() };
    if allowed()? != *first {
        // What taskset(1) has changed is undone; another cpuset is not.
        let _ = first.set().and_then(|set| sched_setaffinity(Pid::from_raw(0), &set));
    }
    let now = allowed()?;
    if now == *first {
        return Ok(now);
    }
    Err(format!("the CPUs of switchcost were changed, from {first} to {now}"))
}

/// Has the commands of a program's side stand; true if one was run, `None` if it failed. A side whose command
/// fails has its programs ended.
fn enter(lives: &mut [Live<'_>], k: usize, within: &mut Within<'_>) -> Option<bool> {
    loop {
        let (side, why) = match within.enter(lives[k].side()) {
            Ok(has_run) => return Some(has_run),
            Err(failed) => failed,
        };
        let own = lives.iter_mut().filter(|live| live.side() == Some(side));
        own.for_each(|live| live.fail(&why));
        if lives[k].side() == Some(side) {
            return None;
        }
    }
}

/// Round trips of a cache line between CPUs in use, measured once for programs with the same CPUs.
fn cache_lines(lives: &[Live<'_>]) -> Vec<CacheLine> {
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    for live in lives {
        if let [one, other, ..] = live.cpus[..]
            && !pairs.contains(&[one as usize, other as usize])
        {
            pairs.push([one as usize, other as usize]);
        }
    }
    pairs.iter().filter_map(|pair| cache_line::measure(pair)).collect()
}

/// Runs all slices, or those that begin before `end`; the first turn is over in any case, unless programs hang in it.
fn take_turns(
    lives: &mut [Live<'_>],
    blocks: &[Vec<usize>],
    end: Option<Instant>,
    watch: &mut Watch,
    within: &mut Within<'_>,
    rng: &mut fastrand::Rng,
    tell: &mut impl FnMut(u32, u32),
) {
    let turns = lives.iter().map(|live| live.slices).max().unwrap_or(0);
    let mut last: Option<Look> = None;
    for turn in 0..turns {
        if turn > 0 && end.is_some_and(|end| Instant::now() >= end) {
            lives.iter_mut().for_each(Live::stop_short);
            return;
        }
        tell(turn, turns);
        let mut order = order(lives, blocks, turn, turns, rng);
        if !within.is_plain() {
            let first = if rng.bool() { Side::A } else { Side::B };
            order.sort_by_key(|&k| lives[k].side() != Some(first));
        }
        for k in order {
            if signals::received().is_some() {
                return;
            }
            if lives[k].session.is_none() {
                continue;
            }
            if is_over(lives, end) {
                lives.iter_mut().for_each(Live::stop_short);
                return;
            }
            match enter(lives, k, within) {
                Some(false) => {}
                Some(true) => last = None,
                None => continue,
            }
            let probed = drawn(&lives[k].cpus, rng);
            let is_spread = lives[k].cpus.len() > 1;
            // The look after one slice is that before the next, if it has all that this one needs.
            let before = match last.take() {
                Some(look) if look.covers(&probed, is_spread) => look,
                _ => watch.look(&probed, is_spread),
            };
            last = lives[k].slice(turn, k, before, &probed, watch);
            if let Some(after) = &last {
                watch.close(after, |(cell, slice), others| {
                    lives[cell].process.slices[slice].others = Some(others);
                });
            }
        }
    }
}

/// The programs of a turn in a new order: blocks shuffled, and each block in itself. One that has fewer
/// slices than there are turns is in some, evenly spread.
fn order(
    lives: &[Live<'_>],
    blocks: &[Vec<usize>],
    turn: u32,
    turns: u32,
    rng: &mut fastrand::Rng,
) -> Vec<usize> {
    let is_due = |&k: &usize| {
        let until = |turn: u32| u64::from(turn) * u64::from(lives[k].slices) / u64::from(turns);
        until(turn + 1) > until(turn)
    };
    let mut blocks: Vec<Vec<usize>> = blocks.to_vec();
    rng.shuffle(&mut blocks);
    let shuffled = |mut block: Vec<usize>| {
        rng.shuffle(&mut block);
        block
    };
    blocks.into_iter().flat_map(shuffled).filter(is_due).collect()
}

#[cfg(test)]
mod tests;
