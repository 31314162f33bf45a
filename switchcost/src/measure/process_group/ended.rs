//! End of a program, and its cause.

use std::process::ExitStatus;

use crate::system::console::shortened;

/// End of a program: its status and its words.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// True if its time was up.
    pub(crate) is_overdue: bool,
    /// Cause from outside, such as a timeout.
    pub(crate) fault: Option<String>,
    pub(crate) words: String,
    /// Names of processes that it, or one alive beside it, left running.
    pub(crate) left: Option<String>,
}

impl Ended {
    /// Reason why it printed no answer: what ended it, the line that says why, or its status.
    pub(crate) fn reason(&self) -> String {
        match (&self.fault, self.cause()) {
            (Some(fault), None) => fault.clone(),
            (Some(fault), Some(cause)) => format!("{fault}; it printed: {cause}"),
            (None, None) => format!("it printed no answer, and ended with {}", self.status),
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
        let is_cause = |line: &&str| line.starts_with(|c: char| !c.is_whitespace());
        lines.rfind(is_cause).map(|line| shortened(line.trim_end()))
    }

    /// All of its standard error, if it says more than the cause.
    pub(crate) fn all_words(&self) -> Option<String> {
        (self.words.lines().count() > 1).then(|| self.words.clone())
    }
}
