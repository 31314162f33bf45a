//! Sleeping by futex(2).

#![expect(unsafe_code, reason = "futex(2) has no safe wrapper")]

use std::ptr;
use std::sync::atomic::AtomicU32;

use super::Link;
use super::slot::{self, Receiver, Sender, Side, Sleep};

/// A word on which threads sleep by futex(2).
#[derive(Debug, Default)]
pub(crate) struct Futex;

impl Link for Futex {
    type Sender = Sender<Futex>;
    type Receiver = Receiver<Futex>;

    fn link() -> (Self::Sender, Self::Receiver) {
        slot::link()
    }
}

impl Sleep for Futex {
    fn prepare(&self, _side: Side) {}

    fn sleep(&self, _side: Side, word: &AtomicU32, expected: u32) {
        let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        let for_ever = ptr::null::<libc::timespec>();
        // SAFETY: the kernel only reads the word, which outlives the call. Whatever the call
        // returns, the caller looks at the word again.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                operation,
                expected,
                for_ever,
            )
        };
    }

    fn wake(&self, _side: Side, word: &AtomicU32) {
        let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
        let sleepers = 1;
        // SAFETY: the address is only a name here, and no memory is touched.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, sleepers) };
    }
}
