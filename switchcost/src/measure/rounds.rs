//! Rounds: every case once, each in a fresh process. All that fit are alive together and take turns; what
//! cannot, such as a size, runs alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{bail, ensure};
use contract::message::Description;
use contract::units::counted;
use facts::{Process, Record, Run, Side};
use humantime::format_duration;

use crate::measure::groups::{Group, groups_of};
use crate::measure::header::{self, command_line};
use crate::measure::pacing::{self, Aim, Pace, Wall};
use crate::measure::probe;
use crate::measure::store::{Contents, Store};
use crate::measure::turns::{self, Measured, Options, Seat};
use crate::plan::Case;
use crate::plan::programs::{Missing, Programs};
use crate::system::console::{self, shell_line};
use crate::system::lock::RunnerLock;
use crate::system::progress::Progress;
use crate::system::signals;

mod conclude;

/// A run of a plan: what it writes to, and what it has so far.
#[derive(Debug)]
pub struct Rounds {
    programs: Programs,
    store: Store,
    header: Arc<Run>,
    begun: Instant,
    records: Vec<Record>,
    done: HashSet<Place>,
    /// Cases that timed out under a budget, by their places and values: it has no room for more of that.
    given_up: HashSet<(u32, Option<u64>)>,
    /// Time that they took.
    lost: Duration,
    options: Options,
    /// Descriptions by case.
    described: BTreeMap<Identity, Option<Description>>,
    /// Iterations of a slice by case, as the first round found them.
    sizes: BTreeMap<Identity, u64>,
    pace: Option<Pace>,
    /// Time after which no group begins, from the first one on.
    limit: Option<Duration>,
    end: Option<Instant>,
    /// Kept, and not looked at.
    turn: Option<RunnerLock>,
    /// Error that ended it early.
    failure: Option<anyhow::Error>,
}

/// Most names of rows in a message.
const MOST_NAMES: usize = 3;

/// A case among those of a run: its place in the plan, the swept value, whether it is a twin, and the side of a duel.
type Identity = (u32, Option<u64>, bool, Option<Side>);

/// Place of a process in the run: the round and the case.
type Place = (u32, Identity);

fn identity(case: &Case) -> Identity {
    (case.index, case.x, case.twin, case.side)
}

impl Rounds {
    /// A run of these cases that begins now.
    ///
    /// # Errors
    /// When signals cannot be taken over.
    pub fn new(
        programs: Programs,
        store: Store,
        seed: u64,
        options: Options,
        cases: &[Case],
    ) -> anyhow::Result<Self> {
        signals::install()?;
        let machine = facts::machine::read();
        let header =
            Run::begin(command_line(), seed, machine, programs.build(), header::plan(cases));
        Ok(Rounds {
            programs,
            store,
            header: Arc::new(header),
            begun: Instant::now(),
            records: Vec::new(),
            done: HashSet::new(),
            given_up: HashSet::new(),
            lost: Duration::ZERO,
            options,
            described: BTreeMap::new(),
            sizes: BTreeMap::new(),
            pace: None,
            limit: None,
            end: None,
            turn: None,
            failure: None,
        })
    }

    /// The same, which answers this question.
    #[must_use]
    pub fn asking(mut self, question: Option<String>) -> Self {
        Arc::make_mut(&mut self.header).plan.question = question;
        self
    }

    /// The same as a duel of these two sides; `margin` is the largest change that counts as none.
    #[must_use]
    pub fn between(mut self, sides: [String; 2], margin: f64) -> Self {
        let header = Arc::make_mut(&mut self.header);
        (header.sides, header.margin) = (Some(sides), Some(margin));
        self
    }

    /// A run that goes on where a file ends. Processes that were interrupted or failed are run again.
    ///
    /// # Errors
    /// When it was made by another plan or with other options, on another machine or by another build.
    pub fn resume(mut self, earlier: Contents, cases: &[Case]) -> anyhow::Result<Self> {
        let Some(header) = earlier.runs.last() else {
            return Ok(self);
        };
        ensure!(earlier.runs.len() == 1, "it holds several runs");
        header::ensure_same(header, &self.header)?;
        let other = header::OTHER_PLAN;
        let mut known = HashMap::new();
        for case in cases {
            known.entry((case.index, case.x)).or_insert(case);
        }
        for record in earlier.records.iter().filter(|record| record.is_whole()) {
            let line = || shell_line([&record.program].into_iter().chain(&record.args));
            let Some(case) = known.get(&(record.case, record.x)) else {
                bail!("{other}: {}", line())
            };
            ensure!(case.args() == record.args, "{other}: {}", line());
            let identity = (record.case, record.x, record.twin, record.side);
            self.done.insert((record.round, identity));
            let size = record.slices.iter().map(|slice| slice.iterations).max();
            self.sizes.extend(size.map(|size| (identity, size)));
        }
        self.header = header.clone();
        let now = facts::record::milliseconds(SystemTime::now());
        let since = Duration::from_millis(now.saturating_sub(header.started));
        self.begun = self.begun.checked_sub(since).unwrap_or(self.begun);
        self.records = earlier.records;
        Ok(self)
    }

