//! How a program is ended, and what is known of its end.

use std::io::{self, ErrorKind, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::{ProcessGroup, TimeLimit, kill, left};
use crate::system::console::shortened;
use crate::system::oom_killer;
use crate::system::signals;

/// Time between SIGTERM and SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Bytes of an unfinished line that are quoted.
const MOST_UNFINISHED: usize = 80;

/// Step taken to end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing: its time is not up.
    Free,
    /// The runner was interrupted, and it got SIGTERM.
    Interrupted,
    /// The runner has no more questions: its input is closed, which ends it.
    GivenUp,
    /// Its time was up, and it got SIGTERM.
    Overdue,
}

/// End of a program: its status and its words.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its status.
    pub(crate) status: ExitStatus,
    /// True if its time was up.
    pub(crate) is_overdue: bool,
    /// Cause from outside, such as a timeout.
    pub(crate) fault: Option<String>,
    /// End of its standard error.
    pub(crate) words: String,
    /// Names of processes that it, or one alive beside it, left running.
    pub(crate) left: Option<String>,
}

impl Ended {
    /// Reason why it printed no answer: what ended it, the line that says why, or its status.
    pub(crate) fn reason(&self) -> String {
        match (&self.fault, self.cause()) {
            (Some(fault), None) => fault.clone(),
            (Some(fault), Some(cause)) => format!("{fault}; it says: {cause}"),
            (None, None) => format!("it printed no answer and ended with {}", self.status),
            (None, Some(cause)) => format!("{cause} ({})", self.status),
        }
    }

    /// The line of its standard error that says why it ended. That is the last one that is not indented, since a
    /// traceback has its places above the cause, or indented below it; but a failed allocation is told first, and advice
    /// behind it.
    fn cause(&self) -> Option<String> {
        let mut lines = self.words.lines();
        if let Some(line) = lines.clone().find(|line| line.starts_with("memory allocation of ")) {
            let line = line.trim_end();
            return Some(format!(
                "{line}: raise `ulimit -v` or the memory limit of its control group"
            ));
        }
        let is_cause = |line: &&str| line.starts_with(|c: char| !c.is_whitespace());
        lines.rfind(is_cause).map(|line| shortened(line.trim_end()))
    }

    /// All of its standard error, if it says more than the cause.
    pub(crate) fn all_words(&self) -> Option<String> {
        (self.words.lines().count() > 1).then(|| self.words.clone())
    }
}

impl ProcessGroup {
    /// Does what is due to end it.
    pub(super) fn press(&mut self) -> io::Result<()> {
        let requests = signals::requests();
        if requests > self.told {
            self.told = requests;
            match requests {
                1 => self.ask(Stage::Interrupted),
                _ => self.force(),
            }
        }
        if Instant::now() < self.deadline {
            return Ok(());
        }
        match self.stage {
            _ if self.is_killed => {
                return Err(io::Error::other("it does not end by SIGKILL: it waits in the kernel"));
            }
            Stage::Free => self.ask(Stage::Overdue),
            Stage::Interrupted | Stage::Overdue | Stage::GivenUp => self.force(),
        }
        Ok(())
    }

    pub(super) fn ask(&mut self, stage: Stage) {
        kill(&self.child, Signal::SIGTERM);
        // One that is stopped takes no other signal.
        kill(&self.child, Signal::SIGCONT);
        self.stage = stage;
        self.unfinished = self.buffer.iter().take(MOST_UNFINISHED).copied().collect();
        self.deadline = Instant::now() + self.grace;
    }

    /// What its standard output had when its time was up.
    pub(crate) fn had_printed(&self) -> String {
        let what = match &*String::from_utf8_lossy(&self.unfinished) {
            "" => "no line to read".to_owned(),
            start => format!("a line without its newline, '{start}'"),
        };
        format!("its standard output had {what}: is each line flushed?")
    }

    fn force(&mut self) {
        kill(&self.child, Signal::SIGKILL);
        self.is_killed = true;
        self.deadline = Instant::now() + GRACE;
    }

    /// Closes its standard input, waits for its end, and ends whatever it has left behind.
    ///
    /// # Errors
    /// Errors of the system.
    pub(crate) fn end(&mut self) -> io::Result<Ended> {
        self.be_patient();
        self.close_input();
        let mut bytes = [0; 1 << 16];
        while !self.wait(true)? {
            let Some(stdout) = &mut self.stdout else { continue };
            match stdout.read(&mut bytes) {
                Ok(0) => {
                    // It has closed its output and goes on.
                    self.wait(false)?;
                    break;
                }
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(e),
            }
        }
        let (status, left) = self.reap()?;
        let (is_overdue, fault) = (self.is_overdue(), self.fault(status));
        Ok(Ended { status, is_overdue, fault, words: self.words.last()?, left })
    }

    /// Closes its standard input for a reason of the runner's own, and leaves it a while to end.
    pub(crate) fn give_up(&mut self) {
        self.close_input();
        if self.stage == Stage::Free {
            self.stage = Stage::GivenUp;
            self.deadline = self.deadline.min(Instant::now() + GRACE);
        }
    }

    /// Asks it to end as a service is: by its signal.
    pub(crate) fn terminate(&mut self) {
        self.close_input();
        if self.stage == Stage::Free {
            self.ask(Stage::GivenUp);
        }
    }

    /// Ends the group, and what has left it and goes on: takes the status, and the names of that. Until the
    /// status is taken, the number of the group is nobody else's.
    pub(crate) fn reap(&mut self) -> io::Result<(ExitStatus, Option<String>)> {
        kill(&self.child, Signal::SIGKILL);
        self.is_over = true;
        let status = self.child.wait()?;
        Ok((status, left::ended(self.child.id() as i32)?))
    }

    fn fault(&self, status: ExitStatus) -> Option<String> {
        let TimeLimit { time, is_given } = self.limit;
        let remedy = if is_given { "--timeout" } else { "--timeout gives it more" };
        let too_long =
            format!("timed out: it had neither answered nor ended after {time:?} ({remedy})");
        match self.stage {
            Stage::Overdue if !self.is_killed => {
                return Some(format!("{too_long}, and was ended by SIGTERM"));
            }
            Stage::Overdue => {
                return Some(format!(
                    "{too_long}, nor within {GRACE:?} of SIGTERM, and was killed"
                ));
            }
            Stage::GivenUp => return None,
            Stage::Free | Stage::Interrupted => {}
        }
        let number = status.signal()?;
        let name = Signal::try_from(number).map_or("unknown", Signal::as_str);
        let killed = format!("killed by signal {number} ({name})");
        let out_of_memory = oom_killer::Kills::now().since(self.kills.clone());
        Some(match out_of_memory.filter(|_| number == Signal::SIGKILL as i32) {
            Some(cause) => format!("{killed}: {cause}"),
            None if signals::received().is_some() => format!("{killed} after an interrupt"),
            None => killed,
        })
    }
}
