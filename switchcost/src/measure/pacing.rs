//! A budget of time: how many slices a program has in a round, so that enough rounds fit.
//!
//! The times of the first round alone decide how many slices there are, and then the clock decides how many rounds
//! there are. If the machine becomes busy, the rounds that there are in any case have fewer slices.
//! The spread between processes decides nothing: an interval that decides when to stop is too narrow.

use std::time::Duration;

use record::{Row, Side, Trial};

use crate::system::console;

/// Aim of a budget.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// Rounds that there are in any case.
    pub fewest: u32,
    /// Fewest and most rounds that are aimed at: as many as leave half of the time for slices.
    pub rounds: [u32; 2],
    /// Fewest and most slices of a program in a round.
    pub slices: [u32; 2],
    pub twins: f64,
}

/// Aim of a plan: an interval needs the fewest rounds.
pub const PLAN: Aim =
    Aim { fewest: stats::MIN_ROUNDS as u32, rounds: [10, 16], slices: [4, 60], twins: 1.0 };

/// Aim of a duel: its rows have two sides and need more rounds. Every second round has the twins.
pub const DUEL: Aim = Aim { fewest: 8, rounds: [8, 16], slices: [4, 30], twins: 0.5 };

/// Slices of a program in the first round.
pub const FIRST_SLICES: u32 = 4;

/// Usual time of a process: with six slices, it took 0.13 s in a duel of docs/findings/knobs.toml on `epyc5`, and 0.18 s
/// on another machine; with eleven slices, 0.24 s there.
const USUAL: Wall = Wall { fixed: 0.07, slice: 0.015, slices: FIRST_SLICES };

/// Time of a row in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wall {
    /// Starting and ending its process, in s.
    fixed: f64,
    /// A slice, in s, with the looks at the machine.
    slice: f64,
    slices: u32,
}

impl Wall {
    /// Time of a process; `fixed` is the time without its slices.
    pub fn of(trial: &Trial, fixed: Duration) -> Self {
        let windows: u64 = trial.slices.iter().map(|slice| slice.window).sum();
        let slices = trial.slices.len() as u32;
        let slice = windows as f64 / 1e6 / f64::from(slices.max(1));
        Wall { fixed: fixed.as_secs_f64(), slice, slices }
    }

    /// Time of at most so many slices, in s.
    fn within(&self, most_slices: f64, row: &Row) -> f64 {
        // Less than the slices of the first round were all that it has.
        let is_all = self.slices < FIRST_SLICES || row.is_alone();
        let slices = if is_all { f64::from(self.slices) } else { most_slices };
        self.fixed + self.slice * slices
    }
}

impl Aim {
    /// Slices in the next rounds, by the time that this round took, with so many slices, and the time that is left.
    pub fn slices(
        &self,
        round: u32,
        slices: u32,
        rows: &[Row],
        walls: &[Option<Wall>],
        left: Duration,
    ) -> u32 {
        if round == 0 {
            return fitting(rows, walls, left, self);
        }
        match self.fewest.saturating_sub(round) {
            0 | 1 => slices,
            rounds => slices.min(fitting(rows, walls, left, &Aim { rounds: [rounds; 2], ..*self })),
        }
    }

    /// Rounds that a budget usually has room for.
    pub fn usual_rounds(&self, rows: &[Row], budget: Duration) -> u32 {
        let walls = vec![Some(USUAL); rows.len()];
        let slices = fitting(rows, &walls, budget, self);
        let round = time_of(rows, &walls, f64::from(slices), |row| self.share(row));
        ((budget.as_secs_f64() / round.max(1e-9)) as u32).max(self.fewest)
    }

    /// Says after the first round, which took this time, if the fewest rounds take longer than the budget.
    pub fn tell(&self, first: Duration, rows: &[Row], walls: &[Option<Wall>], budget: Duration) {
        let rest = time_of(rows, walls, f64::from(self.slices[0]), |row| {
            let rounds = row.effort.most_rounds().clamp(1, self.fewest) - 1;
            f64::from(rounds) * self.share(row)
        });
        let [least, allowed] = [(first.as_secs_f64() + rest) as u64, budget.as_secs()];
        if least > allowed {
            console::say(format_args!(
                "at least {} rounds are measured, in about {least} s rather than {allowed} s; --filter measures fewer rows",
                self.fewest
            ));
        }
    }

