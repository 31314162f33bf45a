//! Rounds: every row once, each in a fresh process. All that fit are alive together and take turns; what
//! cannot, such as a size, runs alone.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use contract::message::Description;
use humantime::format_duration;
use record::{Command, Group, Place, Record, Row, Run, Side, Trial, Why};

use crate::measure::groups::groups_of;
use crate::measure::pace::Pace;
use crate::measure::pacing::{Aim, FIRST_SLICES, Wall};
use crate::measure::privacy::Privacy;
use crate::measure::probe;
use crate::measure::store::Store;
use crate::measure::turns::{self, Live, Options, SideOrder, is_past};
use crate::plan::lineup::Lineup;
use crate::plan::programs::Programs;
use crate::system::progress::Progress;
use crate::system::{lock, signals};

mod conclude;
mod keep;

/// A run of a plan: what it writes to, and what it has so far.
#[derive(Debug)]
pub struct Rounds {
    programs: Programs,
    pub store: Store,
    /// What all records share.
    pub header: Arc<Run>,
    privacy: Privacy,
    rows: Vec<Row>,
    /// Number of groups so far.
    groups: u32,
    /// The records so far.
    pub records: Vec<Record>,
    /// Places, on the first side, with a trial that timed out in a limited time. It has no room for more such trials.
    given_up: HashSet<Place>,
    lost: Duration,
    /// When no group but the first begins any more, if the time is a limit.
    last_start: Option<Instant>,
    options: Options,
    described: BTreeMap<Place, Description>,
    /// How each row takes its turns, as the first round found.
    paces: BTreeMap<Place, Pace>,
    /// Slices of each program in a round, if a budget decides.
    slices: Option<u32>,
    /// Kept, and not looked at.
    lock: Option<File>,
    failure: Option<anyhow::Error>,
}

impl Rounds {
    /// A run of rows, with this header. Absent ones, and those without a program, are stored with the reason.
    pub fn new(
        lineup: Lineup,
        store: Store,
        options: Options,
        mut header: Run,
    ) -> anyhow::Result<Self> {
        signals::install()?;
        let Lineup { rows, absent, programs, .. } = lineup;
        let privacy = Privacy::of_this_process();
        privacy.run(&mut header);
        let mut rounds = Rounds {
            programs,
            store,
            header: Arc::new(header),
            privacy,
            rows: Vec::new(),
            groups: 0,
            records: Vec::new(),
            given_up: HashSet::new(),
            lost: Duration::ZERO,
            last_start: None,
            options,
            described: BTreeMap::new(),
            paces: BTreeMap::new(),
            slices: None,
            lock: None,
            failure: None,
        };
        for row in rows {
            let why = match absent.get(&row.place) {
                Some(reason) => Some(Why::LeftOut(reason.clone())),
                None => rounds.programs.of_row(&row).err(),
            };
            match why {
                Some(why) => rounds.leave_out(&row, why)?,
                None => rounds.rows.push(row),
            }
        }
        Ok(rounds)
    }

    /// Waits until no other runner measures on this machine, which costs nothing of the time, and keeps
    /// others from it as long as this run lives. Then runs all rounds of the rows: `wanted` says before each which of
    /// them take part in it; without any it ends.
    ///
    /// With an aim, rounds go on for this length: the first one sizes the others, so that enough of them fit, and after
    /// the fewest no round begins that would not end in time. Without one, no group but the first begins after it: sizes
    /// of unknown cost start with the smallest. What has run together is stored as soon as it has ended; a signal ends
    /// it early, and then it is stored as interrupted.
    ///
    /// # Errors
    /// When nothing was measured; if something was, [`Rounds::conclude`] tells the error, when that
    /// is printed. A program that fails is a record with an error.
    pub fn run(
        &mut self,
        length: Option<Duration>,
        aim: Option<&Aim>,
        wanted: impl FnMut(u32, &[Row], &[Record]) -> Vec<bool>,
    ) -> anyhow::Result<()> {
        self.lock = lock::acquire();
        let outcome = self.run_all(length, aim, wanted).and_then(|()| self.store.sync());
        if self.records.is_empty() {
            outcome?;
            bail!("nothing was measured");
        }
        self.failure = outcome.err();
        Ok(())
    }

