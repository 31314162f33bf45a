//! A slot for one token behind a mutex, with a condition variable, as in a textbook.

use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::{Receiver, Sender, receiver_gone};

/// Either end of a link. One condition variable is enough: at most one of them waits, the sender for room
/// or the receiver for a token.
pub(crate) struct CondvarEnd(Arc<(Mutex<Slot>, Condvar)>);

struct Slot {
    token: Option<usize>,
    /// An end waits, or is about to.
    is_awaited: bool,
    /// An end is gone.
    is_closed: bool,
}

impl CondvarEnd {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        // Nothing panics while it holds the lock.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a token is there (`is_full`) or there is none, or until an end is gone.
    fn wait_until(&self, is_full: bool) -> MutexGuard<'_, Slot> {
        let mut slot = self.lock();
        while slot.token.is_some() != is_full && !slot.is_closed {
            slot.is_awaited = true;
            slot = self.0.1.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
        slot
    }

    /// Unlocks the slot, and wakes the other end if it waits.
    fn unlock(&self, mut slot: MutexGuard<'_, Slot>) {
        let is_awaited = mem::take(&mut slot.is_awaited);
        drop(slot);
        if is_awaited {
            self.0.1.notify_one();
        }
    }
}

impl Receiver for CondvarEnd {
    type Sender = Self;

    fn link(_: u32) -> (Self, Self) {
        let slot = Slot { token: None, is_awaited: false, is_closed: false };
        let shared = Arc::new((Mutex::new(slot), Condvar::new()));
        (CondvarEnd(Arc::clone(&shared)), CondvarEnd(shared))
    }

    fn take(&mut self) -> Option<usize> {
        let mut slot = self.wait_until(true);
        let token = slot.token.take();
        self.unlock(slot);
        token
    }
}

impl Sender for CondvarEnd {
    fn put(&mut self, token: usize) -> io::Result<()> {
        let mut slot = self.wait_until(false);
        if slot.is_closed {
            return Err(receiver_gone());
        }
        slot.token = Some(token);
        self.unlock(slot);
        Ok(())
    }
}

impl Drop for CondvarEnd {
    fn drop(&mut self) {
        let mut slot = self.lock();
        slot.is_closed = true;
        self.unlock(slot);
    }
}