    /// Waits until no other runner measures on this machine, which costs nothing of the budget, and keeps
    /// others from it as long as this run lives. Then runs all rounds of the cases.
    ///
    /// Where there is a budget, rounds go on for about so long: the first one sizes the others, so that enough
    /// of them fit, and cases that do not fit are left out and named. What has run together is
    /// stored as soon as it has ended; a signal ends it early, and then it is stored as interrupted.
    ///
    /// # Errors
    /// When nothing was measured; if something was, [`Rounds::conclude`] tells the error, when that
    /// is printed. A program that fails is a record with an error.
    pub fn run(&mut self, cases: Vec<Case>, budget: Option<Duration>) -> anyhow::Result<()> {
        let all = |_: u32, cases: &[Case], _: &[Record]| vec![true; cases.len()];
        self.run_some(cases, budget, &pacing::PLAN, all)
    }

    /// Runs all rounds of the cases, as many as their plan says. After `limit` no group of programs begins but the
    /// first: sizes of which nobody knows what they take are begun with the smallest.
    ///
    /// # Errors
    /// As [`Rounds::run`].
    pub fn run_within(&mut self, cases: Vec<Case>, limit: Option<Duration>) -> anyhow::Result<()> {
        self.limit = limit;
        self.run(cases, None)
    }

    /// The same, but `wanted` says before each round which cases take part in it; without any it ends.
    ///
    /// # Errors
    /// As [`Rounds::run`].
    pub fn run_some(
        &mut self,
        cases: Vec<Case>,
        budget: Option<Duration>,
        aim: &Aim,
        wanted: impl FnMut(u32, &[Case], &[Record]) -> Vec<bool>,
    ) -> anyhow::Result<()> {
        self.turn = RunnerLock::acquire();
        let outcome = self.run_all(cases, budget, aim, wanted).and_then(|()| self.store.sync());
        if self.records.is_empty() {
            outcome?;
            bail!("nothing was measured");
        }
        self.failure = outcome.err();
        Ok(())
    }

    fn run_all(
        &mut self,
        mut cases: Vec<Case>,
        budget: Option<Duration>,
        aim: &Aim,
        mut wanted: impl FnMut(u32, &[Case], &[Record]) -> Vec<bool>,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        self.end = self.limit.map(|limit| begun + limit);
        if let Some(budget) = budget.or(self.limit) {
            self.options = self.options.clone().within(begun, budget);
        }
        let last = cases.iter().map(|case| case.rounds).max().unwrap_or(0);
        let all: usize = cases.iter().map(|case| case.rounds as usize).sum();
        let mut progress = match budget {
            Some(budget) => Progress::until(begun + budget),
            None => Progress::new(all.saturating_sub(self.done.len()), last),
        };
        self.describe(&cases);
        let earlier =
            self.records.iter().flat_map(|record| &record.slices).map(|s| s.turn + 1).max();
        self.pace = budget.map(|_| Pace { turns: earlier.unwrap_or(aim.first) });
        for round in 0..last {
            let started = Instant::now();
            let chosen = wanted(round, &cases, &self.records);
            if !chosen.contains(&true) {
                break;
            }
            let walls = self.run_round(&cases, &chosen, round, &mut progress)?;
            if signals::received().is_some() || self.is_over() {
                break;
            }
            let Some(budget) = budget else { continue };
            // What hung took no time of the others.
            let spent = begun.elapsed().saturating_sub(self.lost);
            let left = budget.saturating_sub(spent);
            if round > 0 && round + 1 < aim.fewest && !aim.leaves_out {
                self.pace = self.pace.map(|pace| pace.slowed(&cases, &walls, left, round, aim));
            }
            if round == 0 && walls.iter().any(Option::is_some) {
                self.pace = Some(Pace::of(&cases, &walls, left, aim));
                if aim.leaves_out {
                    self.leave_out_what_is_too_long(&mut cases, &walls, left, budget, aim);
                }
                let least = (spent + pacing::least(&cases, &walls, round, aim)).as_secs();
                if least > budget.as_secs() * 4 / 3 {
                    let fewest = aim.fewest;
                    console::say(format_args!("{fewest} rounds take about {least} s here"));
                }
                if aim.leaves_out && left.is_zero() {
                    break;
                }
            }
            // Half of a round too much is better than half of one too little.
            let is_due = spent + started.elapsed() / 2 >= budget;
            let is_done = |case: &Case| case.rounds <= round + 1 || self.is_given_up(case);
            if cases.iter().all(is_done) || round + 1 >= aim.fewest && is_due {
                break;
            }
        }
        match budget.or(self.limit).filter(|_| signals::received().is_none()) {
            Some(budget) => self.leave_out_what_has_not_begun(&cases, budget),
            None => Ok(()),
        }
    }

