//! End of a program.

use std::process::ExitStatus;

/// End of a program: its status and its words.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its status.
    pub(crate) status: ExitStatus,
    /// Cause from outside, such as a timeout.
    pub(crate) fault: Option<String>,
    /// End of its standard error.
    pub(crate) words: String,
}

impl Ended {
    /// Reason why it printed no answer: what ended it, its last words, or its status.
    pub(crate) fn reason(&self) -> String {
        match (&self.fault, self.words.as_str()) {
            (Some(fault), "") => fault.clone(),
            (Some(fault), words) => format!("{fault}; it says: {words}"),
            (None, "") => format!("it printed no answer and ended with {}", self.status),
            (None, words) => format!("{words} ({})", self.status),
        }
    }
}
