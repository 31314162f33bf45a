//! A program that is checked, and its runs.

use std::error::Error;
use std::fmt;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use contract::message::{Answer, Description};
use contract::units::counted;
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::{Pid, getpgid};
use serde::Serialize;

use crate::measure::process_group::{self, Ended, ProcessGroup};
use crate::plan::setting::Setting;
use crate::system::console::brief;
use crate::system::executable::Executable;
use crate::system::signals;

/// Tasks of a run, if a check does not ask for others.
pub(super) const TASKS: u64 = 3;

/// Bytes of a request that are quoted.
const MOST_QUOTED: usize = 40;

/// Program to be checked.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its executable.
    pub executable: Executable,
    /// Flags that keep its run small or choose its kind; not `--tasks`, `--iters` and `--warmup`.
    pub flags: Vec<String>,
    /// Longest wait for an answer or an end.
    pub timeout: Duration,
}

/// A run of a candidate, which ends when this is dropped.
#[derive(Debug)]
pub struct Live {
    pub(super) group: ProcessGroup,
    timeout: Duration,
    /// What it is waited for.
    awaited: String,
    /// Answers that it has given.
    answers: u32,
    /// True if its samples are latencies, which overlap.
    pub(super) has_latencies: bool,
}

/// Fault of a program that has not answered its first request in time: it answers none.
#[derive(Debug)]
pub(super) struct Silent(String);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Silent {}

/// End of a run.
#[derive(Debug)]
pub struct Exit {
    /// Lines of standard output that nobody had read.
    pub lines: Vec<String>,
    ended: Ended,
}

impl Candidate {
    /// Starts a run with these arguments alone.
    pub fn start<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> anyhow::Result<Live> {
        let mut command = process_group::command(&self.executable, &Setting::default());
        command.args(args).env_remove("RUST_BACKTRACE");
        // SAFETY: the calls in it are system calls, async-signal-safe, and set no handler.
        #[expect(unsafe_code, reason = "signals are set between fork and exec")]
        unsafe {
            command.pre_exec(|| {
                // nohup(1), or a shell without job control, has its children ignore them.
                signal(Signal::SIGINT, SigHandler::SigDfl)?;
                signal(Signal::SIGHUP, SigHandler::SigDfl)?;
                Ok(())
            });
        }
        let group = ProcessGroup::spawn(command, [Stdio::piped(), Stdio::piped()], self.timeout)
            .with_context(|| format!("cannot start {}", self.executable.path.display()))?;
        let awaited = "its first line".to_owned();
        Ok(Live { group, timeout: self.timeout, awaited, answers: 0, has_latencies: false })
    }

    /// Starts a run of so many tasks, with these further flags.
    pub fn start_tasks(&self, tasks: u64, flags: &str) -> anyhow::Result<Live> {
        let tasks = tasks.to_string();
        let own = self.flags.iter().map(String::as_str);
        self.start(["--tasks", &tasks].into_iter().chain(own).chain(flags.split_whitespace()))
    }

    /// Starts a small controlled run.
    pub fn start_small(&self) -> anyhow::Result<Live> {
        self.start_tasks(TASKS, "--warmup 2 --controlled")
    }

    /// A small controlled run that is ready.
    pub fn ready(&self) -> anyhow::Result<Live> {
        let mut live = self.start_small()?;
        live.ready()?;
        Ok(live)
    }

    /// Its description of a run of so many tasks.
    pub(super) fn description(&self, tasks: u64) -> anyhow::Result<Description> {
        let exit = self.start_tasks(tasks, "--describe")?.finish()?.expect(0)?;
        let [line] = &exit.lines[..] else {
            bail!("--describe prints one line: {exit}");
        };
        serde_json::from_str(line).with_context(|| format!("no description: {line}"))
    }
}

impl Live {
    /// Process of the program.
    pub fn pid(&self) -> Pid {
        self.group.pid()
    }

    /// Writes to its standard input. A program that has ended is found out by its missing answer.
    pub fn send(&mut self, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let text = text.as_ref();
        let requests = String::from_utf8_lossy(&text[..text.len().min(MOST_QUOTED)]);
        self.awaited = format!("the answer to `{}`", requests.trim().replace('\n', ", "));
        Ok(self.group.write(text)?)
    }

