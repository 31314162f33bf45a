//! Ends of a link with a fault that a test asks for.

use std::io;
use std::thread;

use chain::{Fault, MemoryToken, Misbehaviour};

use super::{Put, Take};

/// An end with a fault. A fault shows at one of a task's two ends: an error can only be reported where a
/// token is put in.
pub(crate) struct Faulty<E> {
    end: E,
    misbehaviour: Misbehaviour,
}

impl<E> Faulty<E> {
    pub(crate) fn new(end: E, fault: Fault) -> Self {
        Faulty { end, misbehaviour: Misbehaviour::new(fault) }
    }
}

impl<M: MemoryToken, E: Take<M>> Take<M> for Faulty<E> {
    fn take(&mut self) -> Option<M> {
        if self.misbehaviour.hangs() {
            loop {
                thread::park();
            }
        }
        if self.misbehaviour.closes() {
            return None;
        }
        let mut token = self.end.take()?;
        token.change(|bytes| self.misbehaviour.after_read(bytes));
        Some(token)
    }
}

impl<M: MemoryToken, E: Put<M>> Put<M> for Faulty<E> {
    fn put(&mut self, token: M) -> io::Result<()> {
        self.misbehaviour.before_read()?;
        self.misbehaviour.after_read(&mut []);
        self.end.put(token)
    }
}
