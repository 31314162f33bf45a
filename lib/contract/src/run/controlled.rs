//! What a run has to say to its runner, and hears from it. No figure depends on it, but for the untimed iterations.

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Run;
use crate::command;
use crate::message::{Answer, Description, Request, Runtime, SETTLE_MS};
use crate::pass::Pass;
use crate::samples::Recorder;
use host::{console, signals};

/// Longest request, in bytes.
const LONGEST_LINE: usize = 1 << 10;

/// Longest time that a signal is overlooked which comes just before a wait for a request, in ms.
const OVERLOOKED_MS: u16 = 1000;

impl Run {
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

    /// Sets up the pass that a request names. It begins with untimed iterations, since caches are cold after the wait.
    pub(super) fn prepare(&self, pass: &mut Pass, name: Option<&str>) -> anyhow::Result<()> {
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
    pub(super) fn await_request(&mut self) -> anyhow::Result<Request> {
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
