//! Phases of a run. All of this module's work is outside the timed spans.

mod controlled;

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::flags::Flags;
use crate::message::{Answer, Description, Extra, Ready, Request};
use crate::pass::Pass;
use host::{console, signals};

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
    pub(crate) ended: Option<Instant>,
    /// Iterations begun, by any pass.
    iterations: Arc<AtomicU64>,
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
        let is_own = self.measured == [std::process::id() as i32];
        let has_usage = is_own && !self.description.fresh;
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

    /// Takes a pass back that is over, and answers the request for it. It is kept until the next one is over:
    /// freed at once, it leaves a heap on which work that allocates takes more time (JSON: 14 %, glibc 2.36).
    pub fn finish(&mut self, mut pass: Pass) -> anyhow::Result<()> {
        self.first = self.first.or(pass.first);
        if self.flags.controlled && pass.name.is_some() {
            self.answer(&Answer::Ran {
                samples_ns: mem::take(&mut pass.samples_ns),
                usage: pass.usage,
                extra: mem::take(&mut pass.extra),
                runs: mem::take(&mut pass.runs),
            })?;
        }
        self.result = Some(pass);
        Ok(())
    }
}
