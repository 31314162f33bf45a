//! The threads of a chain, before and after what is timed.

use std::io;
use std::thread::JoinHandle;

use chain::{Backlog, ChainBuilder, StartLatch, TaskResults, TokenSource};
use threads::CpuAssignment;

use crate::cli::Cli;
use crate::links::Receiver;
use crate::{pass_on, pass_on_from};

/// The threads of a chain, with their places.
pub(crate) type Threads = Vec<(u32, JoinHandle<io::Result<u64>>)>;

/// Awaits the threads.
pub(crate) fn join(threads: Threads) -> TaskResults {
    threads.into_iter().map(|(place, thread)| (place, thread.join())).collect()
}

/// Builds a chain, waits until each thread runs, and returns the driver's ends.
pub(crate) fn build<R: Receiver>(
    cli: &Cli,
    (chain, cpus): (u32, &CpuAssignment),
    tasks: u32,
    mut backlog: Option<Backlog>,
    threads: &mut Threads,
) -> anyhow::Result<(R, R::Sender)> {
    let (cpus, faults) = (cpus.of_chain(chain), cli.fault.in_chain(chain, cli.flags.tasks));
    let mut latch = StartLatch::new(tasks);
    let link = || Ok(R::link(cli.capacity()));
    let mut builder = ChainBuilder::new(tasks, cli.chain.shuffle, link)?;
    while let Some(station) = builder.next_station()? {
        let (place, from, to) = (station.place, station.upstream, station.downstream);
        let (fault, cpus) = (faults.of(place), cpus.clone());
        let guard = latch.guard(fault);
        let start = move || {
            cpus.pin(place + 1, tasks + 1)?;
            guard.started()
        };
        let backlog = if place == 0 { backlog.take() } else { None };
        let thread = if backlog.is_none() && fault.is_none() {
            cli.stack.spawn(tasks, || start().and_then(|()| pass_on(from, to)))?
        } else {
            let source = TokenSource::new(backlog, fault);
            cli.stack.spawn(tasks, || start().and_then(|()| pass_on_from(from, to, source)))?
        };
        threads.push((place, thread));
    }
    cpus.pin(0, tasks + 1)?;
    latch.wait()?;
    Ok(builder.driver_ends())
}
