//! A token beside an atomic, and `tokio::sync::Notify` to wait by.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

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
#[derive(Default)]
struct Slot {
    state: AtomicU32,
    /// The receiver's if the state says that the slot is full, else the sender's.
    token: AtomicUsize,
    filled: Notify,
    emptied: Notify,
}

/// End to take tokens from.
pub struct NotifyReceiver(Arc<Slot>);

/// End to put tokens into.
pub struct NotifySender(Arc<Slot>);

impl Receiver for NotifyReceiver {
    type Sender = NotifySender;

    fn link(_: u32) -> (Self, NotifySender) {
        let slot = Arc::<Slot>::default();
        (NotifyReceiver(Arc::clone(&slot)), NotifySender(slot))
    }

    async fn take(&mut self) -> Option<usize> {
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
        let token = slot.token.load(Ordering::Relaxed);
        if slot.state.fetch_and(CLOSED, Ordering::AcqRel) & AWAITED != 0 {
            slot.emptied.notify_one();
        }
        Some(token)
    }
}

impl Sender for NotifySender {
    async fn put(&mut self, token: usize) -> Result<(), impl Send> {
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
        slot.token.store(token, Ordering::Relaxed);
        if slot.state.fetch_or(FULL, Ordering::AcqRel) & CLOSED != 0 {
            return Err(());
        }
        slot.filled.notify_one();
        Ok(())
    }
}

impl Drop for NotifyReceiver {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.0.emptied.notify_one();
    }
}

impl Drop for NotifySender {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.0.filled.notify_one();
    }
}