    /// Share of the rounds that a row is in.
    fn share(&self, row: &Row) -> f64 {
        if row.place.side == Side::Twin { self.twins } else { 1.0 }
    }
}

/// Time in s of rows that have so many slices, each row so many times.
fn time_of(rows: &[Row], walls: &[Option<Wall>], slices: f64, times: impl Fn(&Row) -> f64) -> f64 {
    let time =
        |(row, wall): (&Row, &Option<Wall>)| Some(times(row) * wall.as_ref()?.within(slices, row));
    rows.iter().zip(walls).filter_map(time).sum()
}

/// Slices per round that fill the time after the first round.
fn fitting(rows: &[Row], walls: &[Option<Wall>], left: Duration, aim: &Aim) -> u32 {
    let left = left.as_secs_f64();
    let [least, most] = aim.rounds;
    let mut rounds = (least..=most).rev();
    let rounds = rounds.find(|rounds| further_rounds(rows, walls, 0.0, *rounds) <= left / 2.0);
    let rounds = rounds.unwrap_or(least);
    let [without, with_slice] =
        [0.0, 1.0].map(|slices| further_rounds(rows, walls, slices, rounds));
    let [fewest, most] = aim.slices.map(f64::from);
    ((left - without) / (with_slice - without).max(1e-9)).clamp(fewest, most) as u32
}

/// Time of all rounds but the first, in s.
fn further_rounds(rows: &[Row], walls: &[Option<Wall>], slices: f64, rounds: u32) -> f64 {
    time_of(rows, walls, slices, |row| f64::from(row.effort.most_rounds().clamp(1, rounds) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wall(fixed: f64, slice: f64) -> Option<Wall> {
        Some(Wall { fixed, slice, slices: FIRST_SLICES })
    }

    #[test]
    fn slices_fill_the_time_that_is_left() {
        let rows = vec![Row::default(); 2];
        // Each round takes 0.2 s, and 20 ms per slice of each.
        let walls = [wall(0.1, 0.01), wall(0.1, 0.01)];
        let pace = |left: f64| fitting(&rows, &walls, Duration::from_secs_f64(left), &PLAN);
        // Sixteen rounds in all; and eleven, with half of the time for slices.
        assert_eq!(pace(15.0 * (0.2 + 30.0 * 0.02) + 0.01), 30);
        assert_eq!(pace(10.0 * (0.2 + 10.0 * 0.02) + 0.01), 10);
        assert_eq!((pace(0.1), pace(1000.0)), (4, 60));
        // One that has only a few slices takes no more time with more of them.
        let few = Some(Wall { slices: 3, ..walls[0].unwrap() });
        let left = Duration::from_secs_f64(15.0 * (0.23 + 0.4) + 0.01);
        assert_eq!(fitting(&rows, &[few, walls[1]], left, &PLAN), 40);
    }

    #[test]
    fn a_duel_is_forecast_and_slows_down_if_the_machine_does() {
        let of_side = |side| {
            let mut row = Row::default();
            row.place.side = side;
            row
        };
        let row = || [Side::A, Side::B, Side::Twin].map(of_side);
        let seconds = Duration::from_secs;
        // One row has time for many rounds, and twenty-two do not.
        let rounds = DUEL.usual_rounds(&row(), seconds(60));
        assert!((30..60).contains(&rounds), "{rounds}");
        let many: Vec<Row> = (0..22).flat_map(|_| row()).collect();
        assert_eq!(DUEL.usual_rounds(&many, seconds(10)), 8);

        let slowed = |round, slice| {
            let walls = [Some(Wall { fixed: 0.1, slice, slices: 20 }); 3];
            DUEL.slices(round, 20, &row(), &walls, seconds(10))
        };
        assert_eq!([0.01, 0.1, 10.0].map(|slice| slowed(2, slice)), [20, 5, 4]);
        // A verdict needs no more rounds.
        assert_eq!(slowed(7, 10.0), 20);
    }
}