    /// True if something ended it early, a signal or an error.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some() || signals::received().is_some()
    }

    fn run_all(
        &mut self,
        length: Option<Duration>,
        aim: Option<&Aim>,
        mut wanted: impl FnMut(u32, &[Row], &[Record]) -> Vec<bool>,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        self.options.set_end(length, begun);
        let budget = aim.zip(length);
        self.last_start = length.filter(|_| budget.is_none()).map(|limit| begun + limit);
        let rows = mem::take(&mut self.rows);
        let last = rows.iter().map(|row| row.effort.most_rounds()).max().unwrap_or(0);
        let mut progress = Progress {
            rounds: budget.is_none().then_some(last),
            end: budget.map(|(_, length)| begun + length),
        };
        self.describe(&rows);
        self.slices = budget.map(|_| FIRST_SLICES);
        let mut spent = begun.elapsed();
        // Every second round of a duel has the twins.
        let mut lengths = [Duration::ZERO; 2];
        for round in 0..last {
            let chosen = wanted(round, &rows, &self.records);
            if !chosen.contains(&true) {
                break;
            }
            let walls = self.run_round(&rows, &chosen, round, &progress)?;
            if signals::received().is_some() || self.is_over() {
                break;
            }
            // What hung took no time of the others.
            let before = mem::replace(&mut spent, begun.elapsed().saturating_sub(self.lost));
            lengths = [lengths[1], spent.saturating_sub(before)];
            let due =
                |rounds: u32| Some(Instant::now() + lengths[1] * rounds.saturating_sub(round + 1));
            let Some((aim, budget)) = budget else {
                progress.end = due(last);
                continue;
            };
            progress.end = progress.end.max(due(aim.fewest));
            let left = budget.saturating_sub(spent);
            if walls.iter().any(Option::is_some) {
                let slices = self.slices.unwrap_or(FIRST_SLICES);
                self.slices = Some(aim.slices(round, slices, &rows, &walls, left));
                if round == 0 {
                    aim.tell(spent, &rows, &walls, budget);
                }
            }
            let is_done =
                |row: &Row| row.effort.most_rounds() <= round + 1 || self.is_given_up(row);
            if rows.iter().all(is_done)
                || round + 1 >= aim.fewest && lengths.into_iter().max() > Some(left)
            {
                break;
            }
        }
        match length.filter(|_| signals::received().is_none()) {
            Some(length) => self.leave_out_what_has_not_begun(&rows, length),
            None => Ok(()),
        }
    }

    /// True if no time is left for another group, or programs that timed out have taken it.
    fn is_over(&self) -> bool {
        is_past(self.last_start) || !self.lost.is_zero() && is_past(self.options.end)
    }

    /// True if a trial of a row timed out in a limited time.
    fn is_given_up(&self, row: &Row) -> bool {
        self.given_up.contains(&row.place.on(Side::A))
    }

    /// Stores which rows there was no time for.
    fn leave_out_what_has_not_begun(&mut self, rows: &[Row], time: Duration) -> anyhow::Result<()> {
        let begun: HashSet<Place> =
            self.records.iter().map(|record| record.row().place.on(Side::A)).collect();
        let reason = format!("not started within the --budget of {}", format_duration(time));
        for row in rows.iter().filter(|row| !begun.contains(&row.place.on(Side::A))) {
            self.leave_out(row, Why::LeftOut(reason.clone()))?;
        }
        Ok(())
    }

    /// Asks the programs that can take turns what they need.
    fn describe(&mut self, rows: &[Row]) {
        for row in rows.iter().filter(|row| !row.is_alone() && row.place.side != Side::Twin) {
            if signals::received().is_some() {
                return;
            }
            let Ok(program) = self.programs.of_row(row) else { continue };
            let Command { flags, setting, .. } = &row.command;
            // What a program refuses is told when it runs.
            let description = probe::describe(program, flags, setting).ok();
            self.described.extend(description.map(|description| (row.place.clone(), description)));
        }
    }

    /// What the program of a row has said. A twin is started like the row that it is of.
    fn described(&self, row: &Row) -> Option<&Description> {
        let place = match row.place.side {
            Side::Twin => &row.place.on(Side::A),
            _ => &row.place,
        };
        self.described.get(place)
    }

    /// Runs one round as far as no signal ends it. Returns the time of each row; `None` if it was not
    /// run.
    fn run_round(
        &mut self,
        rows: &[Row],
        chosen: &[bool],
        round: u32,
        progress: &Progress,
    ) -> anyhow::Result<Vec<Option<Wall>>> {
        let mut walls = vec![None; rows.len()];
        let mut rng =
            fastrand::Rng::with_seed(self.header.seed.wrapping_add(u64::from(round) << 32));
        let due = rows.iter().enumerate().filter(|(k, row)| {
            chosen[*k] && round < row.effort.most_rounds() && !self.is_given_up(row)
        });
        let due: Vec<usize> = due.map(|(k, _)| k).collect();
        let mut groups = groups_of(rows, &due, |k| self.described(&rows[k]));
        rng.shuffle(&mut groups);
        if self.last_start.is_some() && round == 0 {
            groups.sort_by_key(|group| group.iter().flatten().map(|&k| rows[k].place.x).max());
        }
        for (number, group) in groups.into_iter().enumerate() {
            // The first group of a run begins in any case.
            let is_first = round == 0 && number == 0;
            if signals::received().is_some() || !is_first && self.is_over() {
                break;
            }
            let begun = Instant::now();
            let members: Vec<usize> = group.concat();
            let (turns, measured) = self.measure(rows, &group, round, progress, &mut rng);
            let slices = measured.iter().flatten().flat_map(|live| &live.trial.slices);
            let timed = Duration::from_micros(slices.map(|slice| slice.window).sum());
            let lost: Duration = measured.iter().flatten().filter_map(|live| live.lost).sum();
            self.lost += lost;
            let fixed = begun.elapsed().saturating_sub(timed + lost);
            let turns = if timed.is_zero() { None } else { Some(self.keep_group(turns)?) };
            for (&k, measured) in members.iter().zip(measured) {
                let Some(Live { trial, lost, pace, .. }) = measured else { continue };
                let row = &rows[k];
                if lost.is_none() {
                    walls[k] = Some(Wall::of(&trial, fixed / members.len() as u32));
                } else if self.options.end.is_some() {
                    self.given_up.insert(row.place.on(Side::A));
                }
                if let Some(pace) = pace.filter(|_| !trial.slices.is_empty()) {
                    self.paces.insert(row.place.clone(), pace);
                }
                let turns = turns.as_ref().filter(|_| !trial.slices.is_empty());
                self.keep(row, Trial { round, ..trial }, turns)?;
            }
        }
        Ok(walls)
    }

    /// Measures a group; its programs in the order of its rows.
    fn measure(
        &self,
        rows: &[Row],
        group: &[Vec<usize>],
        round: u32,
        progress: &Progress,
        rng: &mut fastrand::Rng,
    ) -> (Group, Vec<Option<Live>>) {
        let mut lives = Vec::new();
        for (number, block) in group.iter().enumerate() {
            for row in block.iter().map(|&k| &rows[k]) {
                let Ok(program) = self.programs.of_row(row) else { continue };
                let mut live = Live::new(row, program);
                live.described = self.described(row).cloned();
                live.pace = self.paces.get(&row.place).copied();
                live.is_steady = self.header.steady;
                live.most_slices = self.slices.filter(|_| !row.is_alone());
                live.block = number;
                lives.push(live);
            }
        }
        let name = match &group.concat()[..] {
            [k] => rows[*k].place.name(),
            many => format!("{} programs take turns", many.len()),
        };
        progress.show(round, &name);
        let side_order = SideOrder { seed: self.header.seed, round };
        turns::measure(lives, &self.options, rng, side_order, |turn, turns| {
            progress.show(round, &format!("{name}: turn {turn} of {turns}"));
        })
    }
}
