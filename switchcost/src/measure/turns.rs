//! A group of live programs that take turns.
//!
//! Each turn runs one slice of each program, in an order shuffled anew; programs that are compared lie next
//! to each other. Never two slices at once: the others wait for their standard input.

use std::sync::OnceLock;
use std::time::Instant;

use observe::{affinity, interference};
use record::machine::cpu_ranges;
use record::{Group, Side};

use super::around::Around;
pub use super::live::Live;
pub use super::options::Options;
use super::watch::{Look, MOST_PROBED, Watch};
use crate::system::signals;

/// Most bytes by which an environment is longer: a page.
const MOST_PADDING: usize = 4096;

/// Order in which the sides of a row take their turns: drawn for each two turns of a duel, of one round or of two, and
/// turned round in the second. So each side comes first as often as the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct SideOrder {
    pub seed: u64,
    pub round: u32,
}

impl SideOrder {
    /// The places of a turn by their sides.
    fn sort(self, turn: u32, places: &mut [usize], side: impl Fn(usize) -> Side) {
        let number = u64::from(self.round) + u64::from(turn);
        let mut rng = fastrand::Rng::with_seed(self.seed.wrapping_add((number / 2) << 20));
        let mut sides = [Side::A, Side::B, Side::Twin];
        rng.shuffle(&mut sides);
        if number % 2 == 1 {
            sides.reverse();
        }
        places.sort_by_key(|&place| sides.iter().position(|known| *known == side(place)));
    }
}

/// CPUs that this process might use when it began to measure.
static FIRST: OnceLock<Vec<u32>> = OnceLock::new();

/// Measures a group of programs that are alive at the same time. Returns them in their order with what they did, except
/// where no time was left. A failure is an error of its process, and the others go on. After a signal, what was measured
/// is marked as partial.
pub fn measure(
    mut lives: Vec<Live>,
    options: &Options,
    rng: &mut fastrand::Rng,
    side_order: SideOrder,
    mut tell: impl FnMut(u32, u32),
) -> (Group, Vec<Option<Live>>) {
    let changed = ensure_same_cpus().err();
    let padding = rng.usize(..MOST_PADDING);
    let commands = options.around.as_ref();
    let mut around = Around { commands, timeout: options.limit(), is_in_place: false };
    let mut order: Vec<usize> = (0..lives.len()).collect();
    rng.shuffle(&mut order);
    if around.commands.is_some() {
        order.sort_by_key(|&k| lives[k].side() == Side::B);
    }
    for k in order {
        if let Some(why) = &changed {
            lives[k].fail(why);
        } else if is_over(&lives, options.end) || signals::received().is_some() {
            lives[k].skip();
        } else if !lives[k].has_failed() {
            let side = lives[k].side();
            if enter(&mut lives, side, &mut around).is_some() {
                lives[k].start(options, padding);
            }
        }
    }
    let mut watch = Watch::new(lives.iter().flat_map(|live| live.cpus.clone()));
    let before = interference::waits();
    let are_short =
        take_turns(&mut lives, options.end, &mut watch, &mut around, rng, side_order, &mut tell);
    drop(around);
    let group = Group {
        run: 0,
        group: 0,
        ended: record::now(),
        account: watch.account,
        waits: interference::waits().since(before),
    };
    let measured = lives.into_iter().map(|live| live.end(are_short)).collect();
    (group, measured)
}

/// True if this end has come.
pub(super) fn is_past(end: Option<Instant>) -> bool {
    end.is_some_and(|end| Instant::now() >= end)
}

/// True if programs that timed out have brought a group to the end of its time.
fn is_over(lives: &[Live], end: Option<Instant>) -> bool {
    is_past(end) && lives.iter().any(Live::has_hung)
}

/// Makes sure that this process may use the CPUs with which it began, since programs inherit them.
fn ensure_same_cpus() -> Result<(), String> {
    let now = affinity::allowed().map_err(|e| format!("cannot read the CPUs: {e}"))?;
    let first = FIRST.get_or_init(|| now.clone());
    if now == *first {
        return Ok(());
    }
    let [first, now] = [first, &now].map(|cpus| cpu_ranges(cpus));
    Err(format!("somebody changed the CPUs of switchcost, from {first} to {now}"))
}

/// Switches to the setting of a side; true if that ran a command. If a command fails, the programs of the second side
/// are ended; `None` if this side is theirs.
fn enter(lives: &mut [Live], side: Side, around: &mut Around<'_>) -> Option<bool> {
    let is_second = side == Side::B;
    let why = match around.enter(is_second) {
        Ok(is_run) => return Some(is_run),
        Err(why) => why,
    };
    for live in lives.iter_mut().filter(|live| live.side() == Side::B) {
        // A signal ends the command that changes the setting, which is no fault.
        if is_second && signals::received().is_some() { live.skip() } else { live.fail(&why) }
    }
    (!is_second).then_some(true)
}

