//! Rounds: every case once, each in a fresh process. All that fit are alive together and take turns; what
//! cannot, such as a size, runs alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use contract::message::Description;
use humantime::format_duration;
use record::{Group, Process, Record, Row, Run};

use crate::measure::deadline::Time;
use crate::measure::groups::{Blocks, groups_of};
use crate::measure::header;
use crate::measure::pacing::{Aim, Wall};
use crate::measure::privacy::Privacy;
use crate::measure::probe;
use crate::measure::store::Store;
use crate::measure::turns::{self, Measured, Options, Seat};
use crate::plan::placement::Absent;
use crate::plan::programs::{Missing, Programs};
use crate::plan::{Case, Identity, Point};
use crate::system::progress::Progress;
use crate::system::{lock, signals};

mod conclude;

/// Where records go, and how they are made.
#[derive(Debug)]
pub struct Keep {
    /// The file.
    pub store: Store,
    /// Shuffles each round; drawn from the clock if there is none.
    pub seed: Option<u64>,
    /// How each process is measured.
    pub options: Options,
}

/// A run of a plan: what it writes to, and what it has so far.
#[derive(Debug)]
pub struct Rounds {
    programs: Programs,
    store: Store,
    /// What all records share.
    pub header: Arc<Run>,
    is_header_kept: bool,
    privacy: Privacy,
    rows: Vec<Arc<Row>>,
    /// Number of groups so far.
    groups: u32,
    records: Vec<Record>,
    /// Points that timed out in a limited time: it has no room for more of them.
    given_up: HashSet<Point>,
    /// Time that they took.
    lost: Duration,
    options: Options,
    described: BTreeMap<Identity, Description>,
    /// Iterations of a slice, as the first round found them.
    sizes: BTreeMap<Identity, u64>,
    /// Slices of each program in a round, if a budget decides.
    turns: Option<u32>,
    has_begun: bool,
    /// Kept, and not looked at.
    lock: Option<File>,
    failure: Option<anyhow::Error>,
}

impl Rounds {
    /// A run that begins now. Absent cases are stored with the reason; `tell` puts more into the header.
    pub fn new(
        programs: Programs,
        keep: Keep,
        cases: &[Case],
        absent: &[Absent],
        tell: impl FnOnce(&mut Run),
    ) -> anyhow::Result<Self> {
        signals::install()?;
        let Keep { store, seed, options } = keep;
        let all: Vec<Case> =
            cases.iter().chain(absent.iter().map(|(case, _)| case)).cloned().collect();
        let mut header = header::begin(seed, programs.build(), &all);
        tell(&mut header);
        let privacy = Privacy::of_this_process();
        privacy.run(&mut header);
        let mut rounds = Rounds {
            programs,
            store,
            header: Arc::new(header),
            is_header_kept: false,
            privacy,
            rows: Vec::new(),
            groups: 0,
            records: Vec::new(),
            given_up: HashSet::new(),
            lost: Duration::ZERO,
            options,
            described: BTreeMap::new(),
            sizes: BTreeMap::new(),
            turns: None,
            has_begun: false,
            lock: None,
            failure: None,
        };
        for (case, reason) in absent {
            rounds.leave_out(case, reason)?;
        }
        Ok(rounds)
    }