    /// Next answer.
    pub fn answer(&mut self) -> anyhow::Result<Answer> {
        let line = self.group.line()?;
        self.ensure_in_time()?;
        let Some(line) = line else {
            bail!("no answer: {}", self.group.end()?.reason());
        };
        self.answers += 1;
        let answer = serde_json::from_slice(&line)
            .map_err(|e| anyhow::anyhow!("no answer: {e}: {}", String::from_utf8_lossy(&line)))?;
        if let Answer::Ready { description, .. } = &answer {
            self.has_latencies = description.arrivals.is_some();
        }
        Ok(answer)
    }

    /// Makes sure that its time was not up before it did what it is waited for.
    fn ensure_in_time(&self) -> anyhow::Result<()> {
        if !self.group.is_overdue() {
            return Ok(());
        }
        let Live { group, timeout, awaited, .. } = self;
        let printed = group.had_printed();
        let late =
            format!("timed out: {awaited} did not come within {timeout:?} (--timeout); {printed}");
        if self.answers < 2 { Err(Silent(late).into()) } else { Err(anyhow!(late)) }
    }

    /// Sends a request and takes the answer to it.
    pub fn ask(&mut self, request: &str) -> anyhow::Result<Answer> {
        self.send(format!("{request}\n"))?;
        self.answer()
    }

    /// Waits until it is ready; returns its processes.
    pub fn ready(&mut self) -> anyhow::Result<Vec<i32>> {
        match self.answer()? {
            Answer::Ready { pids, .. } => Ok(pids),
            other => bail!("not ready: {}", shown(&other)),
        }
    }

    /// Asks it to hold; returns its processes.
    pub fn hold(&mut self) -> anyhow::Result<Vec<i32>> {
        match self.ask("hold")? {
            Answer::Held { pids } => Ok(pids),
            other => bail!("not held: {}", shown(&other)),
        }
    }

    /// Sends the program a signal.
    pub fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill(self.pid(), signal)?)
    }

    /// Closes its input, and waits for its end.
    pub fn finish(mut self) -> anyhow::Result<Exit> {
        self.group.close_input();
        self.wait()
    }

    /// Reads the rest of its output with its input left open, and waits for its end and that of its children.
    pub fn wait(mut self) -> anyhow::Result<Exit> {
        self.awaited = "its end".to_owned();
        let mut lines = Vec::new();
        while let Some(line) = self.group.line()? {
            ensure!(lines.len() < 10_000, "it prints more than 10,000 lines");
            lines.push(String::from_utf8(line)?);
        }
        self.answers += lines.len() as u32;
        self.ensure_in_time()?;
        // Before the group is killed: a process that is left behind is a fault.
        until(self.timeout, "its children end", || is_alone(self.pid()))?;
        let exit = Exit { lines, ended: self.group.end()? };
        let has_crashed = matches!(exit.ended.status.signal(), Some(4 | 6 | 7 | 8 | 11));
        ensure!(!has_crashed, "it crashed: {exit}");
        self.ensure_in_time()?;
        if let Some(names) = &exit.ended.left {
            bail!("it left processes running: {names}");
        }
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

    /// End of its standard error.
    pub(super) fn stderr(&self) -> &str {
        &self.ended.words
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.ended.fault, self.code()) {
            (None, Some(code)) => write!(f, "it ended with status {code}")?,
            (fault, _) => write!(f, "{}", fault.as_deref().unwrap_or("interrupted"))?,
        }
        let said: Vec<&str> = self.stderr().lines().collect();
        let printed: Vec<&str> = self.lines.iter().map(String::as_str).collect();
        for (verb, lines) in [("printed", printed), ("said", said)] {
            if let Some((last, others)) = lines.split_last() {
                write!(f, "; it {verb} '{}'", brief(last))?;
                if !others.is_empty() {
                    write!(f, " after {}", counted(others.len(), "other line"))?;
                }
            }
        }
        Ok(())
    }
}

/// An answer or a description as a program prints it.
pub(super) fn shown(message: &impl Serialize) -> String {
    serde_json::to_string(message).map_or_else(|e| e.to_string(), |text| brief(&text))
}

/// Whether no other process of a program's group is alive.
fn is_alone(leader: Pid) -> bool {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut others = pids
        .map(Pid::from_raw)
        .filter(|&pid| pid != leader && getpgid(Some(pid)) == Ok(leader))
        .map(|pid| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    // A process that has ended but was not waited for has no command line.
    others.all(|words| words.is_empty())
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
