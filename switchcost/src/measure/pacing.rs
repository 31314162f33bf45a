//! A budget of time: how many turns a round has, so that enough rounds fit.
//!
//! The first round alone decides, by what its programs took, and then the clock how many rounds there are.
//! The spread between processes decides nothing: an interval that decides when to stop is too narrow.

use std::time::Duration;

use facts::Process;

use crate::plan::Case;
use crate::system::console;

/// Rounds that must fit: an interval needs as many.
pub const ROUNDS: u32 = stats::MIN_ROUNDS as u32;

/// Aim of a budget.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// Rounds that there are in any case.
    pub fewest: u32,
    /// Fewest and most rounds that are aimed at: as many as leave half of the time for turns.
    pub rounds: [u32; 2],
    /// Turns of the first round.
    pub first: u32,
    /// Fewest and most turns of a round.
    pub turns: [u32; 2],
    /// Whether a case that takes most of the time is left out.
    pub leaves_out: bool,
}

/// Aim of a plan.
pub const PLAN: Aim =
    Aim { fewest: ROUNDS, rounds: [10, 16], first: 6, turns: [6, 60], leaves_out: true };

/// Aim of a duel, whose rows have two sides and more rounds.
pub const DUEL: Aim =
    Aim { fewest: 8, rounds: [8, 16], first: 6, turns: [4, 30], leaves_out: false };

/// Share of the budget that a single case may take.
const LARGEST_SHARE: f64 = 0.5;

/// Usual time of a process: with six slices it took 0.13 and 0.18 s in results/epyc5-2vcpu-6.18/knobs.jsonl and
/// results/epyc-2vcpu-6.18/knobs.jsonl, with eleven 0.24 s in the latter.
const USUAL: Wall = Wall { fixed: 0.07, slice: 0.015, slices: DUEL.first };

/// Time of a case in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wall {
    /// Starting and ending its process, in s.
    fixed: f64,
    /// A slice, in s, with the looks at the machine.
    slice: f64,
    /// Slices that it had.
    slices: u32,
}

impl Wall {
    /// Time of a process; `fixed` is all besides its slices.
    pub fn of(process: &Process, fixed: Duration) -> Self {
        let all: u64 = process.slices.iter().map(|slice| slice.window).sum();
        let slices = process.slices.len() as u32;
        let slice = all as f64 / 1e6 / f64::from(slices.max(1));
        Wall { fixed: fixed.as_secs_f64(), slice, slices }
    }

    /// Time of so many turns at most, in s.
    fn within(&self, turns: f64, case: &Case, aim: &Aim) -> f64 {
        // Less than the turns of the first round were all that it has.
        let is_all = self.slices < aim.first || case.is_alone();
        let slices = if is_all { f64::from(self.slices) } else { turns };
        self.fixed + self.slice * slices
    }
}

impl Aim {
    /// Turns of the further rounds, by the time that one took. The first round also shows which cases a budget has no
    /// room for, which are removed, and whether all of it is too short.
    pub fn turns_after(
        &self,
        turns: u32,
        cases: &mut Vec<Case>,
        walls: &[Option<Wall>],
        [left, budget]: [Duration; 2],
        round: u32,
    ) -> u32 {
        if round > 0 {
            let is_paced = round + 1 < self.fewest && !self.leaves_out;
            return if is_paced { slowed(turns, cases, walls, left, round, self) } else { turns };
        }
        if walls.iter().all(Option::is_none) {
            return turns;
        }
        let turns = fitting(cases, walls, left, self);
        let least = (budget.saturating_sub(left) + least(cases, walls, round, self)).as_secs();
        let dropped =
            if self.leaves_out { retain(cases, walls, [left, budget], self) } else { vec![] };
        if !dropped.is_empty() {
            console::say(format_args!(
                "measured in one round alone, since more would take most of {} s: {}; `switchcost run` with a larger \
                 --budget has room",
                budget.as_secs(),
                dropped.join("; ")
            ));
        } else if least > budget.as_secs() * 4 / 3 {
            console::say(format_args!("{} rounds take about {least} s here", self.fewest));
        }
        turns
    }
}

