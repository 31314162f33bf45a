//! Where a task takes its tokens from, if that is not a link alone.

use std::io;
use std::thread;

use chain::{Backlog, Fault, MemoryToken, Misbehaviour};

use crate::links::Receiver;

/// A link, with a backlog after each token of it, and with a fault that a test asks for.
pub(crate) struct TokenSource<R: Receiver<Token: MemoryToken>> {
    link: R,
    backlog: Option<Backlog<R::Token>>,
    /// Tokens of the backlog that are left in this iteration, the next one last.
    rest: Vec<R::Token>,
    fault: Option<Misbehaviour>,
}

impl<R: Receiver<Token: MemoryToken>> TokenSource<R> {
    pub(crate) fn new(link: R, backlog: Option<Backlog<R::Token>>, fault: Option<Fault>) -> Self {
        TokenSource { link, backlog, rest: Vec::new(), fault: fault.map(Misbehaviour::new) }
    }

    /// Takes the next token; `None` at the end.
    pub(crate) fn take(&mut self) -> io::Result<Option<R::Token>> {
        let Some(fault) = &mut self.fault else { return Ok(self.next()) };
        while fault.hangs() {
            thread::park();
        }
        fault.before_read()?;
        if fault.closes() {
            return Ok(None);
        }
        let mut token = self.next();
        if let (Some(token), Some(fault)) = (&mut token, &mut self.fault) {
            token.change(|bytes| fault.after_read(bytes));
        }
        Ok(token)
    }

    fn next(&mut self) -> Option<R::Token> {
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
