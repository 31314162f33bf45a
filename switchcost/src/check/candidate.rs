//! A program that is checked, and its runs.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use contract::message::{Answer, Description};
use contract::strays::{self, Process};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use record::Setting;
use serde::Serialize;

use crate::measure::process_group::Ended;
use crate::measure::session::{Session, explain};
use crate::system::console::brief;
use crate::system::program::Program;
use crate::system::signals;

/// Tasks of a run, if a check does not ask for others.
pub(super) const TASKS: u64 = 3;

/// Bytes of a request that are quoted.
const MOST_QUOTED: usize = 40;

/// Program to be checked.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its executable.
    pub executable: Program,
    /// Flags that keep its run small or choose its kind; not `--tasks`, `--iters` and `--warmup`.
    pub flags: Vec<String>,
    /// Longest wait for an answer or an end.
    pub timeout: Duration,
}

/// A run of a candidate, which ends when this is dropped.
#[derive(Debug)]
pub struct Live {
    pub(super) session: Session,
    timeout: Duration,
    /// Text that it is waited for.
    awaited: String,
}

/// Context of a fault of a program that was waited for in vain.
#[derive(Debug)]
pub(super) struct Late(String);

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} never came (is each line flushed?)", self.0)
    }
}

/// End of a run.
#[derive(Debug)]
pub struct Exit {
    /// Lines of standard output that nobody had read.
    pub lines: Vec<String>,
    pub(super) ended: Ended,
}

impl Candidate {
    /// Starts a run with these arguments alone.
    pub fn start(&self, args: &[String]) -> anyhow::Result<Live> {
        let session = Session::start(&self.executable, args, &Setting::default(), self.timeout)?;
        let awaited = "its first line".to_owned();
        Ok(Live { session, timeout: self.timeout, awaited })
    }

    /// Starts a run of so many tasks, with these further flags.
    pub fn start_tasks(&self, tasks: u64, flags: &str) -> anyhow::Result<Live> {
        let further = flags.split_whitespace().map(str::to_owned).collect();
        self.start(
            &[vec!["--tasks".to_owned(), tasks.to_string()], self.flags.clone(), further].concat(),
        )
    }

    /// Starts a small controlled run.
    pub fn start_small(&self) -> anyhow::Result<Live> {
        self.start_tasks(TASKS, "--warmup 2 --controlled")
    }

    /// A small controlled run that is ready.
    pub fn ready(&self) -> anyhow::Result<Live> {
        let mut live = self.start_small()?;
        live.attempt(|session| session.ready(None))?;
        Ok(live)
    }

    /// Its description of a run of so many tasks.
    pub(super) fn description(&self, tasks: u64) -> anyhow::Result<Description> {
        let exit = self.start_tasks(tasks, "--describe")?.finish()?.expect(0)?;
        let [line] = &exit.lines[..] else {
            bail!("--describe must print one line: {exit}");
        };
        serde_json::from_str(line).with_context(|| format!("this is not a description: {line}"))
    }
}

impl Live {
    /// Process of the program.
    pub fn pid(&self) -> Pid {
        self.session.group.pid()
    }

    /// Does a part of the session; one that fails has its cause, after the end of the program.
    pub fn attempt<T>(
        &mut self,
        part: impl FnOnce(&mut Session) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let result = part(&mut self.session);
        result.or_else(|fault| {
            let ended = self.session.end(Some(&fault))?;
            let error = anyhow!(explain(&fault, &ended));
            Err(if ended.is_overdue { error.context(Late(self.awaited.clone())) } else { error })
        })
    }

    /// Writes to its standard input. A program that has ended is found out by its missing answer.
    pub fn send(&mut self, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let text = text.as_ref();
        let requests = String::from_utf8_lossy(&text[..text.len().min(MOST_QUOTED)]);
        self.awaited = format!("the answer to `{}`", requests.trim().replace('\n', ", "));
        Ok(self.session.group.write(text)?)
    }

