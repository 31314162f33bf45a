//! Where a task takes its tokens from, if that is not a link alone.

use std::io;
use std::thread;

use chain::{Backlog, Fault, MemoryToken, Misbehaviour};

use crate::links::Receiver;

/// A link, with a backlog after each token of it, and with a fault that a test asks for.
pub(crate) struct TokenSource<R: Receiver> {
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
        if let Some(fault) = &mut self.fault {
            while fault.hangs() {
                thread::park();
            }
            fault.before_read()?;
            if fault.closes() {
                return Ok(None);
            }
        }
        let mut token = self.rest.pop();
        if token.is_none() {
            token = self.link.take();
            if let (Some(_), Some(backlog)) = (&token, &self.backlog) {
                backlog.take(&mut self.rest);
            }
        }
        if let (Some(token), Some(fault)) = (&mut token, &mut self.fault) {
            token.change(|bytes| fault.after_read(bytes));
        }
        Ok(token)
    }
}