/// Runs all slices, or those that begin before `end`, which makes it true; the first turn is over in any case, unless
/// programs hang in it.
fn take_turns(
    lives: &mut [Live],
    end: Option<Instant>,
    watch: &mut Watch,
    around: &mut Around<'_>,
    rng: &mut fastrand::Rng,
    side_order: SideOrder,
    tell: &mut impl FnMut(u32, u32),
) -> bool {
    let all_turns: Vec<u32> = lives.iter().map(Live::turns).collect();
    let turns = all_turns.iter().copied().max().unwrap_or(0);
    let places: Vec<usize> = (0..lives.len()).collect();
    let blocks: Vec<Vec<usize>> = places
        .chunk_by(|&place, &next| lives[place].block == lives[next].block)
        .map(<[usize]>::to_vec)
        .collect();
    // Where in the round the turns of a block are, if they are fewer.
    let shifts: Vec<f64> = blocks.iter().map(|_| rng.f64()).collect();
    let mut last: Option<Look> = None;
    for turn in 0..turns {
        if turn > 0 && is_past(end) {
            return true;
        }
        tell(turn, turns);
        let sides: Vec<Side> = lives.iter().map(Live::side).collect();
        let sort = |block: &mut [usize]| side_order.sort(turn, block, |place| sides[place]);
        let mut order = order(&all_turns, &blocks, &shifts, turn, rng, sort);
        if around.commands.is_some() {
            let is_second_first = !rng.bool();
            order.sort_by_key(|&k| (lives[k].side() == Side::B) != is_second_first);
        }
        for k in order {
            if signals::received().is_some() {
                return false;
            }
            if lives[k].slices() == 0 {
                continue;
            }
            if is_over(lives, end) {
                return true;
            }
            let side = lives[k].side();
            match enter(lives, side, around) {
                Some(false) => {}
                Some(true) => last = None,
                None => continue,
            }
            if lives[k].settles() {
                last = None;
            }
            for _ in 0..lives[k].begin_turn(watch) {
                if signals::received().is_some() {
                    return false;
                }
                let probed = rng.choose_multiple(lives[k].cpus.iter().copied(), MOST_PROBED);
                let is_spread = lives[k].cpus.len() > 1;
                // The look after one slice is that before the next, if it has all that this one needs.
                let before = match last.take() {
                    Some(look) if look.covers(&probed, is_spread) => look,
                    _ => watch.look(&probed, is_spread),
                };
                last = lives[k].slice(turn, k, before, &probed, watch);
                let closed = last.as_ref().map(|after| watch.close(after)).unwrap_or_default();
                for ((place, slice), others) in closed {
                    lives[place].trial.slices[slice].others = Some(others);
                }
            }
        }
    }
    false
}

/// The programs of a turn in a new order: blocks shuffled, and each block in itself. Those with fewer turns than the
/// round are in some, evenly spread; the shift of their block, from 0 to 1, says in which.
fn order(
    own_turns: &[u32],
    blocks: &[Vec<usize>],
    shifts: &[f64],
    turn: u32,
    rng: &mut fastrand::Rng,
    sort: impl Fn(&mut [usize]),
) -> Vec<usize> {
    let turns = own_turns.iter().copied().max().unwrap_or(1);
    let mut due: Vec<Vec<usize>> = Vec::new();
    for (block, shift) in blocks.iter().zip(shifts) {
        let block = block.iter().copied().filter(|&k| {
            let share = f64::from(own_turns[k]) / f64::from(turns);
            let [before, after] =
                [turn, turn + 1].map(|turn| (f64::from(turn) * share + shift) as u32);
            after > before
        });
        let mut block: Vec<usize> = block.collect();
        rng.shuffle(&mut block);
        sort(&mut block);
        due.push(block);
    }
    rng.shuffle(&mut due);
    due.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_is_first_as_often_as_the_other() {
        for (rounds, turns) in [(40, 1), (1, 40)] {
            let (mut firsts, mut orders) = (0, Vec::new());
            for (round, turn) in
                (0..rounds).flat_map(|round| (0..turns).map(move |turn| (round, turn)))
            {
                let mut places = [0, 1];
                let sides = [Side::A, Side::B];
                SideOrder { seed: 7, round }.sort(turn, &mut places, |place| sides[place]);
                firsts += places[0];
                orders.push(places[0]);
            }
            assert_eq!(firsts, 20);
            assert!(orders.windows(4).any(|order| order[0] == order[2] && order[0] != order[1]));
            assert!(orders.windows(2).any(|order| order[0] == order[1]), "not by turns alone");
        }
    }

    #[test]
    fn fewer_turns_are_spread_over_the_round_and_blocks_stay_together() {
        let mut rng = fastrand::Rng::with_seed(7);
        let (own_turns, blocks) = ([6, 6, 2, 2, 1, 0], [vec![0, 1], vec![2, 3], vec![4, 5]]);
        for _ in 0..100 {
            let shifts = [rng.f64(), rng.f64(), rng.f64()];
            let mut had = [0; 6];
            for turn in 0..6 {
                let order = order(&own_turns, &blocks, &shifts, turn, &mut rng, |_| {});
                order.iter().for_each(|&k| had[k] += 1);
                let place = |k: usize| order.iter().position(|&other| other == k);
                assert_eq!(place(0).unwrap().abs_diff(place(1).unwrap()), 1);
                assert_eq!(place(2).is_some(), place(3).is_some(), "a block's turns coincide");
            }
            assert_eq!(had, own_turns, "{shifts:?}");
        }
    }
}
