//! Wiring: which task gets which ends of the links, whatever order they are created in.

use std::io;
use std::mem;

use anyhow::Context;
use contract::{Interrupted, limits, signals};

/// What a task is given: its place in the chain and its two ends. The types are those of the links.
#[derive(Debug)]
pub struct Station<R, W> {
    /// Place in the chain, from 0.
    pub place: u32,
    /// End to read from.
    pub upstream: R,
    /// End to write to.
    pub downstream: W,
}

/// Makes the N + 1 links of a chain. Link k leads to the task in place k, the last one to the driver.
///
/// In the chain's own order a link is made when the next task is: a task and its link are then
/// neighbours in memory. Shuffled, all links are made first, in the order of the tasks' creation.
#[derive(Debug)]
pub struct ChainBuilder<R, W, F> {
    link: F,
    tasks: u32,
    ends: Ends<R, W>,
}

#[derive(Debug)]
enum Ends<R, W> {
    InOrder {
        first: W,
        upstream: R,
        next: u32,
    },
    Shuffled {
        readers: Vec<Option<R>>,
        writers: Vec<Option<W>>,
        /// Places that have no task yet, the next one last.
        places: Vec<u32>,
    },
}

impl<R, W, F: FnMut() -> io::Result<(R, W)>> ChainBuilder<R, W, F> {
    /// A chain of so many tasks, shuffled by the seed if there is one; `link` makes a link.
    ///
    /// # Errors
    /// What `link` reports.
    pub fn new(tasks: u32, shuffle: Option<u64>, mut link: F) -> anyhow::Result<Self> {
        let ends = match shuffle {
            None => {
                let (upstream, first) = make(&mut link, 0, tasks)?;
                Ends::InOrder { first, upstream, next: 0 }
            }
            Some(seed) => {
                let mut places: Vec<u32> = (0..tasks).collect();
                fastrand::Rng::with_seed(seed).shuffle(&mut places);
                let mut readers: Vec<Option<R>> = (0..=tasks).map(|_| None).collect();
                let mut writers: Vec<Option<W>> = (0..=tasks).map(|_| None).collect();
                for (k, &place) in (0..).zip(places.iter().chain([&tasks])) {
                    let (reader, writer) = make(&mut link, k, tasks)?;
                    readers[place as usize] = Some(reader);
                    writers[place as usize] = Some(writer);
                }
                places.reverse();
                Ends::Shuffled { readers, writers, places }
            }
        };
        Ok(ChainBuilder { link, tasks, ends })
    }

    /// Station of the next task to be created; `None` after the last one.
    ///
    /// # Errors
    /// What `link` reports, and [`Interrupted`] at a signal.
    pub fn next_station(&mut self) -> anyhow::Result<Option<Station<R, W>>> {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        match &mut self.ends {
            Ends::InOrder { upstream, next, .. } => {
                let place = *next;
                if place == self.tasks {
                    return Ok(None);
                }
                *next += 1;
                let (reader, downstream) = make(&mut self.link, *next, self.tasks)?;
                Ok(Some(Station { place, upstream: mem::replace(upstream, reader), downstream }))
            }
            Ends::Shuffled { readers, writers, places } => Ok(places.pop().and_then(|place| {
                Some(Station {
                    place,
                    upstream: readers[place as usize].take()?,
                    downstream: writers[place as usize + 1].take()?,
                })
            })),
        }
    }

    /// Drops all ends that no task has: a forked task must not hold the others' links open, else no end of
    /// file would ever come.
    pub fn close(&mut self) {
        self.ends = Ends::Shuffled { readers: vec![], writers: vec![], places: vec![] };
    }

    /// The driver's ends, when every task has its own: the one to read from and the one to write to.
    ///
    /// # Panics
    /// If some task has not got its station, or after [`ChainBuilder::close`].
    pub fn driver_ends(self) -> (R, W) {
        let ends = match self.ends {
            Ends::InOrder { first, upstream, next } => {
                (next == self.tasks).then_some((upstream, first))
            }
            Ends::Shuffled { mut readers, mut writers, .. } => {
                readers.pop().flatten().zip(writers.swap_remove(0))
            }
        };
        ends.expect("every station is taken before the driver's ends are")
    }
}

fn make<R, W>(
    link: &mut impl FnMut() -> io::Result<(R, W)>,
    k: u32,
    tasks: u32,
) -> anyhow::Result<(R, W)> {
    link().with_context(|| limits::refused(&format!("make link {k} of {}", tasks + 1), tasks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_leads_from_one_place_to_the_next() {
        for (tasks, shuffle) in [(1, None), (5, None), (1, Some(3)), (100, Some(3))] {
            let mut made = 0;
            let link = || {
                made += 1;
                Ok((made, made))
            };
            let mut builder = ChainBuilder::new(tasks, shuffle, link).unwrap();
            let mut stations = Vec::new();
            while let Some(station) = builder.next_station().unwrap() {
                stations.push(station);
            }
            let created: Vec<u32> = stations.iter().map(|s| s.place).collect();
            assert_eq!(created.is_sorted(), tasks == 1 || shuffle.is_none());
            stations.sort_unstable_by_key(|s| s.place);
            let (last, mut end) = builder.driver_ends();
            for (k, station) in (0..).zip(stations) {
                assert_eq!((station.place, station.upstream), (k, end));
                end = station.downstream;
            }
            assert_eq!(end, last);
        }
    }

    #[test]
    fn a_link_that_cannot_be_made_is_an_error() {
        for shuffle in [None, Some(1)] {
            let mut left = 2;
            let link = || {
                left -= 1;
                if left < 0 { Err(io::ErrorKind::Other.into()) } else { Ok((0, 0)) }
            };
            let text = match ChainBuilder::new(2, shuffle, link) {
                Err(e) => e.to_string(),
                Ok(mut builder) => loop {
                    if let Err(e) = builder.next_station() {
                        break e.to_string();
                    }
                },
            };
            assert!(text.contains("cannot make link 2 of 3"), "{text}");
        }
    }
}
