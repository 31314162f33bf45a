//! End of a program, and its cause.

use std::fmt;
use std::process::ExitStatus;

use crate::system::console::shortened;

/// End of a program: its status, its words and, if it is an error, why.
#[derive(Debug)]
pub struct Ended {
    pub(crate) status: ExitStatus,
    /// True if its time was up.
    pub(crate) is_overdue: bool,
    /// True if it ended in time since the runner was interrupted.
    pub(crate) is_interrupted: bool,
    /// Cause from outside, such as a timeout.
    pub(crate) fault: Option<String>,
    /// Its standard error.
    pub words: String,
    /// Names of processes that it, or one alive beside it, left running.
    pub(crate) left: Option<String>,
    /// Why it is a failure, if it is one.
    pub(crate) error: Option<String>,
    /// Lines of standard output that nobody had read.
    pub lines: Vec<String>,
}

impl Ended {
    /// Why it ended: a cause from outside, the line that says why, or its status.
    pub(crate) fn reason(&self) -> String {
        match (&self.fault, self.cause()) {
            (Some(fault), None) => fault.clone(),
            (Some(fault), Some(cause)) => format!("{fault}; it printed: {cause}"),
            (None, None) => format!("it ended with {}, without a message", self.status),
            (None, Some(cause)) => format!("{cause} ({})", self.status),
        }
    }

    /// The line of its standard error that says why it ended: the last one that is not indented, since a traceback is
    /// above the cause, or indented below it. Only a failed allocation comes first, before some advice.
    fn cause(&self) -> Option<String> {
        let mut lines = self.words.lines();
        if let Some(line) = lines.clone().find(|line| line.starts_with("memory allocation of ")) {
            let line = line.trim_end();
            return Some(format!(
                "{line}: raise `ulimit -v` or the memory limit of its control group"
            ));
        }
        let cause = lines.rfind(|line| line.starts_with(|c: char| !c.is_whitespace()));
        cause.map(|line| shortened(line.trim_end()))
    }

    /// All of its standard error, if it says more than the cause.
    pub(crate) fn all_words(&self) -> Option<String> {
        (self.words.lines().count() > 1).then(|| self.words.clone())
    }
}

impl fmt::Display for Ended {
    /// Its error, or how it ended, and the last line that it printed in vain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.error.clone().unwrap_or_else(|| self.reason()))?;
        match self.lines.last() {
            Some(line) => write!(f, "; its last line is '{}'", shortened(line)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Ended {}
