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

    /// A token of the link and, after each, those of the backlog; with the error of a fault.
    pub(crate) fn take(&mut self) -> io::Result<Option<M>> {
        let Special { link, backlog, rest, misbehaviour } = self;
        if let Some(misbehaviour) = misbehaviour {
            while misbehaviour.hangs() {
                thread::park();
            }
            misbehaviour.before_read()?;
            if misbehaviour.closes() {
                return Ok(None);
            }
        }
        let Some(mut token) = rest.pop().or_else(|| {
            link.take().inspect(|_| {
                if let Some(backlog) = backlog {
                    backlog.take(rest);
                }
            })
        }) else {
            return Ok(None);
        };
        if let Some(misbehaviour) = misbehaviour {
            token.change(|bytes| misbehaviour.after_read(bytes));
        }
        Ok(Some(token))
    }
}