/// Turns of a round: so many, or fewer if the fewest rounds would not end in time: the machine became busy.
fn slowed(
    turns: u32,
    cases: &[Case],
    walls: &[Option<Wall>],
    left: Duration,
    round: u32,
    aim: &Aim,
) -> u32 {
    // This round, and those that are left.
    let rounds = aim.fewest.saturating_sub(round).max(1);
    turns.min(fitting(cases, walls, left, &Aim { rounds: [rounds; 2], ..*aim }))
}

/// Turns of a round that fill the time which is left after the first round.
fn fitting(cases: &[Case], walls: &[Option<Wall>], left: Duration, aim: &Aim) -> u32 {
    let left = left.as_secs_f64();
    let needed = |turns: f64, rounds: u32| -> f64 {
        let each = cases.iter().zip(walls).filter_map(|(case, wall)| {
            let rounds = case.rounds.clamp(1, rounds) - 1;
            Some(f64::from(rounds) * wall.as_ref()?.within(turns, case, aim))
        });
        each.sum()
    };
    let [least, most] = aim.rounds;
    let is_half = |rounds: &u32| needed(0.0, *rounds) <= left / 2.0;
    let rounds = (least..=most).rev().find(is_half).unwrap_or(least);
    let (none, one) = (needed(0.0, rounds), needed(1.0, rounds));
    let [fewest, most] = aim.turns.map(f64::from);
    ((left - none) / (one - none).max(1e-9)).clamp(fewest, most) as u32
}

/// Time that the fewest rounds still take after this one, with the fewest turns.
fn least(cases: &[Case], walls: &[Option<Wall>], round: u32, aim: &Aim) -> Duration {
    let one = |(case, wall): (&Case, &Option<Wall>)| {
        Some(share(case) * wall.as_ref()?.within(f64::from(aim.turns[0]), case, aim))
    };
    let all: f64 = cases.iter().zip(walls).filter_map(one).sum();
    Duration::from_secs_f64(all * f64::from(aim.fewest.saturating_sub(round + 1)))
}

/// Share of the rounds that a case is in: a duel has its twins in every second one.
fn share(case: &Case) -> f64 {
    if case.twin { 0.5 } else { 1.0 }
}

/// Rounds of a duel that usually fit, and the time that the fewest take.
pub fn forecast(cases: &[Case], budget: Duration) -> (u32, Duration) {
    let walls = vec![Some(USUAL); cases.len()];
    let turns = f64::from(fitting(cases, &walls, budget, &DUEL));
    let round = |turns: f64| -> f64 {
        cases.iter().map(|case| share(case) * USUAL.within(turns, case, &DUEL)).sum()
    };
    let least = round(f64::from(DUEL.turns[0])) * f64::from(DUEL.fewest);
    let rounds = (budget.as_secs_f64() / round(turns).max(1e-9)) as u32;
    (rounds.max(DUEL.fewest), Duration::from_secs_f64(least))
}

