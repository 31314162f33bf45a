//! A slot for one token behind a mutex, with a condition variable, as in a textbook.

use std::io;
use std::mem;
use std::sync::{self, Arc, Mutex, MutexGuard, PoisonError};

use super::{Link, Put, Take, receiver_gone};

/// A mutex and a condition variable of std.
pub(crate) struct Condvar;

/// Either end of a link. One condition variable is enough: at most one of them waits, the sender for room
/// or the receiver for a token.
pub(crate) struct End<M>(Arc<(Mutex<Slot<M>>, sync::Condvar)>);

struct Slot<M> {
    token: Option<M>,
    /// An end waits, or is about to.
    is_awaited: bool,
    /// An end is gone.
    is_closed: bool,
}

impl<M: Send + 'static> Link<M> for Condvar {
    type Receiver = End<M>;
    type Sender = End<M>;

    fn link(_: u32) -> (End<M>, End<M>) {
        let slot = Slot { token: None, is_awaited: false, is_closed: false };
        let shared = Arc::new((Mutex::new(slot), sync::Condvar::new()));
        (End(Arc::clone(&shared)), End(shared))
    }
}

impl<M> End<M> {
    fn lock(&self) -> MutexGuard<'_, Slot<M>> {
        // Nothing panics while it holds the lock.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a token is there (`is_full`) or there is none, or until an end is gone.
    fn wait_until(&self, is_full: bool) -> MutexGuard<'_, Slot<M>> {
        let mut slot = self.lock();
        while slot.token.is_some() != is_full && !slot.is_closed {
            slot.is_awaited = true;
            slot = self.0.1.wait(slot).unwrap_or_else(PoisonError::into_inner);
        }
        slot
    }

    /// Unlocks the slot, and wakes the other end if it waits.
    fn unlock(&self, mut slot: MutexGuard<'_, Slot<M>>) {
        let is_awaited = mem::take(&mut slot.is_awaited);
        drop(slot);
        if is_awaited {
            self.0.1.notify_one();
        }
    }
}

impl<M: Send + 'static> Take<M> for End<M> {
    fn take(&mut self) -> Option<M> {
        let mut slot = self.wait_until(true);
        let token = slot.token.take();
        self.unlock(slot);
        token
    }
}

impl<M: Send + 'static> Put<M> for End<M> {
    fn put(&mut self, token: M) -> io::Result<()> {
        let mut slot = self.wait_until(false);
        if slot.is_closed {
            return Err(receiver_gone());
        }
        slot.token = Some(token);
        self.unlock(slot);
        Ok(())
    }
}

impl<M> Drop for End<M> {
    fn drop(&mut self) {
        let mut slot = self.lock();
        slot.is_closed = true;
        self.unlock(slot);
    }
}
