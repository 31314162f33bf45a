//! The processes of a chain: forked, awaited, never left behind.
//!
//! A child closes every link that is not its own, else no end of file would ever come. It prints nothing,
//! and leaves a report in shared memory.

#![expect(unsafe_code, reason = "processes are forked and close what they inherit")]

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::panic::{self, AssertUnwindSafe};

use anyhow::{Context, anyhow};
use chain::{Fault, StartGuard, StartLatch, Station};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use threads::process;

use crate::reports::Reports;

/// Time between two looks for a signal, in ms.
const LOOK_MS: u16 = 50;

/// The processes of a chain.
#[derive(Debug)]
pub(crate) struct Children {
    /// Place of each, in the order in which they were forked.
    forked: Vec<(u32, Pid)>,
    reports: Reports,
    latch: StartLatch,
    starts: PipeReader,
    /// The end that children inherit; closed when all are forked.
    to_starts: Option<PipeWriter>,
}

/// A child's way to tell that it runs. Where it ends before it has, the kernel closes the pipe.
#[derive(Debug)]
pub(crate) struct ChildGuard {
    guard: StartGuard,
    starts: PipeWriter,
}

impl ChildGuard {
    /// Tells that this process runs.
    ///
    /// # Errors
    /// Where a test asks for a task that does not start, and where the driver is gone.
    pub(crate) fn started(mut self) -> io::Result<()> {
        self.guard.started()?;
        self.starts.write_all(&[1])
    }
}

impl Children {
    /// Room for so many processes.
    ///
    /// # Errors
    /// Where the memory for their reports, or the pipe by which they tell that they run, cannot be made.
    pub(crate) fn new(tasks: u32) -> anyhow::Result<Self> {
        let reports = Reports::map(tasks).context("cannot map memory for the tasks' reports")?;
        let (starts, to_starts) = io::pipe().context("cannot make the pipe of starts")?;
        Ok(Children {
            forked: Vec::with_capacity(tasks as usize),
            reports,
            latch: StartLatch::new(tasks),
            starts,
            to_starts: Some(to_starts),
        })
    }

    /// Forks a process that runs `task` with its two ends of links.
    ///
    /// # Errors
    /// Those of fork(2): `EAGAIN` where a limit of processes is met, `ENOMEM` where memory is.
    pub(crate) fn fork(
        &mut self,
        station: Station<OwnedFd, OwnedFd>,
        fault: Option<Fault>,
        task: impl FnOnce(OwnedFd, OwnedFd, ChildGuard) -> io::Result<u64>,
    ) -> io::Result<()> {
        let place = station.place;
        let life = |detached: nix::Result<()>| {
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                detached?;
                let (from, to) = (station.upstream, station.downstream);
                let starts = self.to_starts.take().ok_or(io::ErrorKind::NotConnected)?;
                let own = [from.as_fd(), to.as_fd(), starts.as_fd()];
                close_all_but(own.map(|fd| fd.as_raw_fd()))?;
                let guard = self.latch.guard(fault);
                task(from, to, ChildGuard { guard, starts })
            }));
            self.reports.write(place, &outcome);
            0
        };
        // SAFETY: this process has one thread.
        let child = unsafe { process::fork(life) }?;
        self.forked.push((place, child));
        Ok(())
    }

    /// Ids of the processes.
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.forked.iter().map(|&(_, pid)| pid.as_raw()).collect()
    }

    /// Waits until each process runs.
    ///
    /// # Errors
    /// As [`StartLatch::is_open`].
    pub(crate) fn wait_for_start(&mut self) -> anyhow::Result<()> {
        // Now only children that have not started hold it: when they are gone, the pipe ends.
        self.to_starts = None;
        let mut started = [0; 4096];
        while !self.latch.is_open()? {
            let mut fds = [PollFd::new(self.starts.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::from(LOOK_MS)) {
                Ok(0) | Err(Errno::EINTR) => continue,
                other => other.context("cannot wait for the tasks")?,
            };
            match self.starts.read(&mut started)? {
                0 => drop(self.latch.guard(None)),
                count => {
                    (0..count).try_for_each(|_| self.latch.guard(None).started())?;
                }
            }
        }
        Ok(())
    }

    /// Awaits every process. Returns the place of each, and how many tokens it passed on or why it
    /// failed.
    pub(crate) fn join(self) -> Vec<(u32, anyhow::Result<u64>)> {
        let result = |place, pid| match process::wait(pid)? {
            WaitStatus::Exited(_, 0) => {
                self.reports.read(place).unwrap_or_else(|| Err(anyhow!("ended without a report")))
            }
            WaitStatus::Signaled(_, signal, _) => Err(process::killed_by(signal)),
            status => Err(anyhow!("ended in an unknown way: {status:?}")),
        };
        let forked = self.forked.iter();
        forked.map(|&(place, pid)| (place, result(place, pid))).collect()
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
    // SAFETY: what is closed belongs to values of the driver, whose copies in a child are never dropped:
    // it ends by `_exit`.
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
        Ok(entries) => {
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
        }
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
