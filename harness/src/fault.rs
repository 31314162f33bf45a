//! Errors that decide about the exit status.

use std::fmt;
use std::io::{self, ErrorKind};

/// Exit status: nothing, or not everything, could be measured.
pub(crate) const COULD_NOT_MEASURE: u8 = 1;
/// Exit status: the command line asks for something that does not exist.
pub(crate) const BAD_USAGE: u8 = 2;

/// A command line that cannot be followed. Ends the program with status 2.
#[derive(Debug)]
pub struct BadUsage(String);

impl BadUsage {
    /// The message names the flag, the limit and the remedy.
    #[expect(
        clippy::new_ret_no_self,
        reason = "callers return it as an error at once"
    )]
    pub fn new(message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(BadUsage(message.into()))
    }
}

impl fmt::Display for BadUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadUsage {}

/// A signal ended the run before its first sample. Ends the program with status 128 + signal.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before the first iteration")
    }
}

impl std::error::Error for Interrupted {}

/// The error that explains the others: when one task of a chain fails, its neighbours fail too,
/// with a broken pipe upstream.
pub fn root_cause(errors: impl IntoIterator<Item = anyhow::Error>) -> Option<anyhow::Error> {
    let is_echo = |e: &anyhow::Error| {
        e.downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    };
    let mut first_echo = None;
    for error in errors {
        if !is_echo(&error) {
            return Some(error);
        }
        first_echo.get_or_insert(error);
    }
    first_echo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pipe_is_the_echo_of_another_error() {
        let pipe = || anyhow::Error::new(io::Error::from(ErrorKind::BrokenPipe));
        assert!(root_cause([]).is_none());
        assert!(root_cause([pipe()]).is_some());
        let cause = root_cause([pipe(), anyhow::anyhow!("the task died")]).unwrap();
        assert_eq!(cause.to_string(), "the task died");
    }
}
