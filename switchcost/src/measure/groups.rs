//! Which programs are alive together: all that fit, and the sides of a ratio in any case.

use std::collections::{BTreeSet, HashMap};

use contract::message::{Description, Need, Needs};
use limits::Limits;
use nix::sys::resource::{Resource, getrlimit};
use record::{Place, Row};

/// Groups of the rows that are due, by their numbers. A row that must run alone is a group; the others are together as
/// far as they fit. A group is made of blocks, the rows that are compared.
pub(crate) fn groups_of<'a>(
    rows: &[Row],
    due: &[usize],
    description: impl Fn(usize) -> Option<&'a Description>,
) -> Vec<Vec<Vec<usize>>> {
    let (shared, alone): (Vec<usize>, Vec<usize>) =
        due.iter().partition(|&&k| description(k).is_some_and(|d| !d.alone));
    let blocks = blocks(rows, &shared).into_iter().map(|block| {
        let needs = block.iter().filter_map(|&k| description(k)).map(needs_of);
        (needs.fold(Needs::default(), together), block)
    });
    let mut groups = fitting(blocks.collect(), &Limits::read(), most_alive());
    groups.extend(alone.into_iter().map(|k| vec![vec![k]]));
    groups
}

/// The rows of these numbers that are compared with each other: rows of a section and a column that divide by or
/// subtract one another, with their twins, and the points of a curve.
fn blocks(rows: &[Row], due: &[usize]) -> Vec<Vec<usize>> {
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut places = HashMap::new();
    for &k in due {
        let cells = compared(&rows[k]);
        let known: BTreeSet<usize> =
            cells.iter().filter_map(|cell| places.get(cell).copied()).collect();
        let block = known.first().copied().unwrap_or(blocks.len());
        blocks.resize(blocks.len().max(block + 1), Vec::new());
        for other in known.into_iter().skip(1) {
            let moved = std::mem::take(&mut blocks[other]);
            places.values_mut().filter(|at| **at == other).for_each(|at| *at = block);
            blocks[block].extend(moved);
        }
        blocks[block].push(k);
        places.extend(cells.into_iter().map(|cell| (cell, block)));
    }
    blocks.retain(|block| !block.is_empty());
    blocks.iter_mut().for_each(|block| block.sort_unstable());
    blocks.sort_by_key(|block| block[0]);
    blocks
}

/// Cells that are measured beside each other: a row's own, and those that it divides by or subtracts. The points of a
/// slope are no curve.
fn compared(row: &Row) -> Vec<Place> {
    let x = row.place.x.filter(|_| row.swept.is_none());
    let place = Place { x, ..row.place.cell() };
    let others = row.ties.baseline.iter().chain(&row.ties.versus);
    let others = others.map(|name| Place { row: name.clone(), ..place.clone() });
    [place.clone()].into_iter().chain(others).collect()
}

/// Descriptors of the runner itself, and of each session: two pipes, the session's end, and what it says to people.
const DESCRIPTORS: (u64, u64) = (32, 4);

/// Most programs that this process can have alive at once.
fn most_alive() -> usize {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((1024, 1024));
    usize::try_from(soft.saturating_sub(DESCRIPTORS.0) / DESCRIPTORS.1).unwrap_or(usize::MAX)
}

/// Puts blocks together as long as their needs fit, and they have no more than `most` programs. `needs` has the needs
/// of each row. A block that does not fit by itself is a group: its programs say what they lack.
fn fitting(
    blocks: Vec<(Needs, Vec<usize>)>,
    limits: &Limits,
    most_programs: usize,
) -> Vec<Vec<Vec<usize>>> {
    let mut groups: Vec<(Needs, Vec<Vec<usize>>)> = Vec::new();
    for (needs, block) in blocks {
        let room = groups.iter_mut().find(|(of_group, blocks)| {
            let programs: usize = blocks.iter().map(Vec::len).sum();
            programs + block.len() <= most_programs
                && limits.too_low(&together(*of_group, needs), 0).is_empty()
        });
        match room {
            Some((of_group, blocks)) => {
                *of_group = together(*of_group, needs);
                blocks.push(block);
            }
            None => groups.push((needs, vec![block])),
        }
    }
    groups.into_iter().map(|(_, blocks)| blocks).collect()
}

/// Needs of two programs at once: what the system holds adds up, what bounds a process does not.
fn together(a: Needs, b: Needs) -> Needs {
    Needs {
        descriptors: larger(a.descriptors, b.descriptors),
        maps: larger(a.maps, b.maps),
        space: larger(a.space, b.space),
        ..a + b
    }
}

fn larger(a: Need, b: Need) -> Need {
    Need::new(a.fixed.max(b.fixed), 0)
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
    use crate::plan::BUILT_IN;

    #[test]
    fn what_is_compared_stays_together() {
        let rows = BUILT_IN[0].plan().unwrap().rows();
        let timed: Vec<usize> = (0..rows.len()).filter(|&k| rows[k].place.x.is_none()).collect();
        let blocks = blocks(&rows, &timed);
        assert_eq!(blocks.iter().map(Vec::len).sum::<usize>(), timed.len());
        let names = |block: &Vec<usize>| -> Vec<String> {
            block.iter().map(|&k| rows[k].place.name()).collect()
        };
        // Both sides of the ratio, and the twin of one of them.
        let (thread, task) = ("thread over pipes, one CPU", "task over pipes, one CPU");
        let pipes = blocks.iter().map(names).find(|names| names[0] == thread);
        assert_eq!(pipes.unwrap(), [thread, task, task]);
    }

    #[test]
    fn what_does_not_fit_together_is_cut_between_blocks() {
        let limits = Limits::read();
        let [small, large] = [1 << 20, 1 << 60]
            .map(|bytes| Needs { bytes: Need::new(bytes, 0), ..Needs::default() });
        let blocks = vec![(small, vec![0, 1]), (large, vec![4, 5]), (small, vec![2, 3])];
        let groups = fitting(blocks, &limits, 99);
        assert_eq!(groups, [vec![vec![0, 1], vec![2, 3]], vec![vec![4, 5]]]);
        let groups = fitting(vec![(small, vec![0, 1]), (small, vec![2, 3])], &limits, 3);
        assert_eq!(groups, [[[0, 1]], [[2, 3]]]);
    }
}