    /// Next answer.
    pub fn answer(&mut self) -> anyhow::Result<Answer> {
        self.attempt(Session::answer)
    }

    /// Asks it to hold; returns its processes.
    pub fn hold(&mut self) -> anyhow::Result<Vec<i32>> {
        self.awaited = "the answer to `hold`".to_owned();
        self.attempt(Session::hold)
    }

    /// Asks for iterations of a pass, and makes sure that their times are possible; returns them in ns.
    pub fn run(&mut self, n: u64, pass: Option<&String>) -> anyhow::Result<Vec<u64>> {
        self.awaited = format!("the answer to `run {n}`");
        let begun = Instant::now();
        let ran = self.attempt(|session| session.run(n, pass))?;
        let elapsed = begun.elapsed();
        ensure!(!ran.samples.contains(&0), "run {n}: a sample of 0 ns");
        if let Some(what) = self.session.impossible(&ran, elapsed) {
            bail!("run {n}: {what} in {} ns", elapsed.as_nanos());
        }
        Ok(ran.samples)
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill(self.pid(), signal)?)
    }

    /// Closes its input, and waits for its end.
    pub fn finish(mut self) -> anyhow::Result<Exit> {
        self.session.group.close_input();
        self.wait()
    }

    /// Reads the rest of its output with its input left open, and waits until it and its children have ended.
    pub fn wait(mut self) -> anyhow::Result<Exit> {
        let mut lines = Vec::new();
        while let Some(line) = self.session.group.line()? {
            ensure!(lines.len() < 10_000, "it printed more than 10,000 lines");
            lines.push(String::from_utf8(line)?);
        }
        // Before the group is killed: a process that is left behind is a fault.
        let group = self.pid().as_raw();
        until(self.timeout, "its children end", || {
            let is_other = |p: &Process| p.group == group && p.pid != group && !p.is_zombie;
            !strays::all().unwrap_or_default().iter().any(is_other)
        })?;
        let exit = Exit { lines, ended: self.session.end(None)? };
        if exit.ended.is_overdue {
            return Err(anyhow!("{exit}").context(Late("its end".to_owned())));
        }
        let has_crashed = matches!(exit.ended.status.signal(), Some(4 | 6 | 7 | 8 | 11));
        ensure!(!has_crashed, "it crashed: {exit}");
        let left = exit.ended.left.as_deref();
        ensure!(left.is_none(), "it left processes running: {}", left.unwrap_or_default());
        Ok(exit)
    }
}

impl Exit {
    /// Expects this exit status.
    pub fn expect(self, code: i32) -> anyhow::Result<Self> {
        ensure!(self.code() == Some(code), "expected status {code}: {self}");
        Ok(self)
    }

    /// Exit status; `None` if a signal ended it.
    pub(super) fn code(&self) -> Option<i32> {
        self.ended.status.code()
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.ended.fault, self.code()) {
            (None, Some(code)) => write!(f, "it ended with status {code}")?,
            (fault, _) => write!(f, "{}", fault.as_deref().unwrap_or("interrupted"))?,
        }
        let printed = self.lines.last().map(String::as_str);
        for (verb, line) in [("printed", printed), ("said", self.ended.words.lines().last())] {
            if let Some(line) = line {
                write!(f, "; it {verb} '{}'", brief(line))?;
            }
        }
        Ok(())
    }
}

/// An answer or a description as a program prints it.
pub(super) fn shown(message: &impl Serialize) -> String {
    serde_json::to_string(message).map_or_else(|e| e.to_string(), |text| brief(&text))
}

/// Waits until something is so.
pub(super) fn until(
    timeout: Duration,
    what: &str,
    mut is_so: impl FnMut() -> bool,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is_so() {
        ensure!(signals::received().is_none(), "interrupted");
        ensure!(begun.elapsed() < timeout, "never within {timeout:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
