//! Wiring: which task gets which ends of the links, whatever order they are created in.

use std::io;

use anyhow::Context;
use contract::{Interrupted, limits, signals};

/// Place of a task in the chain, and its two ends of links.
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
    /// Ends of the links that were made and not given out, by the links' numbers.
    readers: Vec<Option<R>>,
    writers: Vec<Option<W>>,
    /// Places that have no task yet, the next one last.
    places: Vec<u32>,
}

impl<R, W, F: FnMut() -> io::Result<(R, W)>> ChainBuilder<R, W, F> {
    /// A chain of so many tasks, shuffled by the seed if there is one; `link` makes a link.
    pub fn new(tasks: u32, shuffle: Option<u64>, link: F) -> anyhow::Result<Self> {
        let mut builder = ChainBuilder {
            link,
            tasks,
            readers: (0..=tasks).map(|_| None).collect(),
            writers: (0..=tasks).map(|_| None).collect(),
            places: (0..tasks).rev().collect(),
        };
        let Some(seed) = shuffle else {
            builder.make_link(0)?;
            return Ok(builder);
        };
        fastrand::Rng::with_seed(seed).shuffle(&mut builder.places);
        for next in (0..builder.places.len()).rev() {
            builder.make_link(builder.places[next])?;
        }
        builder.make_link(tasks)?;
        Ok(builder)
    }

    fn make_link(&mut self, k: u32) -> anyhow::Result<()> {
        let (reader, writer) = (self.link)().with_context(|| {
            limits::refused(&format!("make link {k} of {}", self.tasks + 1), self.tasks)
        })?;
        self.readers[k as usize] = Some(reader);
        self.writers[k as usize] = Some(writer);
        Ok(())
    }

    /// Station of the next task to be created; `None` after the last one.
    pub fn next_station(&mut self) -> anyhow::Result<Option<Station<R, W>>> {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        let Some(place) = self.places.pop() else { return Ok(None) };
        let k = place as usize;
        if self.writers[k + 1].is_none() {
            self.make_link(place + 1)?;
        }
        let ends = self.readers[k].take().zip(self.writers[k + 1].take());
        Ok(ends.map(|(upstream, downstream)| Station { place, upstream, downstream }))
    }

    /// Drops all ends that no task has: a forked task must not hold the others' links open, else no end of
    /// file would ever come.
    pub fn close(&mut self) {
        self.readers.clear();
        self.writers.clear();
    }

    /// The driver's ends, when every task has its own: the one to read from and the one to write to. Panics if
    /// some task has not got its station, or after [`ChainBuilder::close`].
    pub fn driver_ends(mut self) -> (R, W) {
        let last = self.readers.pop().flatten();
        let ends = last.zip(self.writers.first_mut().and_then(Option::take));
        ends.expect("every station is taken before the driver's ends are")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffled_chain_is_made_in_another_order_than_that_of_its_places() {
        for (shuffle, is_sorted) in [(None, true), (Some(3), false)] {
            let mut builder = ChainBuilder::new(100, shuffle, || Ok(((), ()))).unwrap();
            let stations = std::iter::from_fn(|| builder.next_station().unwrap());
            let places: Vec<u32> = stations.map(|station| station.place).collect();
            assert_eq!((places.len(), places.is_sorted()), (100, is_sorted));
        }
    }
}
