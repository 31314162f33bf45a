//! Processes that are the tasks of a chain: forked, awaited, and never left behind.
//!
//! `harness::forked` has what keeps a child from acting as if it was the driver, and from outliving
//! it. Here it closes every link that is not its own (else no end of file would ever come), says nothing
//! on any output, and leaves a report.

#![expect(
    unsafe_code,
    reason = "processes are forked and close what they inherit"
)]

use std::fs::{self, File};
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::panic::{self, AssertUnwindSafe};

use anyhow::{Context, anyhow};
use harness::forked;
use harness::ready::Muster;
use harness::wiring::Post;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::reports::Reports;

/// How long the driver sleeps before it looks again whether it is to stop, in ms.
const GLANCE: u16 = 50;

/// The processes of a chain.
#[derive(Debug)]
pub(crate) struct Children {
    /// The place of each in the chain, in the order in which they were forked.
    forked: Vec<(u32, Pid)>,
    reports: Reports,
    tasks: u32,
    arrivals: PipeReader,
    /// The end that children inherit; closed when all are forked.
    door: Option<PipeWriter>,
}

/// A child's way to tell that it runs. Where it ends without that, the kernel closes it.
#[derive(Debug)]
pub(crate) struct Arrival(PipeWriter);

impl Arrival {
    /// Tells that this process runs.
    ///
    /// # Errors
    /// Where the driver is gone.
    pub(crate) fn arrive(mut self) -> io::Result<()> {
        self.0.write_all(&[1])
    }
}

impl Children {
    /// For so many tasks.
    ///
    /// # Errors
    /// Where the memory for their reports, or the pipe at which they are awaited, cannot be had.
    pub(crate) fn new(tasks: u32) -> anyhow::Result<Self> {
        forked::keep_the_ended()?;
        let reports = Reports::map(tasks).context("cannot map memory for what tasks report")?;
        let (arrivals, door) = io::pipe().context("cannot make the pipe that tasks report to")?;
        Ok(Children {
            forked: Vec::with_capacity(tasks as usize),
            reports,
            tasks,
            arrivals,
            door: Some(door),
        })
    }

    /// Forks a process that runs `task`, which is given both its ends of links.
    ///
    /// # Errors
    /// Those of fork(2): `EAGAIN` where a limit of processes is met, `ENOMEM` where memory is.
    pub(crate) fn fork(
        &mut self,
        post: Post<OwnedFd, OwnedFd>,
        task: impl FnOnce(File, File, Arrival) -> io::Result<u64>,
    ) -> io::Result<()> {
        let place = post.place;
        // SAFETY: this process has one thread.
        let child = unsafe { forked::fork_off(|settled| self.live(settled, post, task)) }?;
        self.forked.push((place, child));
        Ok(())
    }

    /// The whole life of a child. What has become of it is in its report.
    fn live(
        &mut self,
        settled: nix::Result<()>,
        post: Post<OwnedFd, OwnedFd>,
        task: impl FnOnce(File, File, Arrival) -> io::Result<u64>,
    ) -> i32 {
        let Post {
            place,
            upstream,
            downstream,
        } = post;
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
            settled?;
            let door = self.door.take().ok_or(io::ErrorKind::NotConnected)?;
            let own = [upstream.as_fd(), downstream.as_fd(), door.as_fd()];
            close_all_but(own.map(|fd| fd.as_raw_fd()))?;
            task(upstream.into(), downstream.into(), Arrival(door))
        }));
        self.reports.write(place, &outcome);
        0
    }

    /// The processes, in the order in which they were forked.
    pub(crate) fn pids(&self) -> Vec<Pid> {
        self.forked.iter().map(|&(_, pid)| pid).collect()
    }

    /// Waits until each process runs.
    ///
    /// # Errors
    /// As [`Muster::complete`].
    pub(crate) fn muster(&mut self) -> anyhow::Result<()> {
        // Now only those who have not arrived have it: when all of them are gone, the pipe ends.
        self.door = None;
        let mut muster = Muster::of(self.tasks);
        let mut arrived = [0; 4096];
        while !muster.complete()? {
            let mut fds = [PollFd::new(self.arrivals.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::from(GLANCE)) {
                Ok(0) | Err(Errno::EINTR) => continue,
                Ok(_) => {}
                Err(e) => return Err(e).context("cannot wait for the tasks"),
            }
            match self.arrivals.read(&mut arrived)? {
                0 => drop(muster.arrival()),
                count => (0..count).for_each(|_| muster.arrival().arrive()),
            }
        }
        Ok(())
    }

    /// Awaits every process and returns what it came to, in the order of the chain: how many tokens
    /// it passed on, or why it failed.
    pub(crate) fn join(mut self) -> Vec<anyhow::Result<u64>> {
        self.forked.sort_unstable_by_key(|&(place, _)| place);
        let forked = self.forked.iter();
        forked
            .map(|&(place, pid)| match forked::await_end(pid)? {
                WaitStatus::Exited(_, 0) => self
                    .reports
                    .read(place)
                    .unwrap_or_else(|| Err(anyhow!("ended without a word"))),
                WaitStatus::Signaled(_, signal, _) => Err(forked::killed_by(signal)),
                status => Err(anyhow!("ended in an unknown way: {status:?}")),
            })
            .collect()
    }
}

/// Closes every descriptor but these and the standard ones.
fn close_all_but(mut keep: [RawFd; 3]) -> io::Result<()> {
    keep.sort_unstable();
    let mut next = libc::STDERR_FILENO + 1;
    for fd in keep {
        close_range(next, fd - 1)?;
        next = fd + 1;
    }
    close_range(next, RawFd::MAX)
}

/// Closes all from `first` to `last`.
fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: what is closed belongs to values of the driver. Those that a child has copies of are
    // never dropped there: it ends by `_exit`.
    let code = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    match Errno::result(code) {
        Ok(_) => Ok(()),
        // Before Linux 5.9, or in a sandbox.
        Err(Errno::ENOSYS | Errno::EPERM) => close_one_by_one(first, last),
        Err(e) => Err(e.into()),
    }
}

fn close_one_by_one(first: RawFd, last: RawFd) -> io::Result<()> {
    let open = match fs::read_dir("/proc/self/fd") {
        Ok(entries) => entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .collect(),
        Err(_) => {
            let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
            let most = RawFd::try_from(soft).unwrap_or(RawFd::MAX);
            (first..=last.min(most)).collect::<Vec<RawFd>>()
        }
    };
    for fd in open.into_iter().filter(|fd| (first..=last).contains(fd)) {
        // SAFETY: as in `close_range`. One that is not open is refused, and nothing else happens.
        unsafe { libc::close(fd) };
    }
    Ok(())
}
