//! The processes of a chain: forked, awaited, never left behind.
//!
//! A child prints nothing. Through one pipe it says that it runs, and through another, at its end, how many
//! tokens it passed on or why it failed.

#![expect(unsafe_code, reason = "processes are forked")]

use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::panic::{self, AssertUnwindSafe};

use anyhow::{Context, anyhow};
use brigade::process;
use contract::console;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// Longest text of a report, in bytes: a line that is written at once and stays whole (PIPE_BUF).
const LONGEST: usize = 4000;

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
        let place = self.forked.len();
        let life = || {
            let Some((starts, mut reports)) = self.inherited.take() else { return 1 };
            let result = panic::catch_unwind(AssertUnwindSafe(|| task(ChildGuard(starts))));
            i32::from(reports.write_all(report(place, result).as_bytes()).is_err())
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

    /// Awaits every process. Returns how many tokens each passed on, or why it failed.
    pub(crate) fn join(mut self) -> anyhow::Result<Vec<anyhow::Result<u64>>> {
        self.inherited = None;
        let text = io::read_to_string(self.reports).context("cannot read the tasks' reports")?;
        let mut reports: HashMap<usize, _> = text.lines().filter_map(parse).collect();
        let forked = self.forked.into_iter().enumerate();
        Ok(forked.map(|(place, pid)| end(pid, reports.remove(&place))).collect())
    }
}

/// How a process ended, with the report that it left.
fn end(pid: Pid, report: Option<anyhow::Result<u64>>) -> anyhow::Result<u64> {
    match waitpid(pid, None).context("cannot wait for a child")? {
        WaitStatus::Signaled(_, Signal::SIGKILL, _) => {
            Err(anyhow!("killed by SIGKILL: by hand, or by the kernel when memory ran out"))
        }
        WaitStatus::Signaled(_, signal, _) => Err(anyhow!("killed by {signal}")),
        status => report.unwrap_or_else(|| Err(anyhow!("ended without a report: {status:?}"))),
    }
}

/// Line that a process leaves behind: its place, and the tokens that it passed on, an errno, or a text.
fn report(place: usize, result: std::thread::Result<io::Result<u64>>) -> String {
    let error = match result {
        Ok(Ok(passed)) => return format!("{place} passed {passed}\n"),
        Ok(Err(e)) => match e.raw_os_error() {
            Some(errno) => return format!("{place} errno {errno}\n"),
            None => e.to_string(),
        },
        Err(panic) => console::panic_error(&*panic).to_string(),
    };
    let error = &error[..error.floor_char_boundary(LONGEST)];
    format!("{place} failed {}\n", error.replace('\n', " "))
}

fn parse(line: &str) -> Option<(usize, anyhow::Result<u64>)> {
    let mut parts = line.splitn(3, ' ');
    let place = parts.next()?.parse().ok()?;
    let result = match (parts.next()?, parts.next()?) {
        ("passed", count) => Ok(count.parse().ok()?),
        ("errno", errno) => Err(io::Error::from_raw_os_error(errno.parse().ok()?).into()),
        (_, text) => Err(anyhow!("{text}")),
    };
    Some((place, result))
}
