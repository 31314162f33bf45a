//! The end that a task takes tokens from where it is not a link alone.

use std::io;
use std::thread;

use chain::{Backlog, Fault, MemoryToken, Misbehaviour};

use super::Take;

/// End with a backlog, or with a fault that a test asks for, or with both or neither.
pub(crate) struct Special<R, M> {
    link: R,
    backlog: Option<Backlog<M>>,
    /// What is left of the backlog in this iteration.
    rest: Vec<M>,
    misbehaviour: Option<Misbehaviour>,
}

impl<M: MemoryToken, R: Take<M>> Special<R, M> {
    pub(crate) fn new(link: R, backlog: Option<&Backlog<M>>, fault: Option<Fault>) -> Self {
        Special {
            link,
            backlog: backlog.cloned(),
            rest: Vec::new(),
            misbehaviour: fault.map(Misbehaviour::new),
        }
    }

    /// As [`Take::take`], with the error of a fault.
    pub(crate) fn take(&mut self) -> io::Result<Option<M>> {
        let Some(misbehaviour) = &mut self.misbehaviour else {
            return Ok(self.take_next());
        };
        if misbehaviour.hangs() {
            loop {
                thread::park();
            }
        }
        misbehaviour.before_read()?;
        if misbehaviour.closes() {
            return Ok(None);
        }
        let mut token = self.take_next();
        if let (Some(token), Some(misbehaviour)) = (&mut token, &mut self.misbehaviour) {
            token.change(|bytes| misbehaviour.after_read(bytes));
        }
        Ok(token)
    }

    /// A token that the first task was sent, then those of the backlog.
    fn take_next(&mut self) -> Option<M> {
        if let Some(token) = self.rest.pop() {
            return Some(token);
        }
        let first = self.link.take()?;
        if let Some(backlog) = &self.backlog {
            backlog.take(&mut self.rest);
        }
        Some(first)
    }
}
