//! A program that is checked, and its sessions.

use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{anyhow, bail, ensure};
use contract::message::Description;
use host::strays;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use record::{Setting, Why};
use serde::Serialize;

use crate::measure::child::Ended;
use crate::measure::probe;
use crate::measure::session::Session;
use crate::plan::refusal::Refusal;
use crate::system::console::shortened;
use crate::system::program::Program;
use crate::system::signals;

/// Tasks of a run, if a check does not ask for others.
pub(super) const TASKS: u64 = 3;

/// Most lines that are read of what a program prints in vain.
const MOST_LINES: usize = 10_000;

/// Program to be checked.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub executable: Program,
    /// Flags that keep its run small or choose its kind; not `--tasks`, `--iters` and `--warmup`.
    pub flags: Vec<String>,
    /// Longest wait for an answer or an end.
    pub timeout: Duration,
    pub setting: Setting,
}

impl Candidate {
    /// Starts a run with these arguments alone.
    pub fn start(&self, args: &[String]) -> anyhow::Result<Session> {
        Session::start(&self.executable, args, &self.setting, self.timeout)
    }

    /// Starts a run of so many tasks, with these further flags.
    pub fn start_tasks(&self, tasks: u64, flags: &str) -> anyhow::Result<Session> {
        let further = flags.split_whitespace().map(str::to_owned).collect();
        self.start(
            &[vec!["--tasks".to_owned(), tasks.to_string()], self.flags.clone(), further].concat(),
        )
    }

    /// Starts a small controlled run.
    pub fn start_small(&self) -> anyhow::Result<Session> {
        self.start_tasks(TASKS, "--warmup 2 --controlled")
    }

    /// A small controlled run that is ready.
    pub fn ready(&self) -> anyhow::Result<Session> {
        self.ready_with(TASKS, 2)
    }

    /// A controlled run of so many tasks that is ready after so many iterations.
    ///
    /// # Errors
    /// [`Why::LeftOut`] if it fails and this system does not allow what it says that it needs.
    pub(super) fn ready_with(&self, tasks: u64, warmup: u64) -> anyhow::Result<Session> {
        let mut session = self.start_tasks(tasks, &format!("--warmup {warmup} --controlled"))?;
        session.ready(None).map_err(|e| {
            let flags = [&["--tasks".to_owned(), tasks.to_string()], &self.flags[..]].concat();
            let refusal = probe::ask(&self.executable, &flags, &self.setting).err();
            match refusal.and_then(|why| why.downcast::<Refusal>().ok()) {
                Some(why @ Refusal::TooMuch { .. }) => anyhow!(Why::LeftOut(why.to_string())),
                _ => e,
            }
        })?;
        Ok(session)
    }

    /// Its description of a run of so many tasks.
    pub(super) fn description(&self, tasks: u64) -> anyhow::Result<Description> {
        let ended = self.start_tasks(tasks, "--describe")?.finish()?.expect(0)?;
        let [line] = &ended.lines[..] else {
            bail!("--describe must print one line: {ended}");
        };
        serde_json::from_str(line)
            .map_err(|e| anyhow!("this is not a description: {e}: {line:.80}"))
    }
}

/// What only a check does with a session.
impl Session {
    /// Process of the program.
    pub fn pid(&self) -> Pid {
        self.child.pid()
    }

    /// Writes to its standard input. A program that has ended is found out by its missing answer.
    pub fn send(&mut self, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
        Ok(self.child.write(text.as_ref())?)
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill(self.pid(), signal)?)
    }

    /// Closes its input, and waits for its end.
    pub fn finish(mut self) -> anyhow::Result<Ended> {
        self.child.close_input();
        self.wait()
    }

    /// Reads the rest of its output with its input left open, and waits until it and its children have ended.
    pub fn wait(mut self) -> anyhow::Result<Ended> {
        let mut lines = Vec::new();
        while let Some(line) = self.child.line()? {
            ensure!(lines.len() < MOST_LINES, "it printed more than {MOST_LINES} lines");
            lines.push(String::from_utf8(line)?);
        }
        // Before the group is killed: a process that is left behind is a fault.
        let group = self.pid().as_raw();
        until(self.child.limit(), "its children end", || {
            let mut processes = strays::processes().unwrap_or_default().into_iter();
            !processes.any(|p| p.group == group && p.pid != group && !p.is_zombie)
        })?;
        let ended = Ended { lines, ..self.child.end()? };
        if ended.is_overdue {
            return Err(ended.into());
        }
        let has_crashed = matches!(ended.status.signal(), Some(4 | 6 | 7 | 8 | 11));
        ensure!(!has_crashed, "it crashed: {ended}");
        let left = ended.left.as_deref();
        ensure!(left.is_none(), "it left processes running: {}", left.unwrap_or_default());
        Ok(ended)
    }
}

impl Ended {
    /// Expects this exit status.
    pub fn expect(self, code: i32) -> anyhow::Result<Self> {
        ensure!(self.status.code() == Some(code), "expected status {code}: {self}");
        Ok(self)
    }
}

/// An answer or a description as a program prints it.
pub(super) fn shown(message: &impl Serialize) -> String {
    serde_json::to_string(message).map_or_else(|e| e.to_string(), |text| shortened(&text))
}

/// Waits until something is so.
pub(super) fn until(
    timeout: Duration,
    event: &str,
    mut is_so: impl FnMut() -> bool,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is_so() {
        ensure!(signals::received().is_none(), "interrupted");
        ensure!(begun.elapsed() < timeout, "never within {timeout:?}: {event}");
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
