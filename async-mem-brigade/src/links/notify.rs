//! A token beside an atomic, and `tokio::sync::Notify` to wait by.

#![expect(unsafe_code, reason = "the atomic says whose the token is")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use threads::HandoffCell;
use tokio::sync::Notify;

use super::{Receiver, Sender};

/// The slot holds a token.
const FULL: u32 = 1;
/// The sender waits for room.
const AWAITED: u32 = 2;
/// An end is gone.
const CLOSED: u32 = 4;

/// A slot, and a `Notify` for each end to wait by. (With one for both, an end could use up the permit that
/// was meant for the other.)
struct Slot<M> {
    state: AtomicU32,
    /// The receiver's if the state says that the slot is full, else the sender's.
    token: HandoffCell<M>,
    filled: Notify,
    emptied: Notify,
}

/// End to take tokens from.
pub struct NotifyReceiver<M>(Arc<Slot<M>>);

/// End to put tokens into.
pub struct NotifySender<M>(Arc<Slot<M>>);

impl<M: Send + 'static> Receiver for NotifyReceiver<M> {
    type Token = M;
    type Sender = NotifySender<M>;

    fn link(_: u32) -> (Self, NotifySender<M>) {
        let slot = Arc::new(Slot {
            state: AtomicU32::new(0),
            token: HandoffCell::default(),
            filled: Notify::new(),
            emptied: Notify::new(),
        });
        (NotifyReceiver(Arc::clone(&slot)), NotifySender(slot))
    }

    async fn take(&mut self) -> Option<M> {
        let slot = &*self.0;
        loop {
            let state = slot.state.load(Ordering::Acquire);
            if state & FULL != 0 {
                break;
            }
            if state & CLOSED != 0 {
                return None;
            }
            slot.filled.notified().await;
        }
        // SAFETY: the state says that it is full, and the receiver alone empties it. The state says so
        // next.
        let token = unsafe { slot.token.take() };
        if slot.state.fetch_and(CLOSED, Ordering::AcqRel) & AWAITED != 0 {
            slot.emptied.notify_one();
        }
        Some(token)
    }
}

impl<M: Send + 'static> Sender<M> for NotifySender<M> {
    async fn put(&mut self, token: M) -> Result<(), impl Send> {
        let slot = &*self.0;
        let mut state = slot.state.load(Ordering::Acquire);
        while state & (FULL | CLOSED) == FULL {
            // The receiver may have emptied it meanwhile.
            let (awaited, order) = (state | AWAITED, Ordering::AcqRel);
            if slot.state.compare_exchange(state, awaited, order, Ordering::Acquire).is_ok() {
                slot.emptied.notified().await;
            }
            state = slot.state.load(Ordering::Acquire);
        }
        if state & CLOSED != 0 {
            return Err(());
        }
        // SAFETY: the sender alone fills it, and has seen that it is empty. The state says so next.
        unsafe { slot.token.put(token) };
        if slot.state.fetch_or(FULL, Ordering::AcqRel) & CLOSED != 0 {
            return Err(());
        }
        slot.filled.notify_one();
        Ok(())
    }
}

impl<M> Drop for NotifyReceiver<M> {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.0.emptied.notify_one();
    }
}

impl<M> Drop for NotifySender<M> {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.0.filled.notify_one();
    }
}

impl<M> Drop for Slot<M> {
    fn drop(&mut self) {
        if *self.state.get_mut() & FULL != 0 {
            // SAFETY: the state says that it is full, and both ends are gone.
            drop(unsafe { self.token.take() });
        }
    }
}
