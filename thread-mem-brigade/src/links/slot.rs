//! The slot of a link as a word in memory; how its ends sleep is a type.
//!
//! The word has the whole state, and each end changes it by compare and exchange from the state that it
//! has seen. An end that has to wait first says so in the word, so that the other one makes the system
//! call that wakes only where somebody sleeps. To find that nobody sleeps on a word, the kernel searches
//! all sleepers on words of the same hash (`futex_wake`, kernel/futex/waitwake.c), a good part of the
//! chain.

#![expect(unsafe_code, reason = "the word says whose the token is")]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use threads::HandoffCell;

use super::{Put, Take, ended};

/// The slot holds a token.
const FULL: u32 = 1;
/// The end that waits for a change sleeps: the sender at a full slot, the receiver at an empty one.
const AWAITED: u32 = 2;
/// An end is gone.
const CLOSED: u32 = 4;

/// A way for the threads of a link to sleep.
pub(crate) trait Sleep: Default + Send + Sync + 'static {
    /// Called by an end before the word says that it sleeps.
    fn prepare(&self, side: Side);

    /// Puts the calling thread, which is at the end `side`, to sleep if the word is still
    /// `expected`. It may return without a reason.
    fn sleep(&self, side: Side, word: &AtomicU32, expected: u32);

    /// Wakes the thread at the end `side`.
    fn wake(&self, side: Side, word: &AtomicU32);
}

/// The two ends of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

#[derive(Debug)]
struct Slot<S, M> {
    word: AtomicU32,
    /// The sender's while the word does not say that the slot is full, else the receiver's.
    token: HandoffCell<M>,
    sleep: S,
}

/// End to put tokens into.
#[derive(Debug)]
pub(crate) struct Sender<S: Sleep, M>(Arc<Slot<S, M>>);

/// End to take tokens from.
#[derive(Debug)]
pub(crate) struct Receiver<S: Sleep, M>(Arc<Slot<S, M>>);

/// Makes a link.
pub(super) fn link<S: Sleep, M>() -> (Sender<S, M>, Receiver<S, M>) {
    let slot = Arc::new(Slot {
        word: AtomicU32::new(0),
        token: HandoffCell::default(),
        sleep: S::default(),
    });
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

impl<S: Sleep, M: Send + 'static> Put<M> for Sender<S, M> {
    fn put(&mut self, token: M) -> io::Result<()> {
        let slot = &*self.0;
        let mut state = slot.word.load(Ordering::Acquire);
        while state & (FULL | CLOSED) == FULL {
            state = slot.wait(Side::Sender, state);
        }
        if state & CLOSED != 0 {
            return Err(ended());
        }
        // SAFETY: the word says that it is empty, and the sender alone fills it. `change` says so.
        unsafe { slot.token.put(token) };
        while state & CLOSED == 0 {
            match slot.change(Side::Sender, state, FULL) {
                Ok(()) => return Ok(()),
                Err(now) => state = now,
            }
        }
        // SAFETY: it has just been put there, and the receiver does not know of it.
        drop(unsafe { slot.token.take() });
        Err(ended())
    }
}

impl<S: Sleep, M: Send + 'static> Take<M> for Receiver<S, M> {
    fn take(&mut self) -> Option<M> {
        let slot = &*self.0;
        let mut state = slot.word.load(Ordering::Acquire);
        while state & FULL == 0 {
            if state & CLOSED != 0 {
                return None;
            }
            state = slot.wait(Side::Receiver, state);
        }
        // SAFETY: the word says that it is full, and the receiver alone empties it. `change` says so.
        let token = unsafe { slot.token.take() };
        while let Err(now) = slot.change(Side::Receiver, state, state & CLOSED) {
            state = now;
        }
        Some(token)
    }
}

impl<S: Sleep, M> Slot<S, M> {
    /// Changes the word for the end `side`, and wakes the other end if it sleeps.
    ///
    /// # Errors
    /// The word, where it was no longer `state`.
    fn change(&self, side: Side, state: u32, next: u32) -> Result<(), u32> {
        self.word.compare_exchange(state, next, Ordering::AcqRel, Ordering::Acquire)?;
        self.wake_other(side, state);
        Ok(())
    }

    /// Sleeps until the word is no longer `state`, as seen by the end `side`, and returns it.
    fn wait(&self, side: Side, state: u32) -> u32 {
        let asleep = state | AWAITED;
        self.sleep.prepare(side);
        let told = self.word.compare_exchange(state, asleep, Ordering::AcqRel, Ordering::Acquire);
        if let Err(now) = told {
            return now;
        }
        loop {
            self.sleep.sleep(side, &self.word, asleep);
            let now = self.word.load(Ordering::Acquire);
            if now != asleep {
                return now;
            }
        }
    }

    fn wake_other(&self, side: Side, state: u32) {
        if state & AWAITED != 0 {
            let other = match side {
                Side::Sender => Side::Receiver,
                Side::Receiver => Side::Sender,
            };
            self.sleep.wake(other, &self.word);
        }
    }

    fn close(&self, side: Side) {
        let before = self.word.fetch_or(CLOSED, Ordering::AcqRel);
        // Where the other end is gone already, the word may still say that this one slept.
        if before & CLOSED == 0 {
            self.wake_other(side, before);
        }
    }
}

impl<S, M> Drop for Slot<S, M> {
    fn drop(&mut self) {
        if *self.word.get_mut() & FULL != 0 {
            // SAFETY: the word says that it is full, and both ends are gone.
            drop(unsafe { self.token.take() });
        }
    }
}

impl<S: Sleep, M> Drop for Sender<S, M> {
    fn drop(&mut self) {
        self.0.close(Side::Sender);
    }
}

impl<S: Sleep, M> Drop for Receiver<S, M> {
    fn drop(&mut self) {
        self.0.close(Side::Receiver);
    }
}
