//! The end that a task takes tokens from where it is not a link alone.

use std::future::pending;

use chain::{Backlog, Buffer, Fault, MemoryToken, Misbehaviour};

use crate::links::Take;

/// End from which the first task takes a token that it was sent, then those of the backlog.
pub(crate) struct WithBacklog<R, M> {
    link: R,
    backlog: Backlog<M>,
    rest: Vec<M>,
}

impl<R, M> WithBacklog<R, M> {
    pub(crate) fn new(link: R, backlog: &Backlog<M>) -> Self {
        WithBacklog { link, backlog: backlog.clone(), rest: Vec::new() }
    }
}

impl<R: Take<M>, M: Send + 'static> Take<M> for WithBacklog<R, M> {
    async fn take(&mut self) -> Option<M> {
        if let Some(token) = self.rest.pop() {
            return Some(token);
        }
        let first = self.link.take().await?;
        self.backlog.take(&mut self.rest);
        Some(first)
    }
}

/// End with a backlog, or with a fault that a test asks for, or with neither.
pub(crate) enum Special<R> {
    Link(R),
    WithBacklog(WithBacklog<R, Buffer>),
    Faulty(Box<Special<R>>, Misbehaviour),
}

impl<R: Take<Buffer>> Special<R> {
    pub(crate) fn new(link: R, backlog: Option<&Backlog<Buffer>>, fault: Option<Fault>) -> Self {
        let end = match backlog {
            None => Special::Link(link),
            Some(backlog) => Special::WithBacklog(WithBacklog::new(link, backlog)),
        };
        match fault {
            None => end,
            Some(fault) => Special::Faulty(Box::new(end), Misbehaviour::new(fault)),
        }
    }

    /// As [`Take::take`], with the error of a fault.
    pub(crate) async fn take(&mut self) -> anyhow::Result<Option<Buffer>> {
        match self {
            Special::Link(link) => Ok(link.take().await),
            Special::WithBacklog(link) => Ok(link.take().await),
            Special::Faulty(end, misbehaviour) => {
                if misbehaviour.hangs() {
                    pending::<()>().await;
                }
                misbehaviour.before_read()?;
                if misbehaviour.closes() {
                    return Ok(None);
                }
                let token = Box::pin(end.take()).await?;
                Ok(token.map(|mut token| {
                    token.change(|bytes| misbehaviour.after_read(bytes));
                    token
                }))
            }
        }
    }
}