    /// True if no time is left for another group.
    fn is_over(&self) -> bool {
        let end = if self.lost.is_zero() { self.end } else { self.end.or(self.options.end) };
        end.is_some_and(|end| Instant::now() >= end)
    }

    /// True if a case is not to be started again.
    fn is_given_up(&self, case: &Case) -> bool {
        self.given_up.contains(&(case.index, case.x))
    }

    /// Stores which cases there was no time for.
    fn leave_out_what_has_not_begun(
        &mut self,
        cases: &[Case],
        budget: Duration,
    ) -> anyhow::Result<()> {
        let begun: HashSet<_> = self.records.iter().map(|record| (record.case, record.x)).collect();
        let reason = format!("not begun within the --budget of {}", format_duration(budget));
        for case in cases.iter().filter(|case| !begun.contains(&(case.index, case.x))) {
            self.leave_out(case, &reason)?;
        }
        Ok(())
    }

    /// Asks the programs that can take turns what they need.
    fn describe(&mut self, cases: &[Case]) {
        let mut known: BTreeMap<_, Option<Description>> = BTreeMap::new();
        for case in cases.iter().filter(|case| !case.is_alone()) {
            let setting = case.setting.to_string();
            let line = (case.side, case.program.clone(), case.flags.clone(), setting);
            let program = self.programs.of(case);
            let description = known.entry(line).or_insert_with(|| {
                // What it refuses is told when it runs.
                signals::received()
                    .is_none()
                    .then(|| probe::describe(program.ok()?, &case.flags, &case.setting).ok())?
            });
            self.described.insert(identity(case), description.clone());
        }
    }

    /// Removes cases that a budget has no room for, and names them.
    fn leave_out_what_is_too_long(
        &self,
        cases: &mut Vec<Case>,
        walls: &[Option<Wall>],
        left: Duration,
        budget: Duration,
        aim: &Aim,
    ) {
        let dropped = pacing::retain(cases, walls, [left, budget], aim);
        if !dropped.is_empty() {
            console::say(format_args!("{}", in_one_round(&dropped, budget)));
        }
    }

    /// Runs one round as far as no signal ends it. Returns the time of each case; `None` if it was not
    /// run.
    fn run_round(
        &mut self,
        cases: &[Case],
        chosen: &[bool],
        round: u32,
        progress: &mut Progress,
    ) -> anyhow::Result<Vec<Option<Wall>>> {
        let mut walls = vec![None; cases.len()];
        let mut rng =
            fastrand::Rng::with_seed(self.header.seed.wrapping_add(u64::from(round) << 32));
        let due: Vec<usize> = (0..cases.len())
            .filter(|&k| {
                chosen[k]
                    && round < cases[k].rounds
                    && !self.done.contains(&(round, identity(&cases[k])))
                    && !self.is_given_up(&cases[k])
            })
            .collect();
        let mut groups = groups_of(cases, &due, |k| {
            self.described.get(&identity(&cases[k])).and_then(Option::as_ref)
        });
        rng.shuffle(&mut groups);
        if self.end.is_some() && round == 0 {
            groups.sort_by_key(|group| group.iter().flatten().map(|&k| cases[k].x).max());
        }
        let mut order = 0;
        for group in groups {
            if signals::received().is_some() || !self.records.is_empty() && self.is_over() {
                break;
            }
            let begun = Instant::now();
            let members: Vec<usize> = group.concat();
            let measured = self.measure(cases, &group, round, progress, &mut rng);
            let all = || measured.iter().flatten();
            let slices = all().flat_map(|measured| &measured.process.slices);
            let timed = Duration::from_micros(slices.map(|slice| slice.window).sum());
            let lost: Duration = all().filter_map(|measured| measured.lost).sum();
            self.lost += lost;
            let fixed = begun.elapsed().saturating_sub(timed + lost);
            for (&place, measured) in members.iter().zip(measured) {
                let Some(Measured { process, lost }) = measured else { continue };
                if lost.is_none() {
                    walls[place] = Some(Wall::of(&process, fixed / members.len() as u32));
                } else if self.options.end.is_some() {
                    self.given_up.insert((cases[place].index, cases[place].x));
                }
                let size = process.slices.iter().map(|slice| slice.iterations).max();
                self.sizes.extend(size.map(|size| (identity(&cases[place]), size)));
                self.keep(&cases[place], process, round, order)?;
                order += 1;
                progress.advance();
            }
        }
        if signals::received().is_some() {
            let partial =
                self.records.iter().filter(|record| record.round == round && record.partial);
            let partial = partial.count();
            if partial > 0 {
                console::say(format_args!(
                    "interrupted in round {}: {} left out",
                    round + 1,
                    counted(partial, "unfinished process")
                ));
            }
        }
        Ok(walls)
    }

