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

/// A signal ended the run before its first sample, or in the middle of another. Ends the program with
/// status 128 + signal.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before the first iteration")
    }
}

impl std::error::Error for Interrupted {}

/// What a task reports whose link has no other end any more, where the link is not a descriptor
/// and there is no EPIPE.
pub fn link_ended<E>(_: E) -> io::Error {
    io::Error::new(ErrorKind::BrokenPipe, "the next task is gone")
}

/// Whether an error is the echo of another: when one task of a chain ends, its neighbour upstream
/// finds a broken pipe. (A socket that is closed with unread bytes resets the connection.)
pub(crate) fn is_echo(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|e| matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pipe_is_the_echo_of_another_error() {
        let pipe = anyhow::Error::new(io::Error::from(ErrorKind::BrokenPipe));
        assert!(is_echo(&pipe));
        assert!(is_echo(&pipe.context("task 3")));
        assert!(is_echo(&link_ended("channel closed").into()));
        assert!(!is_echo(&io::Error::from(ErrorKind::UnexpectedEof).into()));
        assert!(!is_echo(&anyhow::anyhow!("the task died")));
    }
}
