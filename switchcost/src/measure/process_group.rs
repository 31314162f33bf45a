//! A live program in a process group of its own, from its start to its end: never longer than it may live,
//! and its end takes the whole group with it.

#![expect(unsafe_code, reason = "a child is prepared between fork and exec")]

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read, Write};
use std::iter;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::strays;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{self, Signal, killpg};
use nix::unistd::{Pid, getpgid};

use crate::plan::setting::Setting;
use crate::system::executable::Executable;
use crate::system::oom_killer;
use crate::system::signals;

mod end;
mod left;
mod words;

pub(crate) use end::Ended;
use end::{GRACE, Stage};
pub(crate) use left::end_what_is_left;
use words::Words;

/// Longest line of an answer, in bytes: 10,000 samples of 20 digits take 210,000.
const LONGEST_LINE: usize = 16 << 20;

/// Time that a program may take to answer or to end.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    time: Duration,
    /// True if a user has named it.
    is_given: bool,
}

impl From<Duration> for TimeLimit {
    fn from(time: Duration) -> Self {
        TimeLimit { time, is_given: true }
    }
}

impl Default for TimeLimit {
    fn default() -> Self {
        TimeLimit { time: Duration::from_secs(600), is_given: false }
    }
}

impl TimeLimit {
    /// The same in a run that has a budget: unless it is given a quarter of that, since an interval takes five rounds,
    /// and 10 s in any case.
    #[must_use]
    pub fn within(self, budget: Duration) -> Self {
        let most = (budget / 4).max(Duration::from_secs(10));
        if self.is_given { self } else { TimeLimit { time: self.time.min(most), ..self } }
    }

    /// The time alone.
    pub fn time(self) -> Duration {
        self.time
    }
}

/// A program that is alive, with whatever it starts.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    child: Child,
    /// Becomes readable when the program has ended (pidfd_open(2)).
    pidfd: OwnedFd,
    stdin: Option<ChildStdin>,
    /// Its standard output; `None` if somebody else has it.
    stdout: Option<ChildStdout>,
    words: Words,
    /// Output that no line was made of yet, and how much of it has no newline.
    buffer: Vec<u8>,
    searched: usize,
    limit: TimeLimit,
    deadline: Instant,
    /// Time between SIGTERM and SIGKILL.
    grace: Duration,
    stage: Stage,
    /// Start of a line without its newline that was all there was when its time was up.
    unfinished: Vec<u8>,
    is_killed: bool,
    /// Requests to stop that it was told of.
    told: u32,
    kills: oom_killer::Kills,
    is_over: bool,
}

impl ProcessGroup {
    /// Starts a program. It is ended if it takes longer than `limit` to answer.
    ///
    /// # Errors
    /// When it cannot be started; names the setting that was refused.
    pub(crate) fn start(
        program: &Executable,
        args: &[String],
        setting: &Setting,
        limit: impl Into<TimeLimit>,
    ) -> anyhow::Result<Self> {
        ensure!(
            program.name.is_none() || setting.wrap.is_empty(),
            "wrap: a program that switchcost carries starts under its own name alone: a checkout builds it, and the \
             archive has it"
        );
        let mut command = command(program, setting);
        command.args(args);
        let (applied, filter) = (setting.clone(), setting.filter()?);
        let name = command.get_program().to_string_lossy().into_owned();
        // SAFETY: the calls in it are system calls, async-signal-safe, and allocate nothing.
        unsafe { command.pre_exec(move || applied.apply(filter.as_ref())) };
        ProcessGroup::spawn(command, [Stdio::piped(), Stdio::piped()], limit)
            .map_err(|e| match e.downcast_ref::<io::Error>().and_then(|io| setting.explain(io)) {
                Some(what) => e.context(what),
                None => e,
            })
            .with_context(|| format!("cannot start {name}"))
    }

