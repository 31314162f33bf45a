//! A mutex and a condition variable, as in a textbook.

use std::io;
use std::mem;
use std::sync::{self, Arc, Mutex, MutexGuard, PoisonError};

use harness::link_ended;

use super::{Link, Put, Take};

/// A slot behind a mutex, with a condition variable for its changes.
#[derive(Debug)]
pub(crate) struct Condvar;

/// Where numbers go in.
#[derive(Debug)]
pub(crate) struct Sender(Arc<Shared>);

/// Where numbers come out.
#[derive(Debug)]
pub(crate) struct Receiver(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    slot: Mutex<Slot>,
    /// One for both ends: at most one of them waits, the sender for room or the receiver for a
    /// number.
    changed: sync::Condvar,
}

#[derive(Debug, Default)]
struct Slot {
    number: Option<usize>,
    /// One of the ends waits, or is about to.
    awaited: bool,
    /// One of the ends is gone.
    closed: bool,
}

impl Link for Condvar {
    type Sender = Sender;
    type Receiver = Receiver;

    fn link() -> (Sender, Receiver) {
        let shared = Arc::<Shared>::default();
        (Sender(Arc::clone(&shared)), Receiver(shared))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        // Nothing panics while it holds the lock.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a number is there, or until there is none, or an end is gone.
    fn wait_until(&self, full: bool) -> MutexGuard<'_, Slot> {
        let mut slot = self.lock();
        while slot.number.is_some() != full && !slot.closed {
            slot.awaited = true;
            let woken = self.changed.wait(slot);
            slot = woken.unwrap_or_else(PoisonError::into_inner);
        }
        slot
    }

    /// Gives the slot back, and wakes the other end if it waits.
    fn leave(&self, mut slot: MutexGuard<'_, Slot>) {
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

impl Put for Sender {
    fn put(&mut self, number: usize) -> io::Result<()> {
        let mut slot = self.0.wait_until(false);
        if slot.closed {
            return Err(link_ended(()));
        }
        slot.number = Some(number);
        self.0.leave(slot);
        Ok(())
    }
}

impl Take for Receiver {
    fn take(&mut self) -> Option<usize> {
        let mut slot = self.0.wait_until(true);
        let number = slot.number.take();
        self.0.leave(slot);
        number
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.0.close();
    }
}
