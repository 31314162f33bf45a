//! Sleep by `std::thread::park`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, Thread};

use super::Link;
use super::slot::{self, Receiver, Sender, Side, Sleep};

/// A word whose threads sleep by `park`. An end leaves its thread here when it sleeps for the first
/// time, and stays with it.
#[derive(Debug, Default)]
pub(crate) struct Park {
    sender: OnceLock<Thread>,
    receiver: OnceLock<Thread>,
}

impl Park {
    fn thread(&self, side: Side) -> &OnceLock<Thread> {
        match side {
            Side::Sender => &self.sender,
            Side::Receiver => &self.receiver,
        }
    }
}

impl<M: Send + 'static> Link<M> for Park {
    type Sender = Sender<Park, M>;
    type Receiver = Receiver<Park, M>;

    fn link(_: u32) -> (Self::Sender, Self::Receiver) {
        slot::link()
    }
}

impl Sleep for Park {
    fn prepare(&self, side: Side) {
        let thread = self.thread(side).get_or_init(thread::current);
        debug_assert_eq!(thread.id(), thread::current().id(), "an end has moved");
    }

    fn sleep(&self, _side: Side, word: &AtomicU32, expected: u32) {
        if word.load(Ordering::Acquire) == expected {
            thread::park();
        }
    }

    fn wake(&self, side: Side, _word: &AtomicU32) {
        if let Some(thread) = self.thread(side).get() {
            thread.unpark();
        }
    }
}
