//! A slot for one token, and a word on which its ends sleep by futex(2).
//!
//! The word has the whole state, and each end changes it by compare and exchange from the state that it
//! has seen. An end says in the word that it sleeps, so that the other one makes the system call that
//! wakes it only then. To find that nobody sleeps on a word, the kernel searches all sleepers on words
//! of the same hash (`futex_wake`, kernel/futex/waitwake.c), a good part of the chain.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::futex;

/// The slot holds a token.
const FULL: u32 = 1;
/// The end that waits for a change sleeps: the sender at a full slot, the receiver at an empty one.
const AWAITED: u32 = 2;
/// An end is gone.
const CLOSED: u32 = 4;

/// End to take tokens from. When it is dropped, putting a token in becomes an error.
#[derive(Debug)]
pub struct FutexReceiver(Arc<Slot>);

/// End to put tokens into. When it is dropped, the receiver gets what is in the slot, and then the end.
#[derive(Debug)]
pub struct FutexSender(Arc<Slot>);

#[derive(Debug, Default)]
struct Slot {
    word: AtomicU32,
    /// The receiver's if the word says that the slot is full, else the sender's.
    token: AtomicUsize,
}

/// A link for one token.
pub fn futex_link() -> (FutexReceiver, FutexSender) {
    let slot = Arc::<Slot>::default();
    (FutexReceiver(Arc::clone(&slot)), FutexSender(slot))
}

/// The tokens that come out; it sleeps while there is none. `None` if the sender is gone.
impl Iterator for FutexReceiver {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let slot = &*self.0;
        let mut state = slot.word.load(Ordering::Acquire);
        while state & FULL == 0 {
            if state & CLOSED != 0 {
                return None;
            }
            state = slot.wait(state);
        }
        let token = slot.token.load(Ordering::Relaxed);
        while let Err(now) = slot.change(state, state & CLOSED) {
            state = now;
        }
        Some(token)
    }
}

impl FutexSender {
    /// Puts a token in; sleeps while there is no room. `BrokenPipe` if the receiver is gone: the token is lost.
    #[inline]
    pub fn put(&mut self, token: usize) -> io::Result<()> {
        let slot = &*self.0;
        let mut state = slot.word.load(Ordering::Acquire);
        while state & (FULL | CLOSED) == FULL {
            state = slot.wait(state);
        }
        if state & CLOSED != 0 {
            return Err(ErrorKind::BrokenPipe.into());
        }
        slot.token.store(token, Ordering::Relaxed);
        while state & CLOSED == 0 {
            match slot.change(state, FULL) {
                Ok(()) => return Ok(()),
                Err(now) => state = now,
            }
        }
        Err(ErrorKind::BrokenPipe.into())
    }
}

impl Slot {
    /// Changes the word from `state` to `next`, and wakes the other end if it sleeps. An error is the
    /// word, which was no longer `state`.
    fn change(&self, state: u32, next: u32) -> Result<(), u32> {
        self.word.compare_exchange(state, next, Ordering::AcqRel, Ordering::Acquire)?;
        if state & AWAITED != 0 {
            futex::wake(&self.word);
        }
        Ok(())
    }

    /// Sleeps until the word is no longer `state`, and returns it.
    fn wait(&self, state: u32) -> u32 {
        let asleep = state | AWAITED;
        let changed =
            self.word.compare_exchange(state, asleep, Ordering::AcqRel, Ordering::Acquire);
        if let Err(now) = changed {
            return now;
        }
        loop {
            futex::wait(&self.word, asleep);
            let now = self.word.load(Ordering::Acquire);
            if now != asleep {
                return now;
            }
        }
    }

    fn close(&self) {
        let before = self.word.fetch_or(CLOSED, Ordering::AcqRel);
        // If the other end is gone already, the word may still say that this one slept.
        if before & (AWAITED | CLOSED) == AWAITED {
            futex::wake(&self.word);
        }
    }
}

impl Drop for FutexReceiver {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Drop for FutexSender {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    /// The end comes while the other side is on its way to sleep, or not yet, or already there.
    #[test]
    fn an_end_at_any_moment_is_seen() {
        for round in 0..300 {
            let (mut receiver, sender) = futex_link();
            let taker = thread::spawn(move || receiver.next());
            let (dropped, mut full) = futex_link();
            let putter = thread::spawn(move || (0..2).try_for_each(|n| full.put(n)));
            (0..round * 20).for_each(|_| std::hint::spin_loop());
            drop((sender, dropped));
            assert_eq!(taker.join().unwrap(), None);
            assert_eq!(putter.join().unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
        }
    }
}