/// Removes cases of which a single one would take most of the budget, as long as not all fit into what is left of it,
/// and returns their names. All others stay, even if the sum is too much: a host that was busy in the first round seldom
/// stays so.
fn retain(
    cases: &mut Vec<Case>,
    walls: &[Option<Wall>],
    [left, budget]: [Duration; 2],
    aim: &Aim,
) -> Vec<String> {
    let [left, budget] = [left, budget].map(|time| time.as_secs_f64());
    let cost = |case: &Case, wall: &Option<Wall>| {
        let rounds = f64::from(case.rounds.clamp(1, aim.fewest) - 1);
        wall.as_ref().map_or(0.0, |wall| rounds * wall.within(f64::from(aim.turns[0]), case, aim))
    };
    let mut costs: Vec<f64> =
        cases.iter().zip(walls).map(|(case, wall)| cost(case, wall)).collect();
    let mut dropped = Vec::new();
    while costs.iter().sum::<f64>() > left && cases.len() > 1 {
        let most = (0..costs.len()).max_by(|&a, &b| costs[a].total_cmp(&costs[b]));
        let Some(most) = most.filter(|&most| costs[most] > LARGEST_SHARE * budget) else { break };
        costs.remove(most);
        let name = cases.remove(most).cell.name();
        if !dropped.contains(&name) {
            dropped.push(name);
        }
    }
    dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> Case {
        Case { rounds: u32::MAX, ..Case::default() }
    }

    fn wall(fixed: f64, slice: f64) -> Option<Wall> {
        Some(Wall { fixed, slice, slices: PLAN.first })
    }

    #[test]
    fn turns_fill_the_time_that_is_left() {
        let cases = vec![case(), case()];
        // Each round takes 0.2 s besides its turns, and 20 ms for each of these.
        let walls = [wall(0.1, 0.01), wall(0.1, 0.01)];
        let pace = |left: f64| fitting(&cases, &walls, Duration::from_secs_f64(left), &PLAN);
        // Sixteen rounds in all; and eleven, with half of the time for turns.
        assert_eq!(pace(15.0 * (0.2 + 30.0 * 0.02) + 0.01), 30);
        assert_eq!(pace(10.0 * (0.2 + 10.0 * 0.02) + 0.01), 10);
        assert_eq!((pace(0.1), pace(1000.0)), (6, 60));
        // One that has only a few slices takes no more time with more turns.
        let few = Some(Wall { slices: 3, ..walls[0].unwrap() });
        let left = Duration::from_secs_f64(15.0 * (0.23 + 0.4) + 0.01);
        assert_eq!(fitting(&cases, &[few, walls[1]], left, &PLAN), 40);
    }

    #[test]
    fn what_cannot_fit_is_left_out() {
        let mut cases = vec![case(), case()];
        let dropped = retain(
            &mut cases,
            &[wall(1.0, 0.0), wall(10.0, 0.0)],
            [Duration::from_secs(6); 2],
            &PLAN,
        );
        assert_eq!((dropped.len(), cases.len()), (1, 1));
        // No single one is to blame.
        let mut many = vec![case(); 20];
        let dropped = retain(&mut many, &[wall(1.0, 0.0); 20], [Duration::from_secs(20); 2], &PLAN);
        assert_eq!((dropped.len(), many.len()), (0, 20));
    }

    #[test]
    fn a_duel_is_forecast_and_slows_down_if_the_machine_does() {
        let row = || [case(), case(), Case { twin: true, ..case() }];
        let seconds = Duration::from_secs;
        // One row has time for many rounds; twenty-two have eight in a minute, and not in ten seconds.
        let (rounds, least) = forecast(&row(), seconds(60));
        assert!((30..60).contains(&rounds) && least < seconds(4), "{rounds} {least:?}");
        let many: Vec<Case> = (0..22).flat_map(|_| row()).collect();
        let (rounds, least) = forecast(&many, seconds(10));
        assert!(rounds == 8 && (seconds(40)..seconds(80)).contains(&least), "{rounds} {least:?}");

        let cases = row();
        let slowed = |slice: f64, round| {
            let walls = [Some(Wall { fixed: 0.1, slice, slices: 20 }); 3];
            super::slowed(20, &cases, &walls, seconds(10), round, &DUEL)
        };
        assert_eq!((slowed(0.01, 2), slowed(0.1, 2), slowed(10.0, 2)), (20, 5, 4));
        let walls = [Some(Wall { fixed: 1.0, slice: 0.0, slices: 20 }); 3];
        // Two and a half programs in each of six further rounds.
        assert_eq!(super::least(&cases, &walls, 1, &DUEL), seconds(15));
    }
}
