//! The processes of a chain: forked, awaited, never left behind.
//!
//! A child prints nothing. Through one pipe it says that it runs, and through another, at its end, how many
//! tokens it passed on. If it failed, its exit status is the errno.

#![expect(unsafe_code, reason = "processes are forked")]

use std::io::{self, PipeReader, PipeWriter, Read, Write};

use anyhow::{Context, anyhow};
use brigade::process;
use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

#[derive(Debug)]
pub(crate) struct Children {
    /// In the order of the chain.
    forked: Vec<Pid>,
    starts: PipeReader,
    reports: PipeReader,
    /// The ends that children inherit; closed when all are forked.
    inherited: Option<(PipeWriter, PipeWriter)>,
}

/// A child's way to tell that it runs. If it ends before it has, the kernel closes the pipe.
#[derive(Debug)]
pub(crate) struct ChildGuard(PipeWriter);

impl ChildGuard {
    pub(crate) fn started(mut self) -> io::Result<()> {
        self.0.write_all(&[1])
    }
}

impl Children {
    pub(crate) fn new(tasks: u32) -> anyhow::Result<Self> {
        let (starts, to_starts) = io::pipe().context("cannot make the pipe of starts")?;
        let (reports, to_reports) = io::pipe().context("cannot make the pipe of reports")?;
        Ok(Children {
            forked: Vec::with_capacity(tasks as usize),
            starts,
            reports,
            inherited: Some((to_starts, to_reports)),
        })
    }

    /// Forks the next process of the chain, which runs `task`.
    pub(crate) fn fork(
        &mut self,
        task: impl FnOnce(ChildGuard) -> io::Result<u64>,
    ) -> io::Result<()> {
        let life = || {
            let Some((starts, mut reports)) = self.inherited.take() else { return process::FAILED };
            // At once, so that the bytes stay together.
            let reported = task(ChildGuard(starts))
                .and_then(|passed| reports.write_all(&passed.to_ne_bytes()));
            reported.map_or_else(|e| e.raw_os_error().unwrap_or(Errno::EIO as i32), |()| 0)
        };
        // SAFETY: this process has one thread.
        let child = unsafe { process::fork(life) }?;
        self.forked.push(child);
        Ok(())
    }

    pub(crate) fn pids(&self) -> Vec<i32> {
        self.forked.iter().map(|pid| pid.as_raw()).collect()
    }

    pub(crate) fn wait_for_start(&mut self) -> anyhow::Result<()> {
        // Now only children that have not started hold it: when they are gone, the pipe ends.
        self.inherited = None;
        let mut started = vec![0; self.forked.len()];
        self.starts.read_exact(&mut started).context("a task ended before it had started")
    }

    /// Awaits every process. Returns why each failed, if it did, and at last how many tokens all passed on.
    pub(crate) fn join(mut self) -> anyhow::Result<Vec<anyhow::Result<u64>>> {
        self.inherited = None;
        let mut reports = Vec::new();
        self.reports.read_to_end(&mut reports).context("cannot read the tasks' reports")?;
        let passed = reports.as_chunks().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).sum();
        Ok(self.forked.into_iter().map(end).chain([Ok(passed)]).collect())
    }
}

/// How a process ended.
fn end(pid: Pid) -> anyhow::Result<u64> {
    match waitpid(pid, None).context("cannot wait for a child")? {
        WaitStatus::Exited(_, 0) => Ok(0),
        WaitStatus::Exited(_, errno) if errno != process::FAILED => {
            Err(io::Error::from_raw_os_error(errno).into())
        }
        WaitStatus::Signaled(_, signal, _) => Err(anyhow!("killed by {signal}")),
        status => Err(anyhow!("ended without a report: {status:?}")),
    }
}
