//! Sleep by futex(2).

use std::sync::atomic::AtomicU32;

use threads::futex;

use super::Link;
use super::slot::{self, Receiver, Sender, Side, Sleep};

/// A word on which threads sleep by futex(2).
#[derive(Debug, Default)]
pub(crate) struct Futex;

impl<M: Send + 'static> Link<M> for Futex {
    type Sender = Sender<Futex, M>;
    type Receiver = Receiver<Futex, M>;

    fn link(_: u32) -> (Self::Sender, Self::Receiver) {
        slot::link()
    }
}

impl Sleep for Futex {
    fn prepare(&self, _side: Side) {}

    fn sleep(&self, _side: Side, word: &AtomicU32, expected: u32) {
        futex::wait(word, expected);
    }

    fn wake(&self, _side: Side, word: &AtomicU32) {
        futex::wake(word);
    }
}
