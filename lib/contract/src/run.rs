//! Phases of a run. All of this module's work is outside the timed spans.

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::flags::Flags;
use crate::message::{Answer, Description, Extra, Ready, Request, Runtime, SETTLE_MS};
use crate::pass::Pass;
use crate::samples::Recorder;
use crate::{command, console, signals};

/// Longest request, in bytes.
const LONGEST_LINE: usize = 1 << 10;

/// Longest time that a signal is overlooked which comes just before a wait for a request, in ms.
const OVERLOOKED_MS: u16 = 1000;

/// One run of a program, from the first task to the last.
#[derive(Debug)]
pub struct Run {
    pub(crate) flags: Flags,
    pub(crate) description: Description,
    started: Instant,
    /// Time from the start until all tasks run; `None` until they do.
    setup: Option<Duration>,
    first: Option<Duration>,
    is_ready: bool,
    /// Start of the teardown.
    pub(crate) ended: Option<Instant>,
    /// Iterations begun, by any pass.
    iterations: Arc<AtomicU64>,
    /// Processes that are measured.
    measured: Vec<i32>,
    /// Distributions of the whole run.
    pub(crate) extra: Extra,
    /// Alone: the pass that a person reads of.
    pub(crate) result: Option<Pass>,
    received: Vec<u8>,
    /// Alone: the requests that the flags stand for. Controlled: the one that ended a hold.
    pending: VecDeque<Request>,
}

/// Next thing that a program is to do.
#[derive(Debug)]
pub enum Step {
    /// Iterate.
    Pass(Box<Pass>),
    /// Have all tasks alive and at rest, and call [`Run::held`].
    Hold,
}

impl Run {
    pub(crate) fn new(flags: &Flags, description: Description) -> Self {
        let mut pending = VecDeque::new();
        if !flags.controlled {
            pending.push_back(Request::Run(flags.iters, None));
            pending.extend(flags.command.is_some().then_some(Request::Hold));
            pending.push_back(Request::End);
        }
        Run {
            flags: flags.clone(),
            description,
            started: Instant::now(),
            setup: None,
            first: None,
            is_ready: false,
            ended: None,
            iterations: Arc::default(),
            measured: vec![std::process::id() as i32],
            extra: Extra::new(),
            result: None,
            received: Vec::new(),
            pending,
        }
    }

    /// Names the processes that are measured, if they are not this one alone. Their usage cannot be read while they
    /// run, and this process's alone would mislead: none is given.
    pub fn set_measured(&mut self, pids: Vec<i32>) {
        self.measured = pids;
    }

    /// Names the runtime, if it is not known before the start.
    pub fn set_runtime(&mut self, runtime: Option<Runtime>) {
        self.description.runtime = runtime.or(self.description.runtime.take());
    }

    /// Adds a distribution of the whole run, if there are samples of it.
    pub fn add_extra(&mut self, name: &str, samples: &Recorder) {
        let distribution = samples.distribution();
        self.extra.extend(distribution.map(|distribution| (name.to_owned(), distribution)));
    }

    /// Tokens sent into a chain, each as often as it was, by untimed iterations too.
    pub fn sent(&self) -> u64 {
        let Description { tokens, trips, .. } = self.description;
        self.iterations.load(Ordering::Relaxed) * tokens * trips
    }

    /// Visits of tokens to tasks so far: each token visits each task.
    pub fn visits(&self) -> u64 {
        self.sent() * self.description.tasks
    }

    /// Next pass of a program that keeps its tasks between passes; `None` if it is to end them. The first call tells
    /// the runner that all tasks run.
    pub fn next_pass(&mut self) -> anyhow::Result<Option<Pass>> {
        loop {
            match self.next_step()? {
                None => return Ok(None),
                Some(Step::Pass(pass)) => return Ok(Some(*pass)),
                Some(Step::Hold) => self.held()?,
            }
        }
    }

