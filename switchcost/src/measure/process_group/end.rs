//! How a program is ended with all that it has started, and what is known of its end.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use contract::strays::{self, Process};
use nix::sys::signal::{self, Signal, killpg};
use nix::unistd::getpgid;

use super::{Awaited, ProcessGroup};
use crate::system::console::shortened;
use crate::system::oom_killer;
use crate::system::signals;

/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(10);

/// Reads that empty any pipe which nobody writes to any more; one that somebody fills again is left.
const MOST_READS: usize = 1024;

/// Children that this process had before its first program: they stay. Not set in a process that starts others
/// besides, such as a test.
static OTHERS: OnceLock<BTreeSet<i32>> = OnceLock::new();

/// Programs that are alive.
static ALIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

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
        if requests > 0 && self.stage == Stage::Free {
            self.ask(Stage::Interrupted);
        }
        let is_late = Instant::now() >= self.deadline;
        if is_late && self.is_killed {
            return Err(io::Error::other("it does not end by SIGKILL: it waits in the kernel"));
        }
        if is_late && self.stage == Stage::Free {
            self.ask(Stage::Overdue);
        } else if is_late || requests > 1 && !self.is_killed {
            self.send(Signal::SIGKILL);
            self.is_killed = true;
            self.deadline = Instant::now() + GRACE;
        }
        Ok(())
    }

    /// Asks it to end as a service is: by its signal.
    fn ask(&mut self, stage: Stage) {
        self.send(Signal::SIGTERM);
        // One that is stopped takes no other signal.
        self.send(Signal::SIGCONT);
        self.stage = stage;
        self.deadline = Instant::now() + GRACE;
    }

    /// Sends a signal to the group, and to a program that has left it. It can only fail if they have ended.
    fn send(&self, signal: Signal) {
        let pid = self.pid();
        let _ = killpg(pid, signal);
        if getpgid(Some(pid)).is_ok_and(|group| group != pid) {
            let _ = signal::kill(pid, signal);
        }
    }

    /// Gives it the whole time limit again: while others have their turns it waits for nobody.
    pub(super) fn be_patient(&mut self) {
        if self.stage == Stage::Free {
            self.deadline = Instant::now() + self.limit;
        }
    }

    /// Whether it took longer than it may, and was asked to end.
    pub(crate) fn is_overdue(&self) -> bool {
        self.stage == Stage::Overdue
    }

    /// Closes its standard input, waits for its end, and ends whatever it has left behind.
    ///
    /// # Errors
    /// Errors of the system.
    pub(crate) fn end(&mut self) -> io::Result<Ended> {
        self.be_patient();
        self.close_input();
        let mut bytes = [0; 1 << 16];
        while !self.wait(Awaited::Output)? {
            let Some(stdout) = &mut self.stdout else { continue };
            match stdout.read(&mut bytes) {
                // It has closed its output and goes on.
                Ok(0) => self.stdout = None,
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(e),
            }
        }
        let (status, left) = self.reap()?;
        for _ in 0..MOST_READS {
            if !self.read_words()? {
                break;
            }
        }
        let words = String::from_utf8_lossy(&self.words).trim().to_owned();
        let (is_overdue, fault) = (self.is_overdue(), self.fault(status));
        Ok(Ended { status, is_overdue, fault, words, left })
    }

    /// Closes its standard input for a reason of the runner's own, and leaves it a while to end.
    pub(crate) fn give_up(&mut self) {
        self.close_input();
        if self.stage == Stage::Free {
            self.stage = Stage::GivenUp;
            self.deadline = self.deadline.min(Instant::now() + GRACE);
        }
    }

    /// Asks it to end by SIGTERM for a reason of the runner's own.
    pub(crate) fn terminate(&mut self) {
        self.close_input();
        if self.stage == Stage::Free {
            self.ask(Stage::GivenUp);
        }
    }

    /// Ends the group, and what has left it and goes on: takes the status, and the names of that. Until the
    /// status is taken, the number of the group is nobody else's.
    pub(super) fn reap(&mut self) -> io::Result<(ExitStatus, Option<String>)> {
        self.send(Signal::SIGKILL);
        self.is_over = true;
        let status = self.child.wait()?;
        Ok((status, end_strays_of(self.child.id() as i32)?))
    }

    fn fault(&self, status: ExitStatus) -> Option<String> {
        if self.stage == Stage::Overdue {
            let end = if self.is_killed {
                format!("nor within {GRACE:?} of SIGTERM, and was killed")
            } else {
                "and was ended by SIGTERM".to_owned()
            };
            return Some(format!(
                "timed out: it had neither answered nor ended after {:?} (--timeout), {end}",
                self.limit
            ));
        }
        let number = status.signal().filter(|_| self.stage != Stage::GivenUp)?;
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

/// Has what programs leave running ended with them, in a process whose further children are all programs that it
/// measures, or tools that it waits for.
pub(crate) fn end_what_is_left() {
    let children = strays::children().unwrap_or_default();
    let _ = OTHERS.set(children.into_iter().map(|child| child.pid).collect());
}

/// Before a program starts. Not before: a tool that builds programs may leave a server running for the next
/// build, which stays.
pub(super) fn prepare() -> nix::Result<()> {
    if OTHERS.get().is_some() { strays::adopt() } else { Ok(()) }
}

/// Notes that a program is alive.
pub(super) fn note_start(program: i32) {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner).insert(program);
}

/// Ends what a program has left running, once it has ended; names of what had left its group. It may be of another
/// one that is still alive: whose it was cannot be told once its parent has ended.
fn end_strays_of(program: i32) -> io::Result<Option<String>> {
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    alive.remove(&program);
    let Some(others) = OTHERS.get() else { return Ok(None) };
    let is_alive = |child: &Process| alive.contains(&child.pid) || alive.contains(&child.group);
    let mut left = strays::end(|child| !is_alive(child) && !others.contains(&child.pid))?;
    left.retain(|child| child.group != program);
    Ok((!left.is_empty()).then(|| strays::names(&left)))
}
