//! Wiring: which task gets which ends of the links.

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

/// Makes the N + 1 links of a chain. Link k leads to the task in place k, the last one to the driver. A link is made when
/// the task before it is: both are then neighbours in memory.
#[derive(Debug)]
pub struct ChainBuilder<R, W, F> {
    link: F,
    tasks: u32,
    /// Tasks that have their ends.
    taken: u32,
    /// The end that the driver writes to, and the one that the next task reads from: after the last task, the driver.
    ends: Option<(W, R)>,
}

impl<R, W, F: FnMut() -> io::Result<(R, W)>> ChainBuilder<R, W, F> {
    /// A chain of so many tasks; `link` makes a link.
    pub fn new(tasks: u32, link: F) -> anyhow::Result<Self> {
        let mut builder = ChainBuilder { link, tasks, taken: 0, ends: None };
        let (reader, writer) = builder.make_link(0)?;
        builder.ends = Some((writer, reader));
        Ok(builder)
    }

    fn make_link(&mut self, k: u32) -> anyhow::Result<(R, W)> {
        (self.link)().with_context(|| {
            limits::refused(&format!("make link {k} of {}", self.tasks + 1), self.tasks)
        })
    }

    /// Station of the next task to be created; `None` after the last one, and after [`ChainBuilder::close`].
    pub fn next_station(&mut self) -> anyhow::Result<Option<Station<R, W>>> {
        if signals::received().is_some() {
            return Err(Interrupted.into());
        }
        if self.taken == self.tasks {
            return Ok(None);
        }
        let place = self.taken;
        let (reader, downstream) = self.make_link(place + 1)?;
        let Some((first, upstream)) = self.ends.take() else { return Ok(None) };
        self.ends = Some((first, reader));
        self.taken += 1;
        Ok(Some(Station { place, upstream, downstream }))
    }

    /// Drops all ends that no task has: a forked task must not hold the others' links open, else no end of
    /// file would ever come.
    pub fn close(&mut self) {
        self.ends = None;
    }

    /// The driver's ends, when every task has its own: the one to read from and the one to write to. Panics if
    /// some task has not got its station, or after [`ChainBuilder::close`].
    pub fn driver_ends(self) -> (R, W) {
        let ends = self.ends.filter(|_| self.taken == self.tasks);
        let (first, last) = ends.expect("every station is taken before the driver's ends are");
        (last, first)
    }
}