    /// Starts a command whose standard output and standard error go there: to this runner if they are piped.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn spawn(
        mut command: Command,
        [stdout, stderr]: [Stdio; 2],
        limit: impl Into<TimeLimit>,
    ) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(stdout).stderr(stderr).process_group(0);
        let parent = Pid::this();
        // SAFETY: the calls in it are system calls, async-signal-safe, and allocate nothing.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // Otherwise the runner died before the call.
                if Pid::parent() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
            });
        }
        left::prepare().context("cannot adopt what a child leaves running")?;
        let kills = oom_killer::Kills::now();
        let mut child = command.spawn().map_err(refused)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let words = Words::new(child.stderr.take());
        let pidfd = match watch(&child, stdin.as_ref(), stdout.as_ref(), &words) {
            Ok(pidfd) => pidfd,
            Err(e) => {
                kill(&child, Signal::SIGKILL);
                child.wait()?;
                return Err(e).context("cannot watch a child: it takes Linux 5.3 (pidfd_open(2))");
            }
        };
        left::started(child.id() as i32);
        let limit = limit.into();
        Ok(ProcessGroup {
            child,
            pidfd,
            stdin,
            stdout,
            words,
            buffer: Vec::new(),
            searched: 0,
            limit,
            deadline: Instant::now() + limit.time,
            grace: GRACE,
            stage: Stage::Free,
            unfinished: Vec::new(),
            is_killed: false,
            told: 0,
            kills,
            is_over: false,
        })
    }

    /// Sends a line. A program that has ended is found out by its answer.
    ///
    /// # Errors
    /// Any but a closed pipe.
    pub(crate) fn send(&mut self, line: &str) -> io::Result<()> {
        self.write(format!("{line}\n").as_bytes())
    }

    /// Sends bytes that need not be lines.
    ///
    /// # Errors
    /// As [`ProcessGroup::send`]; and when it does not read them in time.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.be_patient();
        while let Some(stdin) = &mut self.stdin
            && !bytes.is_empty()
        {
            match stdin.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(e) if e.kind() == ErrorKind::BrokenPipe => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    let left = self.deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() || signals::received().is_some() {
                        if left.is_zero() && self.stage == Stage::Free {
                            self.ask(Stage::Overdue);
                        }
                        return Err(io::Error::other("it does not read its input"));
                    }
                    let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLOUT)];
                    poll(&mut fds, 100_u8)
                        .or_else(|e| if e == Errno::EINTR { Ok(0) } else { Err(e) })?;
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Its process.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Whether a process is the program, or one that it has started.
    pub(crate) fn owns(&self, pid: i32) -> bool {
        let own = self.pid();
        let is_of_group = |pid| pid == own.as_raw() || getpgid(Some(Pid::from_raw(pid))) == Ok(own);
        // What has left the group has its parents.
        iter::successors(Some(pid).filter(|&pid| pid > 0), |&pid| strays::parent(pid))
            .any(is_of_group)
    }

    /// Has it killed as soon as its time is up: what builds nothing has nothing to take down.
    pub(crate) fn without_grace(&mut self) {
        self.grace = Duration::ZERO;
    }

    /// Whether it took longer than it may, and was asked to end.
    pub(crate) fn is_overdue(&self) -> bool {
        self.stage == Stage::Overdue
    }

    /// Closes the reading end of its standard output.
    pub(crate) fn drop_stdout(&mut self) {
        self.stdout = None;
    }

    /// Gives it the whole time limit again: while others have their turns it waits for nobody.
    pub(crate) fn be_patient(&mut self) {
        if self.stage == Stage::Free {
            self.deadline = Instant::now() + self.limit.time;
        }
    }

    /// Closes its standard input.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// The next line of its standard output; `None` if it has ended without one.
    ///
    /// # Errors
    /// A line that is too long, and what the system reports.
    pub(crate) fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let fresh = &self.buffer[self.searched..];
            if let Some(end) = fresh.iter().position(|&b| b == b'\n') {
                let mut line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
                self.searched = 0;
                line.pop();
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.searched > LONGEST_LINE {
                return Err(io::Error::other(format!(
                    "it printed a line of more than {} MiB",
                    LONGEST_LINE >> 20
                )));
            }
            if !self.fill()? {
                self.wait(false)?;
                // A last line may lack its newline.
                self.searched = 0;
                let rest = std::mem::take(&mut self.buffer);
                return Ok((!rest.is_empty()).then_some(rest));
            }
        }
    }

    /// Waits for output; false if there is no more.
    fn fill(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 1 << 16];
        loop {
            let has_ended = self.wait(true)?;
            let Some(stdout) = &mut self.stdout else { return Ok(false) };
            match stdout.read(&mut bytes) {
                Ok(0) => return Ok(false),
                Ok(n) => {
                    self.buffer.extend_from_slice(&bytes[..n]);
                    return Ok(true);
                }
                // Others of the group may hold the pipe open.
                Err(e) if e.kind() == ErrorKind::WouldBlock && has_ended => return Ok(false),
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Sleeps until the program has ended (true), or, if output is wanted, until there is some.
    /// Ends it when its time is up, or when the runner is to stop.
    fn wait(&mut self, for_output: bool) -> io::Result<bool> {
        loop {
            // In this order: a request that comes after the look leaves its byte in the pipe.
            signals::drain();
            self.press()?;
            let left = self.deadline.saturating_duration_since(Instant::now());
            let ms = left.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32;
            let watch = |fd| PollFd::new(fd, PollFlags::POLLIN);
            let mut fds = vec![watch(self.pidfd.as_fd())];
            fds.extend(self.stdout.as_ref().filter(|_| for_output).map(|out| watch(out.as_fd())));
            fds.extend(signals::descriptor().map(watch));
            let said = self.words.descriptor().map(watch);
            let has_words = said.is_some();
            fds.extend(said);
            match poll(&mut fds, PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX)) {
                Ok(_) => {}
                Err(Errno::EINTR) => continue,
                Err(e) => return Err(e.into()),
            }
            let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
            let has_ended = is_ready(&fds[0]);
            let has_output = for_output && self.stdout.is_some() && is_ready(&fds[1]);
            if has_words && fds.last().is_some_and(is_ready) {
                self.words.take()?;
            }
            if has_ended || has_output {
                return Ok(has_ended);
            }
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.is_over {
            // Nobody is left to be told of what fails here.
            let _ = self.reap();
        }
    }
}

/// The error of a start, with the limit that refused it.
fn refused(error: io::Error) -> anyhow::Error {
    let remedy = match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EMFILE) => "no descriptor is left: raise `ulimit -n`",
        Some(Errno::ENFILE) => "no open file is left: raise fs.file-max by sysctl(8)",
        Some(Errno::EAGAIN) => {
            "no process is left: raise `ulimit -u`, or pids.max of the control group"
        }
        _ => return error.into(),
    };
    anyhow::Error::new(error).context(remedy)
}

