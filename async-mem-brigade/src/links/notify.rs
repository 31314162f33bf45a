//! A number in an atomic, and `tokio::sync::Notify` to wait by.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use tokio::sync;

use super::{Gone, Link, Put, Take};

/// The slot holds a number.
const FULL: u32 = 1;
/// The sender waits for room.
const AWAITED: u32 = 2;
/// One of the ends is gone.
const CLOSED: u32 = 4;

/// An atomic slot and two of Tokio's `Notify`, one for each end to wait by. (With a single one, an
/// end could use up the permit that was meant for the other.)
pub(crate) struct Notify;

#[derive(Default)]
struct Slot {
    state: AtomicU32,
    number: AtomicUsize,
    filled: sync::Notify,
    emptied: sync::Notify,
}

/// Where numbers go in.
pub(crate) struct Sender(Arc<Slot>);

/// Where numbers come out.
pub(crate) struct Receiver(Arc<Slot>);

impl Link for Notify {
    type Sender = Sender;
    type Receiver = Receiver;

    fn link(_: u32) -> (Sender, Receiver) {
        let slot = Arc::<Slot>::default();
        (Sender(Arc::clone(&slot)), Receiver(slot))
    }
}

impl Slot {
    fn put(&self, number: usize) -> Option<Result<(), Gone>> {
        let mut state = self.state.load(Ordering::Acquire);
        while state & (FULL | CLOSED) == FULL {
            // The receiver, to whom it is told that somebody waits, may have emptied it meanwhile.
            match self.change(state, state | AWAITED) {
                Ok(()) => return None,
                Err(now) => state = now,
            }
        }
        if state & CLOSED != 0 {
            return Some(Err(Gone));
        }
        self.number.store(number, Ordering::Relaxed);
        let before = self.state.fetch_or(FULL, Ordering::AcqRel);
        if before & CLOSED != 0 {
            return Some(Err(Gone));
        }
        self.filled.notify_one();
        Some(Ok(()))
    }

    fn take(&self) -> Option<Option<usize>> {
        let state = self.state.load(Ordering::Acquire);
        if state & FULL == 0 {
            return (state & CLOSED != 0).then_some(None);
        }
        let number = self.number.load(Ordering::Relaxed);
        let before = self.state.fetch_and(CLOSED, Ordering::AcqRel);
        if before & AWAITED != 0 {
            self.emptied.notify_one();
        }
        Some(Some(number))
    }

    fn change(&self, state: u32, next: u32) -> Result<(), u32> {
        let changed = self
            .state
            .compare_exchange(state, next, Ordering::AcqRel, Ordering::Acquire);
        changed.map(|_| ())
    }
}

impl Put for Sender {
    type Lost = Gone;

    async fn put(&mut self, number: usize) -> Result<(), Gone> {
        loop {
            match self.0.put(number) {
                Some(result) => return result,
                None => self.0.emptied.notified().await,
            }
        }
    }
}

impl Take for Receiver {
    async fn take(&mut self) -> Option<usize> {
        loop {
            match self.0.take() {
                Some(number) => return number,
                None => self.0.filled.notified().await,
            }
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.0.filled.notify_one();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.0.state.fetch_or(CLOSED, Ordering::AcqRel);
        self.0.emptied.notify_one();
    }
}
