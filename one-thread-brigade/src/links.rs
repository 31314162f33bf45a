//! All links of a brigade, held by one thread.

use std::fs::File;

use chain::{ChainBuilder, ChainFlags, Reader, Transport};

/// The station of a task that is not there: its ends, its buffer.
pub(crate) struct Task {
    pub(crate) from: Reader,
    pub(crate) to: File,
    pub(crate) buffer: Box<[u8]>,
}

/// All links: the first end to write to, the stations, the last end to read from.
pub(crate) struct Chain {
    pub(crate) first: File,
    pub(crate) tasks: Vec<Task>,
    pub(crate) last: File,
}

impl Chain {
    /// Makes the links for reads of so many bytes; nothing but this thread will use them.
    pub(crate) fn new(
        flags: &ChainFlags,
        is_nonblocking: bool,
        read_size: usize,
    ) -> anyhow::Result<Self> {
        let make = if is_nonblocking {
            Transport::nonblocking_descriptors
        } else {
            Transport::descriptors
        };
        let link = || make(flags.transport);
        let mut builder = ChainBuilder::new(flags.tasks(), link)?;
        let mut tasks = Vec::new();
        while let Some(station) = builder.next_station()? {
            let task = Task {
                from: Reader::new(
                    station.upstream,
                    flags.fault.of((0, flags.tasks()), station.place),
                ),
                to: station.downstream.into(),
                // Written, so that it is resident before anything is timed.
                buffer: vec![u8::MAX; read_size].into(),
            };
            tasks.push((station.place, task));
        }
        tasks.sort_unstable_by_key(|&(place, _)| place);
        let tasks = tasks.into_iter().map(|(_, task)| task).collect();
        let (last, first) = builder.driver_ends();
        Ok(Chain { first: first.into(), tasks, last: last.into() })
    }
}