/// The command that starts a program.
pub(crate) fn command(program: &Executable, setting: &Setting) -> Command {
    let mut command = match setting.wrap.split_first() {
        Some((wrapper, words)) => {
            let mut command = Command::new(wrapper);
            command.args(words).arg(&program.path);
            command
        }
        None => Command::new(&program.path),
    };
    let name = program.name.as_ref().map(OsStr::new).or(program.path.file_name());
    if let (true, Some(name)) = (setting.wrap.is_empty(), name) {
        // In which folder this user builds is nobody's business.
        command.arg0(name);
    }
    command.envs(setting.env.iter().map(|(name, value)| (name, value)));
    if let Some(folder) = &program.folder {
        command.current_dir(folder);
    }
    command.args(&program.args);
    command
}

/// Sends a signal to a child's group, and to a child that has left it. It can only fail if they have ended.
fn kill(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id() as i32);
    let _ = killpg(pid, signal);
    if getpgid(Some(pid)).is_ok_and(|group| group != pid) {
        let _ = signal::kill(pid, signal);
    }
}

/// A descriptor that can be read once a child has ended; pidfd_open(2) sets close-on-exec. Reading what it writes
/// and writing to it never block.
fn watch(
    child: &Child,
    stdin: Option<&ChildStdin>,
    stdout: Option<&ChildStdout>,
    words: &Words,
) -> io::Result<OwnedFd> {
    let pipes = [stdin.map(AsFd::as_fd), stdout.map(AsFd::as_fd), words.descriptor()];
    for pipe in pipes.into_iter().flatten() {
        fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    // SAFETY: the call takes two numbers and touches no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    let fd = Errno::result(fd)? as i32;
    // SAFETY: the call has just made this descriptor, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests;
