//! Bodies that sleep: how many of them are alive at once, how late each wakes, and when the driver
//! has to wait for one to end.
//!
//! A body is **alive** from just before it is spawned until the last thing that it does. The spawner
//! alone adds to the count, so that the largest value which it sees is the largest there was. Inside
//! the timed span that costs an atomic addition and a look at the signals for each spawn, and an atomic
//! subtraction for each end: some nanoseconds, a thread's creation takes thousands.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::args::Run;
use crate::limits::{Passing, Room};
use crate::notes::Note;
use crate::recorder::Recorder;
use crate::units::Span;
use crate::{BadUsage, Interrupted, Session, signals};

/// `--sleep TIME` and `--gate`. Programs flatten it into their own arguments.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct Sleep {
    /// Let each body sleep that long as soon as it runs. An iteration is then to spawn all of them and
    /// to join the last one, and all of that is timed: 1 iteration and no warm-ups, unless they are asked
    /// for. Also told are how many were alive at once, and how late each woke
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = some_sleep)]
    pub sleep: Option<Span>,

    /// Hold every body at a gate until all are alive; then all sleep at the same time
    #[arg(long, requires = "sleep")]
    pub gate: bool,
}

/// The longest sleep. Timers take more, but it is a day that nobody wants to wait for.
const LONGEST: Span = Span(86_400 * 1_000_000_000);

fn some_sleep(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(0) => Err("what does not sleep is measured without --sleep".to_owned()),
        span if span > LONGEST => Err("at most a day, 86400s".to_owned()),
        span => Ok(span),
    }
}

impl Sleep {
    /// Refuses what is for sleepers alone.
    ///
    /// # Errors
    /// Where `--timer-slack` is given and nobody sleeps.
    pub fn check(self, timer_slack: Option<Span>) -> anyhow::Result<()> {
        match (self.sleep, timer_slack) {
            (None, Some(_)) => Err(BadUsage::new(
                "--timer-slack: nobody sleeps for a time: add --sleep TIME, or leave it out",
            )),
            _ => Ok(()),
        }
    }
}

/// How many bodies are alive. One for the process: a body has nothing to carry for it.
static ALIVE: AtomicU64 = AtomicU64::new(0);

/// What a body holds while it is alive. Also one that is aborted, or never runs, gives it back.
#[derive(Debug)]
pub struct Life(());

impl Drop for Life {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::Release);
    }
}

