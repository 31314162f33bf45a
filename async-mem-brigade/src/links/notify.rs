//! A token beside an atomic, and `tokio::sync::Notify` to wait by.

#![expect(unsafe_code, reason = "the atomic says whose the token is")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use threads::HandoffCell;
use tokio::sync;

use super::{Gone, Link, Put, Take};

/// The slot holds a token.
const FULL: u32 = 1;
/// The sender waits for room.
const AWAITED: u32 = 2;
/// One of the ends is gone.
const CLOSED: u32 = 4;

/// A slot, an atomic that says what is in it, and a `Notify` of Tokio for each end to wait by. (With one
/// for both, an end could use up the permit that was meant for the other.)
#[derive(Debug)]
pub struct Notify;

#[derive(Debug)]
struct Slot<M> {
    state: AtomicU32,
    /// The sender's unless the state says that it is full, else the receiver's.
    token: HandoffCell<M>,
    filled: sync::Notify,
    emptied: sync::Notify,
}

/// End to put tokens into.
#[derive(Debug)]
pub struct Sender<M>(Arc<Slot<M>>);

/// End to take tokens from.
#[derive(Debug)]
pub struct Receiver<M>(Arc<Slot<M>>);

impl<M: Send + 'static> Link<M> for Notify {
    type Sender = Sender<M>;
    type Receiver = Receiver<M>;

    fn link(_: u32) -> (Sender<M>, Receiver<M>) {
        let slot = Arc::new(Slot {
            state: AtomicU32::new(0),
            token: HandoffCell::default(),
            filled: sync::Notify::new(),
            emptied: sync::Notify::new(),
        });
        (Sender(Arc::clone(&slot)), Receiver(slot))
    }
}

impl<M> Slot<M> {
    /// Whether there is room; where there is none, the state says from now on that the sender waits.
    fn has_room(&self) -> Result<bool, Gone> {
        let mut state = self.state.load(Ordering::Acquire);
        while state & (FULL | CLOSED) == FULL {
            // The receiver may have emptied it meanwhile.
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

    /// Puts a token where there is room.
    fn fill(&self, token: M) -> Result<(), Gone> {
        // SAFETY: the sender alone fills it, and has seen that it is empty. The state says so next.
        unsafe { self.token.put(token) };
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
        // SAFETY: the state says that it is full, and the receiver alone empties it. The state says
        // so next.
        let token = unsafe { self.token.take() };
        let before = self.state.fetch_and(CLOSED, Ordering::AcqRel);
        if before & AWAITED != 0 {
            self.emptied.notify_one();
        }
        Some(Some(token))
    }

    fn change(&self, state: u32, next: u32) -> Result<(), u32> {
        let changed = self.state.compare_exchange(state, next, Ordering::AcqRel, Ordering::Acquire);
        changed.map(|_| ())
    }
}

impl<M: Send + 'static> Put<M> for Sender<M> {
    type Lost = Gone;

    async fn put(&mut self, token: M) -> Result<(), Gone> {
        while !self.0.has_room()? {
            self.0.emptied.notified().await;
        }
        self.0.fill(token)
    }
}

impl<M: Send + 'static> Take<M> for Receiver<M> {
    async fn take(&mut self) -> Option<M> {
        loop {
            match self.0.take() {
                Some(token) => return token,
                None => self.0.filled.notified().await,
            }
        }
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
