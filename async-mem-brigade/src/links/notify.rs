//! A message beside an atomic, and `tokio::sync::Notify` to wait by.

#![expect(unsafe_code, reason = "the atomic tells whose the message is")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use harness::berth::Berth;
use tokio::sync;

use super::{Gone, Link, Put, Take};

/// The slot holds a message.
const FULL: u32 = 1;
/// The sender waits for room.
const AWAITED: u32 = 2;
/// One of the ends is gone.
const CLOSED: u32 = 4;

/// A slot, an atomic that tells what is in it, and two of Tokio's `Notify`, one for each end to wait by. (With a single one, an
/// end could use up the permit that was meant for the other.)
pub(crate) struct Notify;

struct Slot<M> {
    state: AtomicU32,
    /// The sender's while the state does not say that it is full, else the receiver's.
    message: Berth<M>,
    filled: sync::Notify,
    emptied: sync::Notify,
}

/// Where messages go in.
pub(crate) struct Sender<M>(Arc<Slot<M>>);

/// Where messages come out.
pub(crate) struct Receiver<M>(Arc<Slot<M>>);

impl<M: Send + 'static> Link<M> for Notify {
    type Sender = Sender<M>;
    type Receiver = Receiver<M>;

    fn link(_: u32) -> (Sender<M>, Receiver<M>) {
        let slot = Arc::new(Slot {
            state: AtomicU32::new(0),
            message: Berth::default(),
            filled: sync::Notify::new(),
            emptied: sync::Notify::new(),
        });
        (Sender(Arc::clone(&slot)), Receiver(slot))
    }
}

impl<M> Slot<M> {
    /// Whether there is room; where there is none, the receiver is told that somebody waits.
    fn has_room(&self) -> Result<bool, Gone> {
        let mut state = self.state.load(Ordering::Acquire);
        while state & (FULL | CLOSED) == FULL {
            // The receiver, to whom it is told that somebody waits, may have emptied it meanwhile.
            match self.change(state, state | AWAITED) {
                Ok(()) => return Ok(false),
                Err(now) => state = now,
            }
        }
        match state & CLOSED {
            0 => Ok(true),
            _ => Err(Gone),
        }
    }

    /// Puts a message where there is room.
    fn fill(&self, message: M) -> Result<(), Gone> {
        // SAFETY: the sender alone fills it, and has seen that it is empty. The state tells then.
        unsafe { self.message.put(message) };
        let before = self.state.fetch_or(FULL, Ordering::AcqRel);
        if before & CLOSED != 0 {
            return Err(Gone);
        }
        self.filled.notify_one();
        Ok(())
    }

    fn take(&self) -> Option<Option<M>> {
        let state = self.state.load(Ordering::Acquire);
        if state & FULL == 0 {
            return (state & CLOSED != 0).then_some(None);
        }
        // SAFETY: the state says that it is full, and the receiver alone empties it. The state tells
        // then.
        let message = unsafe { self.message.take() };
        let before = self.state.fetch_and(CLOSED, Ordering::AcqRel);
        if before & AWAITED != 0 {
            self.emptied.notify_one();
        }
        Some(Some(message))
    }

    fn change(&self, state: u32, next: u32) -> Result<(), u32> {
        let changed = self
            .state
            .compare_exchange(state, next, Ordering::AcqRel, Ordering::Acquire);
        changed.map(|_| ())
    }
}

impl<M: Send + 'static> Put<M> for Sender<M> {
    type Lost = Gone;

    async fn put(&mut self, message: M) -> Result<(), Gone> {
        while !self.0.has_room()? {
            self.0.emptied.notified().await;
        }
        self.0.fill(message)
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    async fn take(&mut self) -> Option<M> {
        loop {
            match self.0.take() {
                Some(message) => return message,
                None => self.0.filled.notified().await,
            }
        }
    }
}

impl<M> Drop for Slot<M> {
    fn drop(&mut self) {
        if *self.state.get_mut() & FULL != 0 {
            // SAFETY: the state says that it is full, and both ends are gone.
            drop(unsafe { self.message.take() });
        }
    }
}

impl<M> Drop for Sender<M> {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.0.filled.notify_one();
    }
}

impl<M> Drop for Receiver<M> {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.0.emptied.notify_one();
    }
}
