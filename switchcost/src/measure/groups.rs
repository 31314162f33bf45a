//! Which programs are alive together: all that fit, and the sides of a ratio in any case.

use std::collections::{BTreeSet, HashMap};

use contract::message::{Description, Need, Needs};
use limits::Limits;
use nix::sys::resource::{Resource, getrlimit};

use crate::plan::{Case, Point};

/// Programs that are alive together: places of cases, those that are compared side by side.
pub(crate) type Blocks = Vec<Vec<usize>>;

/// Groups of the cases that are due: each alone that must be, the others with all that fit.
pub(crate) fn groups_of<'a>(
    cases: &[Case],
    due: &[usize],
    description: impl Fn(usize) -> Option<&'a Description>,
) -> Vec<Blocks> {
    let (shared, alone): (Vec<usize>, Vec<usize>) =
        due.iter().partition(|&&k| description(k).is_some_and(|d| !d.alone));
    let blocks = blocks(&shared.iter().map(|&k| &cases[k]).collect::<Vec<_>>());
    let needs = |k: usize| description(shared[k]).map_or(Needs::default(), needs_of);
    let mut groups = fitting(blocks, needs, &Limits::read(), most_alive());
    groups.iter_mut().flatten().flatten().for_each(|k| *k = shared[*k]);
    groups.extend(alone.into_iter().map(|k| vec![vec![k]]));
    groups
}

/// Cases that are compared with each other, by their places: those of a section and a column that divide by
/// or subtract one another, with their twins, and the points of a curve.
fn blocks(cases: &[&Case]) -> Vec<Vec<usize>> {
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut places = HashMap::new();
    for (place, case) in cases.iter().enumerate() {
        let x = case.x.filter(|_| case.cell.over.is_none());
        let cells: Vec<Point> =
            [&case.index].into_iter().chain(&case.compared).map(|&index| (index, x)).collect();
        let known: BTreeSet<usize> =
            cells.iter().filter_map(|cell| places.get(cell).copied()).collect();
        let block = known.first().copied().unwrap_or(blocks.len());
        blocks.resize(blocks.len().max(block + 1), Vec::new());
        for other in known.into_iter().skip(1) {
            let moved = std::mem::take(&mut blocks[other]);
            places.values_mut().filter(|at| **at == other).for_each(|at| *at = block);
            blocks[block].extend(moved);
        }
        blocks[block].push(place);
        places.extend(cells.into_iter().map(|cell| (cell, block)));
    }
    blocks.retain(|block| !block.is_empty());
    blocks.iter_mut().for_each(|block| block.sort_unstable());
    blocks.sort_by_key(|block| block[0]);
    blocks
}

/// Descriptors of the runner besides those of its sessions, and those of a session: two pipes, its end and
/// what it says to people.
const DESCRIPTORS: (u64, u64) = (32, 4);

/// Most programs that this process can have alive at once.
fn most_alive() -> usize {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    usize::try_from(soft.saturating_sub(DESCRIPTORS.0) / DESCRIPTORS.1).unwrap_or(usize::MAX)
}

/// Puts blocks together as long as all that they need fits, and they are no more programs than `most`; `needs`
/// has that of each case. A block that does not fit by itself is a group: its programs say what they lack.
fn fitting(
    blocks: Vec<Vec<usize>>,
    needs: impl Fn(usize) -> Needs,
    limits: &Limits,
    most: usize,
) -> Vec<Blocks> {
    let mut groups: Vec<(Needs, Blocks)> = Vec::new();
    for block in blocks {
        let own = block.iter().map(|&case| needs(case)).fold(Needs::default(), together);
        let room = groups.iter_mut().find(|(all, blocks)| {
            let programs: usize = blocks.iter().map(Vec::len).sum();
            programs + block.len() <= most && limits.allow(&together(*all, own), 0)
        });
        match room {
            Some((all, blocks)) => {
                *all = together(*all, own);
                blocks.push(block);
            }
            None => groups.push((own, vec![block])),
        }
    }
    groups.into_iter().map(|(_, blocks)| blocks).collect()
}

/// Needs of two programs at once: what the system holds adds up, what bounds a process does not.
fn together(one: Needs, other: Needs) -> Needs {
    let most = |a: Need, b: Need| Need::new(a.fixed.max(b.fixed), 0);
    Needs {
        descriptors: most(one.descriptors, other.descriptors),
        maps: most(one.maps, other.maps),
        space: most(one.space, other.space),
        ..one + other
    }
}

/// Needs of a program as it is described, its first thread among them; they are fixed.
fn needs_of(description: &Description) -> Needs {
    let tasks = u32::try_from(description.tasks).unwrap_or(u32::MAX);
    let first_thread = Needs { threads: Need::new(1, 0), ..Needs::default() };
    description.needs.fixed(tasks) + first_thread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn what_is_compared_stays_together() {
        let cases = Plan::built_in().unwrap().cases();
        let timed: Vec<&Case> = cases.iter().filter(|case| case.x.is_none()).collect();
        let blocks = blocks(&timed);
        assert_eq!(blocks.iter().map(Vec::len).sum::<usize>(), timed.len());
        let names = |block: &Vec<usize>| -> Vec<String> {
            block.iter().map(|&k| timed[k].cell.name()).collect()
        };
        // Both sides of the ratio, and the twin of one of them.
        let (thread, task) = ("thread over pipes, one CPU", "task over pipes, one CPU");
        let pipes = blocks.iter().map(names).find(|names| names[0] == thread);
        assert_eq!(pipes.unwrap(), [thread, task, task]);
    }

    #[test]
    fn what_does_not_fit_together_is_cut_between_blocks() {
        let limits = Limits::read();
        let needs = |case: usize| Needs {
            bytes: Need::new(if case < 4 { 1 << 20 } else { 1 << 60 }, 0),
            ..Needs::default()
        };
        let groups = fitting(vec![vec![0, 1], vec![4, 5], vec![2, 3]], needs, &limits, 99);
        assert_eq!(groups, [vec![vec![0, 1], vec![2, 3]], vec![vec![4, 5]]]);
        let groups = fitting(vec![vec![0, 1], vec![2, 3]], needs, &limits, 3);
        assert_eq!(groups, [[[0, 1]], [[2, 3]]]);
    }
}