    /// Waits until no other runner measures on this machine, which costs nothing of the time, and keeps
    /// others from it as long as this run lives. Then runs all rounds of the cases: `wanted` says before each which of
    /// them take part in it; without any it ends.
    ///
    /// Where there is a budget, rounds go on for about so long: the first one sizes the others, so that enough
    /// of them fit, and cases that do not fit are left out and named. What has run together is
    /// stored as soon as it has ended; a signal ends it early, and then it is stored as interrupted.
    ///
    /// # Errors
    /// When nothing was measured; if something was, [`Rounds::conclude`] tells the error, when that
    /// is printed. A program that fails is a record with an error.
    pub fn run(
        &mut self,
        cases: Vec<Case>,
        time: Time,
        aim: &Aim,
        wanted: impl FnMut(u32, &[Case], &[Record]) -> Vec<bool>,
    ) -> anyhow::Result<()> {
        self.lock = lock::acquire();
        let outcome = self.run_all(cases, time, aim, wanted).and_then(|()| self.store.sync());
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
        time: Time,
        aim: &Aim,
        mut wanted: impl FnMut(u32, &[Case], &[Record]) -> Vec<bool>,
    ) -> anyhow::Result<()> {
        let begun = Instant::now();
        self.options.set_end(time, begun);
        self.leave_out_what_is_missing(&mut cases)?;
        let last = cases.iter().map(|case| case.rounds).max().unwrap_or(0);
        let all = cases.iter().map(|case| case.rounds).fold(0, u32::saturating_add);
        let mut progress = Progress::new(all, last, time.budget().map(|budget| begun + budget));
        self.describe(&cases);
        self.turns = time.budget().map(|_| aim.first);
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
            let Some(budget) = time.budget() else { continue };
            // What hung took no time of the others.
            let spent = begun.elapsed().saturating_sub(self.lost);
            let left = budget.saturating_sub(spent);
            if walls.iter().any(Option::is_some) {
                let before = (round, self.turns.unwrap_or(aim.first));
                self.turns = Some(aim.turns(before, &mut cases, &walls, [left, budget]));
            }
            // Half of a round too much is better than half of one too little.
            let is_due = spent + started.elapsed() / 2 >= budget;
            let is_done =
                |case: &Case| case.rounds <= round + 1 || self.given_up.contains(&case.point());
            if cases.iter().all(is_done)
                || round + 1 >= aim.fewest && is_due
                || round == 0 && aim.leaves_out && left.is_zero()
            {
                break;
            }
        }
        match time.length().filter(|_| signals::received().is_none()) {
            Some(length) => self.leave_out_what_has_not_begun(&cases, length),
            None => Ok(()),
        }
    }

    /// True if no time is left for another group.
    fn is_over(&self) -> bool {
        self.options.deadline.is_past_groups(!self.lost.is_zero())
    }

    /// Removes cases whose program is not there, and stores why.
    fn leave_out_what_is_missing(&mut self, cases: &mut Vec<Case>) -> anyhow::Result<()> {
        for case in mem::take(cases) {
            match self.programs.of(&case).err() {
                None => cases.push(case),
                Some(Missing::Unavailable(why)) => self.leave_out(&case, &why)?,
                Some(Missing::Failed(why)) => {
                    let process = Process { error: Some(why), ..Process::begin() };
                    self.keep(case.row(), process, None)?;
                }
            }
        }
        Ok(())
    }

    /// Stores which cases there was no time for.
    fn leave_out_what_has_not_begun(
        &mut self,
        cases: &[Case],
        time: Duration,
    ) -> anyhow::Result<()> {
        let begun: HashSet<Point> =
            self.records.iter().map(|record| (record.row.case, record.row.x)).collect();
        let reason = format!("not started within the --budget of {}", format_duration(time));
        for case in cases.iter().filter(|case| !begun.contains(&case.point())) {
            self.leave_out(case, &reason)?;
        }
        Ok(())
    }

    /// Asks the programs that can take turns what they need.
    fn describe(&mut self, cases: &[Case]) {
        let mut known = HashMap::new();
        for case in cases.iter().filter(|case| !case.is_alone()) {
            if signals::received().is_some() {
                return;
            }
            let Ok(program) = self.programs.of(case) else { continue };
            // Twins are started alike.
            let key = (case.side, &case.program, &case.flags, &case.setting);
            // What it refuses is told when it runs.
            let ask = || probe::describe(program, &case.flags, &case.setting).ok();
            if let Some(description) = known.entry(key).or_insert_with(ask) {
                self.described.insert(case.into(), description.clone());
            }
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
        let is_due = |k: &usize| {
            let case = &cases[*k];
            chosen[*k] && round < case.rounds && !self.given_up.contains(&case.point())
        };
        let due: Vec<usize> = (0..cases.len()).filter(is_due).collect();
        let mut groups = groups_of(cases, &due, |k| self.described.get(&(&cases[k]).into()));
        rng.shuffle(&mut groups);
        if self.options.deadline.groups.is_some() && round == 0 {
            groups.sort_by_key(|group| group.iter().flatten().map(|&k| cases[k].x).max());
        }
        for group in groups {
            if signals::received().is_some() || self.has_begun && self.is_over() {
                break;
            }
            self.has_begun = true;
            let begun = Instant::now();
            let members: Vec<usize> = group.concat();
            let (turns, measured) = self.measure(cases, &group, round, progress, &mut rng);
            let all = || measured.iter().flatten();
            let slices = all().flat_map(|measured| &measured.process.slices);
            let timed = Duration::from_micros(slices.map(|slice| slice.window).sum());
            let lost: Duration = all().filter_map(|measured| measured.lost).sum();
            self.lost += lost;
            let fixed = begun.elapsed().saturating_sub(timed + lost);
            let turns = if timed.is_zero() { None } else { Some(self.keep_group(turns)?) };
            for (&place, measured) in members.iter().zip(measured) {
                let Some(Measured { row, process, lost }) = measured else { continue };
                let case = &cases[place];
                if lost.is_none() {
                    walls[place] = Some(Wall::of(&process, fixed / members.len() as u32));
                } else if self.options.deadline.turns.is_some() {
                    self.given_up.insert(case.point());
                }
                self.sizes.extend(largest_slice(&process).map(|size| (case.into(), size)));
                let turns = turns.as_ref().filter(|_| !process.slices.is_empty());
                self.keep(row, Process { round, ..process }, turns)?;
                progress.advance();
            }
        }
        Ok(walls)
    }

    /// Measures a group; processes in the order of its places.
    fn measure(
        &self,
        cases: &[Case],
        group: &Blocks,
        round: u32,
        progress: &Progress,
        rng: &mut fastrand::Rng,
    ) -> (Group, Vec<Option<Measured>>) {
        let seat = |&k: &usize| {
            let case = &cases[k];
            Some(Seat {
                case,
                program: self.programs.of(case).ok()?,
                described: self.described.get(&case.into()),
                iterations: self.sizes.get(&case.into()).copied(),
                slices: self.turns.filter(|_| !case.is_alone()),
            })
        };
        let seats: Vec<Seat<'_>> = group.iter().flatten().filter_map(seat).collect();
        let mut places = 0..;
        let blocks: Vec<Vec<usize>> =
            group.iter().map(|block| places.by_ref().take(block.len()).collect()).collect();
        let name = match &seats[..] {
            [one] => one.case.cell.name(),
            many => format!("{} programs take turns", many.len()),
        };
        progress.show(round, &name);
        let tell = |turn, turns| progress.show(round, &format!("{name}: turn {turn} of {turns}"));
        turns::measure(&seats, &blocks, &self.options, rng, tell)
    }

    /// Stores a process, after its row if that is new.
    fn keep(
        &mut self,
        mut row: Row,
        mut process: Process,
        group: Option<&Arc<Group>>,
    ) -> anyhow::Result<()> {
        self.keep_header()?;
        self.privacy.row(&mut row);
        self.privacy.process(&mut process);
        row.run = self.header.id;
        // Equal but for its number.
        let is_known = |known: &&Arc<Row>| {
            row.row = known.row;
            row == ***known
        };
        let row = match self.rows.iter().rev().find(is_known) {
            Some(known) => known.clone(),
            None => {
                row.row = self.rows.len() as u32;
                self.store.append(&row)?;
                self.rows.push(Arc::new(row));
                self.rows[self.rows.len() - 1].clone()
            }
        };
        (process.run, process.row) = (self.header.id, row.row);
        process.group = group.map(|group| group.group);
        self.store.append(&process)?;
        let header = self.header.clone();
        self.records.push(Record { header, row, group: group.cloned(), process });
        Ok(())
    }

    /// Stores a group, before its processes.
    fn keep_group(&mut self, mut group: Group) -> anyhow::Result<Arc<Group>> {
        self.keep_header()?;
        (group.run, group.group) = (self.header.id, self.groups);
        self.groups += 1;
        self.store.append(&group)?;
        Ok(Arc::new(group))
    }

    /// Stores the header, before anything else.
    fn keep_header(&mut self) -> anyhow::Result<()> {
        if !self.is_header_kept {
            self.store.append(&*self.header)?;
            self.is_header_kept = true;
        }
        Ok(())
    }

    /// Stores that a case is not run, and why, so that the file tells what is missing.
    fn leave_out(&mut self, case: &Case, reason: &str) -> anyhow::Result<()> {
        let process = Process { not_run: Some(reason.to_owned()), ..Process::begin() };
        self.keep(case.row(), process, None)
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

fn largest_slice(process: &Process) -> Option<u64> {
    process.slices.iter().map(|slice| slice.iterations).max()
}