/// How late a body is that should have woken at `due` and has just done so, in ns.
pub fn late(due: Instant) -> u64 {
    u64::try_from(due.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The driver's side: counts the bodies of all laps.
#[derive(Debug)]
pub struct Sleepers {
    sleep: Duration,
    room: Room,
    most: u64,
    held_back: bool,
    /// Of bodies that are joined and not recorded yet.
    late: Vec<u64>,
    recorder: Recorder,
    is_timed: bool,
}

impl Sleepers {
    /// A sleep of up to so long may be waited for when the run is to end.
    const SOON: Duration = Duration::from_secs(1);

    /// So many can be joined in no time, once they have ended.
    const FEW: usize = 10_000;

    /// How long a driver may sleep while nobody is to wake soon, before it looks for a signal.
    pub const LOOK: Duration = Duration::from_millis(10);

    /// For the laps of a run whose bodies sleep so long. The list of their times is made and touched
    /// here.
    pub fn new(sleep: Span, room: Room, run: &Run) -> Self {
        // Not zeroes, which the allocator would take from pages that are not there yet.
        let mut late = vec![u64::MAX; room.unjoined as usize];
        late.clear();
        Sleepers {
            sleep: sleep.into(),
            room,
            most: 0,
            held_back: false,
            late,
            recorder: Recorder::new(run.iters.saturating_mul(u64::from(run.tasks))),
            is_timed: false,
        }
    }

    /// How long each sleeps.
    pub fn sleep(&self) -> Duration {
        self.sleep
    }

    /// How many bodies may be there that are not joined: lists of them need be no longer.
    pub fn unjoined_at_most(&self) -> usize {
        self.room.unjoined as usize
    }

    /// A lap begins, whose times are kept or not.
    pub fn begin(&mut self, is_timed: bool) {
        self.is_timed = is_timed;
    }

    /// Whether one more body may be spawned beside those that are not joined; if not, the oldest is to
    /// be joined first.
    pub fn has_room(&mut self, unjoined: usize) -> bool {
        let room = self.room;
        let has_room = (unjoined as u64) < room.unjoined && alive() < room.alive;
        self.held_back |= !has_room;
        has_room
    }

    /// Counts a body that is about to be spawned.
    ///
    /// # Errors
    /// At a signal.
    pub fn spawning(&mut self) -> Result<Life, Interrupted> {
        if signals::received().is_some() {
            return Err(Interrupted);
        }
        let alive = ALIVE.fetch_add(1, Ordering::Relaxed) + 1;
        self.most = self.most.max(alive);
        Ok(Life(()))
    }

    /// Whether to look again later, instead of joining the oldest of those that are not joined, since
    /// none of them has ended or is about to: a join cannot be interrupted. `asleep` is when the last of
    /// them was spawned, or let through the gate; none, if more are to come.
    ///
    /// # Errors
    /// At a signal, unless all that are left can be joined in about a second.
    pub fn look_later(
        &self,
        unjoined: usize,
        asleep: Option<Instant>,
    ) -> Result<bool, Interrupted> {
        let is_short = self.ends_soon() && unjoined <= Self::FEW;
        if !is_short && signals::received().is_some() {
            return Err(Interrupted);
        }
        let long = match asleep {
            Some(since) => since.elapsed() + Self::SOON < self.sleep,
            None => !self.ends_soon(),
        };
        Ok(long && alive() >= unjoined as u64)
    }

    /// Whether a body that sleeps will have ended in about a second.
    fn ends_soon(&self) -> bool {
        self.sleep <= Self::SOON
    }

    /// Takes what a body returned that was joined.
    pub fn joined(&mut self, late: u64) {
        // Only where the driver had to wait for ends, and the clock tells that anyway.
        if self.late.len() == self.unjoined_at_most() {
            self.record();
        }
        self.late.push(late);
    }

    /// Records what the lap's bodies returned, once the clock stands.
    pub fn record(&mut self) {
        for late in self.late.drain(..) {
            if self.is_timed {
                self.recorder.record(Duration::from_nanos(late));
            }
        }
    }

    /// Gives what was counted to the session, when the last lap is over and before anything else is
    /// spawned.
    pub fn report(&self, session: &mut Session, passing: &Passing) {
        session.distribution("late", &self.recorder);
        session.alive_at_once(self.most);
        session.peaked();
        if self.held_back {
            session.note(Note::held_back(self.room, passing));
        }
    }
}

/// How many bodies are alive now.
fn alive() -> u64 {
    ALIVE.load(Ordering::Acquire)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Format;

    fn sleepers(sleep: &str, room: Room) -> Sleepers {
        let run = Run {
            tasks: 10,
            iters: 2,
            warmups: 0,
            quiet: true,
            format: Format::Text,
            command: None,
            counters: false,
            check_limits: false,
            raise_limits: false,
        };
        Sleepers::new(sleep.parse().unwrap(), room, &run)
    }

    /// The only test that counts: the count is the process's.
    #[test]
    fn the_most_that_were_alive_at_once_are_counted() {
        let room = Room {
            alive: 3,
            unjoined: 4,
        };
        let mut sleepers = sleepers("2s", room);
        assert!(sleepers.has_room(0));
        let mut lives: Vec<Life> = (0..3).map(|_| sleepers.spawning().unwrap()).collect();
        assert!(!sleepers.held_back);
        assert!(!sleepers.has_room(3), "three are alive");
        assert!(sleepers.held_back);
        let asleep = Some(Instant::now());
        assert!(sleepers.look_later(3, asleep).unwrap(), "all are asleep");
        lives.pop();
        assert!(!sleepers.look_later(3, asleep).unwrap(), "one has ended");
        assert!(sleepers.has_room(3), "one may be there that has ended");
        lives.push(sleepers.spawning().unwrap());
        lives.pop();
        assert!(!sleepers.has_room(4), "two may not");
        assert_eq!((sleepers.most, alive()), (3, 2));
        let about_to_wake = Instant::now().checked_sub(Duration::from_secs(1));
        assert!(!sleepers.look_later(2, about_to_wake).unwrap());
        assert!(sleepers.look_later(2, None).unwrap());
        drop(lives);
        assert_eq!(alive(), 0);
    }

    #[test]
    fn what_is_late_is_recorded_in_timed_laps_only_and_in_any_number() {
        let room = Room {
            alive: 2,
            unjoined: 2,
        };
        let mut sleepers = sleepers("1ms", room);
        assert_eq!(sleepers.unjoined_at_most(), 2);
        for is_timed in [false, true, true, false] {
            sleepers.begin(is_timed);
            (0..10).for_each(|late| sleepers.joined(late));
            sleepers.record();
        }
        let late = sleepers.recorder.summary().unwrap();
        assert_eq!((late.count, late.min, late.max), (20, 0, 9));
        assert_eq!(sleepers.unjoined_at_most(), 2);
    }

    #[test]
    fn what_wakes_early_is_not_late() {
        let second = Duration::from_secs(1);
        assert_eq!(late(Instant::now() + 60 * second), 0);
        assert!(late(Instant::now().checked_sub(second).unwrap()) >= 1_000_000_000);
    }

    #[test]
    fn a_sleep_is_some_time_and_not_for_ever() {
        assert!(some_sleep("0s").is_err() && some_sleep("86401s").is_err());
        assert_eq!(some_sleep("86400s"), Ok(LONGEST));
        assert_eq!(some_sleep("1ns"), Ok(Span(1)));
    }
}