    /// Measures a group; processes in the order of its places.
    fn measure(
        &self,
        cases: &[Case],
        group: &Group,
        round: u32,
        progress: &Progress,
        rng: &mut fastrand::Rng,
    ) -> Vec<Option<Measured>> {
        let members: Vec<usize> = group.concat();
        // A case whose program is not there has no seat.
        let has_seat = |k: &usize| self.programs.of(&cases[*k]).is_ok();
        let seated: Vec<usize> = members.iter().copied().filter(has_seat).collect();
        let seat = |&k: &usize| {
            let (case, program) = (&cases[k], self.programs.of(&cases[k]).ok()?);
            let iterations = self.sizes.get(&identity(case)).copied();
            let slices = self.pace.filter(|_| !case.is_alone()).map(|pace| pace.turns);
            let described = self.described.get(&identity(case)).and_then(Option::as_ref);
            Some(Seat { case, program, described, iterations, slices })
        };
        let seats: Vec<Seat<'_>> = seated.iter().filter_map(seat).collect();
        let place = |k: &usize| seated.iter().position(|other| other == k);
        let blocks: Vec<Vec<usize>> =
            group.iter().map(|block| block.iter().filter_map(place).collect()).collect();
        let name = match &members[..] {
            [one] => cases[*one].cell.name(),
            many => format!("{} programs take turns", many.len()),
        };
        progress.show(round, &name);
        let tell = |turn, turns| progress.show(round, &format!("{name}: turn {turn} of {turns}"));
        let measured = turns::measure(&seats, &blocks, &self.options, self.begun, rng, tell);
        let mut measured = measured.into_iter();
        let unseated = |process| Some(Measured { process, lost: None });
        let outcome = |&k: &usize| match self.programs.of(&cases[k]) {
            Ok(_) => measured.next().flatten(),
            Err(Missing::Unavailable(why)) => unseated(left_out(&cases[k], why.to_string())),
            Err(Missing::Failed(why)) => unseated(failed(&cases[k], why)),
        };
        members.iter().map(outcome).collect()
    }

    /// Puts a process into its place in the run, and stores it.
    fn keep(
        &mut self,
        case: &Case,
        mut process: Process,
        round: u32,
        order: u32,
    ) -> anyhow::Result<()> {
        if self.records.is_empty() {
            self.store.begin(&self.header)?;
        }
        process.run = self.header.id;
        process.case = case.index;
        (process.round, process.order) = (round, order);
        (process.twin, process.side, process.x) = (case.twin, case.side, case.x);
        self.store.append(&process)?;
        let record = Record::new(self.header.clone(), process).map_err(anyhow::Error::msg)?;
        self.records.push(record);
        Ok(())
    }

    /// Stores that a case is not run, and why, so that the file tells what is missing.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn leave_out(&mut self, case: &Case, reason: &str) -> anyhow::Result<()> {
        if self.failure.is_some() {
            return Ok(());
        }
        let process = left_out(case, reason.to_owned());
        self.keep(case, process, 0, 0)
    }

    /// The file they are in.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The records so far.
    pub fn records(&self) -> &[Record] {
        &self.records
    }
}

/// Says of which rows a budget had room for one round alone.
fn in_one_round(rows: &[String], budget: Duration) -> String {
    let mut names = rows.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>();
    names.extend(rows.len().checked_sub(MOST_NAMES + 1).map(|more| format!("{} more", more + 1)));
    format!(
        "measured in one round alone, since more would take most of {} s: {} ({}); `switchcost run` with a larger \
         --budget has room",
        budget.as_secs(),
        counted(rows.len(), "row"),
        names.join("; ")
    )
}

/// A process that was not tried.
fn left_out(case: &Case, reason: String) -> Process {
    Process { not_run: Some(reason), ..Process::of(&case.program, case.flags.clone()) }
}

/// A process that never ran.
fn failed(case: &Case, reason: String) -> Process {
    Process { error: Some(reason), ..Process::of(&case.program, case.flags.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_round_are_counted_and_three_are_named() {
        let names = ["a", "b", "c", "d", "e"].map(str::to_owned);
        for (count, words) in
            [(1, "of 7 s: 1 row (a);"), (3, "3 rows (a; b; c);"), (5, "5 rows (a; b; c; 2 more);")]
        {
            let line = in_one_round(&names[..count], Duration::from_secs(7));
            assert!(line.contains(words) && line.contains("--budget"), "{line}");
        }
    }
}
