//! A mutex and a condition variable, as in a textbook.

use std::io;
use std::mem;
use std::sync::{self, Arc, Mutex, MutexGuard, PoisonError};

use super::{Link, Put, Take, ended};

/// A slot behind a mutex, with a condition variable for its changes.
#[derive(Debug)]
pub(crate) struct Condvar;

/// End to put tokens into.
#[derive(Debug)]
pub(crate) struct Sender<M>(Arc<Shared<M>>);

/// End to take tokens from.
#[derive(Debug)]
pub(crate) struct Receiver<M>(Arc<Shared<M>>);

#[derive(Debug)]
struct Shared<M> {
    slot: Mutex<Slot<M>>,
    /// For both ends: at most one of them waits, the sender for room or the receiver for a token.
    changed: sync::Condvar,
}

#[derive(Debug)]
struct Slot<M> {
    token: Option<M>,
    /// An end waits, or is about to.
    awaited: bool,
    /// An end is gone.
    closed: bool,
}

impl<M: Send + 'static> Link<M> for Condvar {
    type Sender = Sender<M>;
    type Receiver = Receiver<M>;

    fn link(_: u32) -> (Sender<M>, Receiver<M>) {
        let slot = Slot { token: None, awaited: false, closed: false };
        let shared = Arc::new(Shared { slot: Mutex::new(slot), changed: sync::Condvar::new() });
        (Sender(Arc::clone(&shared)), Receiver(shared))
    }
}

impl<M> Shared<M> {
    fn lock(&self) -> MutexGuard<'_, Slot<M>> {
        // Nothing panics while it holds the lock.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a token is there (`full`) or there is none, or until an end is gone.
    fn wait_until(&self, full: bool) -> MutexGuard<'_, Slot<M>> {
        let mut slot = self.lock();
        while slot.token.is_some() != full && !slot.closed {
            slot.awaited = true;
            let woken = self.changed.wait(slot);
            slot = woken.unwrap_or_else(PoisonError::into_inner);
        }
        slot
    }

    /// Unlocks the slot, and wakes the other end if it waits.
    fn leave(&self, mut slot: MutexGuard<'_, Slot<M>>) {
        let awaited = mem::take(&mut slot.awaited);
        drop(slot);
        if awaited {
            self.changed.notify_one();
        }
    }

    fn close(&self) {
        let mut slot = self.lock();
        slot.closed = true;
        self.leave(slot);
    }
}

impl<M: Send + 'static> Put<M> for Sender<M> {
    fn put(&mut self, token: M) -> io::Result<()> {
        let mut slot = self.0.wait_until(false);
        if slot.closed {
            return Err(ended());
        }
        slot.token = Some(token);
        self.0.leave(slot);
        Ok(())
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    fn take(&mut self) -> Option<M> {
        let mut slot = self.0.wait_until(true);
        let token = slot.token.take();
        self.0.leave(slot);
        token
    }
}

impl<M> Drop for Sender<M> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<M> Drop for Receiver<M> {
    fn drop(&mut self) {
        self.0.close();
    }
}