    /// Next step of a program that creates its tasks anew in each step.
    pub fn next_step(&mut self) -> anyhow::Result<Option<Step>> {
        // The memory of the samples is touched before anybody is told that the program is ready.
        let has_usage = self.measured == [std::process::id() as i32];
        let iterations = Arc::clone(&self.iterations);
        let mut pass = Box::new(Pass::new(iterations, has_usage, self.flags.controlled));
        if self.setup.is_none() {
            self.setup = Some(self.started.elapsed());
            if self.flags.warmup > 0 {
                pass.untimed = self.flags.warmup;
                return Ok(Some(Step::Pass(pass)));
            }
        }
        signals::begin_to_measure();
        if self.flags.controlled && !self.is_ready {
            self.is_ready = true;
            self.answer(&Answer::Ready(Ready {
                pids: self.measured.clone(),
                setup_ns: self.setup.map(|d| d.as_nanos() as u64),
                first_ns: self.first.map(|d| d.as_nanos() as u64),
                description: self.description.clone(),
            }))?;
        }
        let request = match self.pending.pop_front() {
            // Requests that lie in the pipe already are for a runner that does not interrupt.
            _ if signals::received().is_some() => Request::End,
            Some(request) => request,
            None => self.await_request()?,
        };
        match request {
            Request::End => {
                self.ended = Some(Instant::now());
                Ok(None)
            }
            Request::Hold => Ok(Some(Step::Hold)),
            Request::Run(n, name) => {
                pass.timed = n;
                if self.flags.controlled {
                    self.prepare(&mut pass, name.as_deref())?;
                } else if !self.flags.quiet {
                    // Before a run that may be long.
                    let size = format!("{} tasks, {n} iterations:\n", self.description.tasks);
                    console::show(&size).context("cannot print the result")?;
                }
                Ok(Some(Step::Pass(pass)))
            }
        }
    }

    /// Sets up the pass that a request names. It begins with untimed iterations, since caches are cold after the wait.
    fn prepare(&self, pass: &mut Pass, name: Option<&str>) -> anyhow::Result<()> {
        let passes = &self.description.passes;
        let Some(kind) = passes.iter().find(|p| name.is_none_or(|name| *name == p.name)) else {
            let names: Vec<&str> = passes.iter().map(|p| p.name.as_str()).collect();
            bail!(
                "there is no pass '{}': the passes are {}",
                name.unwrap_or_default().escape_debug(),
                names.join(", ")
            );
        };
        pass.name = Some(kind.name.clone());
        pass.untimed = kind.settle;
        pass.until = Some(Instant::now() + Duration::from_millis(SETTLE_MS));
        Ok(())
    }

    /// Takes a pass back that is over, and answers the request for it. It is kept until the next one is over:
    /// freed at once, it leaves a heap on which work that allocates takes more time (JSON: 14 %, glibc 2.36).
    pub fn finish(&mut self, mut pass: Pass) -> anyhow::Result<()> {
        self.first = self.first.or(pass.first);
        if self.flags.controlled && pass.name.is_some() {
            self.answer(&Answer::Ran {
                samples_ns: mem::take(&mut pass.samples_ns),
                usage: pass.usage,
                extra: mem::take(&mut pass.extra),
            })?;
        }
        self.result = Some(pass);
        Ok(())
    }

    /// Rests while all tasks are alive: until the next request, or until `--command` has ended.
    pub fn held(&mut self) -> anyhow::Result<()> {
        if !self.flags.controlled {
            return self.flags.command.as_deref().map_or(Ok(()), command::run);
        }
        self.answer(&Answer::Held { pids: self.measured.clone() })?;
        let request = self.await_request()?;
        self.pending.push_back(request);
        Ok(())
    }

    /// The description of the command line.
    pub fn description(&self) -> &Description {
        &self.description
    }

    pub(crate) fn answer(&self, answer: &Answer) -> anyhow::Result<()> {
        let line = serde_json::to_string(answer)? + "\n";
        console::print(&line).context("cannot answer the runner")
    }

    /// Waits for a line on standard input. Its end, or a signal, is the end of the run.
    fn await_request(&mut self) -> anyhow::Result<Request> {
        loop {
            if let Some(end) = self.received.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.received.drain(..=end).collect();
                let line = String::from_utf8_lossy(&line);
                return Request::parse(&line).map_err(anyhow::Error::msg);
            }
            if self.received.len() > LONGEST_LINE {
                bail!("a request is longer than {LONGEST_LINE} bytes");
            }
            if signals::received().is_some() {
                return Ok(Request::End);
            }
            let stdin = io::stdin();
            let mut fds = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::from(OVERLOOKED_MS)) {
                Err(Errno::EINTR) | Ok(0) => continue,
                other => other.context("cannot wait for a request")?,
            };
            let mut bytes = [0; LONGEST_LINE];
            // Unbuffered: a poll does not see the bytes in a buffer.
            let read = nix::unistd::read(&stdin, &mut bytes).context("cannot read a request")?;
            if read == 0 {
                return Ok(Request::End);
            }
            self.received.extend(&bytes[..read]);
        }
    }
}
